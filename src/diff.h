/* SPDX-License-Identifier: MIT */
/* diff.h: what changed between two files that were written before. */
#pragma once

#include "report.h"

/* "pysample diff": the exit status. */
int diff_run(const struct options *options);

/* For diff*.c. */

struct diff_row {
	bool after;        /* which report knows the function */
	uint32_t function; /* its id there */
	/* Before and after. */
	uint64_t own[2], total[2];
};

DEFINE_VEC(struct diff_rows, diff_rows, struct diff_row);

/* Every function of either report, those first whose weight changed most. The caller releases the rows. */
struct error *diff_compare(const struct report reports[2], struct diff_rows *rows_ret);

struct error *diff_show_text(const struct report reports[2], struct listing *listing);
struct error *diff_show_json(const struct report reports[2], FILE *stream);
/*
 * A line for each stack: the stack, a blank, its weight before, a blank, its weight after. Unless weights are asked for, those of
 * before are scaled to the sum of after.
 */
struct error *diff_write_collapsed(const struct options *options, struct profile *const profiles[2],
				   FILE *stream);
