/* SPDX-License-Identifier: MIT */
/* diff.c: what changed between two files that were written before. */
#include "diff.h"

#include <signal.h>
#include <stdlib.h>

#include "read/read.h"
#include "write/collapsed.h"
#include "write/flamegraph.h"
#include "write/output.h"

/* The rows while they are found: a text is a function, and a row. */
struct comparison {
	const struct report *reports;
	struct diff_rows rows;
	struct intern texts;
	struct strbuf text;
};

static void comparison_deinit(struct comparison *comparison)
{
	diff_rows_deinit(&comparison->rows);
	intern_deinit(&comparison->texts);
	strbuf_deinit(&comparison->text);
}

static bool add_function(struct comparison *comparison, bool after, uint32_t function)
{
	const struct report *report = &comparison->reports[after];
	const struct calltree_function *f = &report->tree->functions[function];
	if (!f->total)
		return true;
	report_name(report, function, &comparison->text);
	uint32_t id = comparison->text.failed
			      ? INTERN_NONE
			      : intern_add(&comparison->texts, comparison->text.text);
	if (id == INTERN_NONE)
		return false;
	if (id == comparison->rows.count) {
		struct diff_row *row = diff_rows_append(&comparison->rows);
		if (!row)
			return false;
		*row = (struct diff_row){ .after = after, .function = function };
	}
	comparison->rows.items[id].own[after] += f->own;
	comparison->rows.items[id].total[after] += f->total;
	return true;
}

/* By how much it changed, the sign left out: in shares, times both sums, so that equal changes are equal. */
static unsigned __int128 change_of(const struct report *reports, const struct diff_row *row)
{
	const struct options *options = reports->options;
	const uint64_t *weights = options->report.by_total ? row->total : row->own;
	unsigned __int128 before = weights[0], after = weights[1];
	if (!options->report.absolute) {
		before *= reports[1].tree->sum;
		after *= reports[0].tree->sum;
	}
	return after > before ? after - before : before - after;
}

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct diff_row *x = a, *y = b;
	unsigned __int128 first = change_of(data, x), second = change_of(data, y);
	if (first != second)
		return first > second ? -1 : 1;
	if (x->after != y->after)
		return x->after ? 1 : -1;
	return x->function < y->function ? -1 : 1;
}

struct error *diff_compare(const struct report reports[2], struct diff_rows *rows_ret)
{
	_cleanup_(comparison_deinit) struct comparison comparison = { .reports = reports };
	for (int after = 0; after < 2; after++)
		for (uint32_t i = 0; i < reports[after].profile->functions.count; i++)
			if (!add_function(&comparison, after, i))
				return error_no_memory();
	if (comparison.rows.count)
		qsort_r(comparison.rows.items, comparison.rows.count,
			sizeof(*comparison.rows.items), compare_rows, (void *)reports);
	*rows_ret = comparison.rows;
	comparison.rows = (struct diff_rows){ 0 };
	return NULL;
}

/* Turns a profile into what would be left of it in a file of collapsed stacks, so that it can be compared with one. */
static struct error *reduce(const struct options *options, struct profile **profile)
{
	struct writer_options writing = options->writing;
	const struct read_options read = { .ns = writing.weights == WRITER_NS };
	writing.weights = read.ns ? WRITER_NS : WRITER_SAMPLES;
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	if (!stream)
		return error_no_memory();
	struct error *err = collapsed_writer.write(*profile, &writing, stream);
	if (fclose(stream) && !err)
		err = error_no_memory();
	_cleanup_profile_ struct profile *reduced = NULL;
	if (!err)
		err = profile_create(&reduced);
	if (!err)
		err = read_bytes(text, size, &read, reduced);
	if (err)
		return err;
	struct profile *whole = *profile;
	*profile = reduced;
	reduced = whole;
	return NULL;
}

static struct error *read_both(const struct options *options, struct profile *profiles[2])
{
	for (int i = 0; i < 2; i++) {
		const char *const paths[] = { options->files[i], NULL };
		struct error *err = report_read(options, paths, &profiles[i]);
		if (err)
			return err;
	}
	const struct profile_facts *before = &profiles[0]->facts, *after = &profiles[1]->facts;
	if (before->stacks_only != after->stacks_only)
		return reduce(options, &profiles[before->stacks_only]);
	if (before->mode != after->mode)
		return error_create(ERROR_CORRUPT, "%s is of mode %s, and %s of mode %s",
				    options->files[0], profile_mode_name(before->mode),
				    options->files[1], profile_mode_name(after->mode));
	return NULL;
}

static struct error *write_file(const struct options *options, struct profile *const profiles[2])
{
	_cleanup_output_ struct output *output = NULL;
	struct error *err = output_open(options->output, &output);
	if (err)
		return err;
	err = options->format == &flamegraph_writer
		      ? flamegraph_write_diff(profiles[0], profiles[1], &options->writing,
					      output_stream(output))
		      : diff_write_collapsed(options, profiles, output_stream(output));
	if (err)
		return err;
	struct output *done = output;
	output = NULL;
	return output_commit(done);
}

/* Takes the profiles. */
static struct error *show(const struct options *options, struct profile *profiles[2])
{
	struct report reports[2] = { 0 };
	struct error *err = NULL;
	for (int i = 0; i < 2 && !err; i++) {
		err = report_open(&reports[i], options, profiles[i]);
		profiles[i] = NULL;
	}
	struct listing listing = listing_make(stdout);
	if (!err)
		err = options->json ? diff_show_json(reports, stdout)
				    : diff_show_text(reports, &listing);
	report_close(&reports[0]);
	report_close(&reports[1]);
	return err;
}

static int run(const struct options *options, struct profile *profiles[2])
{
	_cleanup_error_ struct error *err = read_both(options, profiles);
	if (err)
		return report_fail(err, 2);
	err = options->report.convert ? write_file(options, profiles) : show(options, profiles);
	if (err)
		return report_fail(err, 1);
	struct listing listing = listing_make(stdout);
	return listing_end(&listing);
}

int diff_run(const struct options *options)
{
	struct profile *profiles[2] = { NULL, NULL };
	signal(SIGPIPE, SIG_IGN);
	int status = run(options, profiles);
	profile_destroy(profiles[0]);
	profile_destroy(profiles[1]);
	return status;
}
