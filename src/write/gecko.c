/* SPDX-License-Identifier: MIT */
/*
 * gecko.c: the Firefox Profiler's processed format.
 *
 * A table there is an object of columns, all of the same length. Each thread has tables of its own, with what is used in it; only
 * texts are shared. Members and columns: src/types/profile.ts of github.com/firefox-devtools/profiler as of version 56.
 */
#include "write/gecko.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "write/fold.h"
#include "write/script.h"

#define PROCESSED_VERSION "56"
#define GECKO_VERSION     "31"

DEFINE_VEC(struct gecko_ids, gecko_ids, uint32_t);

/* Rows of one of a thread's tables: what they stand for, and where it is. */
struct gecko_table {
	struct gecko_ids rows;
	uint32_t *row_of; /* by what it stands for; PROFILE_NONE: no row */
	size_t size;      /* of row_of */
};

struct gecko {
	const struct profile *profile;
	const struct writer_options *options;
	const char **files; /* by string id */
	struct fold *fold;  /* labels: frames, or functions; groups: threads */
	struct intern strings;
	/* Of the thread at hand: nodes of fold, its labels, functions, and strings that are modules. The row PROFILE_NONE is that of
	 * samples without frames. */
	struct gecko_table stacks, frames, functions, modules;
	struct script out;
};

static void gecko_deinit(struct gecko *g)
{
	free(g->files);
	fold_destroy(g->fold);
	intern_deinit(&g->strings);
	struct gecko_table *tables[] = { &g->stacks, &g->frames, &g->functions, &g->modules };
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		gecko_ids_deinit(&tables[i]->rows);
		free(tables[i]->row_of);
	}
	script_deinit(&g->out);
}

static void table_clear(struct gecko_table *table)
{
	table->rows.count = 0;
	memset(table->row_of, 0xff, table->size * sizeof(*table->row_of));
}

static struct error *table_init(struct gecko_table *table, size_t size)
{
	table->size = size;
	table->row_of = calloc(size + 1, sizeof(*table->row_of));
	return table->row_of ? NULL : error_no_memory();
}

/* The row of @id, new or old. */
static uint32_t table_row(struct gecko *g, struct gecko_table *table, uint32_t id)
{
	if (id != PROFILE_NONE && table->row_of[id] != PROFILE_NONE)
		return table->row_of[id];
	uint32_t *row = gecko_ids_append(&table->rows);
	if (!row) {
		g->out.failed = true;
		return 0;
	}
	*row = id;
	if (id != PROFILE_NONE)
		table->row_of[id] = (uint32_t)table->rows.count - 1;
	return (uint32_t)table->rows.count - 1;
}

static uint32_t label_function(const struct gecko *g, uint32_t label)
{
	if (label == PROFILE_NONE || g->options->no_line)
		return label;
	return g->profile->frames.items[label].function;
}

static const struct profile_function *function_of(const struct gecko *g, uint32_t id)
{
	return id == PROFILE_NONE ? NULL : &g->profile->functions.items[id];
}

/* The string id of a native function's module, PROFILE_NONE for others. */
static uint32_t module_of(const struct profile_function *function)
{
	return function && function->kind == PROFILE_NATIVE ? function->file : PROFILE_NONE;
}

/* A stack's frame, its function and that one's module get rows too. */
static void add_stack(struct gecko *g, uint32_t node)
{
	uint32_t parent = node;
	uint32_t label = node == PROFILE_NONE ? node : fold_step(g->fold, &parent);
	table_row(g, &g->stacks, node);
	table_row(g, &g->frames, label);
	uint32_t function = label_function(g, label);
	table_row(g, &g->functions, function);
	uint32_t module = module_of(function_of(g, function));
	if (module != PROFILE_NONE)
		table_row(g, &g->modules, module);
}

/* Fills the tables with what @lines need. A parent's node is lower than its children's. */
static void collect(struct gecko *g, const struct fold_line *lines, size_t count)
{
	table_clear(&g->stacks);
	table_clear(&g->frames);
	table_clear(&g->functions);
	table_clear(&g->modules);
	bool bare = false;
	for (size_t i = 0; i < count; i++) {
		bare |= lines[i].node == PROFILE_NONE;
		for (uint32_t node = lines[i].node; node != PROFILE_NONE;
		     fold_step(g->fold, &node)) {
			if (!g->stacks.row_of[node])
				break;
			g->stacks.row_of[node] = 0;
		}
	}
	for (uint32_t node = 0; node < g->stacks.size; node++) {
		if (g->stacks.row_of[node] == PROFILE_NONE)
			continue;
		g->stacks.row_of[node] = PROFILE_NONE;
		add_stack(g, node);
	}
	if (bare)
		add_stack(g, PROFILE_NONE);
}

