/* SPDX-License-Identifier: MIT */
/* A profile that grows, as a live view sees it: own and total time, recent and in all, by function and by line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "view/top_list.h"
#include "view/top_model.h"

#define S UINT64_C(1000000000)

struct fixture {
	struct profile *profile;
	struct top_model *model;
	uint32_t main_thread, other_thread;
	uint32_t main, work, work_other_line, c, cut; /* frames */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	assert_null(profile_create(&f->profile));
	assert_null(top_model_create(&f->model));
	struct profile *p = f->profile;
	uint32_t first = profile_process(p, 100, PROFILE_NONE);
	uint32_t second = profile_process(p, 200, first);
	f->main_thread = profile_thread(p, first, 100, "main");
	f->other_thread = profile_thread(p, second, 200, "Other");
	f->main = profile_frame(p, profile_function(p, "main", "/a.py", 1, PROFILE_PYTHON), 3);
	uint32_t work = profile_function(p, "work", "/a.py", 10, PROFILE_PYTHON);
	f->work = profile_frame(p, work, 11);
	f->work_other_line = profile_frame(p, work, 12);
	f->c = profile_frame(p, profile_function(p, "0/x", "/c.so", 0, PROFILE_NATIVE), 0);
	f->cut = profile_frame(p, profile_function(p, "[cut]", NULL, 0, PROFILE_MARKER), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	top_model_destroy(f->model);
	profile_destroy(f->profile);
	free(f);
	return 0;
}

static void add(struct fixture *f, uint32_t thread, unsigned flags, uint64_t ns,
		const uint32_t *frames, size_t count)
{
	assert_int_equal(profile_add(f->profile, thread, frames, count, REASON_OK, flags, ns,
				     ns / 2),
			 REASON_OK);
}

