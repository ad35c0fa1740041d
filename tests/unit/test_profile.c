/* SPDX-License-Identifier: MIT */
/* Stacks handed to a profile: what is kept once, what is added up, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "aggregate/profile.h"

struct fixture {
	struct profile *profile;
	uint32_t thread;
	uint32_t main, work, work_other_line, leaf; /* frames */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	assert_null(profile_create(&f->profile));
	struct profile *p = f->profile;
	f->thread = profile_thread(p, profile_process(p, 1, PROFILE_NONE), 100, "python");
	f->main = profile_frame(p, profile_function(p, "main", "/a.py", 1, PROFILE_PYTHON), 3);
	uint32_t work = profile_function(p, "work", "/a.py", 10, PROFILE_PYTHON);
	f->work = profile_frame(p, work, 11);
	f->work_other_line = profile_frame(p, work, 12);
	f->leaf = profile_frame(p, profile_function(p, "leaf", NULL, 0, PROFILE_NATIVE), 0);
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

static void functions_differ_in_every_field(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t id = profile_function(p, "f", "/a.py", 5, PROFILE_PYTHON);
	assert_int_equal(profile_function(p, "f", "/a.py", 5, PROFILE_PYTHON), id);
	assert_int_equal(profile_function(p, "g", "/a.py", 5, PROFILE_PYTHON), id + 1);
	assert_int_equal(profile_function(p, "f", "/b.py", 5, PROFILE_PYTHON), id + 2);
	assert_int_equal(profile_function(p, "f", "/a.py", 6, PROFILE_PYTHON), id + 3);
	assert_int_equal(profile_function(p, "f", "/a.py", 5, PROFILE_NATIVE), id + 4);
	assert_int_equal(profile_function(p, "f", NULL, 5, PROFILE_PYTHON), id + 5);
	assert_int_equal(profile_function(p, "f", NULL, 5, PROFILE_PYTHON), id + 5);
	assert_int_equal(profile_function(p, "f", "/a.py", 5, PROFILE_PYTHON), id);

	const struct profile_function *function = &p->functions.items[id + 3];
	assert_string_equal(intern_text(&p->strings, function->name), "f");
	assert_string_equal(intern_text(&p->strings, function->file), "/a.py");
	assert_int_equal(function->firstlineno, 6);
	assert_int_equal(p->functions.items[id + 5].file, PROFILE_NONE);
}

static void frames_are_kept_once(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	size_t count = p->frames.count;
	uint32_t function = p->frames.items[f->work].function;
	assert_int_equal(profile_frame(p, function, 11), f->work);
	assert_int_equal(p->frames.count, count);
	assert_int_not_equal(f->work, f->work_other_line);
	assert_int_equal(profile_frame(p, PROFILE_NONE, 1), PROFILE_NONE);
}

static void stacks_share_their_outer_part(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t a, b, c;
	assert_int_equal(profile_stack(p, (uint32_t[]){ f->main, f->work, f->leaf }, 3, &a), 0);
	assert_int_equal(profile_stack(p, (uint32_t[]){ f->main, f->work_other_line }, 2, &b), 0);
	assert_int_equal(profile_stack(p, (uint32_t[]){ f->main, f->work, f->leaf }, 3, &c), 0);
	assert_int_equal(a, c);
	assert_int_equal(p->stacks.count, 4); /* main, work, leaf, work at the other line */

	assert_int_equal(p->stacks.items[a].frame, f->leaf);
	uint32_t parent = p->stacks.items[a].parent;
	assert_int_equal(p->stacks.items[parent].frame, f->work);
	parent = p->stacks.items[parent].parent;
	assert_int_equal(p->stacks.items[parent].frame, f->main);
	assert_int_equal(p->stacks.items[parent].parent, PROFILE_NONE);
	assert_int_equal(p->stacks.items[b].parent, parent);
}

static void no_frames_is_a_stack_too(void **state)
{
	struct fixture *f = *state;
	uint32_t stack = 7;
	assert_int_equal(profile_stack(f->profile, NULL, 0, &stack), REASON_OK);
	assert_int_equal(stack, PROFILE_NONE);
	assert_int_equal(profile_add(f->profile, f->thread, NULL, 0, REASON_OK, 0, 5, 0),
			 REASON_OK);
	assert_int_equal(f->profile->samples.items[0].stack, PROFILE_NONE);
}

static void samples_add_up_by_thread_stack_and_state(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t other = profile_thread(p, 0, 101, NULL);
	uint32_t frames[] = { f->main, f->leaf };

	profile_add(p, f->thread, frames, 2, REASON_OK, 0, 10, 4);
	profile_add(p, f->thread, frames, 2, REASON_OK, 0, 20, 5);
	profile_add(p, f->thread, frames, 2, REASON_OK, PROFILE_IDLE, 30, 0);
	profile_add(p, f->thread, frames, 2, REASON_OK, PROFILE_GIL, 40, 0);
	profile_add(p, f->thread, frames, 2, REASON_DEPTH_LIMIT, 0, 50, 0);
	profile_add(p, other, frames, 2, REASON_OK, 0, 60, 0);
	profile_add(p, f->thread, frames, 1, REASON_OK, 0, 70, 0);
	uint32_t stack = p->samples.items[0].stack;
	profile_count(p, f->thread, stack, REASON_OK, PROFILE_IDLE, 1000, 1);

	static const struct {
		uint64_t count, wall_ns, cpu_ns;
	} expected[] = {
		{ 2, 30, 9 }, { 2, 1030, 1 }, { 1, 40, 0 },
		{ 1, 50, 0 }, { 1, 60, 0 },   { 1, 70, 0 },
	};
	assert_int_equal(p->samples.count, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(p->samples.items[i].count, expected[i].count);
		assert_int_equal(p->samples.items[i].wall_ns, expected[i].wall_ns);
		assert_int_equal(p->samples.items[i].cpu_ns, expected[i].cpu_ns);
	}
	assert_int_equal(p->samples.items[3].end, REASON_DEPTH_LIMIT);
	assert_int_equal(p->samples.items[4].thread, other);
	assert_int_equal(p->stats.samples, 8);
	assert_int_equal(p->stats.complete, 7);
	assert_int_equal(p->stats.cut[REASON_DEPTH_LIMIT], 1);
	assert_int_equal(stats_lost(&p->stats), 0);
}

