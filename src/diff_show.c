/* SPDX-License-Identifier: MIT */
/* diff_show.c: a difference as a table, as JSON and as collapsed stacks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "write/collapsed.h"
#include "write/jsonstream.h"

static void add_weights(const struct report reports[2], const uint64_t weights[2],
			struct listing *listing)
{
	if (reports->options->report.absolute) {
		listing_weight(listing, weights[0], reports->ns);
		listing_weight(listing, weights[1], reports->ns);
		listing_weight_change(listing, weights[0], weights[1], reports->ns);
		return;
	}
	double before = report_share(weights[0], reports[0].tree->sum);
	double after = report_share(weights[1], reports[1].tree->sum);
	listing_share(listing, before);
	listing_share(listing, after);
	listing_change(listing, after - before);
}

static struct error *show_rows(const struct report reports[2], const struct diff_rows *rows,
			       struct listing *listing)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	size_t lines = report_lines(reports->options, rows->count);
	for (size_t i = 0; i < lines; i++) {
		const struct diff_row *row = &rows->items[i];
		report_name(&reports[row->after], row->function, &name);
		if (name.failed)
			return error_no_memory();
		add_weights(reports, row->own, listing);
		add_weights(reports, row->total, listing);
		listing_rest(listing, name.text);
	}
	if (lines < rows->count) {
		char text[64];
		snprintf(text, sizeof(text), "%zu more functions: see --lines",
			 rows->count - lines);
		listing_rest(listing, text);
	}
	return NULL;
}

struct error *diff_show_text(const struct report reports[2], struct listing *listing)
{
	struct diff_rows rows = { 0 };
	struct error *err = diff_compare(reports, &rows);
	if (err)
		return err;
	report_show_header(&reports[0], "before  ", listing);
	report_show_header(&reports[1], "after   ", listing);
	listing_rest(listing, "");
	listing_rest(
		listing,
		reports->options->report.absolute
			? " own before    own after       change  tot. before   tot. after       "
			  "change  function"
			: "own bef.  own aft.     change  tot.bef.  tot.aft.     change  "
			  "function");
	err = show_rows(reports, &rows, listing);
	diff_rows_deinit(&rows);
	return err;
}

static json_t *json_pair(const uint64_t weights[2])
{
	return json_pack("[I,I]", (json_int_t)weights[0], (json_int_t)weights[1]);
}

static void add_row(const struct report reports[2], const struct diff_row *row,
		    struct jsonstream *json)
{
	const struct report *report = &reports[row->after];
	const struct profile_function *f = &report->profile->functions.items[row->function];
	jsonstream_add(
		json, NULL,
		json_pack("{s:o,s:o,s:o,s:o}", "name",
			  jsonstream_text(intern_text(&report->profile->strings, f->name)), "file",
			  jsonstream_text(f->file == PROFILE_NONE ? NULL : report->files[f->file]),
			  "own", json_pair(row->own), "total", json_pair(row->total)));
}

struct error *diff_show_json(const struct report reports[2], FILE *stream)
{
	struct diff_rows rows = { 0 };
	struct error *err = diff_compare(reports, &rows);
	if (err)
		return err;
	struct jsonstream json = { .stream = stream, .first = true };
	const uint64_t sums[] = { reports[0].tree->sum, reports[1].tree->sum };
	jsonstream_open(&json, NULL, '{');
	jsonstream_add(&json, "format", json_string("pysample diff"));
	jsonstream_add(&json, "version", json_integer(1));
	jsonstream_add(&json, "unit", json_string(reports->ns ? "ns" : "samples"));
	jsonstream_add(&json, "sum", json_pair(sums));
	jsonstream_open(&json, "functions", '[');
	for (size_t i = 0; i < report_lines(reports->options, rows.count); i++)
		add_row(reports, &rows.items[i], &json);
	jsonstream_close(&json, ']');
	jsonstream_close(&json, '}');
	diff_rows_deinit(&rows);
	return json.failed ? error_no_memory() : NULL;
}

struct pair {
	uint64_t weights[2];
};

DEFINE_VEC(struct pairs, pairs, struct pair);

/* Stacks by their text, each with both weights. */
struct folded {
	struct intern stacks;
	struct pairs pairs;
	uint64_t sums[2];
};

static void folded_deinit(struct folded *folded)
{
	intern_deinit(&folded->stacks);
	pairs_deinit(&folded->pairs);
}

/* @line, "STACK NUMBER", is cut behind the stack. */
static bool add_line(struct folded *folded, bool after, char *line)
{
	char *blank = strrchr(line, ' ');
	if (!blank)
		return true;
	*blank = '\0';
	uint64_t weight = strtoull(blank + 1, NULL, 10);
	uint32_t id = intern_add(&folded->stacks, line);
	if (id == INTERN_NONE || (id == folded->pairs.count && !pairs_append(&folded->pairs)))
		return false;
	folded->pairs.items[id].weights[after] += weight;
	folded->sums[after] += weight;
	return true;
}

static struct error *fold(const struct options *options, const struct profile *profile, bool after,
			  struct folded *folded)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	if (!stream)
		return error_no_memory();
	struct error *err = collapsed_writer.write(profile, &options->writing, stream);
	if (fclose(stream) && !err)
		err = error_no_memory();
	if (err)
		return err;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (!add_line(folded, after, line))
			return error_no_memory();
	return NULL;
}

static uint64_t scale(uint64_t weight, uint64_t from, uint64_t to)
{
	if (!from)
		return weight;
	unsigned __int128 product = (unsigned __int128)weight * to;
	return (uint64_t)((product + from / 2) / from);
}

struct error *diff_write_collapsed(const struct options *options, struct profile *const profiles[2],
				   FILE *stream)
{
	_cleanup_(folded_deinit) struct folded folded = { 0 };
	for (int i = 0; i < 2; i++) {
		struct error *err = fold(options, profiles[i], i, &folded);
		if (err)
			return err;
	}
	bool scaled = !options->report.absolute && folded.sums[1];
	for (uint32_t i = 0; i < folded.pairs.count && !ferror(stream); i++) {
		const uint64_t *weights = folded.pairs.items[i].weights;
		uint64_t before =
			scaled ? scale(weights[0], folded.sums[0], folded.sums[1]) : weights[0];
		fprintf(stream, "%s %" PRIu64 " %" PRIu64 "\n", intern_text(&folded.stacks, i),
			before, weights[1]);
	}
	return NULL;
}