#define ADD(f, thread, flags, ns, ...)                                                             \
	add(f, thread, flags, ns, (const uint32_t[]){ __VA_ARGS__ },                               \
	    sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

/* A whole pass; how many steps it took. */
static size_t pass(struct fixture *f, uint64_t now_ns)
{
	size_t steps = 1;
	top_model_begin(f->model, f->profile, now_ns);
	while (!top_model_step(f->model))
		steps++;
	assert_false(top_model_failed(f->model));
	return steps;
}

static void again(struct fixture *f)
{
	top_model_again(f->model);
	while (!top_model_step(f->model))
		;
}

static const struct top_row *row(struct fixture *f, const char *name, uint32_t line)
{
	vec_foreach (found, top_model_rows(f->model))
		if (!strcmp(found->name, name) && found->line == line)
			return found;
	return NULL;
}

static void assert_recent(struct fixture *f, const char *name, uint32_t line, uint64_t own_ns,
			  uint64_t total_ns)
{
	const struct top_row *found = row(f, name, line);
	assert_non_null(found);
	assert_int_equal(found->recent.own_ns, own_ns);
	assert_int_equal(found->recent.total_ns, total_ns);
}

static void assert_all(struct fixture *f, const char *name, uint32_t line, uint64_t own_ns,
		       uint64_t total_ns)
{
	const struct top_row *found = row(f, name, line);
	assert_non_null(found);
	assert_int_equal(found->all.own_ns, own_ns);
	assert_int_equal(found->all.total_ns, total_ns);
}

static void own_time_is_the_innermost_functions(void **state)
{
	struct fixture *f = *state;
	ADD(f, f->main_thread, 0, 7, f->main, f->work);
	ADD(f, f->main_thread, 0, 2, f->main);
	pass(f, S);
	assert_recent(f, "main", 1, 2, 9);
	assert_recent(f, "work", 10, 7, 7);
	assert_all(f, "main", 1, 2, 9);
	assert_int_equal(top_model_recent_ns(f->model), 9);
	assert_int_equal(top_model_all_ns(f->model), 9);
}

static void recursion_counts_once_in_total(void **state)
{
	struct fixture *f = *state;
	ADD(f, f->main_thread, 0, 5, f->work, f->work_other_line, f->work);
	pass(f, S);
	assert_all(f, "work", 10, 5, 5);
}

/* The rows of its callers are made while that of the innermost function is counted. */
static void a_deep_stack_counts_for_all_its_functions(void **state)
{
	struct fixture *f = *state;
	uint32_t frames[100];
	for (uint32_t i = 0; i < 100; i++)
		frames[i] = profile_frame(f->profile,
					  profile_function(f->profile, "deep", NULL, i + 1,
							   PROFILE_PYTHON),
					  0);
	add(f, f->main_thread, 0, 5, frames, 100);
	pass(f, S);
	for (uint32_t i = 0; i < 100; i++)
		assert_all(f, "deep", i + 1, i == 99 ? 5 : 0, 5);
}

/* f → c → f → c: with leaf, only the inner c is a row's time, and it is not lost for the outer one's sake. */
static void recursion_through_native_frames_counts_once(void **state)
{
	struct fixture *f = *state;
	struct top_settings settings = { .native = true, .process = PROFILE_NONE };
	top_model_set(f->model, &settings);
	ADD(f, f->main_thread, 0, 5, f->work, f->c, f->work, f->c, f->c);
	ADD(f, f->main_thread, 0, 2, f->work, f->c, f->work);
	pass(f, S);
	assert_all(f, "0/x", 0, 5, 7);
	assert_all(f, "work", 10, 2, 7);
	settings.native_leaf = true;
	top_model_set(f->model, &settings);
	again(f);
	assert_all(f, "0/x", 0, 5, 5);
	assert_all(f, "work", 10, 2, 7);
}

static void what_is_older_than_five_seconds_is_not_recent(void **state)
{
	struct fixture *f = *state;
	pass(f, 10 * S);
	ADD(f, f->main_thread, 0, 7, f->main, f->work);
	pass(f, 11 * S);
	ADD(f, f->main_thread, 0, 1, f->main, f->work);
	pass(f, 15 * S);
	assert_recent(f, "work", 10, 8, 8);
	assert_int_equal(top_model_window_ns(f->model), 5 * S);
	pass(f, 16 * S);
	assert_recent(f, "work", 10, 1, 1);
	assert_recent(f, "main", 1, 0, 1);
	pass(f, 21 * S);
	assert_recent(f, "work", 10, 0, 0);
	assert_all(f, "work", 10, 8, 8);
	assert_int_equal(top_model_recent_ns(f->model), 0);
}

static void what_came_in_over_a_long_gap_is_not_recent(void **state)
{
	struct fixture *f = *state;
	pass(f, 10 * S);
	ADD(f, f->main_thread, 0, 7, f->main);
	pass(f, 16 * S);
	assert_recent(f, "main", 1, 0, 0);
	assert_all(f, "main", 1, 7, 7);
	ADD(f, f->main_thread, 0, 2, f->main);
	pass(f, 17 * S);
	assert_recent(f, "main", 1, 2, 2);
	assert_all(f, "main", 1, 9, 9);
}

static void a_line_has_a_row_of_its_own_when_asked_for(void **state)
{
	struct fixture *f = *state;
	struct top_settings settings = { .by_line = true, .process = PROFILE_NONE };
	ADD(f, f->main_thread, 0, 7, f->main, f->work);
	pass(f, S);
	ADD(f, f->main_thread, 0, 2, f->main, f->work_other_line);
	top_model_set(f->model, &settings);
	pass(f, 2 * S);
	assert_null(row(f, "work", 10));
	assert_recent(f, "work", 11, 7, 7);
	assert_recent(f, "work", 12, 2, 2);
	assert_all(f, "main", 3, 0, 9);
}

static void idle_time_counts_only_when_asked_for(void **state)
{
	struct fixture *f = *state;
	struct top_settings settings = { .idle = true, .process = PROFILE_NONE };
	ADD(f, f->main_thread, PROFILE_IDLE, 7, f->main);
	ADD(f, f->main_thread, PROFILE_GIL, 2, f->work);
	pass(f, S);
	assert_null(row(f, "main", 1));
	assert_int_equal(top_model_recent_ns(f->model), 2);
	const struct top_thread *thread = &top_model_threads(f->model)->items[f->main_thread];
	assert_int_equal(thread->recent.idle_ns, 7);
	assert_int_equal(thread->recent.running_ns, 2);
	assert_int_equal(thread->recent.gil_ns, 2);
	assert_int_equal(thread->flags, PROFILE_IDLE);
	top_model_set(f->model, &settings);
	again(f);
	assert_recent(f, "main", 1, 7, 7);
	assert_int_equal(top_model_recent_ns(f->model), 9);
	assert_int_equal(top_model_threads(f->model)->items[f->main_thread].all.idle_ns, 7);
}

static bool give_name(void *data, uint32_t function, char room[32], const char **name_ret)
{
	snprintf(room, 32, "%s", "draw");
	*name_ret = room;
	return *(bool *)data;
}

static void native_time_is_the_callers_until_native_rows_are_wanted(void **state)
{
	struct fixture *f = *state;
	bool shown = true;
	struct top_settings settings = { .native = true, .process = PROFILE_NONE };
	top_model_set_namer(f->model, &(struct top_namer){ give_name, &shown });
	ADD(f, f->main_thread, 0, 7, f->cut, f->c, f->main, f->c);
	pass(f, S);
	assert_int_equal(top_model_rows(f->model)->count, 1);
	assert_all(f, "main", 1, 7, 7);
	top_model_set(f->model, &settings);
	again(f);
	assert_all(f, "main", 1, 0, 7);
	assert_all(f, "draw", 0, 7, 7);
	/* Called by no Python frame, the outer one has no row then; here it is the same function. */
	shown = false;
	top_model_set(f->model, &settings);
	again(f);
	assert_null(row(f, "draw", 0));
	assert_all(f, "main", 1, 7, 7);
}

static void only_the_innermost_native_frames_with_leaf(void **state)
{
	struct fixture *f = *state;
	struct top_settings settings = { .native = true,
					 .native_leaf = true,
					 .process = PROFILE_NONE };
	top_model_set(f->model, &settings);
	ADD(f, f->main_thread, 0, 7, f->c, f->main);
	pass(f, S);
	assert_all(f, "main", 1, 7, 7);
	assert_all(f, "0/x", 0, 0, 0);
	ADD(f, f->main_thread, 0, 2, f->main, f->c);
	pass(f, 2 * S);
	assert_all(f, "0/x", 0, 2, 2);
}

static void a_process_is_seen_alone(void **state)
{
	struct fixture *f = *state;
	struct top_settings settings = { .process = 1 };
	ADD(f, f->main_thread, 0, 7, f->main);
	ADD(f, f->other_thread, 0, 2, f->main);
	top_model_set(f->model, &settings);
	pass(f, S);
	assert_all(f, "main", 1, 2, 2);
}

static void since_the_start_begins_anew_with_a_reset(void **state)
{
	struct fixture *f = *state;
	ADD(f, f->main_thread, 0, 7, f->main);
	pass(f, S);
	top_model_reset(f->model);
	again(f);
	assert_all(f, "main", 1, 0, 0);
	assert_recent(f, "main", 1, 7, 7);
	ADD(f, f->main_thread, 0, 2, f->main);
	pass(f, 2 * S);
	assert_all(f, "main", 1, 2, 2);
	assert_recent(f, "main", 1, 9, 9);
}

/* As when a person has paused: rows may change, times may not. */
static void counting_again_takes_nothing_new_in(void **state)
{
	struct fixture *f = *state;
	ADD(f, f->main_thread, 0, 7, f->main);
	pass(f, S);
	ADD(f, f->main_thread, 0, 2, f->main);
	ADD(f, f->other_thread, 0, 2, f->work);
	top_model_set(f->model, &(struct top_settings){ .process = PROFILE_NONE });
	again(f);
	assert_all(f, "main", 1, 7, 7);
	assert_null(row(f, "work", 10));
	pass(f, 2 * S);
	assert_all(f, "main", 1, 9, 9);
	assert_all(f, "work", 10, 2, 2);
}

/* Twenty thousand visits a step: 50000 samples, and as many stacks, need more than one. */
static void a_long_pass_is_cut_into_steps(void **state)
{
	struct fixture *f = *state;
	uint32_t function = f->profile->frames.items[f->work].function;
	for (uint32_t i = 0; i < 50000; i++)
		ADD(f, f->main_thread, 0, 1, f->main, profile_frame(f->profile, function, 100 + i));
	assert_in_range(pass(f, S), 5, 12);
	assert_all(f, "work", 10, 50000, 50000);
	assert_all(f, "main", 1, 0, 50000);
	ADD(f, f->main_thread, 0, 3, f->main);
	assert_in_range(pass(f, 7 * S), 5, 12);
	assert_recent(f, "work", 10, 0, 0);
	assert_all(f, "main", 1, 3, 50003);
}

/* As when a person changes the settings while there is much to count. */
static void a_pass_that_is_broken_off_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	uint32_t function = f->profile->frames.items[f->work].function;
	for (uint32_t i = 0; i < 50000; i++)
		ADD(f, f->main_thread, 0, 1, f->main, profile_frame(f->profile, function, 100 + i));
	for (int steps = 1; steps < 6; steps++) {
		top_model_begin(f->model, f->profile, S);
		for (int i = 0; i < steps; i++)
			assert_false(top_model_step(f->model));
		pass(f, S);
		assert_all(f, "main", 1, 0, 50000);
		assert_recent(f, "work", 10, 50000, 50000);
		top_model_set(f->model, top_model_settings(f->model));
	}
}

