/* SPDX-License-Identifier: MIT */
/* report.c: what is in files that were written before. */
#include "report.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "read/read.h"
#include "write/output.h"
#include "write/text.h"

struct error *report_read(const struct options *options, const char *const *paths,
			  struct profile **profile_ret)
{
	const struct read_options read = { .ns = options->writing.weights == WRITER_NS };
	_cleanup_profile_ struct profile *profile = NULL;
	struct error *err = profile_create(&profile);
	for (; !err && *paths; paths++)
		err = read_profile(*paths, &read, profile);
	if (err)
		return err;
	*profile_ret = no_cleanup(profile);
	return NULL;
}

static bool thread_is_meant(const struct options *options, const struct profile *profile,
			    const struct profile_thread *thread)
{
	if (options->report.pid &&
	    profile->processes.items[thread->process].pid != options->report.pid)
		return false;
	bool tid_fits = !options->tids.count, name_fits = !options->names.count;
	vec_foreach (tid, &options->tids)
		tid_fits |= *tid == thread->tid;
	vec_foreach (name, &options->names)
		name_fits |= (thread->python_name && !strcmp(*name, thread->python_name)) ||
			     (thread->kernel_name && !strcmp(*name, thread->kernel_name));
	return tid_fits && name_fits;
}

static void forget_sample(struct stats *stats, const struct profile_sample *sample)
{
	uint64_t *kind = sample->end == REASON_OK ? &stats->complete : &stats->cut[sample->end];
	stats->samples -= sample->count < stats->samples ? sample->count : stats->samples;
	*kind -= sample->count < *kind ? sample->count : *kind;
}

/* Drops the samples of threads that are not meant. Nothing may be added to the profile afterwards. */
static struct error *keep_threads(const struct options *options, struct profile *profile)
{
	if (!options->report.pid && !options->tids.count && !options->names.count)
		return NULL;
	size_t kept = 0;
	vec_foreach (sample, &profile->samples) {
		if (thread_is_meant(options, profile, &profile->threads.items[sample->thread]))
			profile->samples.items[kept++] = *sample;
		else
			forget_sample(&profile->stats, sample);
	}
	profile->samples.count = kept;
	return kept ? NULL
		    : error_create(ERROR_OTHER, "there are no samples of such a process or thread");
}

static bool name_is_meant(const char *pattern, const char *name)
{
	const char *dot = strrchr(name, '.');
	return !fnmatch(pattern, name, 0) || (dot && !fnmatch(pattern, dot + 1, 0));
}

static struct error *find_matches(struct report *report)
{
	const struct profile *profile = report->profile;
	const char *pattern = report->options->report.callers;
	bool any = false;
	report->matches = calloc(profile->functions.count + 1, 1);
	if (!report->matches)
		return error_no_memory();
	for (size_t i = 0; i < profile->functions.count; i++) {
		uint32_t name = profile->functions.items[i].name;
		report->matches[i] = name_is_meant(pattern, intern_text(&profile->strings, name)) &&
				     report->tree->functions[i].total;
		any |= report->matches[i];
	}
	return any ? NULL : error_create(ERROR_OTHER, "there is no function called %s", pattern);
}

static uint64_t weigh(const void *data, const struct profile_sample *sample)
{
	const struct report *report = data;
	return report->ns ? profile_weight_ns(report->profile, sample) : sample->count;
}

/* Functions of the same name and file are one when two profiles are compared: a line may have moved between them. */
static struct error *find_same(struct report *report)
{
	const struct profile *profile = report->profile;
	size_t count = profile->functions.count;
	_cleanup_free_ uint32_t *first = calloc(count + 1, sizeof(*first)); /* by text */
	_cleanup_strbuf_ struct strbuf text = { 0 };
	struct intern texts = { 0 };
	report->same = calloc(count + 1, sizeof(*report->same));
	bool ok = report->same && first;
	for (uint32_t i = 0; ok && i < count; i++) {
		report_name(report, i, &text);
		size_t known = texts.count;
		uint32_t id = text.failed ? INTERN_NONE : intern_add(&texts, text.text);
		ok = id != INTERN_NONE;
		if (ok && texts.count > known)
			first[id] = i;
		if (ok)
			report->same[i] = first[id];
	}
	intern_deinit(&texts);
	return ok ? NULL : error_no_memory();
}

struct error *report_open(struct report *report, const struct options *options,
			  struct profile *profile)
{
	*report = (struct report){
		.options = options,
		.profile = profile,
		.ns = !profile->facts.untimed && options->writing.weights != WRITER_SAMPLES,
	};
	struct error *err = writer_files(profile, &options->writing, &report->files);
	if (!err && options->command == COMMAND_DIFF)
		err = find_same(report);
	if (!err)
		err = calltree_create(profile, report->same, weigh, report, &report->tree);
	if (!err && options->report.callers)
		err = find_matches(report);
	return err;
}

void report_close(struct report *report)
{
	calltree_destroy(report->tree);
	profile_destroy(report->profile);
	free(report->files);
	free(report->same);
	free(report->matches);
}

