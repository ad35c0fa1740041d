/* SPDX-License-Identifier: MIT */
/* merge.c: native frames and Python frames → one stack. */
#include "merge/merge.h"

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

static size_t count_evals(const struct merge_input *input)
{
	size_t evals = 0;
	for (size_t i = 0; i < input->native_count; i++)
		evals += input->is_eval(input->data, i);
	return evals;
}

/*
 * Evaluation loops that have no Python frame of their own: the innermost ones, since a loop that is just being entered or left has
 * not linked its frame yet or has unlinked it. One such is no mismatch.
 */
static size_t spare_evals(const struct merge_input *input)
{
	size_t evals = count_evals(input), groups = count_groups(input);
	return input->native_complete && evals > groups ? evals - groups : 0;
}

enum merge_result merge(const struct merge_input *input, struct merged_vec *merged)
{
	merged->count = 0;
	size_t spare = spare_evals(input), python = 0;
	bool fits = spare <= 1;
	for (size_t i = 0; i < input->native_count; i++) {
		if (!input->is_eval(input->data, i) || spare || python == input->python_count) {
			spare -= spare && input->is_eval(input->data, i);
			if (!add(merged, MERGED_NATIVE, i))
				return MERGE_NO_MEMORY;
			continue;
		}
		size_t end = group_end(input, python);
		for (; python < end; python++)
			if (!add(merged, MERGED_PYTHON, python))
				return MERGE_NO_MEMORY;
	}
	if (python == input->python_count)
		return fits ? MERGE_FITS : MERGE_MISMATCH;

	/* Python frames that no loop was found for: the outer ones. */
	if (!add(merged, MERGED_MARK, 0))
		return MERGE_NO_MEMORY;
	for (; python < input->python_count; python++)
		if (!add(merged, MERGED_PYTHON, python))
			return MERGE_NO_MEMORY;
	return MERGE_MISMATCH;
}
