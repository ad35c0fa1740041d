/* SPDX-License-Identifier: MIT */
/*
 * read_json.c: the format "json" of docs/formats.md → profile.
 *
 * A first pass over the text notes where each member begins and checks the form of all of it; then the members are read in the
 * order in which they refer to each other.
 */
#include "read/read_json.h"

#include <string.h>

#include "read/read.h"
#include "read/read_json_private.h"
#include "read/read_stats.h"

#define VERSION_MAX 2

static void json_file_deinit(struct json_file *f)
{
	strbuf_deinit(&f->key);
	strbuf_deinit(&f->raw);
	strbuf_deinit(&f->text);
	strbuf_deinit(&f->file);
	strbuf_deinit(&f->shown);
	ids_deinit(&f->processes);
	ids_deinit(&f->threads);
	ids_deinit(&f->functions);
	ids_deinit(&f->frames);
	ids_deinit(&f->stacks);
	ids_deinit(&f->depths);
	idset_deinit(&f->threads_known);
}

static const struct {
	const char *name;
	const char *missing; /* NULL: it may */
} members[MEMBER_COUNT_] = {
	[MEMBER_FORMAT] = { "format", "not a profile of pysample: there is no \"format\"" },
	[MEMBER_VERSION] = { "version", "there is no \"version\"" },
	[MEMBER_TOOL] = { "tool", NULL },
	[MEMBER_TARGET] = { "target", NULL },
	[MEMBER_PROCESSES] = { "processes", NULL },
	[MEMBER_START_TIME] = { "start_time", NULL },
	[MEMBER_DURATION] = { "duration_ns", NULL },
	[MEMBER_OPTIONS] = { "options", NULL },
	[MEMBER_STATS] = { "stats", NULL },
	[MEMBER_LOSSES] = { "losses", NULL },
	[MEMBER_THREADS] = { "threads", "there are no \"threads\"" },
	[MEMBER_FUNCTIONS] = { "functions", "there are no \"functions\"" },
	[MEMBER_FRAMES] = { "frames", "there are no \"frames\"" },
	[MEMBER_STACKS] = { "stacks", "there are no \"stacks\"" },
	[MEMBER_SAMPLES] = { "samples", "there are no \"samples\"" },
};

/* Goes to a member of the document; false if it is not there. */
static bool go_to(struct json_file *f, enum member member)
{
	if (!f->at[member] || f->scan.wrong)
		return false;
	f->scan.pos = f->at[member];
	return true;
}

static void get_kind(struct json_file *f, enum profile_kind *kind_ret)
{
	if (!scan_string(&f->scan, &f->raw))
		return;
	for (int kind = PROFILE_PYTHON; kind <= PROFILE_MARKER; kind++) {
		if (strcmp(profile_kind_name((enum profile_kind)kind), f->raw.text) != 0)
			continue;
		*kind_ret = (enum profile_kind)kind;
		return;
	}
	scan_fail(&f->scan, "a kind of function that this pysample does not know");
}

/* The end of @file that is @shown, as it is in this profile: it depended on what was on the target's disk. */
static void show_file(struct json_file *f, uint32_t function, const char *file, const char *shown)
{
	size_t length = strlen(file), size = strlen(shown);
	if (size > length || strcmp(file + length - size, shown) != 0)
		return;
	uint32_t id = f->profile->functions.items[function].file;
	size_t known;
	if (profile_file_shown(f->profile, id, &known) && known <= length - size)
		return;
	_cleanup_error_ struct error *err = profile_show_file(f->profile, id, length - size);
	if (err)
		json_no_memory(f);
}

static void read_functions(struct json_file *f)
{
	for (bool first = scan_open(&f->scan, '['); json_next_item(f, &first);) {
		const char *name = NULL, *file = NULL, *shown = NULL;
		uint64_t line = 0;
		enum profile_kind kind = PROFILE_PYTHON;
		for (bool inner = scan_open(&f->scan, '{'); json_next_member(f, &inner);) {
			if (json_key_is(f, "name"))
				json_get_text(f, &f->text, &name);
			else if (json_key_is(f, "file"))
				json_get_text(f, &f->file, &file);
			else if (json_key_is(f, "short_file"))
				json_get_text(f, &f->shown, &shown);
			else if (json_key_is(f, "line"))
				scan_number(&f->scan, UINT32_MAX, &line);
			else if (json_key_is(f, "kind"))
				get_kind(f, &kind);
			else
				scan_skip(&f->scan);
		}
		if (!f->scan.wrong && !name)
			scan_fail(&f->scan, "a function without a name");
		if (f->scan.wrong)
			return;
		uint32_t id = profile_function(f->profile, name, file, (uint32_t)line, kind);
		if (json_append_id(f, &f->functions, id) && file && shown)
			show_file(f, id, file, shown);
	}
}

