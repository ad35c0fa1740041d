/* SPDX-License-Identifier: MIT */
/* test_agreement.c: given two walks over one stack, how far they agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unwind/agreement.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WALK(...)                                                                                  \
	{                                                                                          \
		.items = (struct native_frame[]){ __VA_ARGS__ },                                   \
		.count = COUNT(((struct native_frame[]){ __VA_ARGS__ })),                          \
	}
#define FRAME(pc_, sp_)                                                                            \
	{                                                                                          \
		.pc = (pc_), .sp = (sp_)                                                           \
	}

#define AGREE(kind_, compared_, agreed_, at_)                                                      \
	(struct agreement)                                                                         \
	{                                                                                          \
		.kind = (kind_), .compared = (compared_), .agreed = (agreed_), .at = (at_)         \
	}

static void check(const struct native_frames *first, const struct native_frames *second,
		  struct agreement expected)
{
	struct agreement found = agreement_of(first, second);
	assert_int_equal(found.kind, expected.kind);
	assert_int_equal(found.compared, expected.compared);
	assert_int_equal(found.agreed, expected.agreed);
	assert_int_equal(found.at, expected.at);
}

static void equal_walks_agree(void **state)
{
	struct native_frames a = WALK(FRAME(10, 100), FRAME(20, 120), FRAME(30, 140));
	check(&a, &a, AGREE(AGREEMENT_FULL, 3, 3, 3));
}

static void no_frames_agree(void **state)
{
	struct native_frames none = { 0 };
	check(&none, &none, AGREE(AGREEMENT_FULL, 0, 0, 0));
}

static void another_caller(void **state)
{
	struct native_frames a = WALK(FRAME(10, 100), FRAME(20, 120), FRAME(30, 140));
	struct native_frames b = WALK(FRAME(10, 100), FRAME(21, 120), FRAME(31, 140));
	check(&a, &b, AGREE(AGREEMENT_PC, 3, 1, 1));
}

static void the_same_caller_elsewhere(void **state)
{
	struct native_frames a = WALK(FRAME(10, 100), FRAME(20, 120));
	struct native_frames b = WALK(FRAME(10, 100), FRAME(20, 128));
	check(&a, &b, AGREE(AGREEMENT_SP, 2, 1, 1));
}

/* The frame pointer says nothing where one of the two does not know it. */
static void another_frame_pointer(void **state)
{
	struct native_frames a = WALK({ .pc = 10, .sp = 100, .has_fp = true, .fp = 7 },
				      { .pc = 20, .sp = 120, .has_fp = true, .fp = 8 },
				      { .pc = 30, .sp = 140, .has_fp = true, .fp = 9 });
	struct native_frames b = WALK({ .pc = 10, .sp = 100, .has_fp = true, .fp = 7 },
				      { .pc = 20, .sp = 120, .has_fp = false, .fp = 1 },
				      { .pc = 30, .sp = 140, .has_fp = true, .fp = 8 });
	check(&a, &b, AGREE(AGREEMENT_FULL, 3, 3, 3));
	struct agreement found = agreement_of(&a, &b);
	assert_int_equal(found.fp_compared, 2);
	assert_int_equal(found.fp_agreed, 1);
	assert_int_equal(found.fp_at, 2);
	found = agreement_of(&a, &a);
	assert_int_equal(found.fp_compared, 3);
	assert_int_equal(found.fp_agreed, 3);
}

static void one_ends_before_the_other(void **state)
{
	struct native_frames a = WALK(FRAME(10, 100));
	struct native_frames b = WALK(FRAME(10, 100), FRAME(20, 120), FRAME(30, 140));
	check(&a, &b, AGREE(AGREEMENT_FIRST_ENDS, 3, 1, 1));
	check(&b, &a, AGREE(AGREEMENT_SECOND_ENDS, 3, 1, 1));
}

static void frames_outside_of_a_difference_count_as_the_same(void **state)
{
	struct native_frames a =
		WALK(FRAME(10, 100), FRAME(20, 120), FRAME(30, 140), FRAME(40, 160));
	struct native_frames b = WALK(FRAME(10, 100), FRAME(30, 140), FRAME(40, 160));
	check(&a, &b, AGREE(AGREEMENT_PC, 4, 3, 1));
}

/* The frames of a recursion look alike: the inner and the outer part must not overlap. */
static void no_frame_counts_twice(void **state)
{
	struct native_frames a = WALK(FRAME(10, 100), FRAME(10, 100), FRAME(10, 100));
	struct native_frames b = WALK(FRAME(10, 100), FRAME(10, 100));
	check(&a, &b, AGREE(AGREEMENT_SECOND_ENDS, 3, 2, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_walks_agree),
		cmocka_unit_test(no_frames_agree),
		cmocka_unit_test(another_caller),
		cmocka_unit_test(the_same_caller_elsewhere),
		cmocka_unit_test(another_frame_pointer),
		cmocka_unit_test(one_ends_before_the_other),
		cmocka_unit_test(frames_outside_of_a_difference_count_as_the_same),
		cmocka_unit_test(no_frame_counts_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
