/* SPDX-License-Identifier: MIT */
/* top_list.h: the rows of a top_model that are to be seen, in order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "view/top_model.h"

/* Rows that a list has at most: the order of more of them is of no use to a person, and takes time. */
#define TOP_LIST_MAX 1000

enum top_column {
	TOP_RECENT_OWN,
	TOP_RECENT_TOTAL,
	TOP_ALL_OWN,
	TOP_ALL_TOTAL,
	TOP_COLUMNS,
};

DEFINE_VEC(struct top_row_list, top_row_list, const struct top_row *)
DEFINE_VEC(struct top_thread_list, top_thread_list, uint32_t)

/*
 * The rows with the highest values of @column, highest first, of those that have any time and whose name or file has @filter in it,
 * letters of both cases alike; NULL or "": all of them. *matches_ret is how many those are. False without memory.
 */
bool top_list_rows(const struct top_model *model, enum top_column column, const char *filter,
		   struct top_row_list *list_ret, size_t *matches_ret);

/*
 * Threads that were found lately, the busiest first, of the process that the settings name and with @filter in their name. False
 * without memory.
 */
bool top_list_threads(const struct top_model *model, const char *filter,
		      struct top_thread_list *list_ret);
