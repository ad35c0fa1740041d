/* SPDX-License-Identifier: MIT */
/* report_text.c: a report for a person. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "report.h"
#include "write/text.h"

/* Deeper levels are not moved to the right any more. */
#define INDENT_LEVELS_MAX 200

static void add_argv(struct strbuf *buf, const struct profile_argv *argv)
{
	for (size_t at = 0; at < argv->size; at += strlen(argv->bytes + at) + 1) {
		strbuf_adds(buf, at ? " " : "");
		text_escape(buf, argv->bytes + at, TEXT_LINE, NULL);
	}
}

static void print_process(const struct report *report, uint32_t id, const char *title,
			  struct listing *listing)
{
	const struct profile_process *process = &report->profile->processes.items[id];
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	if (!process->pid && !process->argv.size)
		return;
	strbuf_addf(&buf, "process %d", (int)process->pid);
	if (process->python_version) {
		strbuf_adds(&buf, ", Python ");
		text_escape(&buf, process->python_version, TEXT_LINE, NULL);
	}
	strbuf_adds(&buf, ": ");
	if (process->argv.size)
		add_argv(&buf, &process->argv);
	else
		text_escape(&buf, profile_process_name(report->profile, id), TEXT_LINE, NULL);
	if (buf.failed)
		return;
	listing_add(listing, title);
	listing_rest(listing, buf.text);
}

/* "2995 samples, 99.9 % complete, in 30.0 s at 99.8 Hz; 3 attempts lost (moved: 3)" */
static void add_numbers(struct strbuf *buf, const struct profile *profile)
{
	const struct stats *stats = &profile->stats;
	uint64_t rate_mhz = stats_rate_mhz(stats), lost = stats_lost(stats);
	strbuf_addf(buf, "%" PRIu64 " samples", stats->samples);
	if (stats->samples)
		strbuf_addf(buf, ", %.1f %% complete",
			    100 * report_share(stats->complete, stats->samples));
	if (stats->duration_ns)
		strbuf_addf(buf, ", in %.1f s", (double)stats->duration_ns / (double)NS_PER_S);
	if (rate_mhz)
		strbuf_addf(buf, " at %.1f Hz", (double)rate_mhz / 1000);
	if (!lost)
		return;
	const char *before = " (";
	strbuf_addf(buf, "; %" PRIu64 " attempt%s lost", lost, lost == 1 ? "" : "s");
	for (int i = 0; i < REASON_COUNT_; i++) {
		if (!stats->lost[i])
			continue;
		strbuf_addf(buf, "%s%s: %" PRIu64, before, reason_name((enum reason)i),
			    stats->lost[i]);
		before = ", ";
	}
	strbuf_adds(buf, ")");
}

static const char *weight_text(const struct report *report)
{
	static const char *const texts[] = {
		[PROFILE_WALL] = "wall time",
		[PROFILE_CPU] = "CPU time",
		[PROFILE_OFFCPU] = "time off the CPU",
		[PROFILE_GIL_ONLY] = "time with the GIL",
	};
	if (!report->ns)
		return "samples";
	return report->profile->facts.stacks_only ? "time" : texts[report->profile->facts.mode];
}

void report_show_header(const struct report *report, const char *title, struct listing *listing)
{
	const struct profile *profile = report->profile;
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	for (uint32_t i = 0; i < profile->processes.count; i++) {
		print_process(report, i, title, listing);
	}
	listing_add(listing, title);
	add_numbers(&buf, profile);
	if (report->ns)
		strbuf_addf(&buf, "; %.2f s of %s", (double)report->tree->sum / (double)NS_PER_S,
			    weight_text(report));
	if (!buf.failed)
		listing_rest(listing, buf.text);
}

static void print_line(const struct report *report, uint64_t own, uint64_t total, const char *text,
		       struct listing *listing)
{
	uint64_t sum = report->tree->sum;
	listing_share(listing, report_share(own, sum));
	listing_weight(listing, own, report->ns);
	listing_share(listing, report_share(total, sum));
	listing_weight(listing, total, report->ns);
	listing_rest(listing, text);
}

static void print_titles(struct listing *listing)
{
	listing_rest(listing, "   own %          own   total %        total  function");
}

static struct error *print_table(const struct report *report, struct listing *listing)
{
	_cleanup_free_ uint32_t *order = NULL;
	size_t count;
	struct error *err = report_order(report, &order, &count);
	if (err)
		return err;
	_cleanup_strbuf_ struct strbuf name = { 0 };
	size_t lines = report_lines(report->options, count);
	print_titles(listing);
	for (size_t i = 0; i < lines; i++) {
		const struct calltree_function *f = &report->tree->functions[order[i]];
		report_name(report, order[i], &name);
		if (name.failed)
			return error_no_memory();
		print_line(report, f->own, f->total, name.text, listing);
	}
	if (report->tree->no_frames)
		print_line(report, report->tree->no_frames, report->tree->no_frames, "[no frames]",
			   listing);
	if (lines < count) {
		char text[64];
		snprintf(text, sizeof(text), "%zu more functions: see --lines", count - lines);
		listing_rest(listing, text);
	}
	return NULL;
}

