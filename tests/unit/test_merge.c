/* SPDX-License-Identifier: MIT */
/*
 * Two lists into one. Native frames are letters, innermost first: e an evaluation loop, t a trampoline, g greenlet, others C. Python frames are
 * one character each, innermost first: x an entry frame, . any other. In the result C is the letter, Python the number of the frame,
 * ! the mark of a misfit and / that of native frames that are cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "merge/merge.h"

struct lists {
	const char *native;
	const char *entries; /* one character a Python frame: x for an entry frame */
};

static bool is_eval(const void *data, size_t native)
{
	return ((const struct lists *)data)->native[native] == 'e';
}

static bool is_trampoline(const void *data, size_t native)
{
	return ((const struct lists *)data)->native[native] == 't';
}

static bool is_switch(const void *data, size_t native)
{
	return ((const struct lists *)data)->native[native] == 'g';
}

static bool is_entry(const void *data, size_t python)
{
	return ((const struct lists *)data)->entries[python] == 'x';
}

static void check(const char *native, const char *entries, bool native_complete,
		  bool python_complete, enum merge_result result, const char *expected)
{
	struct lists lists = { native, entries };
	struct merge_input input = {
		.native_count = strlen(native),
		.python_count = strlen(entries),
		.native_complete = native_complete,
		.python_cut = !python_complete,
		.data = &lists,
		.is_eval = is_eval,
		.is_trampoline = is_trampoline,
		.is_entry = is_entry,
		.is_switch = is_switch,
	};
	struct merged_vec merged = { 0 };
	char text[64] = "";
	assert_int_equal(merge(&input, &merged), result);
	for (size_t i = 0; i < merged.count; i++) {
		const struct merged *item = &merged.items[i];
		text[i] = item->kind == MERGED_NATIVE   ? native[item->index]
			  : item->kind == MERGED_PYTHON ? (char)('0' + item->index)
			  : item->index == MERGED_CUT   ? '/'
							: '!';
	}
	assert_string_equal(text, expected);
	merged_vec_deinit(&merged);
}

/* Up to 3.10 each Python frame has a loop of its own. */
static void test_a_loop_for_each_frame(void **state)
{
	check("aebecd", "xx", true, true, MERGE_FITS, "a0b1cd");
	check("eem", "xx", true, true, MERGE_FITS, "01m");
	check("abm", "", true, true, MERGE_FITS, "abm");
}

/* From 3.11 on a loop runs all frames up to its entry frame. */
static void test_a_loop_for_several_frames(void **state)
{
	check("aebem", "..x.x", true, true, MERGE_FITS, "a012b34m");
	check("eem", "x.x", true, true, MERGE_FITS, "012m");
}

/* A loop that is being entered or left has no frame: it is the innermost one. */
static void test_one_loop_without_a_frame(void **state)
{
	check("aebem", "x", true, true, MERGE_FITS, "aeb0m");
	check("aem", "", true, true, MERGE_FITS, "aem");
}

static void test_two_loops_without_frames_are_a_misfit(void **state)
{
	check("aebecem", "x", true, true, MERGE_MISMATCH, "aebec0m");
	check("eem", "", true, true, MERGE_MISMATCH, "eem");
}

/* More Python frames than loops: all are kept, behind a mark. */
static void test_frames_without_a_loop(void **state)
{
	check("aem", "xxx", true, true, MERGE_MISMATCH, "a0m!12");
	check("abm", "x", true, true, MERGE_MISMATCH, "abm!0");
	check("", "x", true, true, MERGE_MISMATCH, "!0");
}

/* Native frames that end before their time are no misfit. */
static void test_native_frames_that_are_cut(void **state)
{
	check("aeb", "xx", false, true, MERGE_CUT, "a0b/1");
	check("a", ".x", false, true, MERGE_CUT, "a/01");
	check("aebe", "xx", false, true, MERGE_FITS, "a0b1");
}

/* Python frames that are cut at their outer end: the outer loops stand for those. */
static void test_python_frames_that_are_cut(void **state)
{
	check("aebecem", "xx", true, false, MERGE_FITS, "a0b1cem");
	check("aebem", ".x.", true, false, MERGE_FITS, "a01b2m");
	check("aebe", "xx", false, false, MERGE_FITS, "a0b1");
}

/* With -X perf a loop is called through a trampoline, which is no frame of its own. */
static void test_trampolines(void **state)
{
	check("aetpbetpm", "xx", true, true, MERGE_FITS, "a0pb1pm");
	check("aetm", "", true, true, MERGE_FITS, "aetm");
	/* Being entered: its frame is not linked yet, its trampoline tells its name. */
	check("tpbetpm", "x", true, true, MERGE_FITS, "tpb0pm");
	/* Generated code that no loop was called from is C as any other. */
	check("taetm", "x", true, true, MERGE_FITS, "ta0m");
	check("aet", "x", false, true, MERGE_FITS, "a0");
}

/* A greenlet's frames begin at greenlet's code; the loops outside run those of the one that started it. */
static void test_greenlets(void **state)
{
	check("aebeggcem", "xx", true, true, MERGE_FITS, "a0b1ggcem");
	check("aebeggcem", ".x.x", true, true, MERGE_FITS, "a01b23ggcem");
	/* Started by another greenlet. */
	check("aeggegem", "x", true, true, MERGE_FITS, "a0ggegem");
	/* A loop is being entered. */
	check("ebeggcem", "x", true, true, MERGE_FITS, "eb0ggcem");
	/* About to switch, in any greenlet, and called back from there. */
	check("ggebem", "xx", true, true, MERGE_FITS, "gg0b1m");
	check("aeggebem", "xxx", true, true, MERGE_FITS, "a0gg1b2m");
	/* Just started, nothing runs in it yet. */
	check("aggem", "x", true, true, MERGE_FITS, "agg0m");
	check("aebeggce", "xx", false, true, MERGE_FITS, "a0b1ggce");
}

static void test_files_of_greenlet(void **state)
{
	assert_true(merge_is_switch_file("/x/greenlet/_greenlet.cpython-313-x86_64-linux-gnu.so"));
	assert_true(merge_is_switch_file("/x/greenlet.so"));
	assert_false(merge_is_switch_file("/x/greenlet/other.so"));
	assert_false(merge_is_switch_file("[anon]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_loop_for_each_frame),
		cmocka_unit_test(test_a_loop_for_several_frames),
		cmocka_unit_test(test_one_loop_without_a_frame),
		cmocka_unit_test(test_two_loops_without_frames_are_a_misfit),
		cmocka_unit_test(test_frames_without_a_loop),
		cmocka_unit_test(test_native_frames_that_are_cut),
		cmocka_unit_test(test_python_frames_that_are_cut),
		cmocka_unit_test(test_trampolines),
		cmocka_unit_test(test_greenlets),
		cmocka_unit_test(test_files_of_greenlet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
