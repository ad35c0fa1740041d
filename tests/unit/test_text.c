/* SPDX-License-Identifier: MIT */
/* String objects of every kind, built by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_python.h"
#include "python/text.h"

struct fixture {
	struct fake fake;
	struct py_layout layout;
	uint64_t unicode, bytes, other; /* types */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	fake_init(&f->fake);
	f->layout = fake_layout();
	f->unicode = fake_type(&f->fake, FAKE_UNICODE, "str");
	f->bytes = fake_type(&f->fake, FAKE_BYTES, "bytes");
	f->other = fake_type(&f->fake, FAKE_DICT, "dict");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void expect_text(struct fixture *f, uint64_t address, const char *expected)
{
	_cleanup_strbuf_ struct strbuf out = { 0 };
	strbuf_adds(&out, "before ");
	assert_int_equal(text_read(&f->fake.memory, &f->layout, address, &out), REASON_OK);
	assert_int_equal(strncmp(out.text, "before ", 7), 0);
	assert_string_equal(out.text + 7, expected);
	assert_int_equal(out.length, 7 + strlen(expected));
}

static void expect_reason(struct fixture *f, uint64_t address, enum reason reason)
{
	_cleanup_strbuf_ struct strbuf out = { 0 };
	strbuf_adds(&out, "before ");
	assert_int_equal(text_read(&f->fake.memory, &f->layout, address, &out), reason);
	assert_string_equal(out.text, "before ");
	assert_int_equal(out.length, 7);
}

static void test_ascii_takes_one_read(void **state)
{
	struct fixture *f = *state;
	uint64_t text = fake_ascii(&f->fake, f->unicode, "handle_request");
	fake_alloc(&f->fake, TEXT_PEEK_SIZE);
	f->fake.reads = 0;
	expect_text(f, text, "handle_request");
	assert_int_equal(f->fake.reads, 2); /* and one of the type's flags */
	expect_text(f, fake_ascii(&f->fake, f->unicode, ""), "");

	/* The last object of a page with nothing mapped after it. */
	f->fake.used = 2 * 4096 - 64;
	text = fake_ascii(&f->fake, f->unicode, "fifteen letters");
	assert_int_equal(f->fake.used, 2 * 4096);
	f->fake.reads = 0;
	expect_text(f, text, "fifteen letters");
	assert_int_equal(f->fake.reads, 2);
}

static void test_compact_kinds(void **state)
{
	struct fixture *f = *state;
	static const uint16_t two[] = { 'a', 0x3a9, 0x20ac };
	static const uint32_t four[] = { 0x1f40d, 'b', 0x10ffff };
	expect_text(f, fake_compact(&f->fake, f->unicode, 1, "gr\xf6\xdf\x65", 5), "größe");
	expect_text(f, fake_compact(&f->fake, f->unicode, 2, two, 3), "aΩ€");
	expect_text(f, fake_compact(&f->fake, f->unicode, 4, four, 3),
		    "\xf0\x9f\x90\x8d"
		    "b\xf4\x8f\xbf\xbf");
}

static void test_undecodable_file_name(void **state)
{
	struct fixture *f = *state;
	static const uint16_t surrogates[] = { 'x', 0xdcff, 0xd800 };
	expect_text(f, fake_compact(&f->fake, f->unicode, 2, surrogates, 3),
		    "x\xed\xb3\xbf\xed\xa0\x80");
}

static void test_null_character(void **state)
{
	struct fixture *f = *state;
	uint64_t text = fake_ascii(&f->fake, f->unicode, "a-b");
	fake_put_u8(&f->fake, text + 49, 0);
	expect_text(f, text, "a␀b");
}

static void test_data_elsewhere(void **state)
{
	struct fixture *f = *state;
	uint64_t data = fake_alloc(&f->fake, 16);
	fake_put(&f->fake, data, "caf\xe9", 4);
	uint64_t text = fake_compact(&f->fake, f->unicode, 1, "", 0);
	fake_put_u64(&f->fake, text + 16, 4);
	fake_put_u32(&f->fake, text + 32, 1 << 2);
	fake_put_u64(&f->fake, text + 72, data);
	expect_text(f, text, "café");
	fake_put_u64(&f->fake, text + 72, 0);
	expect_reason(f, text, REASON_MEMORY_FAULT);
	fake_put_u64(&f->fake, text + 72, UINT64_MAX);
	expect_reason(f, text, REASON_MEMORY_FAULT);
}