static void read_frames(struct json_file *f)
{
	for (bool first = scan_open(&f->scan, '['); json_next_item(f, &first);) {
		uint32_t function;
		uint64_t line;
		if (!scan_open(&f->scan, '[') ||
		    !json_get_id(f, &f->functions, "a function that is not in the file",
				 &function) ||
		    !scan_char(&f->scan, ',') || !scan_number(&f->scan, UINT32_MAX, &line) ||
		    !scan_char(&f->scan, ']') ||
		    !json_append_id(f, &f->frames,
				    profile_frame(f->profile, function, (uint32_t)line)))
			return;
	}
}

/* Notes how deep those of the profile's stacks are that are new; false if one is too deep. */
static bool note_depths(struct json_file *f)
{
	const struct profile_stacks *stacks = &f->profile->stacks;
	while (f->depths.count < stacks->count) {
		uint32_t parent = stacks->items[f->depths.count].parent;
		uint32_t depth = parent == PROFILE_NONE ? 1 : f->depths.items[parent] + 1;
		if (depth > READ_DEPTH_MAX)
			return scan_fail(&f->scan, "a stack of too many frames");
		if (!json_append_id(f, &f->depths, depth))
			return false;
	}
	return true;
}

static bool read_stack(struct json_file *f)
{
	uint32_t parent, frame;
	if (!scan_open(&f->scan, '[') ||
	    !json_get_id_or_null(f, &f->stacks, "a caller that does not come before", &parent) ||
	    !scan_char(&f->scan, ',') ||
	    !json_get_id(f, &f->frames, "a frame that is not in the file", &frame) ||
	    !scan_char(&f->scan, ']'))
		return false;
	if (f->profile->stacks.count >= f->profile->stacks_max)
		return scan_fail(&f->scan, "too many stacks");
	return json_append_id(f, &f->stacks, profile_stack_child(f->profile, parent, frame)) &&
	       note_depths(f);
}

static void read_stacks(struct json_file *f)
{
	if (!note_depths(f))
		return;
	for (bool first = scan_open(&f->scan, '['); json_next_item(f, &first);)
		if (!read_stack(f))
			return;
}

static void get_end(struct json_file *f, struct profile_sample *sample)
{
	enum reason reason;
	if (!scan_string(&f->scan, &f->raw))
		return;
	if (!read_reason(f->raw.text, &reason))
		scan_fail(&f->scan, "a reason that this pysample does not know");
	else
		sample->end = (uint16_t)reason;
}

static void get_flags(struct json_file *f, struct profile_sample *sample)
{
	bool gil = false;
	if (json_key_is(f, "gil")) {
		if (scan_bool(&f->scan, &gil) && gil)
			sample->flags |= PROFILE_GIL;
		return;
	}
	if (!scan_string(&f->scan, &f->raw))
		return;
	if (!strcmp(f->raw.text, "idle"))
		sample->flags |= PROFILE_IDLE;
	else if (strcmp(f->raw.text, "active") != 0)
		scan_fail(&f->scan, "a state that is neither \"active\" nor \"idle\"");
}

static bool read_sample(struct json_file *f, struct profile_sample *sample)
{
	bool has_stack = false;
	for (bool inner = scan_open(&f->scan, '{'); json_next_member(f, &inner);) {
		if (json_key_is(f, "thread"))
			json_get_id(f, &f->threads, "a thread that is not in the file",
				    &sample->thread);
		else if (json_key_is(f, "stack"))
			has_stack = json_get_id_or_null(f, &f->stacks,
							"a stack that is not in the file",
							&sample->stack);
		else if (json_key_is(f, "state") || json_key_is(f, "gil"))
			get_flags(f, sample);
		else if (json_key_is(f, "end"))
			get_end(f, sample);
		else if (json_key_is(f, "count"))
			scan_number(&f->scan, UINT64_MAX, &sample->count);
		else if (json_key_is(f, "wall_ns"))
			scan_number(&f->scan, UINT64_MAX, &sample->wall_ns);
		else if (json_key_is(f, "cpu_ns"))
			scan_number(&f->scan, UINT64_MAX, &sample->cpu_ns);
		else
			scan_skip(&f->scan);
	}
	if (!f->scan.wrong && (sample->thread == PROFILE_NONE || !has_stack))
		scan_fail(&f->scan, "a sample without a thread or stack");
	return !f->scan.wrong;
}

