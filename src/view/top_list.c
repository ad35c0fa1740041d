/* SPDX-License-Identifier: MIT */
/* top_list.c: the rows of a top_model that are to be seen, in order. */
#include "view/top_list.h"

#include <stdlib.h>
#include <string.h>

static bool contains(const char *text, const char *filter)
{
	return text && strcasestr(text, filter);
}

static bool row_matches(const struct top_model *model, const struct top_row *row,
			const char *filter)
{
	if (!row->recent.total_ns && !row->all.total_ns)
		return false;
	if (!filter || !*filter || contains(row->name, filter))
		return true;
	const struct profile *profile = top_model_profile(model);
	return row->file != PROFILE_NONE &&
	       contains(intern_text(&profile->strings, row->file), filter);
}

static uint64_t value(const struct top_row *row, enum top_column column)
{
	switch (column) {
	case TOP_RECENT_OWN:
		return row->recent.own_ns;
	case TOP_RECENT_TOTAL:
		return row->recent.total_ns;
	case TOP_ALL_OWN:
		return row->all.own_ns;
	case TOP_ALL_TOTAL:
	case TOP_COLUMNS:
		break;
	}
	return row->all.total_ns;
}

/* Below 0: @a is listed before @b. Rows alike in one column are told apart by the others, so that they do not change places. */
static int compare_by(const struct top_row *a, const struct top_row *b, enum top_column column)
{
	static const enum top_column others[] = {
		TOP_RECENT_OWN,
		TOP_RECENT_TOTAL,
		TOP_ALL_OWN,
		TOP_ALL_TOTAL,
	};
	uint64_t x = value(a, column), y = value(b, column);
	for (size_t i = 0; x == y && i < sizeof(others) / sizeof(others[0]); i++) {
		x = value(a, others[i]);
		y = value(b, others[i]);
	}
	if (x != y)
		return x > y ? -1 : 1;
	/* Rows lie in one array. */
	return a < b ? -1 : a > b;
}

static int compare_rows(const void *a, const void *b, void *column)
{
	return compare_by(*(const struct top_row *const *)a, *(const struct top_row *const *)b,
			  *(enum top_column *)column);
}

/* @list is a heap with the row that would be listed last on top; moves the one at @at down to its place. */
static void sink(struct top_row_list *list, size_t at, enum top_column column)
{
	for (;;) {
		size_t last = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < list->count &&
			    compare_by(list->items[child], list->items[last], column) > 0)
				last = child;
		if (last == at)
			return;
		const struct top_row *row = list->items[at];
		list->items[at] = list->items[last];
		list->items[last] = row;
		at = last;
	}
}

static bool keep_row(struct top_row_list *list, const struct top_row *row, enum top_column column)
{
	if (list->count < TOP_LIST_MAX) {
		const struct top_row **slot = top_row_list_append(list);
		if (!slot)
			return false;
		*slot = row;
		for (size_t i = list->count == TOP_LIST_MAX ? TOP_LIST_MAX / 2 : 0; i-- > 0;)
			sink(list, i, column);
		return true;
	}
	if (compare_by(row, list->items[0], column) < 0) {
		list->items[0] = row;
		sink(list, 0, column);
	}
	return true;
}

bool top_list_rows(const struct top_model *model, enum top_column column, const char *filter,
		   struct top_row_list *list_ret, size_t *matches_ret)
{
	size_t matches = 0;
	list_ret->count = 0;
	vec_foreach (row, top_model_rows(model)) {
		if (!row_matches(model, row, filter))
			continue;
		matches++;
		if (!keep_row(list_ret, row, column))
			return false;
	}
	if (list_ret->count)
		qsort_r(list_ret->items, list_ret->count, sizeof(*list_ret->items), compare_rows,
			&column);
	*matches_ret = matches;
	return true;
}

/* ---- threads ---- */

static int compare_threads(const void *a, const void *b, void *data)
{
	const struct top_threads *threads = data;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	uint64_t x = threads->items[left].recent.running_ns,
		 y = threads->items[right].recent.running_ns;
	if (x != y)
		return x > y ? -1 : 1;
	return left < right ? -1 : left > right;
}

static bool thread_matches(const struct top_model *model, uint32_t id, const char *filter)
{
	const struct profile *profile = top_model_profile(model);
	const struct profile_thread *thread = &profile->threads.items[id];
	const struct top_thread *times = &top_model_threads(model)->items[id];
	uint32_t process = top_model_settings(model)->process;
	if (process != PROFILE_NONE && thread->process != process)
		return false;
	if (!times->recent.running_ns && !times->recent.idle_ns)
		return false;
	return !filter || !*filter || contains(profile_thread_name(profile, id), filter);
}

bool top_list_threads(const struct top_model *model, const char *filter,
		      struct top_thread_list *list_ret)
{
	const struct top_threads *threads = top_model_threads(model);
	list_ret->count = 0;
	for (uint32_t id = 0; id < threads->count; id++) {
		if (!thread_matches(model, id, filter))
			continue;
		uint32_t *slot = top_thread_list_append(list_ret);
		if (!slot)
			return false;
		*slot = id;
	}
	if (list_ret->count)
		qsort_r(list_ret->items, list_ret->count, sizeof(*list_ret->items), compare_threads,
			(void *)threads);
	return true;
}
