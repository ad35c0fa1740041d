/* SPDX-License-Identifier: MIT */
/*
 * pb.h: protocol buffers written into a growing buffer.
 *
 * A zeroed pb is empty. Failures are sticky, as those of strbuf.h: after one append without memory, failed is set, later appends
 * do nothing, and the caller checks once at the end. Wire format: the encoding page of protobuf.dev.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct pb {
	uint8_t *data;
	size_t size;
	size_t capacity;
	bool failed;
};

enum pb_wire {
	PB_VARINT = 0,
	PB_FIXED64 = 1,
	PB_BYTES = 2,
};

void pb_deinit(struct pb *pb);
static inline void pb_cleanup(struct pb *pb)
{
	pb_deinit(pb);
}
#define _cleanup_pb_ _cleanup_(pb_cleanup)
/* Empties it and keeps its memory. */
void pb_reset(struct pb *pb);

/*
 * A field of one number. 0 is left out: a reader takes a number that is missing for 0. Where it must be there (in a oneof),
 * use pb_tag and pb_varint. A negative int32 or int64 is its two's complement in 64 bits.
 */
void pb_uint(struct pb *pb, unsigned field, uint64_t value);
void pb_int(struct pb *pb, unsigned field, int64_t value);
void pb_bool(struct pb *pb, unsigned field, bool value);
void pb_fixed64(struct pb *pb, unsigned field, uint64_t value);

/* Always written, also if empty. */
void pb_bytes(struct pb *pb, unsigned field, const void *data, size_t size);
void pb_string(struct pb *pb, unsigned field, const char *text);
/* A repeated number, packed. Left out if there is none. */
void pb_packed(struct pb *pb, unsigned field, const uint64_t *values, size_t count);

/*
 * What is appended between pb_begin and pb_end is a message inside of @field, or a packed field's numbers. pb_end takes what
 * pb_begin returned; pairs can be nested.
 */
size_t pb_begin(struct pb *pb, unsigned field);
void pb_end(struct pb *pb, size_t mark);

/* The parts that fields are made of. */
void pb_tag(struct pb *pb, unsigned field, enum pb_wire wire);
void pb_varint(struct pb *pb, uint64_t value);