static void what_cannot_be_kept_is_a_loss(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	p->stacks_max = 2;
	uint32_t frames[] = { f->main, f->work, f->leaf };
	assert_int_equal(profile_add(p, f->thread, frames, 3, REASON_OK, 0, 1, 1), REASON_LIMIT);
	assert_int_equal(profile_add(p, f->thread, frames, 2, REASON_OK, 0, 1, 1), REASON_OK);
	uint32_t broken[] = { f->main, PROFILE_NONE };
	assert_int_equal(profile_add(p, f->thread, broken, 2, REASON_OK, 0, 1, 1),
			 REASON_NO_MEMORY);
	assert_int_equal(profile_count(p, PROFILE_NONE, 0, REASON_OK, 0, 1, 1), REASON_NO_MEMORY);
	assert_int_equal(p->samples.count, 1);
	assert_int_equal(p->stats.samples, 1);
	assert_int_equal(p->stats.lost[REASON_LIMIT], 1);
	assert_int_equal(p->stats.lost[REASON_NO_MEMORY], 2);
}

static void many_stacks_keep_their_ids(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	uint32_t function = profile_function(p, "deep", "/d.py", 1, PROFILE_PYTHON);
	uint32_t ids[2000];
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t frames[] = { f->main, profile_frame(p, function, i + 1) };
		assert_int_equal(profile_stack(p, frames, 2, &ids[i]), REASON_OK);
	}
	assert_int_equal(p->stacks.count, 2001);
	for (uint32_t i = 0; i < 2000; i++) {
		const struct profile_stack *stack = &p->stacks.items[ids[i]];
		assert_int_equal(p->frames.items[stack->frame].line, i + 1);
	}
}

static void a_thread_is_named_by_python_first(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	assert_string_equal(profile_thread_name(p, f->thread), "python");
	profile_thread_set_python_name(p, f->thread, "MainThread");
	profile_thread_set_python_name(p, f->thread, NULL);
	assert_string_equal(profile_thread_name(p, f->thread), "MainThread");
	profile_thread_set_python_name(p, f->thread, "renamed");
	assert_string_equal(profile_thread_name(p, f->thread), "renamed");

	/* The same number again is another thread. */
	uint32_t other = profile_thread(p, 0, 100, NULL);
	assert_int_not_equal(other, f->thread);
	assert_string_equal(profile_thread_name(p, other), "?");
	profile_thread_set_kernel_name(p, other, "worker");
	assert_string_equal(profile_thread_name(p, other), "worker");
}

static void weight_follows_the_mode(void **state)
{
	struct fixture *f = *state;
	struct profile *p = f->profile;
	struct profile_sample sample = { .count = 1, .wall_ns = 100, .cpu_ns = 30 };
	p->facts.mode = PROFILE_WALL;
	assert_int_equal(profile_weight_ns(p, &sample), 100);
	p->facts.mode = PROFILE_CPU;
	assert_int_equal(profile_weight_ns(p, &sample), 30);
	p->facts.mode = PROFILE_OFFCPU;
	assert_int_equal(profile_weight_ns(p, &sample), 70);
	sample.cpu_ns = 101;
	assert_int_equal(profile_weight_ns(p, &sample), 0);
	p->facts.mode = PROFILE_GIL_ONLY;
	assert_int_equal(profile_weight_ns(p, &sample), 100);
}

static void facts_are_copies(void **state)
{
	struct fixture *f = *state;
	struct profile_process *facts = &f->profile->processes.items[0];
	char text[] = "3.12.1";
	profile_fact(&facts->python_version, text);
	text[0] = '2';
	assert_string_equal(facts->python_version, "3.12.1");
	profile_fact(&facts->python_version, "3.13.0");
	assert_string_equal(facts->python_version, "3.13.0");
	profile_fact(&facts->python_version, NULL);
	assert_null(facts->python_version);

	profile_fact_argv(&facts->argv, "a\0b", 3);
	assert_int_equal(facts->argv.size, 3);
	assert_memory_equal(facts->argv.bytes, "a\0b\0", 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_differ_in_every_field),
		TEST(frames_are_kept_once),
		TEST(stacks_share_their_outer_part),
		TEST(no_frames_is_a_stack_too),
		TEST(samples_add_up_by_thread_stack_and_state),
		TEST(what_cannot_be_kept_is_a_loss),
		TEST(many_stacks_keep_their_ids),
		TEST(a_thread_is_named_by_python_first),
		TEST(weight_follows_the_mode),
		TEST(facts_are_copies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