struct tree_print {
	const struct report *report;
	struct listing *listing;
	struct strbuf name;
	uint64_t least;
	size_t left_out;
};

static bool print_node(void *data, uint32_t id, unsigned depth, bool enter)
{
	struct tree_print *print = data;
	const struct calltree_node *node = &print->report->tree->nodes.items[id];
	if (!enter)
		return false;
	if (!node->total || node->total < print->least) {
		print->left_out++;
		return false;
	}
	uint64_t sum = print->report->tree->sum;
	listing_share(print->listing, report_share(node->own, sum));
	listing_share(print->listing, report_share(node->total, sum));
	for (unsigned i = 0; i < depth && i < INDENT_LEVELS_MAX; i++)
		listing_add(print->listing, "  ");
	report_name(print->report, node->function, &print->name);
	if (!print->name.failed)
		listing_rest(print->listing, print->name.text);
	return !ferror(print->listing->stream);
}

static struct error *print_tree(const struct report *report, struct listing *listing)
{
	struct tree_print print = { .report = report, .listing = listing };
	print.least = (uint64_t)(report->options->report.min_share * (double)report->tree->sum);
	listing_rest(listing, "   own %   total %  function");
	calltree_walk(report->tree, print_node, &print);
	bool failed = print.name.failed;
	strbuf_deinit(&print.name);
	if (print.left_out) {
		char text[96];
		snprintf(text, sizeof(text),
			 "%zu branch%s of less than %g %% left out: see --min-share",
			 print.left_out, print.left_out == 1 ? "" : "es",
			 report->options->report.min_share * 100);
		listing_rest(listing, text);
	}
	return failed ? error_no_memory() : NULL;
}

static int compare_weights(const void *a, const void *b, void *data)
{
	const uint64_t *weights = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (weights[x] != weights[y])
		return weights[x] > weights[y] ? -1 : 1;
	return x < y ? -1 : 1;
}

/* The functions with a weight of @weights, the heaviest first, each with its share of @whole. */
static struct error *print_weights(const struct report *report, uint64_t *weights, uint64_t whole,
				   struct listing *listing)
{
	size_t count = 0, functions = report->profile->functions.count;
	_cleanup_free_ uint32_t *order = calloc(functions + 1, sizeof(*order));
	_cleanup_strbuf_ struct strbuf name = { 0 };
	if (!order)
		return error_no_memory();
	for (uint32_t i = 0; i <= functions; i++)
		if (weights[i])
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), compare_weights, weights);
	for (size_t i = 0; i < report_lines(report->options, count); i++) {
		strbuf_reset(&name);
		if (order[i] == functions)
			strbuf_adds(&name, "[outermost]");
		else
			report_name(report, order[i], &name);
		if (name.failed)
			return error_no_memory();
		listing_share(listing, report_share(weights[order[i]], whole));
		listing_weight(listing, weights[order[i]], report->ns);
		listing_rest(listing, name.text);
	}
	return NULL;
}

static void print_matches(const struct report *report, struct listing *listing)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	print_titles(listing);
	for (uint32_t i = 0; i < report->profile->functions.count; i++) {
		if (!report->matches[i])
			continue;
		report_name(report, i, &name);
		print_line(report, report->tree->functions[i].own, report->tree->functions[i].total,
			   name.failed ? "?" : name.text, listing);
	}
}

static struct error *print_callers(const struct report *report, struct listing *listing)
{
	_cleanup_(report_callers_deinit) struct report_callers found = { 0 };
	struct error *err = report_find_callers(report, &found);
	if (err)
		return err;
	print_matches(report, listing);
	listing_rest(listing, "");
	listing_rest(listing, "called by");
	err = print_weights(report, found.callers, found.total, listing);
	if (err)
		return err;
	listing_rest(listing, "");
	listing_rest(listing, "calls");
	listing_share(listing, report_share(found.own, found.total));
	listing_weight(listing, found.own, report->ns);
	listing_rest(listing, "[own]");
	return print_weights(report, found.callees, found.total, listing);
}

struct error *report_show_text(const struct report *report, struct listing *listing)
{
	report_show_header(report, "", listing);
	listing_rest(listing, "");
	if (report->options->report.tree)
		return print_tree(report, listing);
	if (report->options->report.callers)
		return print_callers(report, listing);
	return print_table(report, listing);
}
