/* SPDX-License-Identifier: MIT */
/* reader.c: bounded reads. */
#include "base/reader.h"

#include <string.h>

const void *reader_bytes(struct reader *r, size_t size)
{
	if (r->failed || size > reader_left(r)) {
		r->failed = true;
		return NULL;
	}
	const void *p = r->pos;
	r->pos += size;
	return p;
}

bool reader_skip(struct reader *r, size_t size)
{
	return reader_bytes(r, size) != NULL;
}

#define DEFINE_READ(name, type)                                                                    \
	bool name(struct reader *r, type *ret)                                                     \
	{                                                                                          \
		const void *p = reader_bytes(r, sizeof(*ret));                                     \
		if (!p)                                                                            \
			return false;                                                              \
		memcpy(ret, p, sizeof(*ret));                                                      \
		return true;                                                                       \
	}

DEFINE_READ(reader_u8, uint8_t)
DEFINE_READ(reader_i8, int8_t)
DEFINE_READ(reader_u16, uint16_t)
DEFINE_READ(reader_u32, uint32_t)
DEFINE_READ(reader_i32, int32_t)
DEFINE_READ(reader_u64, uint64_t)

/* Reads the groups of a LEB128; @last_ret receives the final byte, for the sign. */
static bool reader_leb128(struct reader *r, uint64_t *value_ret, unsigned *shift_ret,
			  uint8_t *last_ret)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;
	do {
		if (!reader_u8(r, &byte))
			return false;
		uint64_t group = byte & 0x7f;
		if (shift > 63) {
			/* Padding is legal as long as it repeats the sign. */
			if (group != 0 && group != 0x7f)
				goto overflow;
		} else {
			if (shift == 63 && group > 1 && group != 0x7f)
				goto overflow;
			value |= group << shift;
		}
		shift += 7;
		if (shift > 7 * 16)
			goto overflow;
	} while (byte & 0x80);
	*value_ret = value;
	*shift_ret = shift;
	*last_ret = byte;
	return true;

overflow:
	r->failed = true;
	return false;
}

bool reader_uleb128(struct reader *r, uint64_t *ret)
{
	uint64_t value;
	unsigned shift;
	uint8_t last;
	if (!reader_leb128(r, &value, &shift, &last))
		return false;
	if (shift > 63 && last > 1) {
		r->failed = true;
		return false;
	}
	*ret = value;
	return true;
}

bool reader_sleb128(struct reader *r, int64_t *ret)
{
	uint64_t value;
	unsigned shift;
	uint8_t last;
	if (!reader_leb128(r, &value, &shift, &last))
		return false;
	if (shift < 64 && (last & 0x40))
		value |= ~UINT64_C(0) << shift;
	*ret = (int64_t)value;
	return true;
}

const char *reader_string(struct reader *r)
{
	if (r->failed)
		return NULL;
	const void *nul = memchr(r->pos, 0, reader_left(r));
	if (!nul) {
		r->failed = true;
		return NULL;
	}
	const char *s = (const char *)r->pos;
	r->pos = (const uint8_t *)nul + 1;
	return s;
}
