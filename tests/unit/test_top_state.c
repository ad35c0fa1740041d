/* SPDX-License-Identifier: MIT */
/* What keys change in a live view. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "view/top_state.h"

static struct top_state fresh(void)
{
	return (struct top_state){
		.settings = { .process = PROFILE_NONE },
		.page_rows = 10,
		.row_count = 25,
		.process_count = 1,
	};
}

static void press(struct top_state *state, const char *keys)
{
	for (; *keys; keys++)
		top_state_key(state, (unsigned char)*keys);
}

static void digits_and_arrows_choose_the_column(void **state)
{
	struct top_state s = fresh();
	press(&s, "3");
	assert_int_equal(s.column, TOP_ALL_OWN);
	top_state_key(&s, TOP_KEY_RIGHT);
	top_state_key(&s, TOP_KEY_RIGHT);
	assert_int_equal(s.column, TOP_ALL_TOTAL);
	press(&s, "<<<<<");
	assert_int_equal(s.column, TOP_RECENT_OWN);
}

static void scrolling_stays_within_the_rows(void **state)
{
	struct top_state s = fresh();
	top_state_key(&s, TOP_KEY_UP);
	assert_int_equal(s.scroll, 0);
	press(&s, "j");
	assert_int_equal(s.scroll, 1);
	top_state_key(&s, TOP_KEY_PAGE_DOWN);
	assert_int_equal(s.scroll, 11);
	top_state_key(&s, TOP_KEY_PAGE_DOWN);
	assert_int_equal(s.scroll, 15);
	top_state_key(&s, TOP_KEY_HOME);
	top_state_key(&s, TOP_KEY_END);
	assert_int_equal(s.scroll, 15);
	s.row_count = 12;
	top_state_clamp(&s);
	assert_int_equal(s.scroll, 2);
	press(&s, "2");
	assert_int_equal(s.scroll, 0);
}

static void text_is_typed_into_the_filter(void **state)
{
	struct top_state s = fresh();
	press(&s, "/qx");
	top_state_key(&s, 0xe9);
	assert_string_equal(s.filter, "qx\xc3\xa9");
	assert_false(s.quit);
	top_state_key(&s, TOP_KEY_BACKSPACE);
	assert_string_equal(s.filter, "qx");
	press(&s, "\r");
	assert_false(s.typing);
	assert_string_equal(s.filter, "qx");
	press(&s, "/more\033");
	assert_string_equal(s.filter, "qx");
	press(&s, "\033");
	assert_string_equal(s.filter, "");
}

static void a_filter_is_never_too_long(void **state)
{
	struct top_state s = fresh();
	press(&s, "/");
	for (int i = 0; i < 200; i++)
		top_state_key(&s, 0x65e5);
	assert_int_equal(strlen(s.filter), 126);
	for (int i = 0; i < 200; i++)
		top_state_key(&s, TOP_KEY_BACKSPACE);
	assert_string_equal(s.filter, "");
	press(&s, "abc\025");
	assert_string_equal(s.filter, "");
}

static void settings_are_marked_as_changed(void **state)
{
	struct top_state s = fresh();
	press(&s, "l");
	assert_true(s.settings.by_line && s.settings_changed);
	s.settings_changed = false;
	press(&s, "i");
	assert_true(s.settings.idle && s.settings_changed);
	press(&s, "ir");
	assert_true(!s.settings.idle && s.reset);
}

static void native_frames_need_to_be_sampled(void **state)
{
	struct top_state s = fresh();
	press(&s, "n");
	assert_false(s.settings_changed);
	assert_non_null(strstr(s.message, "--native"));
	s.has_native = true;
	press(&s, "n");
	assert_true(s.settings.native && s.settings_changed);
	assert_null(s.message);
}

static void processes_are_shown_one_after_the_other(void **state)
{
	struct top_state s = fresh();
	press(&s, "P");
	assert_false(s.settings_changed);
	assert_non_null(s.message);
	s.process_count = 2;
	press(&s, "P");
	assert_int_equal(s.settings.process, 0);
	press(&s, "P");
	assert_int_equal(s.settings.process, 1);
	press(&s, "P");
	assert_int_equal(s.settings.process, PROFILE_NONE);
}

static void a_pause_ends_with_the_same_key(void **state)
{
	struct top_state s = fresh();
	press(&s, " ");
	assert_true(s.paused);
	press(&s, "p");
	assert_false(s.paused);
	s.ended = true;
	press(&s, " ");
	assert_false(s.paused);
	assert_non_null(s.message);
}

static void the_help_goes_back_to_where_it_was_called(void **state)
{
	struct top_state s = fresh();
	press(&s, "t?");
	assert_int_equal(s.page, TOP_HELP);
	press(&s, "r");
	assert_int_equal(s.page, TOP_THREADS);
	assert_false(s.reset);
	top_state_key(&s, TOP_KEY_HELP);
	top_state_key(&s, TOP_KEY_REDRAW);
	assert_int_equal(s.page, TOP_HELP);
	press(&s, "?");
	assert_int_equal(s.page, TOP_THREADS);
	press(&s, "\t");
	assert_int_equal(s.page, TOP_FUNCTIONS);
}

static void some_keys_end_it_from_anywhere(void **state)
{
	struct top_state s = fresh();
	press(&s, "?q");
	assert_true(s.quit);
	s = fresh();
	press(&s, "/");
	top_state_key(&s, TOP_KEY_GONE);
	assert_true(s.quit);
	s = fresh();
	press(&s, "/\003");
	assert_true(s.quit);
	s = fresh();
	top_state_key(&s, TOP_KEY_QUIT);
	assert_true(s.quit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits_and_arrows_choose_the_column),
		cmocka_unit_test(scrolling_stays_within_the_rows),
		cmocka_unit_test(text_is_typed_into_the_filter),
		cmocka_unit_test(a_filter_is_never_too_long),
		cmocka_unit_test(settings_are_marked_as_changed),
		cmocka_unit_test(native_frames_need_to_be_sampled),
		cmocka_unit_test(processes_are_shown_one_after_the_other),
		cmocka_unit_test(a_pause_ends_with_the_same_key),
		cmocka_unit_test(the_help_goes_back_to_where_it_was_called),
		cmocka_unit_test(some_keys_end_it_from_anywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
