/* SPDX-License-Identifier: MIT */
/*
 * reader.h: a bounded cursor over foreign bytes.
 *
 * Everything that comes from the target or from a file is read through one of these. A read past the end returns false,
 * leaves the output untouched and poisons the reader, so a decoder may check once after several reads. Multi-byte values are
 * little-endian: both supported CPUs are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	const uint8_t *start;
	const uint8_t *pos;
	const uint8_t *end;
	bool failed;
};

/* @data stays the caller's and must outlive the reader. */
static inline struct reader reader_make(const void *data, size_t size)
{
	const uint8_t *p = data;
	return (struct reader){ .start = p, .pos = p, .end = p ? p + size : p };
}

static inline size_t reader_left(const struct reader *r)
{
	return (size_t)(r->end - r->pos);
}

static inline size_t reader_offset(const struct reader *r)
{
	return (size_t)(r->pos - r->start);
}

bool reader_skip(struct reader *r, size_t size);
/* A pointer into the data, valid as long as the data is; NULL past the end. */
const void *reader_bytes(struct reader *r, size_t size);
bool reader_u8(struct reader *r, uint8_t *ret);
bool reader_i8(struct reader *r, int8_t *ret);
bool reader_u16(struct reader *r, uint16_t *ret);
bool reader_u32(struct reader *r, uint32_t *ret);
bool reader_i32(struct reader *r, int32_t *ret);
bool reader_u64(struct reader *r, uint64_t *ret);
/* DWARF 5 §7.6. A number that does not fit 64 bits fails. */
bool reader_uleb128(struct reader *r, uint64_t *ret);
bool reader_sleb128(struct reader *r, int64_t *ret);
/* A NUL-terminated string inside the data; NULL if no NUL comes before the end. */
const char *reader_string(struct reader *r);
