/* SPDX-License-Identifier: MIT */
/* report_json.c: a report for programs, as docs/formats.md describes it. */
#include <stdlib.h>

#include "report.h"
#include "write/jsonstream.h"

static json_t *json_weight(uint64_t weight)
{
	return json_integer(weight > INT64_MAX ? INT64_MAX : (json_int_t)weight);
}

/* {"name", "file", "line", "kind"}; NULL without memory. */
static json_t *json_function(const struct report *report, uint32_t function)
{
	const struct profile_function *f = &report->profile->functions.items[function];
	return json_pack("{s:o,s:o,s:o,s:s}", "name",
			 jsonstream_text(intern_text(&report->profile->strings, f->name)), "file",
			 jsonstream_text(f->file == PROFILE_NONE ? NULL : report->files[f->file]),
			 "line", json_integer(f->firstlineno), "kind", profile_kind_name(f->kind));
}

static json_t *with_weights(json_t *object, uint64_t own, uint64_t total)
{
	if (object && (json_object_set_new(object, "own", json_weight(own)) ||
		       json_object_set_new(object, "total", json_weight(total)))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static struct error *add_table(const struct report *report, struct jsonstream *json)
{
	_cleanup_free_ uint32_t *order = NULL;
	size_t count;
	struct error *err = report_order(report, &order, &count);
	if (err)
		return err;
	jsonstream_open(json, "functions", '[');
	for (size_t i = 0; i < report_lines(report->options, count); i++) {
		const struct calltree_function *f = &report->tree->functions[order[i]];
		jsonstream_add(json, NULL,
			       with_weights(json_function(report, order[i]), f->own, f->total));
	}
	jsonstream_close(json, ']');
	return NULL;
}

struct tree_json {
	const struct report *report;
	struct jsonstream *json;
	uint64_t least;
};

static bool add_node(void *data, uint32_t id, unsigned depth, bool enter)
{
	struct tree_json *tree = data;
	const struct calltree_node *node = &tree->report->tree->nodes.items[id];
	if (!enter || !node->total || node->total < tree->least)
		return false;
	json_t *object =
		with_weights(json_function(tree->report, node->function), node->own, node->total);
	if (object && json_object_set_new(object, "depth", json_integer(depth))) {
		json_decref(object);
		object = NULL;
	}
	jsonstream_add(tree->json, NULL, object);
	return !ferror(tree->json->stream);
}

static void add_tree(const struct report *report, struct jsonstream *json)
{
	struct tree_json tree = { .report = report, .json = json };
	tree.least = (uint64_t)(report->options->report.min_share * (double)report->tree->sum);
	jsonstream_open(json, "tree", '[');
	calltree_walk(report->tree, add_node, &tree);
	jsonstream_close(json, ']');
}

static void add_weights(const struct report *report, const char *key, const uint64_t *weights,
			struct jsonstream *json)
{
	size_t functions = report->profile->functions.count;
	jsonstream_open(json, key, '[');
	for (uint32_t i = 0; i <= functions; i++) {
		if (!weights[i])
			continue;
		json_t *object =
			i < functions ? json_function(report, i) : json_pack("{s:n}", "name");
		if (object && json_object_set_new(object, "weight", json_weight(weights[i]))) {
			json_decref(object);
			object = NULL;
		}
		jsonstream_add(json, NULL, object);
	}
	jsonstream_close(json, ']');
}

static struct error *add_callers(const struct report *report, struct jsonstream *json)
{
	_cleanup_(report_callers_deinit) struct report_callers found = { 0 };
	struct error *err = report_find_callers(report, &found);
	if (err)
		return err;
	jsonstream_add(json, "own", json_weight(found.own));
	jsonstream_add(json, "total", json_weight(found.total));
	add_weights(report, "callers", found.callers, json);
	add_weights(report, "callees", found.callees, json);
	return NULL;
}

struct error *report_show_json(const struct report *report, FILE *stream)
{
	struct jsonstream json = { .stream = stream, .first = true };
	struct error *err = NULL;
	jsonstream_open(&json, NULL, '{');
	jsonstream_add(&json, "format", json_string("pysample report"));
	jsonstream_add(&json, "version", json_integer(1));
	jsonstream_add(&json, "unit", json_string(report->ns ? "ns" : "samples"));
	jsonstream_add(&json, "mode", json_string(profile_mode_name(report->profile->facts.mode)));
	jsonstream_add(&json, "samples", json_weight(report->profile->stats.samples));
	jsonstream_add(&json, "lost", json_weight(stats_lost(&report->profile->stats)));
	jsonstream_add(&json, "duration_ns", json_weight(report->profile->stats.duration_ns));
	jsonstream_add(&json, "sum", json_weight(report->tree->sum));
	jsonstream_add(&json, "no_frames", json_weight(report->tree->no_frames));
	if (report->options->report.tree)
		add_tree(report, &json);
	else if (report->options->report.callers)
		err = add_callers(report, &json);
	else
		err = add_table(report, &json);
	jsonstream_close(&json, '}');
	return err ? err : json.failed ? error_no_memory() : NULL;
}
