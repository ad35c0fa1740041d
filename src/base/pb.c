/* SPDX-License-Identifier: MIT */
/* pb.c: protocol buffers written into a growing buffer. */
#include "base/pb.h"

#include <string.h>

#include "base/vec.h"

#define VARINT_MAX 10

void pb_deinit(struct pb *pb)
{
	free(pb->data);
	*pb = (struct pb){ 0 };
}

void pb_reset(struct pb *pb)
{
	pb->size = 0;
	pb->failed = false;
}

static bool pb_reserve(struct pb *pb, size_t extra)
{
	size_t need;
	if (pb->failed || __builtin_add_overflow(pb->size, extra, &need) ||
	    !vec_reserve_((void **)&pb->data, &pb->capacity, need, 1)) {
		pb->failed = true;
		return false;
	}
	return true;
}

static void append(struct pb *pb, const void *data, size_t size)
{
	if (!size || !pb_reserve(pb, size))
		return;
	memcpy(pb->data + pb->size, data, size);
	pb->size += size;
}

static size_t encode_varint(uint8_t bytes[VARINT_MAX], uint64_t value)
{
	size_t size = 0;
	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (uint8_t)(value | 0x80);
	bytes[size++] = (uint8_t)value;
	return size;
}

void pb_varint(struct pb *pb, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];
	append(pb, bytes, encode_varint(bytes, value));
}

void pb_tag(struct pb *pb, unsigned field, enum pb_wire wire)
{
	pb_varint(pb, (uint64_t)field << 3 | wire);
}

void pb_uint(struct pb *pb, unsigned field, uint64_t value)
{
	if (!value)
		return;
	pb_tag(pb, field, PB_VARINT);
	pb_varint(pb, value);
}

void pb_int(struct pb *pb, unsigned field, int64_t value)
{
	pb_uint(pb, field, (uint64_t)value);
}

void pb_bool(struct pb *pb, unsigned field, bool value)
{
	pb_uint(pb, field, value);
}

void pb_fixed64(struct pb *pb, unsigned field, uint64_t value)
{
	if (!value)
		return;
	pb_tag(pb, field, PB_FIXED64);
	uint8_t bytes[8];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	append(pb, bytes, sizeof(bytes));
}

void pb_bytes(struct pb *pb, unsigned field, const void *data, size_t size)
{
	pb_tag(pb, field, PB_BYTES);
	pb_varint(pb, size);
	append(pb, data, size);
}

void pb_string(struct pb *pb, unsigned field, const char *text)
{
	pb_bytes(pb, field, text, strlen(text));
}

void pb_packed(struct pb *pb, unsigned field, const uint64_t *values, size_t count)
{
	if (!count)
		return;
	size_t mark = pb_begin(pb, field);
	for (size_t i = 0; i < count; i++)
		pb_varint(pb, values[i]);
	pb_end(pb, mark);
}

size_t pb_begin(struct pb *pb, unsigned field)
{
	pb_tag(pb, field, PB_BYTES);
	/* The place of the length, which is one byte as a rule. */
	pb_varint(pb, 0);
	return pb->size;
}

void pb_end(struct pb *pb, size_t mark)
{
	if (pb->failed)
		return;
	uint8_t bytes[VARINT_MAX];
	size_t size = pb->size - mark;
	size_t more = encode_varint(bytes, size) - 1;
	if (!pb_reserve(pb, more))
		return;
	if (more)
		memmove(pb->data + mark + more, pb->data + mark, size);
	memcpy(pb->data + mark - 1, bytes, more + 1);
	pb->size += more;
}
