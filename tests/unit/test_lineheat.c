/* SPDX-License-Identifier: MIT */
/* test_lineheat.c: given these stacks, these weights of lines, files and calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/strbuf.h"
#include "write/lineheat.h"

struct fixture {
	struct profile *profile;
	uint32_t thread, main, work, fib;
};

static uint32_t python(struct profile *p, const char *name, const char *file, uint32_t first)
{
	return profile_function(p, name, file, first, PROFILE_PYTHON);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	assert_null(profile_create(&f->profile));
	struct profile *p = f->profile;
	f->thread = profile_thread(p, profile_process(p, 1, PROFILE_NONE), 1, "t");
	f->main = python(p, "main", "b.py", 1);
	f->work = python(p, "work", "a.py", 10);
	f->fib = python(p, "fib", "a.py", 20);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	profile_destroy(f->profile);
	free(f);
	return 0;
}

static void add(struct fixture *f, uint64_t ns, const uint32_t *frames, size_t count)
{
	assert_int_equal(profile_add(f->profile, f->thread, frames, count, REASON_OK, 0, ns, 0),
			 REASON_OK);
}
#define ADD(f, ns, ...)                                                                            \
	add(f, ns, (uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)

static void add_weight(struct strbuf *text, const struct lineheat_weight *weight)
{
	strbuf_addf(text, " %u/%u", (unsigned)weight->count, (unsigned)weight->ns);
}

/* A line for each file, cell and call, "FILE[:LINE[ NAME]] OWN TOTAL" with samples/ns. */
static void expect(struct fixture *f, bool no_line, const char *expected)
{
	const struct profile *p = f->profile;
	_cleanup_lineheat_ struct lineheat *heat = NULL;
	assert_null(lineheat_create(p, no_line, &heat));
	_cleanup_strbuf_ struct strbuf text = { 0 };
	vec_foreach (file, &heat->files) {
		strbuf_adds(&text, intern_text(&p->strings, file->file));
		add_weight(&text, &file->own);
		add_weight(&text, &file->total);
		strbuf_addc(&text, '\n');
	}
	vec_foreach (cell, &heat->cells) {
		uint32_t file = heat->files.items[cell->file].file;
		strbuf_addf(&text, "%s:%u", intern_text(&p->strings, file), cell->line);
		add_weight(&text, &cell->own);
		add_weight(&text, &cell->total);
		strbuf_addc(&text, '\n');
	}
	vec_foreach (call, &heat->calls) {
		const struct lineheat_cell *cell = &heat->cells.items[call->cell];
		uint32_t name = p->functions.items[call->function].name;
		strbuf_addf(&text, "%u %s", cell->line, intern_text(&p->strings, name));
		add_weight(&text, &call->weight);
		strbuf_addc(&text, '\n');
	}
	strbuf_adds(&text, "all");
	add_weight(&text, &heat->all);
	assert_string_equal(text.text, expected);
}

static void the_innermost_line_owns_the_time(void **state)
{
	struct fixture *f = *state;
	uint32_t main_2 = profile_frame(f->profile, f->main, 2);
	uint32_t work_12 = profile_frame(f->profile, f->work, 12);
	uint32_t work_11 = profile_frame(f->profile, f->work, 11);
	ADD(f, 10, main_2, work_12);
	ADD(f, 10, main_2, work_12);
	ADD(f, 5, main_2, work_11);
	ADD(f, 1, main_2);
	expect(f, false,
	       "b.py 1/1 4/26\na.py 3/25 3/25\n"
	       "b.py:2 1/1 4/26\na.py:11 1/5 1/5\na.py:12 2/20 2/20\n"
	       "2 work 3/25\n"
	       "all 4/26");
}

static void recursion_counts_once(void **state)
{
	struct fixture *f = *state;
	uint32_t main_2 = profile_frame(f->profile, f->main, 2);
	uint32_t fib_21 = profile_frame(f->profile, f->fib, 21);
	uint32_t fib_22 = profile_frame(f->profile, f->fib, 22);
	ADD(f, 7, main_2, fib_21, fib_21, fib_21, fib_22);
	expect(f, false,
	       "b.py 0/0 1/7\na.py 1/7 1/7\n"
	       "b.py:2 0/0 1/7\na.py:21 0/0 1/7\na.py:22 1/7 1/7\n"
	       "2 fib 1/7\n21 fib 1/7\n"
	       "all 1/7");
}

static void native_time_is_that_of_the_line_that_called(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t start =
		profile_frame(p, profile_function(p, "_start", "/bin/py", 0, PROFILE_NATIVE), 0);
	uint32_t apply =
		profile_frame(p, profile_function(p, "apply", "/c.so", 0, PROFILE_NATIVE), 0);
	uint32_t main_2 = profile_frame(p, f->main, 2), work_11 = profile_frame(p, f->work, 11);
	ADD(f, 3, start, main_2, apply, work_11, apply);
	ADD(f, 9, start);
	expect(f, false,
	       "b.py 0/0 1/3\na.py 1/3 1/3\n"
	       "b.py:2 0/0 1/3\na.py:11 1/3 1/3\n"
	       "2 work 1/3\n"
	       "all 2/12");
}

static void calls_are_the_heaviest_first(void **state)
{
	struct fixture *f = *state;
	uint32_t main_2 = profile_frame(f->profile, f->main, 2);
	ADD(f, 1, main_2, profile_frame(f->profile, f->work, 0));
	ADD(f, 2, main_2, profile_frame(f->profile, f->fib, 0));
	expect(f, false,
	       "b.py 0/0 2/3\na.py 2/3 2/3\n"
	       "b.py:2 0/0 2/3\na.py:0 2/3 2/3\n"
	       "2 fib 1/2\n2 work 1/1\n"
	       "all 2/3");
}

static void without_lines_all_is_at_the_definition(void **state)
{
	struct fixture *f = *state;
	ADD(f, 1, profile_frame(f->profile, f->work, 11));
	ADD(f, 1, profile_frame(f->profile, f->work, 12));
	expect(f, true,
	       "a.py 2/2 2/2\n"
	       "a.py:10 2/2 2/2\n"
	       "all 2/2");
}

static void a_profile_without_python_has_no_lines(void **state)
{
	struct fixture *f = *state;
	add(f, 4, NULL, 0);
	expect(f, false, "all 1/4");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_innermost_line_owns_the_time),
		TEST(recursion_counts_once),
		TEST(native_time_is_that_of_the_line_that_called),
		TEST(calls_are_the_heaviest_first),
		TEST(without_lines_all_is_at_the_definition),
		TEST(a_profile_without_python_has_no_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
