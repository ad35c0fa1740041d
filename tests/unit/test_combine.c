/* SPDX-License-Identifier: MIT */
/* Given two profiles, this one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "aggregate/combine.h"

static struct profile *make(int pid, const char *leaf, unsigned ns)
{
	struct profile *p;
	assert_null(profile_create(&p));
	uint32_t process = profile_process(p, pid, PROFILE_NONE);
	uint32_t child = profile_process(p, pid + 1, process);
	profile_fact(&p->processes.items[process].python_version, "9.8.7");
	profile_fact_argv(&p->processes.items[process].argv, "a\0b", 4);
	uint32_t thread = profile_thread(p, child, pid + 1, "kernel");
	profile_thread_set_python_name(p, thread, "Main");
	uint32_t main = profile_frame(p, profile_function(p, "main", "m.py", 1, PROFILE_PYTHON), 5);
	uint32_t own = profile_frame(p, profile_function(p, leaf, "m.py", 7, PROFILE_PYTHON), 8);
	profile_add(p, thread, (uint32_t[]){ main, own }, 2, REASON_OK, PROFILE_IDLE, ns, 1);
	profile_add(p, thread, NULL, 0, REASON_OK, 0, 1, 0);
	return p;
}

static void both_profiles_are_in_the_combined_one(void **state)
{
	struct profile *a = make(10, "work", 100), *b = make(20, "work", 50);
	struct profile *c = make(30, "rest", 7), *all;
	assert_null(profile_create(&all));
	assert_null(profile_append(all, a));
	assert_null(profile_append(all, b));
	assert_null(profile_append(all, c));
	profile_destroy(a);
	profile_destroy(b);
	profile_destroy(c);

	assert_int_equal(all->processes.count, 6);
	assert_int_equal(all->processes.items[3].pid, 21);
	assert_int_equal(all->processes.items[3].parent, 2);
	assert_int_equal(all->processes.items[2].parent, PROFILE_NONE);
	assert_string_equal(all->processes.items[4].python_version, "9.8.7");
	assert_memory_equal(all->processes.items[4].argv.bytes, "a\0b", 4);
	assert_int_equal(all->threads.count, 3);
	assert_int_equal(all->threads.items[2].process, 5);
	assert_string_equal(profile_thread_name(all, 2), "Main");
	/* What both know is there once. */
	assert_int_equal(all->functions.count, 3);
	assert_int_equal(all->stacks.count, 3);
	assert_int_equal(all->samples.count, 6);
	const struct profile_sample *second = &all->samples.items[2];
	assert_int_equal(second->thread, 1);
	assert_int_equal(second->stack, all->samples.items[0].stack);
	assert_int_equal(second->wall_ns, 50);
	assert_int_equal(second->flags, PROFILE_IDLE);
	assert_int_equal(all->samples.items[5].stack, PROFILE_NONE);
	profile_destroy(all);
}

static void too_many_stacks_are_an_error(void **state)
{
	struct profile *a = make(10, "work", 100), *all;
	assert_null(profile_create(&all));
	all->stacks_max = 1;
	struct error *err = profile_append(all, a);
	assert_non_null(err);
	assert_string_equal(err->message,
			    "the profiles have more stacks together than one can hold");
	error_destroy(err);
	profile_destroy(a);
	profile_destroy(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_profiles_are_in_the_combined_one),
		cmocka_unit_test(too_many_stacks_are_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