static void read_samples(struct json_file *f)
{
	struct stats *stats = &f->profile->stats;
	for (bool first = scan_open(&f->scan, '['); json_next_item(f, &first);) {
		struct profile_sample sample = { .thread = PROFILE_NONE, .stack = PROFILE_NONE };
		if (!read_sample(f, &sample))
			return;
		if (__builtin_add_overflow(f->count, sample.count, &f->count) ||
		    __builtin_add_overflow(f->wall_ns, sample.wall_ns, &f->wall_ns) ||
		    __builtin_add_overflow(f->cpu_ns, sample.cpu_ns, &f->cpu_ns)) {
			scan_fail(&f->scan, "numbers that add up to too much");
			return;
		}
		if (profile_merge(f->profile, &sample) != REASON_OK) {
			json_no_memory(f);
			return;
		}
		if (f->at[MEMBER_STATS])
			continue;
		stats->samples += sample.count;
		if (sample.end == REASON_OK)
			stats->complete += sample.count;
		else
			stats->cut[sample.end] += sample.count;
	}
}

static void find_members(struct json_file *f)
{
	for (bool first = scan_open(&f->scan, '{'); json_next_member(f, &first);) {
		scan_peek(&f->scan);
		for (int i = 0; i < MEMBER_COUNT_; i++)
			if (json_key_is(f, members[i].name))
				f->at[i] = f->scan.pos;
		scan_skip(&f->scan);
	}
	if (!f->scan.wrong && !scan_done(&f->scan))
		scan_fail(&f->scan, "something comes after the end of the profile");
	for (int i = 0; i < MEMBER_COUNT_ && !f->scan.wrong; i++)
		if (!f->at[i] && members[i].missing)
			scan_fail(&f->scan, members[i].missing);
}

static void check_format(struct json_file *f)
{
	uint64_t version;
	if (go_to(f, MEMBER_FORMAT) && scan_string(&f->scan, &f->raw) &&
	    strcmp(f->raw.text, "pysample") != 0)
		scan_fail(&f->scan, "not a profile of pysample, but of another format");
	if (go_to(f, MEMBER_VERSION) && scan_number(&f->scan, UINT64_MAX, &version) &&
	    (version < 1 || version > VERSION_MAX))
		scan_fail(&f->scan, "a version that this pysample does not know");
}

static void read_all(struct json_file *f)
{
	struct profile *profile = f->profile;
	uint64_t duration_ns;
	if (go_to(f, MEMBER_TOOL))
		json_read_tool(f);
	if (go_to(f, MEMBER_START_TIME))
		json_get_fact(f, &profile->facts.start_time);
	if (go_to(f, MEMBER_DURATION) && scan_number(&f->scan, UINT64_MAX, &duration_ns))
		profile->stats.duration_ns = read_add(profile->stats.duration_ns, duration_ns);
	if (go_to(f, MEMBER_OPTIONS))
		json_read_options(f);
	if (go_to(f, MEMBER_STATS))
		read_stats(&f->scan, &profile->stats);
	if (go_to(f, MEMBER_LOSSES))
		read_losses(&f->scan, &profile->stats);
	const char *parent;
	if (go_to(f, MEMBER_PROCESSES))
		json_read_processes(f);
	else if (go_to(f, MEMBER_TARGET))
		json_read_process(f, &parent);
	if (go_to(f, MEMBER_THREADS))
		json_read_threads(f);
	if (go_to(f, MEMBER_FUNCTIONS))
		read_functions(f);
	if (go_to(f, MEMBER_FRAMES))
		read_frames(f);
	if (go_to(f, MEMBER_STACKS))
		read_stacks(f);
	if (go_to(f, MEMBER_SAMPLES))
		read_samples(f);
}

static bool note_what_was(struct json_file *f)
{
	struct profile *profile = f->profile;
	f->first = !profile->processes.count && !profile->samples.count;
	f->processes_before = profile->processes.count;
	for (uint32_t i = 0; i < profile->threads.count; i++)
		if (!idset_put(&f->threads_known, i, json_thread_key, profile))
			return false;
	vec_foreach (sample, &profile->samples) {
		f->count += sample->count;
		f->wall_ns += sample->wall_ns;
		f->cpu_ns += sample->cpu_ns;
	}
	return true;
}

struct error *read_json(const char *text, size_t size, struct profile *profile)
{
	_cleanup_(json_file_deinit) struct json_file f = {
		.profile = profile,
		.scan = scan_make(text, size),
	};
	if (!note_what_was(&f))
		return error_no_memory();
	find_members(&f);
	check_format(&f);
	read_all(&f);
	return scan_error(&f.scan);
}