static void times_are_weighed_by_the_mode(void **state)
{
	struct fixture *f = *state;
	f->profile->facts.mode = PROFILE_CPU;
	ADD(f, f->main_thread, 0, 8, f->main);
	pass(f, S);
	assert_all(f, "main", 1, 4, 4);
	/* Those of threads are wall time. */
	assert_int_equal(top_model_threads(f->model)->items[f->main_thread].all.running_ns, 8);
}

/* ---- lists ---- */

static void assert_list(struct fixture *f, enum top_column column, const char *filter,
			const char *expected)
{
	struct top_row_list list = { 0 };
	size_t matches;
	char names[64] = "";
	assert_true(top_list_rows(f->model, column, filter, &list, &matches));
	assert_int_equal(matches, list.count);
	vec_foreach (found, &list) {
		strncat(names, (*found)->name, 20);
		strncat(names, " ", 2);
	}
	assert_string_equal(names, expected);
	top_row_list_deinit(&list);
}

static void rows_are_sorted_by_the_column(void **state)
{
	struct fixture *f = *state;
	pass(f, S);
	ADD(f, f->main_thread, 0, 20, f->work);
	pass(f, 2 * S);
	pass(f, 8 * S);
	ADD(f, f->main_thread, 0, 7, f->main);
	ADD(f, f->main_thread, 0, 3, f->main, f->work);
	pass(f, 9 * S);
	assert_list(f, TOP_RECENT_OWN, NULL, "main work ");
	assert_list(f, TOP_RECENT_TOTAL, NULL, "main work ");
	assert_list(f, TOP_ALL_OWN, NULL, "work main ");
	assert_list(f, TOP_ALL_TOTAL, NULL, "work main ");
}

