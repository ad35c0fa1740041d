/* SPDX-License-Identifier: MIT */
/*
 * pprof.c: the profile.proto of pprof, gzipped.
 *
 * A Location is a frame: function and current line. Ids there begin with 1, so one is an id of ours
 * and 1. Field numbers: proto/profile.proto of github.com/google/pprof.
 */
#include "write/pprof.h"

#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "write/text.h"

enum pprof_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE,
	PPROF_MAPPING,
	PPROF_LOCATION,
	PPROF_FUNCTION,
	PPROF_STRING,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS,
	PPROF_PERIOD_TYPE,
	PPROF_PERIOD,
	PPROF_COMMENT,
	PPROF_DEFAULT_SAMPLE_TYPE,
};

enum value_type_field { VALUE_TYPE = 1, VALUE_UNIT };
enum sample_field { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum label_field { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES,
};
enum location_field { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4 };
enum line_field { LINE_FUNCTION = 1, LINE_LINE };
/* Field 3 is the name as the linker has it. It stays empty: where it is there, pprof demangles it, and takes the <module> of
 * Python for a template of C++. */
enum function_field { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4, FUNCTION_START_LINE };

struct pprof {
	const struct profile *profile;
	const struct writer_options *options;
	const char **files; /* by string id */
	uint32_t *mappings; /* by string id: the mapping of a native module, 0: none yet */
	uint32_t mapping_count;
	bool bare; /* there are samples without frames: they need a place to be counted at */
	struct intern strings; /* the string table of the message */
	bool failed;           /* a string could not be kept */
	struct strbuf text;
	struct pb *pb;
};

static void pprof_deinit(struct pprof *p)
{
	free(p->files);
	free(p->mappings);
	intern_deinit(&p->strings);
	strbuf_deinit(&p->text);
}

/* The index of @text in the string table. */
static uint32_t string_id(struct pprof *p, const char *text)
{
	strbuf_reset(&p->text);
	text_escape(&p->text, text, TEXT_UTF8, NULL);
	strbuf_add(&p->text, "", 0);
	uint32_t id = p->text.failed ? INTERN_NONE : intern_add(&p->strings, p->text.text);
	if (id != INTERN_NONE)
		return id;
	p->failed = true;
	return 0;
}

static void add_string(struct pprof *p, unsigned field, const char *text)
{
	pb_uint(p->pb, field, string_id(p, text));
}

static void add_value_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	size_t mark = pb_begin(p->pb, field);
	add_string(p, VALUE_TYPE, type);
	add_string(p, VALUE_UNIT, unit);
	pb_end(p->pb, mark);
}

/* All is named already: nobody needs to look into the file for more. */
static uint32_t add_mapping(struct pprof *p, const char *file)
{
	uint32_t id = ++p->mapping_count;
	size_t mark = pb_begin(p->pb, PPROF_MAPPING);
	pb_uint(p->pb, MAPPING_ID, id);
	add_string(p, MAPPING_FILE, file);
	pb_bool(p->pb, MAPPING_HAS_FUNCTIONS, true);
	pb_bool(p->pb, MAPPING_HAS_FILES, true);
	pb_bool(p->pb, MAPPING_HAS_LINES, true);
	pb_end(p->pb, mark);
	return id;
}

static bool has_module(const struct profile_function *function)
{
	return function->kind == PROFILE_NATIVE && function->file != PROFILE_NONE;
}

/* The first one is the program, as readers expect; then one for each module with native frames. */
static struct error *add_mappings(struct pprof *p)
{
	const struct profile *profile = p->profile;
	p->mappings = calloc(profile->strings.count + 1, sizeof(*p->mappings));
	if (!p->mappings)
		return error_no_memory();

	const char *program =
		profile->processes.count ? profile->processes.items[0].executable : NULL;
	add_mapping(p, program ? program : "python");
	vec_foreach (function, &profile->functions) {
		if (!has_module(function) || p->mappings[function->file])
			continue;
		const char *path = intern_text(&profile->strings, function->file);
		bool is_program = program && !strcmp(path, program);
		p->mappings[function->file] = is_program ? 1 : add_mapping(p, path);
	}
	return NULL;
}

