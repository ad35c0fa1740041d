/* SPDX-License-Identifier: MIT */
/* options_report.c: the options of the commands that look at files: report and diff. */
#include "option_row.h"

#include <string.h>

#include "option_value.h"
#include "write/collapsed.h"
#include "write/flamegraph.h"

static struct error *set_pid(const char *text, struct options *options, struct option_words *words)
{
	return option_value_id("process", text, &options->report.pid);
}
/* Other than record's, it is an id and nothing else: the process may be long gone. */
static const struct option_row pid = {
	"pid", 'p', OPTION_VALUE, "PID", "only this process of the file", set_pid,
};

static struct error *set_lines(const char *text, struct options *options,
			       struct option_words *words)
{
	return option_value_lines(text, &options->report.lines);
}
static const struct option_row lines = {
	"lines", 0, OPTION_VALUE, "N", "lines of a table; 0: all (default: 20)", set_lines,
};

static struct error *set_sort(const char *text, struct options *options, struct option_words *words)
{
	options->report.by_total = !strcmp(text, "total");
	if (options->report.by_total || !strcmp(text, "own"))
		return NULL;
	return error_create(ERROR_USAGE, "unknown order '%s': known are own and total", text);
}
static const struct option_row sort = {
	"sort", 0, OPTION_VALUE, "WHAT", "the order of a table: own (default) or total", set_sort,
};

static struct error *set_tree(const char *text, struct options *options, struct option_words *words)
{
	options->report.tree = true;
	return NULL;
}
static const struct option_row tree = {
	"tree", 0, OPTION_FLAG, NULL, "who calls whom, instead of a table", set_tree,
};

static struct error *set_min_share(const char *text, struct options *options,
				   struct option_words *words)
{
	return option_value_share(text, &options->report.min_share);
}
static const struct option_row min_share = {
	"min-share",
	0,
	OPTION_VALUE,
	"SHARE",
	"leave out branches of the tree that have less (default: 1%)",
	set_min_share,
};

static struct error *set_callers(const char *text, struct options *options,
				 struct option_words *words)
{
	options->report.callers = text;
	return NULL;
}
static const struct option_row callers = {
	"callers",
	0,
	OPTION_VALUE,
	"FUNCTION",
	"who calls it and what it calls, instead of a table",
	set_callers,
};

static struct error *check_report(struct options *options, const struct option_words *words)
{
	struct report_options *report = &options->report;
	if (!words->rest_count)
		return error_create(ERROR_USAGE, "say which files to report on");
	options->files = words->rest;
	if (report->tree + !!report->callers > 1)
		return error_create(ERROR_USAGE, "--tree and --callers do not go together");
	report->convert = words->format || options->output;
	if (!report->convert)
		return NULL;
	if (report->tree || report->callers || options->json)
		return error_create(ERROR_USAGE,
				    "-f and -o turn the whole file into another format: they do "
				    "not go with --tree, --callers or --json");
	return option_pick_format(options, words);
}

const struct option_command option_report = {
	.name = "report",
	.command = COMMAND_REPORT,
	.usage = "pysample report [--tree] [--callers FUNCTION] [--json] FILE...\n"
		 "pysample report -f NAME [-o FILE] FILE...\n",
	.help = "show what is in files that were written before, or convert them",
	.rows =
		(const struct option_row *const[]){
			&lines,
			&sort,
			&tree,
			&min_share,
			&callers,
			&pid,
			&option_tid,
			&option_thread_name,
			&option_json,
			&option_output,
			&option_format,
			&option_threads,
			&option_no_line,
			&option_full_paths,
			&option_weights,
			NULL,
		},
	.files_first = true,
	.check = check_report,
};

static struct error *set_absolute(const char *text, struct options *options,
				  struct option_words *words)
{
	options->report.absolute = true;
	return NULL;
}
static const struct option_row absolute = {
	"absolute",   0, OPTION_FLAG, NULL, "compare times or numbers, not shares of the total",
	set_absolute,
};

static struct error *check_diff(struct options *options, const struct option_words *words)
{
	if (words->rest_count != 2)
		return error_create(ERROR_USAGE, "say which two files to compare");
	options->files = words->rest;
	options->report.convert = words->format || options->output;
	if (!options->report.convert)
		return NULL;
	if (options->json)
		return error_create(ERROR_USAGE, "--json does not go with -f and -o");
	struct error *err = option_pick_format(options, words);
	if (err)
		return err;
	if (options->format == &collapsed_writer || options->format == &flamegraph_writer)
		return NULL;
	return error_create(ERROR_USAGE,
			    "a difference can be written as flamegraph or collapsed, not as %s",
			    options->format->name);
}

const struct option_command option_diff = {
	.name = "diff",
	.command = COMMAND_DIFF,
	.usage = "pysample diff [--absolute] [-f NAME] [-o FILE] BEFORE AFTER\n",
	.help = "compare two such files",
	.rows =
		(const struct option_row *const[]){
			&absolute,
			&lines,
			&sort,
			&option_json,
			&option_output,
			&option_format,
			&option_threads,
			&option_no_line,
			&option_full_paths,
			&option_weights,
			NULL,
		},
	.files_first = true,
	.check = check_diff,
};
