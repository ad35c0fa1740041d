/* SPDX-License-Identifier: MIT */
/* test_pb.c: fields as the bytes that the wire format's description gives for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pb.h"

static void check_bytes(const struct pb *pb, const char *bytes, size_t size)
{
	assert_false(pb->failed);
	assert_int_equal(pb->size, size);
	assert_memory_equal(pb->data, bytes, size);
}
#define CHECK(pb, bytes) check_bytes(pb, bytes, sizeof(bytes) - 1)

static void numbers_are_varints(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	pb_uint(&pb, 1, 1);
	pb_uint(&pb, 1, 127);
	pb_uint(&pb, 1, 128);
	pb_uint(&pb, 1, 150);
	pb_uint(&pb, 16, 300);
	CHECK(&pb, "\x08\x01\x08\x7f\x08\x80\x01\x08\x96\x01\x80\x01\xac\x02");
}

static void the_largest_and_negative_numbers_have_ten_bytes(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	pb_uint(&pb, 2, UINT64_MAX);
	pb_int(&pb, 2, -2);
	CHECK(&pb, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
		   "\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

static void zero_is_left_out(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	pb_uint(&pb, 1, 0);
	pb_int(&pb, 1, 0);
	pb_bool(&pb, 1, false);
	pb_fixed64(&pb, 1, 0);
	pb_packed(&pb, 1, NULL, 0);
	assert_int_equal(pb.size, 0);
	assert_false(pb.failed);
}

static void fixed_numbers_are_little_endian(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	pb_fixed64(&pb, 3, 0x0102030405060708);
	CHECK(&pb, "\x19\x08\x07\x06\x05\x04\x03\x02\x01");
}

static void texts_and_bytes_have_a_length(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	pb_string(&pb, 2, "testing");
	pb_string(&pb, 2, "");
	pb_bytes(&pb, 2, "a\0b", 3);
	pb_bytes(&pb, 2, NULL, 0);
	CHECK(&pb, "\x12\x07testing\x12\x00\x12\x03"
		   "a\0b\x12\x00");
}

static void repeated_numbers_are_packed(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	pb_packed(&pb, 6, (const uint64_t[]){ 3, 270, 0, 86942 }, 4);
	CHECK(&pb, "\x32\x07\x03\x8e\x02\x00\x9e\xa7\x05");
}

static void messages_lie_inside_of_each_other(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	size_t outer = pb_begin(&pb, 3);
	size_t inner = pb_begin(&pb, 1);
	pb_uint(&pb, 1, 150);
	pb_end(&pb, inner);
	size_t empty = pb_begin(&pb, 2);
	pb_end(&pb, empty);
	pb_end(&pb, outer);
	pb_bool(&pb, 4, true);
	CHECK(&pb, "\x1a\x07\x0a\x03\x08\x96\x01\x12\x00\x20\x01");
}

/* 126 + its tag and length are 128 bytes: the outer message's length has two bytes, the inner one's has one. */
static void a_longer_message_moves_to_make_room_for_its_length(void **state)
{
	char text[127] = { 0 };
	memset(text, 'x', sizeof(text) - 1);
	_cleanup_pb_ struct pb pb = { 0 };
	size_t mark = pb_begin(&pb, 1);
	pb_string(&pb, 1, text);
	pb_end(&pb, mark);
	pb_uint(&pb, 2, 1);

	assert_int_equal(pb.size, 133);
	assert_memory_equal(pb.data, "\x0a\x80\x01\x0a\x7exxx", 8);
	assert_memory_equal(pb.data + 129, "xx\x10\x01", 4);
}

static void three_bytes_of_length(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	_cleanup_free_ char *text = calloc(20000, 1);
	assert_non_null(text);
	size_t mark = pb_begin(&pb, 1);
	pb_bytes(&pb, 1, text, 20000);
	pb_end(&pb, mark);
	assert_int_equal(pb.size, 1 + 3 + 1 + 3 + 20000);
	/* 20004 = 0x4e24 and 20000 = 0x4e20, in groups of seven bits. */
	assert_memory_equal(pb.data, "\x0a\xa4\x9c\x01\x0a\xa0\x9c\x01\0", 9);
}

static void a_failure_stays(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	pb_uint(&pb, 1, 1);
	pb_bytes(&pb, 1, "x", SIZE_MAX - 1);
	assert_true(pb.failed);
	size_t mark = pb_begin(&pb, 1);
	pb_string(&pb, 1, "x");
	pb_end(&pb, mark);
	assert_true(pb.failed);
	pb_reset(&pb);
	pb_uint(&pb, 1, 1);
	CHECK(&pb, "\x08\x01");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_varints),
		cmocka_unit_test(the_largest_and_negative_numbers_have_ten_bytes),
		cmocka_unit_test(zero_is_left_out),
		cmocka_unit_test(fixed_numbers_are_little_endian),
		cmocka_unit_test(texts_and_bytes_have_a_length),
		cmocka_unit_test(repeated_numbers_are_packed),
		cmocka_unit_test(messages_lie_inside_of_each_other),
		cmocka_unit_test(a_longer_message_moves_to_make_room_for_its_length),
		cmocka_unit_test(three_bytes_of_length),
		cmocka_unit_test(a_failure_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