static void add_functions(struct pprof *p)
{
	uint64_t id = 0;
	vec_foreach (function, &p->profile->functions) {
		size_t mark = pb_begin(p->pb, PPROF_FUNCTION);
		pb_uint(p->pb, FUNCTION_ID, ++id);
		add_string(p, FUNCTION_NAME, intern_text(&p->profile->strings, function->name));
		if (function->kind == PROFILE_PYTHON && function->file != PROFILE_NONE)
			add_string(p, FUNCTION_FILE, p->files[function->file]);
		pb_uint(p->pb, FUNCTION_START_LINE, function->firstlineno);
		pb_end(p->pb, mark);
	}
	if (!p->bare)
		return;
	size_t mark = pb_begin(p->pb, PPROF_FUNCTION);
	pb_uint(p->pb, FUNCTION_ID, ++id);
	add_string(p, FUNCTION_NAME, "[no frames]");
	pb_end(p->pb, mark);
}

static void add_location(struct pprof *p, uint64_t id, uint32_t mapping, uint64_t function,
			 uint32_t line)
{
	size_t mark = pb_begin(p->pb, PPROF_LOCATION);
	pb_uint(p->pb, LOCATION_ID, id);
	pb_uint(p->pb, LOCATION_MAPPING, mapping);
	size_t line_mark = pb_begin(p->pb, LOCATION_LINE);
	pb_uint(p->pb, LINE_FUNCTION, function);
	pb_uint(p->pb, LINE_LINE, line);
	pb_end(p->pb, line_mark);
	pb_end(p->pb, mark);
}

static void add_locations(struct pprof *p)
{
	const struct profile *profile = p->profile;
	uint64_t id = 0;
	vec_foreach (frame, &profile->frames) {
		const struct profile_function *function =
			&profile->functions.items[frame->function];
		uint32_t mapping = has_module(function) ? p->mappings[function->file] : 1;
		add_location(p, ++id, mapping, (uint64_t)frame->function + 1,
			     p->options->no_line ? 0 : frame->line);
	}
	if (p->bare)
		add_location(p, ++id, 1, (uint64_t)profile->functions.count + 1, 0);
}

static void add_text_label(struct pprof *p, const char *key, const char *text)
{
	size_t mark = pb_begin(p->pb, SAMPLE_LABEL);
	add_string(p, LABEL_KEY, key);
	add_string(p, LABEL_TEXT, text);
	pb_end(p->pb, mark);
}

static void add_number_label(struct pprof *p, const char *key, int64_t number)
{
	size_t mark = pb_begin(p->pb, SAMPLE_LABEL);
	add_string(p, LABEL_KEY, key);
	pb_int(p->pb, LABEL_NUMBER, number);
	pb_end(p->pb, mark);
}

static void add_labels(struct pprof *p, const struct profile_sample *sample)
{
	const struct profile_thread *thread = &p->profile->threads.items[sample->thread];
	add_text_label(p, "thread", profile_thread_name(p->profile, sample->thread));
	add_number_label(p, "tid", thread->tid);
	add_text_label(p, "process", profile_process_name(p->profile, thread->process));
	add_number_label(p, "pid", p->profile->processes.items[thread->process].pid);
	add_text_label(p, "state", sample->flags & PROFILE_IDLE ? "idle" : "active");
}

/* Innermost first. */
static void add_sample_locations(struct pprof *p, uint32_t stack)
{
	const struct profile *profile = p->profile;
	size_t mark = pb_begin(p->pb, SAMPLE_LOCATIONS);
	if (stack == PROFILE_NONE)
		pb_varint(p->pb, (uint64_t)profile->frames.count + 1);
	for (; stack != PROFILE_NONE; stack = profile->stacks.items[stack].parent)
		pb_varint(p->pb, (uint64_t)profile->stacks.items[stack].frame + 1);
	pb_end(p->pb, mark);
}

