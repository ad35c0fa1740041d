/* SPDX-License-Identifier: MIT */
/* heatmap.c: a page with the source files, what each line weighs beside it: lines and sources as data for the page's script. */
#include "write/heatmap.h"

#include <stdlib.h>

#include "write/lineheat.h"
#include "write/script.h"
#include "write/scriptfacts.h"

/* Changes with what the page's script expects. */
#define DATA_VERSION "1"
/* A longer source is left out, and so are all after so many bytes: the hottest are there. */
#define SOURCE_MAX  ((size_t)2 << 20)
#define SOURCES_MAX ((size_t)32 << 20)

static const char page[] =
#include "write/page/heatmap.inc"
	;

/* The cells of a file are those from first to end. */
struct heatmap_file {
	const struct lineheat_file *heat;
	uint32_t first, end;
};

DEFINE_VEC(struct heatmap_files, heatmap_files, struct heatmap_file);

struct heatmap {
	const struct profile *profile;
	const struct writer_options *options;
	const char **names; /* of files, by string id */
	struct lineheat *heat;
	struct heatmap_files files;
	uint32_t *call_of; /* by cell: its first call */
	size_t source_bytes;
	struct script script;
};

static void heatmap_deinit(struct heatmap *h)
{
	free(h->names);
	lineheat_destroy(h->heat);
	heatmap_files_deinit(&h->files);
	free(h->call_of);
	script_deinit(&h->script);
}

static int compare_files(const void *a, const void *b)
{
	const struct lineheat_file *x = ((const struct heatmap_file *)a)->heat;
	const struct lineheat_file *y = ((const struct heatmap_file *)b)->heat;
	if (x->own.ns != y->own.ns)
		return x->own.ns > y->own.ns ? -1 : 1;
	if (x->own.count != y->own.count)
		return x->own.count > y->own.count ? -1 : 1;
	return x->file < y->file ? -1 : 1;
}

static struct error *find_files(struct heatmap *h)
{
	const struct lineheat_cells *cells = &h->heat->cells;
	for (uint32_t first = 0, end; first < cells->count; first = end) {
		struct heatmap_file *file = heatmap_files_append(&h->files);
		if (!file)
			return error_no_memory();
		uint32_t id = cells->items[first].file;
		file->heat = &h->heat->files.items[id];
		file->first = first;
		for (end = first + 1; end < cells->count; end++)
			if (cells->items[end].file != id)
				break;
		file->end = end;
	}
	if (h->files.count)
		qsort(h->files.items, h->files.count, sizeof(*h->files.items), compare_files);
	return NULL;
}

static struct error *find_calls(struct heatmap *h)
{
	const struct lineheat_calls *calls = &h->heat->calls;
	size_t count = h->heat->cells.count;
	h->call_of = calloc(count + 2, sizeof(*h->call_of));
	if (!h->call_of)
		return error_no_memory();
	uint32_t call = 0;
	for (uint32_t cell = 0; cell <= count; cell++) {
		while (call < calls->count && calls->items[call].cell < cell)
			call++;
		h->call_of[cell] = call;
	}
	return NULL;
}

static void add_number(struct heatmap *h, const char *before, uint64_t number)
{
	script_raw(&h->script, before);
	script_number(&h->script, number);
}

static void add_weight(struct heatmap *h, const struct lineheat_weight *weight)
{
	add_number(h, ",", weight->count);
	add_number(h, ",", weight->ns);
}

static void add_head(struct heatmap *h)
{
	bool samples = h->options->weights == WRITER_SAMPLES;
	script_raw(&h->script, "{\"version\":" DATA_VERSION ",\"weights\":");
	script_text(&h->script, samples ? "samples" : "ns");
	script_raw(&h->script, ",\n\"runs\":[");
	scriptfacts_run(&h->script, h->profile);
	script_raw(&h->script, "],\n\"processes\":[");
	for (uint32_t i = 0; i < h->profile->processes.count; i++) {
		script_raw(&h->script, i ? ",\n" : "");
		scriptfacts_process(&h->script, h->profile, i, 0);
	}
	add_number(h, "],\n\"all\":[", h->heat->all.count);
	add_number(h, ",", h->heat->all.ns);
	script_raw(&h->script, "]");
}

