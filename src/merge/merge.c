/* SPDX-License-Identifier: MIT */
/* merge.c: native frames and Python frames → one stack. */
#include "merge/merge.h"

#include <string.h>

#include "base/path.h"

static bool add(struct merged_vec *merged, enum merged_kind kind, size_t index)
{
	struct merged *item = merged_vec_append(merged);
	if (!item)
		return false;
	*item = (struct merged){ kind, index };
	return true;
}

/* One past the entry frame of the group that begins with Python frame @python. */
static size_t group_end(const struct merge_input *input, size_t python)
{
	while (python < input->python_count) {
		if (input->is_entry(input->data, python++))
			break;
	}
	return python;
}

static size_t count_groups(const struct merge_input *input)
{
	size_t groups = 0;
	for (size_t at = 0; at < input->python_count; groups++)
		at = group_end(input, at);
	return groups;
}

bool merge_is_trampoline_code(enum code_kind kind, const char *name)
{
	return kind == CODE_ANONYMOUS ||
	       (kind == CODE_GENERATED && name && !strncmp(name, "py::", 4));
}

bool merge_is_switch_file(const char *path)
{
	const char *name = path_base(path);
	return !strncmp(name, "_greenlet.", 10) || !strncmp(name, "greenlet.", 9);
}

/*
 * Native frames from here on are of another chain of Python frames. Greenlet's code is in the middle of a chain too, where Python is
 * called back from a switch: there are fewer loops inside of it than the chain has.
 */
static size_t chain_end(const struct merge_input *input)
{
	size_t groups = count_groups(input), evals = 0;
	if (!input->is_switch || !groups || input->python_cut)
		return input->native_count;
	for (size_t i = 0; i < input->native_count; i++) {
		if (input->is_eval(input->data, i))
			evals++;
		else if (evals >= groups && input->is_switch(input->data, i))
			return i;
	}
	return input->native_count;
}

static size_t count_evals(const struct merge_input *input, size_t end)
{
	size_t evals = 0;
	for (size_t i = 0; i < end; i++)
		evals += input->is_eval(input->data, i);
	return evals;
}

/*
 * Evaluation loops that have no Python frame of their own: the innermost ones, since a loop that is just being entered or left has
 * not linked its frame yet or has unlinked it. One such is no mismatch.
 */
static size_t spare_evals(const struct merge_input *input, size_t end)
{
	if (!input->native_complete || input->python_cut)
		return 0;
	size_t evals = count_evals(input, end), groups = count_groups(input);
	return evals > groups ? evals - groups : 0;
}

static bool add_group(const struct merge_input *input, size_t *python, struct merged_vec *merged)
{
	size_t end = group_end(input, *python);
	for (; *python < end; (*python)++)
		if (!add(merged, MERGED_PYTHON, *python))
			return false;
	return true;
}

/* The trampoline around an evaluation loop is the native frame after it. */
static size_t skip_trampoline(const struct merge_input *input, size_t native)
{
	bool is_one = input->is_trampoline && native + 1 < input->native_count &&
		      input->is_trampoline(input->data, native + 1);
	return native + is_one;
}

/* Python frames that no loop was found for: the outer ones. */
static enum merge_result add_rest(const struct merge_input *input, size_t python,
				  struct merged_vec *merged)
{
	if (!add(merged, MERGED_MARK, input->native_complete ? MERGED_MISFIT : MERGED_CUT))
		return MERGE_NO_MEMORY;
	for (; python < input->python_count; python++)
		if (!add(merged, MERGED_PYTHON, python))
			return MERGE_NO_MEMORY;
	return input->native_complete ? MERGE_MISMATCH : MERGE_CUT;
}

enum merge_result merge(const struct merge_input *input, struct merged_vec *merged)
{
	merged->count = 0;
	size_t end = chain_end(input), spare = spare_evals(input, end), python = 0;
	bool fits = spare <= 1;
	for (size_t i = 0; i < input->native_count; i++) {
		bool is_eval = i < end && input->is_eval(input->data, i);
		bool added;
		if (is_eval && !spare && python < input->python_count) {
			added = add_group(input, &python, merged);
			i = skip_trampoline(input, i);
		} else {
			spare -= is_eval && spare;
			added = add(merged, MERGED_NATIVE, i);
		}
		if (!added)
			return MERGE_NO_MEMORY;
	}
	if (python < input->python_count)
		return add_rest(input, python, merged);
	return fits ? MERGE_FITS : MERGE_MISMATCH;
}