/* The row of a stack or a label; that of PROFILE_NONE is the last one. */
static uint32_t row_of(const struct gecko_table *table, uint32_t id)
{
	return id == PROFILE_NONE ? (uint32_t)table->rows.count - 1 : table->row_of[id];
}

static void open_column(struct gecko *g, const char *key, size_t column)
{
	script_raw(&g->out, column ? ",\"" : "\"");
	script_raw(&g->out, key);
	script_raw(&g->out, "\":[");
}

static void add_cell(struct gecko *g, size_t row)
{
	if (row)
		script_raw(&g->out, ",");
}

/* A column whose rows are all @value. */
static void add_constant(struct gecko *g, const char *key, size_t column, size_t rows,
			 const char *value)
{
	open_column(g, key, column);
	for (size_t i = 0; i < rows; i++) {
		add_cell(g, i);
		script_raw(&g->out, value);
	}
	script_raw(&g->out, "]");
}

/* A column of numbers; PROFILE_NONE is @none. */
static void add_column(struct gecko *g, const char *key, size_t column,
		       const struct gecko_table *table, const char *none,
		       uint32_t (*cell)(struct gecko *g, uint32_t id))
{
	open_column(g, key, column);
	for (size_t i = 0; i < table->rows.count; i++) {
		add_cell(g, i);
		uint32_t value = cell(g, table->rows.items[i]);
		if (value == PROFILE_NONE)
			script_raw(&g->out, none);
		else
			script_number(&g->out, value);
	}
	script_raw(&g->out, "]");
}

static void close_table(struct gecko *g, size_t rows)
{
	script_raw(&g->out, ",\"length\":");
	script_number(&g->out, rows);
	script_raw(&g->out, "}");
}

static uint32_t string_id(struct gecko *g, const char *text)
{
	uint32_t id = intern_add(&g->strings, text);
	g->out.failed |= id == INTERN_NONE;
	return id;
}

static uint32_t stack_frame(struct gecko *g, uint32_t node)
{
	uint32_t label = node == PROFILE_NONE ? node : fold_step(g->fold, &node);
	return row_of(&g->frames, label);
}

static uint32_t stack_prefix(struct gecko *g, uint32_t node)
{
	if (node != PROFILE_NONE)
		fold_step(g->fold, &node);
	return node == PROFILE_NONE ? node : g->stacks.row_of[node];
}

static void add_stack_table(struct gecko *g)
{
	script_raw(&g->out, ",\n\"stackTable\":{");
	add_column(g, "frame", 0, &g->stacks, "null", stack_frame);
	add_column(g, "prefix", 1, &g->stacks, "null", stack_prefix);
	close_table(g, g->stacks.rows.count);
}

/* An index into the categories of the head. */
static uint32_t frame_category(struct gecko *g, uint32_t label)
{
	const struct profile_function *function = function_of(g, label_function(g, label));
	if (!function || function->kind == PROFILE_MARKER)
		return 0;
	return function->kind == PROFILE_PYTHON ? 1 : 2;
}

static uint32_t frame_function(struct gecko *g, uint32_t label)
{
	return row_of(&g->functions, label_function(g, label));
}

static uint32_t frame_line(struct gecko *g, uint32_t label)
{
	if (label == PROFILE_NONE || g->options->no_line)
		return PROFILE_NONE;
	uint32_t line = g->profile->frames.items[label].line;
	return line ? line : PROFILE_NONE;
}

static void add_frame_table(struct gecko *g)
{
	size_t rows = g->frames.rows.count;
	script_raw(&g->out, ",\n\"frameTable\":{");
	add_constant(g, "address", 0, rows, "-1");
	add_constant(g, "inlineDepth", 1, rows, "0");
	add_column(g, "category", 2, &g->frames, "null", frame_category);
	add_constant(g, "subcategory", 3, rows, "0");
	add_column(g, "func", 4, &g->frames, "null", frame_function);
	add_constant(g, "nativeSymbol", 5, rows, "null");
	add_constant(g, "innerWindowID", 6, rows, "0");
	add_column(g, "line", 7, &g->frames, "null", frame_line);
	add_constant(g, "column", 8, rows, "null");
	close_table(g, rows);
}

static uint32_t function_name(struct gecko *g, uint32_t id)
{
	const struct profile_function *function = function_of(g, id);
	return string_id(g, function ? intern_text(&g->profile->strings, function->name)
				     : "[no frames]");
}