/* All of them, so that ids stay. The file is a place in the list of files, which is in order of heat, -1 for none. */
static struct error *add_functions(struct heatmap *h)
{
	const struct profile *profile = h->profile;
	_cleanup_free_ uint32_t *place = calloc(profile->strings.count + 1, sizeof(*place));
	if (!place)
		return error_no_memory();
	for (uint32_t i = 0; i < h->files.count; i++)
		place[h->files.items[i].heat->file] = i + 1;

	script_raw(&h->script, ",\n\"functions\":[");
	bool first = true;
	vec_foreach (function, &profile->functions) {
		bool known = function->kind == PROFILE_PYTHON && function->file != PROFILE_NONE;
		uint32_t file = known ? place[function->file] : 0;
		script_raw(&h->script, first ? "\n[" : ",\n[");
		script_text(&h->script,
			    known ? intern_text(&profile->strings, function->name) : "");
		if (file)
			add_number(h, ",", file - 1);
		else
			script_raw(&h->script, ",-1");
		add_number(h, ",", function->firstlineno);
		script_raw(&h->script, "]");
		first = false;
	}
	script_raw(&h->script, "]");
	return NULL;
}

/* null where it cannot be had. */
static void add_source(struct heatmap *h, const char *path)
{
	const struct source_reader *sources = &h->options->sources;
	size_t left = SOURCES_MAX - h->source_bytes;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	if (sources->read && path[0] != '<')
		text = sources->read(sources->context, path, left < SOURCE_MAX ? left : SOURCE_MAX,
				     &size);
	h->source_bytes += size;
	script_raw(&h->script, ",\n\"source\":");
	script_text(&h->script, text);
}

static void add_file(struct heatmap *h, const struct heatmap_file *file)
{
	const char *path = intern_text(&h->profile->strings, file->heat->file);
	script_raw(&h->script, "{\"name\":");
	script_text(&h->script, h->names[file->heat->file]);
	script_raw(&h->script, ",\"path\":");
	script_text(&h->script, path);
	add_number(h, ",\"own\":[", file->heat->own.count);
	add_number(h, ",", file->heat->own.ns);
	add_number(h, "],\"total\":[", file->heat->total.count);
	add_number(h, ",", file->heat->total.ns);
	script_raw(&h->script, "],\"lines\":[");
	for (uint32_t i = file->first; i < file->end; i++) {
		const struct lineheat_cell *cell = &h->heat->cells.items[i];
		add_number(h, i > file->first ? "," : "", cell->line);
		add_weight(h, &cell->own);
		add_weight(h, &cell->total);
	}
	script_raw(&h->script, "],\"calls\":[");
	for (uint32_t i = h->call_of[file->first]; i < h->call_of[file->end]; i++) {
		const struct lineheat_call *call = &h->heat->calls.items[i];
		add_number(h, i > h->call_of[file->first] ? "," : "",
			   h->heat->cells.items[call->cell].line);
		add_number(h, ",", call->function);
		add_weight(h, &call->weight);
	}
	script_raw(&h->script, "]");
	add_source(h, path);
	script_raw(&h->script, "}");
}

static struct error *add_data(struct heatmap *h)
{
	add_head(h);
	struct error *err = add_functions(h);
	if (err)
		return err;
	script_raw(&h->script, ",\n\"files\":[");
	for (size_t i = 0; i < h->files.count && !ferror(h->script.stream); i++) {
		script_raw(&h->script, i ? ",\n" : "\n");
		add_file(h, &h->files.items[i]);
	}
	script_raw(&h->script, "]}\n");
	return NULL;
}

static struct error *heatmap_write(const struct profile *profile,
				   const struct writer_options *options, FILE *stream)
{
	_cleanup_(heatmap_deinit) struct heatmap h = {
		.profile = profile,
		.options = options,
		.script.stream = stream,
	};
	struct error *err = writer_files(profile, options, &h.names);
	if (!err)
		err = lineheat_create(profile, options->no_line, &h.heat);
	if (!err)
		err = find_files(&h);
	if (!err)
		err = find_calls(&h);
	if (err)
		return err;
	script_page(page, true, stream);
	err = add_data(&h);
	if (err)
		return err;
	script_page(page, false, stream);
	return h.script.failed ? error_no_memory() : NULL;
}

const struct writer heatmap_writer = {
	.name = "heatmap",
	.description = "a page with the source files, own and total time beside every line",
	.endings = (const char *const[]){ ".heatmap.html", ".heatmap", NULL },
	.wants_sources = true,
	.write = heatmap_write,
};