static void add_samples(struct pprof *p)
{
	vec_foreach (sample, &p->profile->samples) {
		size_t mark = pb_begin(p->pb, PPROF_SAMPLE);
		add_sample_locations(p, sample->stack);
		const uint64_t values[] = { sample->count, profile_weight_ns(p->profile, sample) };
		pb_packed(p->pb, SAMPLE_VALUES, values, sizeof(values) / sizeof(values[0]));
		add_labels(p, sample);
		pb_end(p->pb, mark);
	}
}

static void add_comments(struct pprof *p)
{
	const struct profile *profile = p->profile;
	const char *version = profile->facts.tool_version;
	_cleanup_strbuf_ struct strbuf text = { 0 };
	strbuf_addf(&text, "pysample %s", version ? version : "");
	uint64_t comments[REASON_COUNT_ + 1];
	size_t count = 0;
	comments[count++] = text.failed ? 0 : string_id(p, text.text);
	for (size_t i = 0; i < REASON_COUNT_; i++) {
		if (!profile->stats.lost[i])
			continue;
		strbuf_reset(&text);
		strbuf_addf(&text, "lost: %s: %llu", reason_name((enum reason)i),
			    (unsigned long long)profile->stats.lost[i]);
		comments[count++] = text.failed ? 0 : string_id(p, text.text);
	}
	pb_packed(p->pb, PPROF_COMMENT, comments, count);
}

static void add_head(struct pprof *p)
{
	const struct profile *profile = p->profile;
	const char *mode = profile_mode_name(profile->facts.mode);
	add_value_type(p, PPROF_SAMPLE_TYPE, "samples", "count");
	add_value_type(p, PPROF_SAMPLE_TYPE, mode, "nanoseconds");
	pb_int(p->pb, PPROF_TIME_NANOS, writer_start_ns(profile));
	pb_uint(p->pb, PPROF_DURATION_NANOS, profile->stats.duration_ns);
	if (profile->stats.interval_ns) {
		add_value_type(p, PPROF_PERIOD_TYPE, mode, "nanoseconds");
		pb_uint(p->pb, PPROF_PERIOD, profile->stats.interval_ns);
	}
	add_string(p, PPROF_DEFAULT_SAMPLE_TYPE,
		   p->options->weights == WRITER_SAMPLES ? "samples" : mode);
}

struct error *pprof_encode(const struct profile *profile, const struct writer_options *options,
			   struct pb *pb)
{
	_cleanup_(pprof_deinit) struct pprof p = {
		.profile = profile,
		.options = options,
		.pb = pb,
	};
	struct error *err = writer_files(profile, options, &p.files);
	if (err)
		return err;
	/* Entry 0 must be the empty text. */
	string_id(&p, "");
	add_head(&p);
	err = add_mappings(&p);
	if (err)
		return err;
	vec_foreach (sample, &profile->samples)
		p.bare |= sample->stack == PROFILE_NONE;
	add_functions(&p);
	add_locations(&p);
	add_samples(&p);
	add_comments(&p);
	for (uint32_t i = 0; i < p.strings.count; i++)
		pb_string(pb, PPROF_STRING, intern_text(&p.strings, i));
	return pb->failed || p.failed ? error_no_memory() : NULL;
}

static struct error *pprof_write(const struct profile *profile,
				 const struct writer_options *options, FILE *stream)
{
	_cleanup_pb_ struct pb pb = { 0 };
	struct error *err = pprof_encode(profile, options, &pb);
	if (err)
		return err;
	_cleanup_free_ uint8_t *file = NULL;
	size_t size = 0;
	err = gzip_compress(pb.data, pb.size, &file, &size);
	if (err)
		return err;
	fwrite(file, 1, size, stream);
	return NULL;
}

const struct writer pprof_writer = {
	.name = "pprof",
	.description =
		"a file for pprof and servers that keep profiles: both weights, threads as labels",
	.endings = (const char *const[]){ ".pb.gz", ".pprof", NULL },
	.write = pprof_write,
};