static uint32_t function_resource(struct gecko *g, uint32_t id)
{
	uint32_t module = module_of(function_of(g, id));
	return module == PROFILE_NONE ? module : g->modules.row_of[module];
}

static uint32_t function_file(struct gecko *g, uint32_t id)
{
	const struct profile_function *function = function_of(g, id);
	if (!function || function->kind != PROFILE_PYTHON || function->file == PROFILE_NONE)
		return PROFILE_NONE;
	return string_id(g, g->files[function->file]);
}

static uint32_t function_line(struct gecko *g, uint32_t id)
{
	const struct profile_function *function = function_of(g, id);
	return function && function->firstlineno ? function->firstlineno : PROFILE_NONE;
}

static void add_function_table(struct gecko *g)
{
	size_t rows = g->functions.rows.count;
	script_raw(&g->out, ",\n\"funcTable\":{");
	add_column(g, "name", 0, &g->functions, "null", function_name);
	add_constant(g, "isJS", 1, rows, "false");
	add_constant(g, "relevantForJS", 2, rows, "false");
	add_column(g, "resource", 3, &g->functions, "-1", function_resource);
	add_column(g, "fileName", 4, &g->functions, "null", function_file);
	add_column(g, "lineNumber", 5, &g->functions, "null", function_line);
	add_constant(g, "columnNumber", 6, rows, "null");
	close_table(g, rows);
}

static uint32_t module_name(struct gecko *g, uint32_t file)
{
	return string_id(g, g->files[file]);
}

static void add_resource_table(struct gecko *g)
{
	size_t rows = g->modules.rows.count;
	script_raw(&g->out, ",\n\"resourceTable\":{");
	add_constant(g, "lib", 0, rows, "null");
	add_column(g, "name", 1, &g->modules, "null", module_name);
	add_constant(g, "host", 2, rows, "null");
	/* A library. */
	add_constant(g, "type", 3, rows, "1");
	close_table(g, rows);
}

static void add_ms(struct gecko *g, uint64_t ns)
{
	char text[48];
	snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, ns / NS_PER_MS, ns % NS_PER_MS);
	script_raw(&g->out, text);
}

/* Samples have no time of their own: they are shown one after the other, each as long as it weighs. */
static void add_samples(struct gecko *g, const struct fold_line *lines, size_t count)
{
	bool in_ns = g->options->weights != WRITER_SAMPLES;
	script_raw(&g->out, ",\n\"samples\":{");
	open_column(g, "stack", 0);
	for (size_t i = 0; i < count; i++) {
		add_cell(g, i);
		script_number(&g->out, row_of(&g->stacks, lines[i].node));
	}
	script_raw(&g->out, "]");
	open_column(g, "time", 1);
	uint64_t time_ns = 0;
	for (size_t i = 0; i < count; i++) {
		add_cell(g, i);
		add_ms(g, time_ns);
		time_ns +=
			in_ns ? lines[i].weight : lines[i].weight * g->profile->stats.interval_ns;
	}
	script_raw(&g->out, "]");
	open_column(g, "weight", 2);
	for (size_t i = 0; i < count; i++) {
		add_cell(g, i);
		if (in_ns)
			add_ms(g, lines[i].weight);
		else
			script_number(&g->out, lines[i].weight);
	}
	script_raw(&g->out,
		   in_ns ? "],\"weightType\":\"tracing-ms\"" : "],\"weightType\":\"samples\"");
	close_table(g, count);
}

static void add_thread_facts(struct gecko *g, uint32_t id)
{
	const struct profile_thread *thread = &g->profile->threads.items[id];
	pid_t pid = g->profile->processes.items[thread->process].pid;
	script_raw(&g->out, "\"name\":");
	script_text(&g->out, profile_thread_name(g->profile, id));
	script_raw(&g->out, ",\"processName\":");
	script_text(&g->out, profile_process_name(g->profile, thread->process));
	char text[256];
	snprintf(text, sizeof(text),
		 ",\"pid\":\"%d\",\"tid\":%d,\"isMainThread\":%s,\"processType\":\"default\","
		 "\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
		 "\"unregisterTime\":null,\"pausedRanges\":[]",
		 (int)pid, (int)thread->tid, thread->tid == pid ? "true" : "false");
	script_raw(&g->out, text);
}

static void add_thread(struct gecko *g, const struct fold_line *lines, size_t count)
{
	collect(g, lines, count);
	script_raw(&g->out, "{");
	add_thread_facts(g, lines->group);
	add_samples(g, lines, count);
	script_raw(&g->out,
		   ",\n\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
		   "\"phase\":[],\"category\":[],\"length\":0}");
	add_stack_table(g);
	add_frame_table(g);
	add_function_table(g);
	add_resource_table(g);
	script_raw(&g->out, ",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
			    "\"functionSize\":[],\"length\":0}}");
}

