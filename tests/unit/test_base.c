/* SPDX-License-Identifier: MIT */
/* test_base.c: reader, hash, intern, strbuf, error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/reader.h"
#include "base/reason.h"
#include "base/strbuf.h"

static void reader_stops_at_the_end(void **state)
{
	const uint8_t bytes[] = { 1, 2, 3, 4, 5 };
	struct reader r = reader_make(bytes, sizeof(bytes));
	uint32_t word = 7;
	assert_true(reader_u32(&r, &word));
	assert_int_equal(word, 0x04030201);
	assert_int_equal(reader_left(&r), 1);
	assert_false(reader_u32(&r, &word));
	assert_int_equal(word, 0x04030201);
	/* One failure poisons it: the byte that is left is not given out any more. */
	uint8_t byte = 9;
	assert_false(reader_u8(&r, &byte));
	assert_int_equal(byte, 9);
}

static void reader_takes_no_string_without_its_end(void **state)
{
	struct reader r = reader_make("ab\0cd", 5);
	assert_string_equal(reader_string(&r), "ab");
	assert_null(reader_string(&r));
	assert_true(r.failed);
}

static bool uleb(const char *bytes, size_t size, uint64_t *value)
{
	struct reader r = reader_make(bytes, size);
	return reader_uleb128(&r, value) && reader_left(&r) == 0;
}

static bool sleb(const char *bytes, size_t size, int64_t *value)
{
	struct reader r = reader_make(bytes, size);
	return reader_sleb128(&r, value) && reader_left(&r) == 0;
}

static void leb128_of_the_dwarf_standard(void **state)
{
	uint64_t u;
	int64_t s;
	assert_true(uleb("\x02", 1, &u) && u == 2);
	assert_true(uleb("\x80\x01", 2, &u) && u == 128);
	assert_true(uleb("\xb9\x64", 2, &u) && u == 12857);
	assert_true(uleb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &u) && u == UINT64_MAX);
	assert_true(sleb("\x02", 1, &s) && s == 2);
	assert_true(sleb("\x7e", 1, &s) && s == -2);
	assert_true(sleb("\xff\x00", 2, &s) && s == 127);
	assert_true(sleb("\x81\x7f", 2, &s) && s == -127);
	assert_true(sleb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, &s) && s == INT64_MIN);
}

static void leb128_that_does_not_fit_fails(void **state)
{
	uint64_t u;
	int64_t s;
	assert_false(uleb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, &u));
	assert_false(uleb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, &u));
	assert_false(uleb("\x80", 1, &u));
	assert_false(sleb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x3f", 10, &s));
	/* Padding that repeats the sign is legal, without end it is not. */
	assert_true(sleb("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, &s) && s == -2);
	char endless[64];
	memset(endless, 0x80, sizeof(endless));
	assert_false(uleb(endless, sizeof(endless), &u));
}

static void hash_keeps_what_is_put_in(void **state)
{
	struct hash hash = { 0 };
	static char values[1000];
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(hash_set(&hash, i * 4096, &values[i]));
	assert_int_equal(hash.count, 1000);
	for (uint64_t i = 0; i < 1000; i += 2)
		assert_ptr_equal(hash_remove(&hash, i * 4096), &values[i]);
	assert_int_equal(hash.count, 500);
	for (uint64_t i = 0; i < 1000; i++)
		assert_ptr_equal(hash_get(&hash, i * 4096), i % 2 ? &values[i] : NULL);
	assert_null(hash_remove(&hash, 0));
	assert_null(hash_get(&hash, 1));
	hash_deinit(&hash);
	assert_null(hash_get(&hash, 4096));
}

static void intern_gives_equal_texts_the_same_id(void **state)
{
	struct intern table = { 0 };
	assert_int_equal(intern_add(&table, "a"), 0);
	assert_int_equal(intern_add(&table, "b"), 1);
	assert_int_equal(intern_add(&table, "a"), 0);
	assert_int_equal(intern_add(&table, ""), 2);
	assert_string_equal(intern_text(&table, 1), "b");
	intern_deinit(&table);
}

static void strbuf_writes_utf8(void **state)
{
	struct strbuf buf = { 0 };
	strbuf_add_codepoint(&buf, 'a');
	strbuf_add_codepoint(&buf, 0xe9);
	strbuf_add_codepoint(&buf, 0x20ac);
	strbuf_add_codepoint(&buf, 0x1f600);
	strbuf_addf(&buf, "%d", 7);
	assert_string_equal(buf.text, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"
				      "7");
	char *text = strbuf_steal(&buf);
	assert_null(buf.text);
	free(text);
	text = strbuf_steal(&buf);
	assert_string_equal(text, "");
	free(text);
}

static void errors_tell_what_and_why(void **state)
{
	struct error *err = error_errno(ENOENT, "cannot open %s", "x");
	assert_int_equal(err->code, ERROR_ERRNO);
	assert_string_equal(err->message, "cannot open x: No such file or directory");
	err = error_prefix(err, "process %d", 7);
	assert_string_equal(err->message, "process 7: cannot open x: No such file or directory");
	assert_false(error_catch(&err, ERROR_GONE));
	assert_true(error_catch(&err, ERROR_ERRNO));
	assert_null(err);
	assert_ptr_equal(error_errno(ENOMEM, "x"), error_no_memory());
	error_destroy(error_no_memory());
}

static void reasons_have_names(void **state)
{
	assert_string_equal(reason_name(REASON_OK), "ok");
	assert_string_equal(reason_name(REASON_TORN_CHAIN), "torn_chain");
	assert_string_equal(reason_name((enum reason)9999), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reader_stops_at_the_end),
		cmocka_unit_test(reader_takes_no_string_without_its_end),
		cmocka_unit_test(leb128_of_the_dwarf_standard),
		cmocka_unit_test(leb128_that_does_not_fit_fails),
		cmocka_unit_test(hash_keeps_what_is_put_in),
		cmocka_unit_test(intern_gives_equal_texts_the_same_id),
		cmocka_unit_test(strbuf_writes_utf8),
		cmocka_unit_test(errors_tell_what_and_why),
		cmocka_unit_test(reasons_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
