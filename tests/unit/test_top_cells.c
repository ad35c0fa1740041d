/* SPDX-License-Identifier: MIT */
/* Text of a target in the columns of a terminal's line. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "view/top_cells.h"

static void assert_cells(const char *text, size_t columns, bool tail, const wchar_t *expected,
			 size_t filled)
{
	wchar_t cells[TOP_CELLS_MAX];
	assert_int_equal(top_cells(text, columns, tail, cells), filled);
	assert_int_equal(wcscmp(cells, expected), 0);
}

static int use_utf8(void **state)
{
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

/* In the place of those that need one. */
static void there_is_no_locale_with_utf8(void **state)
{
	print_message("skipped: this machine has no locale C.UTF-8\n");
	skip();
}

static int use_ascii(void **state)
{
	return setlocale(LC_CTYPE, "C") ? 0 : -1;
}

static void text_that_fits_stays_as_it_is(void **state)
{
	assert_cells("work", 4, false, L"work", 4);
	assert_cells("", 4, false, L"", 0);
	assert_cells("work", 0, false, L"", 0);
}

static void what_is_cut_has_a_mark(void **state)
{
	assert_cells("abcdef", 5, false, L"abcd~", 5);
	assert_cells("abcdef", 5, true, L"~cdef", 5);
	assert_cells("abcdef", 1, false, L"~", 1);
	assert_cells("abcdef", 1, true, L"~", 1);
}

static void wide_characters_take_two_columns(void **state)
{
	assert_cells("日本語", 6, false, L"日本語", 6);
	/* Two of them and a mark would be five columns, one more than there are. */
	assert_cells("日本語", 4, false, L"日~", 3);
	assert_cells("日本語", 4, true, L"~語", 3);
}

static void combining_characters_take_none(void **state)
{
	assert_cells("e\xcc\x81"
		     "a",
		     2, false,
		     L"e\x301"
		     L"a",
		     2);
	/* One without a base, and more than a cell holds. */
	assert_cells("\xcc\x81x", 4, false, L"x", 1);
	assert_cells("x\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81", 4, false,
		     L"x\x301\x301\x301\x301", 1);
}

static void control_characters_never_reach_the_terminal(void **state)
{
	assert_cells("a\033[2Jb\n", 40, false, L"a\\x1b[2Jb\\x0a", 13);
	assert_cells("\xc2\x9b"
		     "m",
		     40, false, L"\\xc2\\x9bm", 9);
	assert_cells("a\xff", 40, false, L"a\\xff", 5);
}

static void what_turns_or_joins_text_is_replaced(void **state)
{
	/* U+202E and U+200D. */
	assert_cells("a\xe2\x80\xae"
		     "b\xe2\x80\x8d"
		     "c",
		     40, false, L"a?b?c", 5);
}

static void what_the_locale_can_not_show_is_replaced(void **state)
{
	assert_cells("na\xc3\xafve", 40, false, L"na?ve", 5);
}

static void no_text_is_too_long(void **state)
{
	char text[10000];
	wchar_t cells[TOP_CELLS_MAX];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(top_cells(text, 9999, false, cells), TOP_CELLS_MAX / 2);
	for (size_t i = 1; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xcc\x81", 2);
	assert_in_range(top_cells(text, 9999, true, cells), 1, TOP_CELLS_MAX / 2);
}

int main(void)
{
	const struct CMUnitTest utf8[] = {
		cmocka_unit_test(text_that_fits_stays_as_it_is),
		cmocka_unit_test(what_is_cut_has_a_mark),
		cmocka_unit_test(wide_characters_take_two_columns),
		cmocka_unit_test(combining_characters_take_none),
		cmocka_unit_test(control_characters_never_reach_the_terminal),
		cmocka_unit_test(what_turns_or_joins_text_is_replaced),
		cmocka_unit_test(no_text_is_too_long),
	};
	const struct CMUnitTest ascii[] = {
		cmocka_unit_test(text_that_fits_stays_as_it_is),
		cmocka_unit_test(control_characters_never_reach_the_terminal),
		cmocka_unit_test(what_the_locale_can_not_show_is_replaced),
	};
	const struct CMUnitTest none[] = { cmocka_unit_test(there_is_no_locale_with_utf8) };
	int failed = setlocale(LC_CTYPE, "C.UTF-8") ? cmocka_run_group_tests(utf8, use_utf8, NULL)
						    : cmocka_run_group_tests(none, NULL, NULL);
	return failed + cmocka_run_group_tests(ascii, use_ascii, NULL);
}