static void add_threads(struct gecko *g)
{
	const struct fold_lines *lines = &g->fold->lines;
	script_raw(&g->out, "\"threads\":[\n");
	for (size_t first = 0, end; first < lines->count && !ferror(g->out.stream); first = end) {
		for (end = first + 1; end < lines->count; end++)
			if (lines->items[end].group != lines->items[first].group)
				break;
		if (first)
			script_raw(&g->out, ",\n");
		add_thread(g, &lines->items[first], end - first);
	}
	script_raw(&g->out, "],\n");
}

static void add_strings(struct gecko *g)
{
	script_raw(&g->out, "\"shared\":{\"stringArray\":[");
	for (uint32_t i = 0; i < g->strings.count; i++) {
		add_cell(g, i);
		script_raw(&g->out, "\n");
		script_text(&g->out, intern_text(&g->strings, i));
	}
	script_raw(&g->out, "]}");
}

static void add_product(struct gecko *g)
{
	const struct profile *profile = g->profile;
	_cleanup_strbuf_ struct strbuf text = { 0 };
	const char *version = profile->facts.tool_version;
	strbuf_addf(&text, "pysample %s", version ? version : "");
	g->out.failed |= text.failed;
	script_raw(&g->out, ",\"importedFrom\":");
	script_text(&g->out, text.failed ? NULL : text.text);
	script_raw(&g->out, ",\"product\":");
	script_text(&g->out,
		    profile->processes.count ? profile_process_name(profile, 0) : "pysample");
}

/* No symbols are missing, and they are not Firefox's own. */
static void add_meta(struct gecko *g)
{
	script_raw(&g->out, "\"meta\":{\"interval\":");
	add_ms(g, g->profile->stats.interval_ns);
	script_raw(&g->out, ",\"startTime\":");
	add_ms(g, (uint64_t)writer_start_ns(g->profile));
	add_product(g);
	script_raw(&g->out,
		   ",\"version\":" GECKO_VERSION
		   ",\"preprocessedProfileVersion\":" PROCESSED_VERSION
		   ",\"processType\":0,\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,"
		   "\"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":true,"
		   "\"sourceCodeIsNotOnSearchfox\":true,\"keepProfileThreadOrder\":true,"
		   "\"markerSchema\":[],\"categories\":["
		   "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		   "{\"name\":\"Python\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
		   "{\"name\":\"Native\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}]},\n");
}

static struct error *fold_threads(struct gecko *g)
{
	const struct profile *profile = g->profile;
	_cleanup_free_ uint32_t *labels = calloc(profile->frames.count + 1, sizeof(*labels));
	if (!labels)
		return error_no_memory();
	for (uint32_t i = 0; i < profile->frames.count; i++)
		labels[i] = g->options->no_line ? profile->frames.items[i].function : i;
	struct error *err = fold_create(profile, labels, &g->fold);
	if (err)
		return err;
	vec_foreach (sample, &profile->samples) {
		err = fold_add(g->fold, sample->thread, sample->stack,
			       writer_weight(profile, g->options, WRITER_NS, sample));
		if (err)
			return err;
	}
	fold_sort(g->fold);
	return NULL;
}

static struct error *make_tables(struct gecko *g)
{
	const struct profile *profile = g->profile;
	struct error *err = table_init(&g->stacks, fold_node_count(g->fold));
	if (!err)
		err = table_init(&g->frames, profile->frames.count + profile->functions.count);
	if (!err)
		err = table_init(&g->functions, profile->functions.count);
	return err ? err : table_init(&g->modules, profile->strings.count);
}

static struct error *gecko_write(const struct profile *profile,
				 const struct writer_options *options, FILE *stream)
{
	_cleanup_(gecko_deinit) struct gecko g = {
		.profile = profile,
		.options = options,
		.out = { .stream = stream },
	};
	struct error *err = writer_files(profile, options, &g.files);
	if (!err)
		err = fold_threads(&g);
	if (!err)
		err = make_tables(&g);
	if (err)
		return err;
	script_raw(&g.out, "{");
	add_meta(&g);
	script_raw(&g.out, "\"libs\":[],\n");
	add_threads(&g);
	add_strings(&g);
	script_raw(&g.out, "}\n");
	return g.out.failed ? error_no_memory() : NULL;
}

const struct writer gecko_writer = {
	.name = "gecko",
	.description = "a file for the Firefox Profiler",
	.endings = (const char *const[]){ ".gecko.json", ".gecko", NULL },
	.write = gecko_write,
};
