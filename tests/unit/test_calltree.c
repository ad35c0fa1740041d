/* SPDX-License-Identifier: MIT */
/* Given these stacks, these weights: own and total, recursion, the order of a walk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "aggregate/calltree.h"
#include "base/strbuf.h"

enum { A, B, C, D };

static uint64_t weigh(const void *data, const struct profile_sample *sample)
{
	return sample->wall_ns;
}

/* a (two lines) calls b, which calls itself, and c; d alone; a stack without frames. */
static struct profile *make_profile(void)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct profile *p;
	assert_null(profile_create(&p));
	uint32_t thread = profile_thread(p, profile_process(p, 1, PROFILE_NONE), 1, NULL);
	uint32_t f[4];
	for (int i = 0; i < 4; i++)
		f[i] = profile_function(p, names[i], NULL, 0, PROFILE_PYTHON);
	uint32_t a = profile_frame(p, f[A], 1), a_there = profile_frame(p, f[A], 2);
	uint32_t b = profile_frame(p, f[B], 1), c = profile_frame(p, f[C], 1);
	uint32_t d = profile_frame(p, f[D], 1);
	profile_add(p, thread, (uint32_t[]){ a, b }, 2, REASON_OK, 0, 1, 0);
	profile_add(p, thread, (uint32_t[]){ a_there, b, b, c }, 4, REASON_OK, 0, 20, 0);
	profile_add(p, thread, (uint32_t[]){ a_there, b, b }, 3, REASON_OK, 0, 300, 0);
	profile_add(p, thread, (uint32_t[]){ a, c }, 2, REASON_OK, 0, 4000, 0);
	profile_add(p, thread, (uint32_t[]){ d }, 1, REASON_OK, 0, 50000, 0);
	profile_add(p, thread, NULL, 0, REASON_OK, 0, 600000, 0);
	return p;
}

static void a_function_counts_once_in_a_stack(void **state)
{
	struct profile *p = make_profile();
	struct calltree *tree;
	assert_null(calltree_create(p, NULL, weigh, NULL, &tree));
	static const struct calltree_function expected[] = {
		[A] = { 0, 4321 },
		[B] = { 301, 321 },
		[C] = { 4020, 4020 },
		[D] = { 50000, 50000 },
	};
	for (int i = 0; i < 4; i++) {
		assert_int_equal(tree->functions[i].own, expected[i].own);
		assert_int_equal(tree->functions[i].total, expected[i].total);
	}
	assert_int_equal(tree->sum, 654321);
	assert_int_equal(tree->no_frames, 600000);
	calltree_destroy(tree);
	profile_destroy(p);
}

struct visits {
	const struct calltree *tree;
	struct strbuf text;
	uint32_t not_into; /* function */
};

static bool note(void *data, uint32_t id, unsigned depth, bool enter)
{
	struct visits *visits = data;
	const struct calltree_node *node = &visits->tree->nodes.items[id];
	if (enter)
		strbuf_addf(&visits->text, "%u%c%d/%d ", depth, 'a' + (int)node->function,
			    (int)node->own, (int)node->total);
	else
		strbuf_addc(&visits->text, ')');
	return node->function != visits->not_into;
}

static void expect_walk(const struct calltree *tree, uint32_t not_into, const char *expected)
{
	struct visits visits = { .tree = tree, .not_into = not_into };
	calltree_walk(tree, note, &visits);
	assert_string_equal(visits.text.text, expected);
	strbuf_deinit(&visits.text);
}

static void the_heaviest_come_first(void **state)
{
	struct profile *p = make_profile();
	struct calltree *tree;
	assert_null(calltree_create(p, NULL, weigh, NULL, &tree));
	expect_walk(tree, PROFILE_NONE,
		    "0d50000/50000 )0a0/4321 1c4000/4000 )1b1/321 2b300/320 3c20/20 ))))");
	expect_walk(tree, A, "0d50000/50000 )0a0/4321 )");
	calltree_destroy(tree);
	profile_destroy(p);
}

static void functions_can_be_taken_for_one(void **state)
{
	struct profile *p = make_profile();
	struct calltree *tree;
	assert_null(calltree_create(p, (uint32_t[]){ A, B, B, A }, weigh, NULL, &tree));
	assert_int_equal(tree->functions[A].total, 54321);
	assert_int_equal(tree->functions[B].own, 4321);
	assert_int_equal(tree->functions[B].total, 4321);
	assert_int_equal(tree->functions[C].total, 0);
	calltree_destroy(tree);
	profile_destroy(p);
}

static void an_empty_profile_has_an_empty_tree(void **state)
{
	struct profile *p;
	struct calltree *tree;
	assert_null(profile_create(&p));
	assert_null(calltree_create(p, NULL, weigh, NULL, &tree));
	assert_int_equal(tree->outermost, PROFILE_NONE);
	assert_int_equal(tree->sum, 0);
	struct visits visits = { .tree = tree };
	calltree_walk(tree, note, &visits);
	assert_null(visits.text.text);
	calltree_destroy(tree);
	profile_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_counts_once_in_a_stack),
		cmocka_unit_test(the_heaviest_come_first),
		cmocka_unit_test(functions_can_be_taken_for_one),
		cmocka_unit_test(an_empty_profile_has_an_empty_tree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
