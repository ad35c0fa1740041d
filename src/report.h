/* SPDX-License-Identifier: MIT */
/* report.h: what is in files that were written before: tables, trees, other formats. */
#pragma once

#include "aggregate/calltree.h"
#include "base/strbuf.h"
#include "listing.h"
#include "options.h"

/* A profile that was read, and what is needed to show it. */
struct report {
	const struct options *options;
	struct profile *profile;
	struct calltree *tree;
	const char **files; /* as writer_files */
	bool ns;            /* what is counted: nanoseconds, else samples */
	uint32_t *same;     /* for diff: as calltree_create has it */
	char *matches;      /* with --callers: 1 for each function that is meant */
};

/* Weight of all callers and callees of the functions that match, each by function id. */
struct report_callers {
	uint64_t *callers; /* one more than there are functions: the last is no caller at all */
	uint64_t *callees;
	uint64_t own;
	uint64_t total;
};

/* "pysample report": the exit status. */
int report_run(const struct options *options);

/* For report*.c and diff*.c. */

/* Reads @path (or all of @paths, the last NULL) into a new profile, as the options say. */
struct error *report_read(const struct options *options, const char *const *paths,
			  struct profile **profile_ret);
/* Opens @report over @profile, which is the report's from then on. */
struct error *report_open(struct report *report, const struct options *options,
			  struct profile *profile);
void report_close(struct report *report);
/* "NAME (FILE:LINE)", for diff without the line; safe for a terminal. */
void report_name(const struct report *report, uint32_t function, struct strbuf *buf);
/* Ids of functions with a weight, the heaviest first, by own or total weight as the options say. The caller frees them. */
struct error *report_order(const struct report *report, uint32_t **order_ret, size_t *count_ret);
/* How many lines a table with @count has. */
size_t report_lines(const struct options *options, size_t count);
/* Says on standard error what is wrong. The exit status: @status, or 1 without memory. */
int report_fail(const struct error *err, int status);
double report_share(uint64_t part, uint64_t whole);
/* What the matching functions are called by and call. A recursive call counts at the outermost one. */
struct error *report_find_callers(const struct report *report, struct report_callers *callers_ret);
void report_callers_deinit(struct report_callers *callers);

/* Each prints what the options say. */
struct error *report_show_text(const struct report *report, struct listing *listing);
struct error *report_show_json(const struct report *report, FILE *stream);
/* Lines on what was profiled. @title: put before it. */
void report_show_header(const struct report *report, const char *title, struct listing *listing);