/* Nothing mapped after the object; an object on two pages; one that is longer than a peek. */
static void test_any_place_and_length(void **state)
{
	struct fixture *f = *state;
	char expected[1001];
	for (size_t length = 1; length <= 1000; length = length * 3 / 2 + 1) {
		for (size_t i = 0; i < length; i++)
			expected[i] = (char)('a' + i % 26);
		expected[length] = '\0';
		for (size_t before_page_end = 0; before_page_end <= 320; before_page_end += 16) {
			f->fake.used = 3 * 4096 - before_page_end;
			expect_text(f, fake_ascii(&f->fake, f->unicode, expected), expected);
		}
	}
}

static void test_long_text_is_cut(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *text = malloc(TEXT_LENGTH_KEPT + 4);
	memset(text, 'n', TEXT_LENGTH_KEPT + 1);
	text[TEXT_LENGTH_KEPT] = '\0';
	expect_text(f, fake_ascii(&f->fake, f->unicode, text), text);
	text[TEXT_LENGTH_KEPT] = 'n';
	text[TEXT_LENGTH_KEPT + 1] = '\0';
	uint64_t object = fake_ascii(&f->fake, f->unicode, text);
	strcpy(text + TEXT_LENGTH_KEPT, "…");
	expect_text(f, object, text);
}

static void test_contradictions(void **state)
{
	struct fixture *f = *state;
	uint64_t text = fake_ascii(&f->fake, f->unicode, "name");
	expect_text(f, text, "name");
	fake_put_u32(&f->fake, text + 32, 0 << 2 | 1 << 5 | 1 << 6);
	expect_reason(f, text, REASON_BAD_TEXT);
	fake_put_u32(&f->fake, text + 32, 3 << 2 | 1 << 5);
	expect_reason(f, text, REASON_BAD_TEXT);
	fake_put_u32(&f->fake, text + 32, 2 << 2 | 1 << 5 | 1 << 6);
	fake_put(&f->fake, text + 48, "n\0a\0m\0e", 8);
	expect_reason(f, text, REASON_BAD_TEXT);
	fake_put(&f->fake, text + 48, "name", 5);
	fake_put_u32(&f->fake, text + 32, 1 << 2 | 1 << 5 | 1 << 6);
	fake_put_u8(&f->fake, text + 50, 0x80);
	expect_reason(f, text, REASON_BAD_TEXT);
	fake_put_u8(&f->fake, text + 50, 'm');
	fake_put_u64(&f->fake, text + 16, UINT64_MAX);
	expect_reason(f, text, REASON_BAD_TEXT);
	fake_put_u64(&f->fake, text + 16, TEXT_LENGTH_SANE + 1);
	expect_reason(f, text, REASON_BAD_TEXT);
	fake_put_u64(&f->fake, text + 16, TEXT_LENGTH_SANE);
	expect_reason(f, text, REASON_MEMORY_FAULT);
	fake_put_u64(&f->fake, text + 16, 4);
	fake_put_u64(&f->fake, text + 8, f->other);
	expect_reason(f, text, REASON_BAD_TEXT);
	fake_put_u64(&f->fake, text + 8, f->bytes);
	expect_reason(f, text, REASON_BAD_TEXT);
	fake_put_u64(&f->fake, text + 8, 0);
	expect_reason(f, text, REASON_BAD_TEXT);
	expect_reason(f, 0, REASON_MEMORY_FAULT);
	expect_reason(f, UINT64_MAX - 8, REASON_MEMORY_FAULT);

	static const uint32_t beyond[] = { 0x110000 };
	expect_reason(f, fake_compact(&f->fake, f->unicode, 4, beyond, 1), REASON_BAD_TEXT);
}

