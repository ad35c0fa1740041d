/* SPDX-License-Identifier: MIT */
/*
 * speedscope.c: speedscope's own file format, a sampled profile a thread.
 *
 * A frame there is a function: it has the line of the definition, not the current one, since frames
 * of one name and different lines would be shown as different functions.
 */
#include "write/speedscope.h"

#include <stdlib.h>

#include "write/fold.h"
#include "write/jsonstream.h"
#include "write/text.h"

struct speedscope {
	const struct profile *profile;
	const char **files; /* by string id */
	struct fold *fold;  /* labels: functions; groups: threads */
	bool in_ns;
	struct jsonstream json;
};

static void speedscope_deinit(struct speedscope *s)
{
	free(s->files);
	fold_destroy(s->fold);
}

static json_t *function_json(const struct speedscope *s, const struct profile_function *function)
{
	json_t *name = jsonstream_text(intern_text(&s->profile->strings, function->name));
	json_t *frame = json_pack("{s:o}", "name", name);
	if (!frame)
		return NULL;
	bool failed = false;
	if (function->file != PROFILE_NONE)
		failed |= json_object_set_new(frame, "file",
					      jsonstream_text(s->files[function->file])) < 0;
	if (function->firstlineno)
		failed |=
			json_object_set_new(frame, "line", json_integer(function->firstlineno)) < 0;
	if (!failed)
		return frame;
	json_decref(frame);
	return NULL;
}

static void add_frames(struct speedscope *s)
{
	jsonstream_open(&s->json, "shared", '{');
	jsonstream_open(&s->json, "frames", '[');
	vec_foreach (function, &s->profile->functions)
		jsonstream_add(&s->json, NULL, function_json(s, function));
	/* The viewer leaves a sample without frames out of its sums. This is the frame that they get; its index is the next one. */
	jsonstream_add(&s->json, NULL, json_pack("{s:s}", "name", "[no frames]"));
	jsonstream_close(&s->json, ']');
	jsonstream_close(&s->json, '}');
}

static json_t *path_json(const struct speedscope *s, const struct fold_line *line)
{
	json_t *array = json_array();
	size_t count = 0;
	const uint32_t *path = fold_path(s->fold, line->node, &count);
	bool failed = !array || !path;
	for (size_t i = 0; i < count && !failed; i++)
		failed = json_array_append_new(array, json_integer(path[i])) < 0;
	if (!count && !failed)
		failed = json_array_append_new(
				 array, json_integer((json_int_t)s->profile->functions.count)) < 0;
	if (!failed)
		return array;
	json_decref(array);
	return NULL;
}

static void add_numbered(struct strbuf *text, const char *what, pid_t number, const char *name)
{
	strbuf_addf(text, "%s %d (", what, (int)number);
	text_escape(text, name, TEXT_UTF8, NULL);
	strbuf_addc(text, ')');
}

static json_t *thread_name(const struct profile *profile, uint32_t thread)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	const struct profile_thread *t = &profile->threads.items[thread];
	if (profile->processes.count > 1) {
		add_numbered(&text, "process", profile->processes.items[t->process].pid,
			     profile_process_name(profile, t->process));
		strbuf_adds(&text, ", ");
	}
	add_numbered(&text, "thread", t->tid, profile_thread_name(profile, thread));
	return text.failed ? NULL : json_string(text.text);
}

static json_t *profile_name(const struct profile *profile)
{
	size_t count = profile->processes.count;
	if (count > 1)
		return json_sprintf("%zu processes", count);
	return json_sprintf("pid %d", count ? (int)profile->processes.items[0].pid : 0);
}

/* A profile of @count @lines, all of one thread. */
static void add_profile(struct speedscope *s, json_t *name, const struct fold_line *lines,
			size_t count)
{
	uint64_t total = 0;
	for (size_t i = 0; i < count; i++)
		total += lines[i].weight;

	struct jsonstream *json = &s->json;
	jsonstream_open(json, NULL, '{');
	jsonstream_add(json, "type", json_string("sampled"));
	jsonstream_add(json, "name", name);
	jsonstream_add(json, "unit", json_string(s->in_ns ? "nanoseconds" : "none"));
	jsonstream_add(json, "startValue", json_integer(0));
	jsonstream_add(json, "endValue", json_integer((json_int_t)total));
	jsonstream_open(json, "samples", '[');
	for (size_t i = 0; i < count && !ferror(json->stream); i++)
		jsonstream_add(json, NULL, path_json(s, &lines[i]));
	jsonstream_close(json, ']');
	jsonstream_open(json, "weights", '[');
	for (size_t i = 0; i < count; i++)
		jsonstream_add(json, NULL, json_integer((json_int_t)lines[i].weight));
	jsonstream_close(json, ']');
	jsonstream_close(json, '}');
}

static void add_profiles(struct speedscope *s)
{
	jsonstream_open(&s->json, "profiles", '[');
	const struct fold_lines *lines = &s->fold->lines;
	for (size_t first = 0, end; first < lines->count; first = end) {
		uint32_t thread = lines->items[first].group;
		for (end = first + 1; end < lines->count; end++)
			if (lines->items[end].group != thread)
				break;
		add_profile(s, thread_name(s->profile, thread), &lines->items[first], end - first);
	}
	/* The viewer takes a file without a profile for a broken one. */
	if (!lines->count)
		add_profile(s, json_string("no samples"), NULL, 0);
	jsonstream_close(&s->json, ']');
}

/* The stacks of the profile as functions, by thread. */
static struct error *fold_threads(struct speedscope *s, const struct writer_options *options)
{
	const struct profile *profile = s->profile;
	_cleanup_free_ uint32_t *labels = calloc(profile->frames.count + 1, sizeof(*labels));
	if (!labels)
		return error_no_memory();
	for (size_t i = 0; i < profile->frames.count; i++)
		labels[i] = profile->frames.items[i].function;

	struct error *err = fold_create(profile, labels, &s->fold);
	if (err)
		return err;
	vec_foreach (sample, &profile->samples) {
		err = fold_add(s->fold, sample->thread, sample->stack,
			       writer_weight(profile, options, WRITER_NS, sample));
		if (err)
			return err;
	}
	fold_sort(s->fold);
	return NULL;
}

static struct error *speedscope_write(const struct profile *profile,
				      const struct writer_options *options, FILE *stream)
{
	_cleanup_(speedscope_deinit) struct speedscope s = {
		.profile = profile,
		.in_ns = options->weights != WRITER_SAMPLES,
		.json = { .stream = stream, .first = true },
	};
	struct error *err = writer_files(profile, options, &s.files);
	if (!err)
		err = fold_threads(&s, options);
	if (err)
		return err;

	const char *version = profile->facts.tool_version ? profile->facts.tool_version : "";
	struct jsonstream *json = &s.json;
	jsonstream_open(json, NULL, '{');
	jsonstream_add(json, "$schema",
		       json_string("https://www.speedscope.app/file-format-schema.json"));
	jsonstream_add(json, "exporter", json_sprintf("pysample %s", version));
	jsonstream_add(json, "name", profile_name(profile));
	add_frames(&s);
	add_profiles(&s);
	jsonstream_close(json, '}');
	return json->failed ? error_no_memory() : NULL;
}

const struct writer speedscope_writer = {
	.name = "speedscope",
	.description = "a file for the speedscope viewer, a profile a thread",
	.endings = (const char *const[]){ ".speedscope.json", ".speedscope", NULL },
	.write = speedscope_write,
};
