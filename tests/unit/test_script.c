/* SPDX-License-Identifier: MIT */
/* Given this text of a target, these bytes in a script of a page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "write/script.h"

static void expect_text(const char *text, const char *expected)
{
	char *written;
	size_t size;
	struct script script = { .stream = open_memstream(&written, &size) };
	assert_non_null(script.stream);
	script_text(&script, text);
	assert_int_equal(fclose(script.stream), 0);
	assert_false(script.failed);
	assert_string_equal(written, expected);
	script_deinit(&script);
	free(written);
}

static void no_text_ends_the_script_or_means_something_in_it(void **state)
{
	expect_text(NULL, "null");
	expect_text("", "\"\"");
	expect_text("work", "\"work\"");
	expect_text("</script>", "\"\\u003c/script\\u003e\"");
	expect_text("<!--", "\"\\u003c!--\"");
	expect_text("]]>&amp;", "\"]]\\u003e\\u0026amp;\"");
	expect_text("a\"b'c", "\"a\\u0022b\\u0027c\"");
	expect_text("back\\slash", "\"back\\u005cslash\"");
	expect_text("\n\t\x01", "\"\\u000a\\u0009\\u0001\"");
	expect_text("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", "\"\\u2028\\u2029\xe2\x80\xaa\"");
	expect_text("h\xc3\xa9\xf0\x9f\x90\x8d", "\"h\xc3\xa9\xf0\x9f\x90\x8d\"");
	/* Bytes that are not UTF-8 by the rule of text.h, whose backslash is escaped for JSON. */
	expect_text("\xff\xed\xa0\x80", "\"\\u005cxff\\u005cxed\\u005cxa0\\u005cx80\"");
	expect_text("\xe2\x80", "\"\\u005cxe2\\u005cx80\"");
}

static void numbers_and_arguments(void **state)
{
	char *written;
	size_t size;
	struct script script = { .stream = open_memstream(&written, &size) };
	script_number(&script, 0);
	script_raw(&script, " ");
	script_number(&script, UINT64_MAX);
	script_raw(&script, " ");
	script_argv(&script, &(struct profile_argv){ .bytes = (char[]){ "a\0\0</b" }, .size = 7 });
	script_argv(&script, &(struct profile_argv){ .bytes = NULL });
	assert_int_equal(fclose(script.stream), 0);
	assert_string_equal(written, "0 18446744073709551615 [\"a\",\"\",\"\\u003c/b\"]null");
	script_deinit(&script);
	free(written);
}

static void a_page_is_cut_where_its_data_goes(void **state)
{
	char *written;
	size_t size;
	FILE *stream = open_memstream(&written, &size);
	script_page("<a>\n@data\n</a>\n", true, stream);
	fputs("[1]\n", stream);
	script_page("<a>\n@data\n</a>\n", false, stream);
	assert_int_equal(fclose(stream), 0);
	assert_string_equal(written, "<a>\n[1]\n</a>\n");
	free(written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_text_ends_the_script_or_means_something_in_it),
		cmocka_unit_test(numbers_and_arguments),
		cmocka_unit_test(a_page_is_cut_where_its_data_goes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