static void test_byte_strings(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *bytes, *expected;
	} cases[] = {
		{ "plain", "plain" },
		{ "gr\xc3\xb6\xc3\x9f\x65", "größe" },
		{ "\xf0\x9f\x90\x8d", "\xf0\x9f\x90\x8d" },
		{ "a\xff.py", "a\xed\xb3\xbf.py" },         /* no such byte */
		{ "\xc0\x80", "\xed\xb3\x80\xed\xb2\x80" }, /* not the shortest form */
		{ "\xe0\x9f\xbf", "\xed\xb3\xa0\xed\xb2\x9f\xed\xb2\xbf" }, /* the same */
		{ "\xed\xa0\x80", "\xed\xb3\xad\xed\xb2\xa0\xed\xb2\x80" }, /* a surrogate */
		{ "\xf4\x90\x80\x80", "\xed\xb3\xb4\xed\xb2\x90\xed\xb2\x80\xed\xb2\x80" },
		{ "\xf8\x88\x80\x80", "\xed\xb3\xb8\xed\xb2\x88\xed\xb2\x80\xed\xb2\x80" },
		{ "x\xe2\x82", "x\xed\xb3\xa2\xed\xb2\x82" }, /* breaks off */
		{ "\xc3(", "\xed\xb3\x83(" },
	};
	f->layout.text_kind = PY_TEXT_BYTES;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect_text(f,
			    fake_bytes(&f->fake, f->bytes, cases[i].bytes, strlen(cases[i].bytes)),
			    cases[i].expected);
	expect_text(f, fake_bytes(&f->fake, f->bytes, "a\0b", 3), "a␀b");
	expect_reason(f, fake_bytes(&f->fake, f->unicode, "a", 1), REASON_BAD_TEXT);
	uint64_t text = fake_bytes(&f->fake, f->bytes, "a", 1);
	fake_put_u64(&f->fake, text + 16, UINT64_MAX);
	expect_reason(f, text, REASON_BAD_TEXT);
}

static uint64_t digest(struct fixture *f, uint64_t address)
{
	struct text_peek peek;
	assert_int_equal(text_peek(&f->fake.memory, &f->layout, 0, address, &peek), REASON_OK);
	return text_digest(&f->layout, peek.bytes, peek.size, 1);
}

static void test_digest_sees_what_a_str_is(void **state)
{
	struct fixture *f = *state;
	uint64_t text = fake_compact(&f->fake, f->unicode, 1, "caf\xe9", 4);
	uint64_t before = digest(f, text);
	fake_put_u64(&f->fake, text, 77);                       /* reference count */
	fake_put_u64(&f->fake, text + 24, 0x5555);              /* hash */
	fake_put_u32(&f->fake, text + 32, 3 | 1 << 2 | 1 << 5); /* interned */
	fake_put_u64(&f->fake, text + 40, 5);                   /* UTF-8 copy */
	fake_put_u64(&f->fake, text + 48, 0x1000);
	assert_int_equal(digest(f, text), before);
	fake_put_u8(&f->fake, text + 72, 'C');
	assert_int_not_equal(digest(f, text), before);
	fake_put_u8(&f->fake, text + 72, 'c');
	assert_int_equal(digest(f, text), before);
	fake_put_u64(&f->fake, text + 16, 3);
	assert_int_not_equal(digest(f, text), before);
	fake_put_u64(&f->fake, text + 16, 4);
	fake_put_u64(&f->fake, text + 8, fake_type(&f->fake, FAKE_UNICODE, "str"));
	assert_int_not_equal(digest(f, text), before);
}

static void test_known_type_is_not_asked_again(void **state)
{
	struct fixture *f = *state;
	uint64_t text = fake_ascii(&f->fake, f->unicode, "name");
	struct text_peek peek;
	fake_alloc(&f->fake, TEXT_PEEK_SIZE);
	f->fake.reads = 0;
	assert_int_equal(text_peek(&f->fake.memory, &f->layout, f->unicode, text, &peek),
			 REASON_OK);
	assert_int_equal(f->fake.reads, 1);
	assert_int_equal(peek.length, 4);
	fake_put_u64(&f->fake, text + 8, f->other);
	assert_int_equal(text_peek(&f->fake.memory, &f->layout, f->unicode, text, &peek),
			 REASON_BAD_TEXT);
	fake_put_u64(&f->fake, text + 8, 0);
	assert_int_equal(text_peek(&f->fake.memory, &f->layout, 0, text, &peek), REASON_BAD_TEXT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_ascii_takes_one_read),
		TEST(test_compact_kinds),
		TEST(test_undecodable_file_name),
		TEST(test_null_character),
		TEST(test_data_elsewhere),
		TEST(test_any_place_and_length),
		TEST(test_long_text_is_cut),
		TEST(test_contradictions),
		TEST(test_byte_strings),
		TEST(test_digest_sees_what_a_str_is),
		TEST(test_known_type_is_not_asked_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