void report_name(const struct report *report, uint32_t function, struct strbuf *buf)
{
	const struct profile_function *f = &report->profile->functions.items[function];
	strbuf_reset(buf);
	text_add_frame(buf, intern_text(&report->profile->strings, f->name),
		       f->file == PROFILE_NONE ? NULL : report->files[f->file],
		       report->options->command == COMMAND_DIFF ? 0 : f->firstlineno);
}

double report_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

size_t report_lines(const struct options *options, size_t count)
{
	return options->report.lines && options->report.lines < count ? options->report.lines
								      : count;
}

static int compare_functions(const void *a, const void *b, void *data)
{
	const struct report *report = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct calltree_function *f = &report->tree->functions[x];
	const struct calltree_function *g = &report->tree->functions[y];
	bool by_total = report->options->report.by_total;
	uint64_t first[] = { by_total ? f->total : f->own, by_total ? f->own : f->total };
	uint64_t second[] = { by_total ? g->total : g->own, by_total ? g->own : g->total };
	for (int i = 0; i < 2; i++)
		if (first[i] != second[i])
			return first[i] > second[i] ? -1 : 1;
	return x < y ? -1 : 1;
}

struct error *report_order(const struct report *report, uint32_t **order_ret, size_t *count_ret)
{
	size_t count = 0, functions = report->profile->functions.count;
	uint32_t *order = calloc(functions + 1, sizeof(*order));
	if (!order)
		return error_no_memory();
	for (uint32_t i = 0; i < functions; i++)
		if (report->tree->functions[i].total)
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), compare_functions, (void *)report);
	*order_ret = order;
	*count_ret = count;
	return NULL;
}

struct find_callers {
	const struct report *report;
	struct report_callers *found;
	unsigned open; /* matching nodes that the walk is in */
};

static void add_caller(struct find_callers *find, const struct calltree_node *node)
{
	const struct calltree_node *nodes = find->report->tree->nodes.items;
	uint32_t caller = node->parent == PROFILE_NONE
				  ? (uint32_t)find->report->profile->functions.count
				  : nodes[node->parent].function;
	find->found->callers[caller] += node->total;
	find->found->own += node->own;
	find->found->total += node->total;
	for (uint32_t i = node->child; i != PROFILE_NONE; i = nodes[i].sibling)
		find->found->callees[nodes[i].function] += nodes[i].total;
}

static bool visit_callers(void *data, uint32_t id, unsigned depth, bool enter)
{
	struct find_callers *find = data;
	const struct calltree_node *node = &find->report->tree->nodes.items[id];
	if (!find->report->matches[node->function])
		return true;
	if (!enter)
		find->open--;
	else if (!find->open++)
		add_caller(find, node);
	return true;
}

struct error *report_find_callers(const struct report *report, struct report_callers *callers_ret)
{
	size_t count = report->profile->functions.count + 1;
	struct report_callers found = {
		.callers = calloc(count, sizeof(*found.callers)),
		.callees = calloc(count, sizeof(*found.callees)),
	};
	if (!found.callers || !found.callees) {
		report_callers_deinit(&found);
		return error_no_memory();
	}
	struct find_callers find = { report, &found, 0 };
	calltree_walk(report->tree, visit_callers, &find);
	*callers_ret = found;
	return NULL;
}

void report_callers_deinit(struct report_callers *callers)
{
	free(callers->callers);
	free(callers->callees);
}

/* The profile in another format. */
static struct error *convert(const struct options *options, const struct profile *profile)
{
	_cleanup_output_ struct output *output = NULL;
	struct error *err = output_open(options->output, &output);
	if (!err)
		err = options->format->write(profile, &options->writing, output_stream(output));
	if (err)
		return err;
	struct output *done = output;
	output = NULL;
	return output_commit(done);
}

static struct error *print(const struct options *options, struct profile **profile)
{
	_cleanup_(report_close) struct report report = { 0 };
	struct profile *taken = *profile;
	*profile = NULL;
	struct error *err = report_open(&report, options, taken);
	if (err)
		return err;
	struct listing listing = listing_make(stdout);
	return options->json ? report_show_json(&report, stdout)
			     : report_show_text(&report, &listing);
}

int report_fail(const struct error *err, int status)
{
	fprintf(stderr, "pysample: %s\n", err->message);
	return err->code == ERROR_NO_MEMORY ? 1 : status;
}

int report_run(const struct options *options)
{
	_cleanup_profile_ struct profile *profile = NULL;
	signal(SIGPIPE, SIG_IGN);
	_cleanup_error_ struct error *err =
		report_read(options, (const char *const *)options->files, &profile);
	if (err)
		return report_fail(err, 2);
	err = keep_threads(options, profile);
	if (!err)
		err = options->report.convert ? convert(options, profile)
					      : print(options, &profile);
	if (err)
		return report_fail(err, 1);
	struct listing listing = listing_make(stdout);
	return listing_end(&listing);
}