static void a_filter_looks_at_names_and_files(void **state)
{
	struct fixture *f = *state;
	ADD(f, f->main_thread, 0, 7, f->main, f->work);
	pass(f, S);
	assert_list(f, TOP_ALL_OWN, "ORK", "work ");
	assert_list(f, TOP_ALL_OWN, "A.py", "work main ");
	assert_list(f, TOP_ALL_OWN, "nothing", "");
}

static void only_the_first_thousand_rows_are_listed(void **state)
{
	struct fixture *f = *state;
	for (uint32_t i = 0; i < 3000; i++) {
		char name[16];
		snprintf(name, sizeof(name), "f%u", i);
		uint32_t function = profile_function(f->profile, name, NULL, 0, PROFILE_PYTHON);
		uint32_t frame = profile_frame(f->profile, function, 0);
		/* 7919 is prime: in a mixed order each of 1 … 3000 once. */
		add(f, f->main_thread, 0, (uint64_t)i * 7919 % 3000 + 1, &frame, 1);
	}
	pass(f, S);
	struct top_row_list list = { 0 };
	size_t matches;
	assert_true(top_list_rows(f->model, TOP_ALL_OWN, "", &list, &matches));
	assert_int_equal(matches, 3000);
	assert_int_equal(list.count, 1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(list.items[i]->all.own_ns, 3000 - i);
	top_row_list_deinit(&list);
}

static void the_busiest_thread_comes_first(void **state)
{
	struct fixture *f = *state;
	struct top_thread_list list = { 0 };
	ADD(f, f->main_thread, PROFILE_IDLE, 7, f->main);
	ADD(f, f->other_thread, PROFILE_GIL, 2, f->work);
	pass(f, S);
	assert_true(top_list_threads(f->model, "", &list));
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0], f->other_thread);
	assert_true(top_list_threads(f->model, "MAIN", &list));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0], f->main_thread);
	const struct top_thread *thread = &top_model_threads(f->model)->items[f->other_thread];
	assert_string_equal(top_model_leaf(f->model, thread->stack)->name, "work");
	/* Threads that were not seen for a while are not there any more. */
	pass(f, 7 * S);
	assert_true(top_list_threads(f->model, "", &list));
	assert_int_equal(list.count, 0);
	top_thread_list_deinit(&list);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(own_time_is_the_innermost_functions),
		TEST(recursion_counts_once_in_total),
		TEST(a_deep_stack_counts_for_all_its_functions),
		TEST(recursion_through_native_frames_counts_once),
		TEST(what_is_older_than_five_seconds_is_not_recent),
		TEST(what_came_in_over_a_long_gap_is_not_recent),
		TEST(a_line_has_a_row_of_its_own_when_asked_for),
		TEST(idle_time_counts_only_when_asked_for),
		TEST(native_time_is_the_callers_until_native_rows_are_wanted),
		TEST(only_the_innermost_native_frames_with_leaf),
		TEST(a_process_is_seen_alone),
		TEST(since_the_start_begins_anew_with_a_reset),
		TEST(counting_again_takes_nothing_new_in),
		TEST(a_long_pass_is_cut_into_steps),
		TEST(a_pass_that_is_broken_off_leaves_nothing),
		TEST(times_are_weighed_by_the_mode),
		TEST(rows_are_sorted_by_the_column),
		TEST(a_filter_looks_at_names_and_files),
		TEST(only_the_first_thousand_rows_are_listed),
		TEST(the_busiest_thread_comes_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
