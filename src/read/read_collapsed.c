/* SPDX-License-Identifier: MIT */
/*
 * read_collapsed.c: collapsed stacks, ours or others' → profile.
 *
 * A line is FRAME;FRAME;… NUMBER. Of a frame that other tools wrote, "NAME (FILE:LINE)" and "NAME (FILE)" are understood as ours
 * are; any other text is a name.
 */
#include "read/read_collapsed.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/strbuf.h"
#include "read/read_stats.h"
#include "read/unescape.h"

DEFINE_VEC(struct frame_ids, frame_ids, uint32_t);

struct collapsed {
	struct profile *profile;
	const struct read_options *options;
	size_t line;
	const char *wrong; /* of the line; NULL: nothing */
	struct strbuf name, file;
	struct frame_ids frames;

	struct idset processes, threads; /* by id */
	uint64_t total;
	bool any; /* a stack was read */
};

static void collapsed_deinit(struct collapsed *c)
{
	strbuf_deinit(&c->name);
	strbuf_deinit(&c->file);
	frame_ids_deinit(&c->frames);
	idset_deinit(&c->processes);
	idset_deinit(&c->threads);
}

static bool fail(struct collapsed *c, const char *wrong)
{
	if (!c->wrong)
		c->wrong = wrong;
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A whole number from @from to @end, of at least one digit. */
static bool parse_number(const char *from, const char *end, uint64_t *number_ret)
{
	uint64_t number = 0;
	if (from == end)
		return false;
	for (; from < end; from++)
		if (!is_digit(*from) || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*from - '0'), &number))
			return false;
	*number_ret = number;
	return true;
}

static const char *last_blank(const char *from, const char *end)
{
	return memrchr(from, ' ', (size_t)(end - from));
}

/* Splits a line into the stack, which ends at @end_ret, and its number. */
static bool split_line(struct collapsed *c, const char *from, const char *end, const char **end_ret,
		       uint64_t *number_ret)
{
	const char *blank = last_blank(from, end);
	uint64_t other;
	if (!blank || !parse_number(blank + 1, end, number_ret))
		return fail(c, "not a stack: there is no whole number at its end");
	const char *before = last_blank(from, blank);
	if (before && parse_number(before + 1, blank, &other))
		return fail(c, "two numbers at the end: the difference of two profiles is none");
	if (__builtin_add_overflow(c->total, *number_ret, &c->total))
		return fail(c, "numbers that add up to too much");
	*end_ret = blank;
	return true;
}

static bool ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text), size = strlen(ending);
	return length >= size && !strcmp(text + length - size, ending);
}

/* A file of no name and one with a line are Python's, unless its ending says otherwise. */
static enum profile_kind guess_kind(const char *file, uint64_t line)
{
	static const char *const others[] = { ".c", ".cc", ".cpp", ".h", ".hpp", ".rs", ".go" };
	if (file[0] == '<' || ends_with(file, ".py") || ends_with(file, ".pyw"))
		return PROFILE_PYTHON;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (ends_with(file, others[i]))
			return PROFILE_NATIVE;
	return line ? PROFILE_PYTHON : PROFILE_NATIVE;
}

static void set_text(struct strbuf *buf, const char *from, const char *end)
{
	strbuf_reset(buf);
	strbuf_add(buf, "", 0);
	unescape_add(buf, from, (size_t)(end - from));
}

/* The last " (" of "NAME (FILE)"; NULL if there is none. */
static const char *find_file(const char *from, const char *end)
{
	if (end - from < 3 || end[-1] != ')')
		return NULL;
	for (const char *p = end; (p = memrchr(from, '(', (size_t)(p - from)));)
		if (p > from && p[-1] == ' ')
			return end - p > 2 ? p - 1 : NULL;
	return NULL;
}

static uint32_t make_bare(struct collapsed *c, const char *from, const char *end)
{
	bool mark = from == end || (*from == '[' && end[-1] == ']');
	set_text(&c->name, from, end);
	if (from == end)
		strbuf_adds(&c->name, "[unnamed]");
	if (c->name.failed)
		return PROFILE_NONE;
	return profile_function(c->profile, c->name.text, NULL, 0,
				mark ? PROFILE_MARKER : PROFILE_NATIVE);
}

/* The file is what is to be shown of it: more of it is not known. */
static uint32_t show_all(struct collapsed *c, uint32_t function)
{
	if (function == PROFILE_NONE)
		return PROFILE_NONE;
	_cleanup_error_ struct error *err =
		profile_show_file(c->profile, c->profile->functions.items[function].file, 0);
	return err ? PROFILE_NONE : function;
}

static uint32_t make_frame(struct collapsed *c, const char *from, const char *end)
{
	const char *paren = find_file(from, end);
	if (!paren)
		return profile_frame(c->profile, make_bare(c, from, end), 0);
	const char *file = paren + 2, *file_end = end - 1;
	const char *colon = memrchr(file, ':', (size_t)(file_end - file));
	uint64_t line = 0;
	if (colon && colon > file && parse_number(colon + 1, file_end, &line) && line <= UINT32_MAX)
		file_end = colon;
	else
		line = 0;
	set_text(&c->name, from, paren);
	set_text(&c->file, file, file_end);
	if (c->name.failed || c->file.failed)
		return PROFILE_NONE;
	uint32_t function = profile_function(c->profile, c->name.text, c->file.text, 0,
					     guess_kind(c->file.text, line));
	return profile_frame(c->profile, show_all(c, function), (uint32_t)line);
}

/* "WHAT ID (NAME)", the outermost frames that -t and several processes give. The name is in @c->name then. */
static bool parse_numbered(struct collapsed *c, const char *what, const char *from, const char *end,
			   pid_t *id_ret)
{
	size_t size = strlen(what);
	uint64_t id;
	if ((size_t)(end - from) < size + 4 || memcmp(from, what, size) != 0 || end[-1] != ')')
		return false;
	const char *paren = memchr(from + size, '(', (size_t)(end - from) - size);
	if (!paren || paren[-1] != ' ' || paren - 1 <= from + size ||
	    !parse_number(from + size, paren - 1, &id) || id > INT_MAX)
		return false;
	set_text(&c->name, paren + 1, end - 1);
	if (c->name.failed)
		return false;
	*id_ret = (pid_t)id;
	return true;
}

static uint64_t process_key(const void *data, uint32_t id)
{
	return (uint64_t)((const struct profile *)data)->processes.items[id].pid;
}

static uint64_t thread_key(const void *data, uint32_t id)
{
	const struct profile_thread *thread = &((const struct profile *)data)->threads.items[id];
	return idset_pair(thread->process, (uint32_t)thread->tid);
}

static bool same_name(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static uint32_t find_process(struct collapsed *c, pid_t pid, const char *name)
{
	struct profile *profile = c->profile;
	uint32_t id = idset_get(&c->processes, (uint64_t)pid, process_key, profile);
	if (id != IDSET_NONE && (!name || !strcmp(profile_process_name(profile, id), name)))
		return id;
	id = profile_process(profile, pid, PROFILE_NONE);
	if (id == PROFILE_NONE || !idset_put(&c->processes, id, process_key, profile))
		return PROFILE_NONE;
	if (name)
		profile_fact(&profile->processes.items[id].name, name);
	return id;
}

static uint32_t find_thread(struct collapsed *c, uint32_t process, pid_t tid, const char *name)
{
	struct profile *profile = c->profile;
	if (process == PROFILE_NONE)
		return PROFILE_NONE;
	uint32_t id =
		idset_get(&c->threads, idset_pair(process, (uint32_t)tid), thread_key, profile);
	if (id != IDSET_NONE && same_name(profile->threads.items[id].python_name, name))
		return id;
	id = profile_thread(profile, process, tid, NULL);
	if (id == PROFILE_NONE || !idset_put(&c->threads, id, thread_key, profile))
		return PROFILE_NONE;
	profile_thread_set_python_name(profile, id, name);
	return id;
}

static const char *frame_end(const char *from, const char *end)
{
	const char *semicolon = memchr(from, ';', (size_t)(end - from));
	return semicolon ? semicolon : end;
}

/* Takes the outermost frames that name process and thread. @from is at the first frame proper then, or past @end. */
static uint32_t take_thread(struct collapsed *c, const char **from, const char *end)
{
	pid_t id;
	uint32_t process;
	const char *stop = frame_end(*from, end);
	if (parse_numbered(c, "process ", *from, stop, &id)) {
		process = find_process(c, id, c->name.text);
		*from = stop + 1;
	} else {
		process = find_process(c, 0, NULL);
	}
	if (*from > end)
		return find_thread(c, process, 0, NULL);
	stop = frame_end(*from, end);
	if (!parse_numbered(c, "thread ", *from, stop, &id))
		return find_thread(c, process, 0, NULL);
	*from = stop + 1;
	return find_thread(c, process, id, c->name.text);
}

static bool text_is(const char *from, const char *end, const char *text)
{
	size_t size = strlen(text);
	return (size_t)(end - from) == size && !memcmp(from, text, size);
}

static bool take_frames(struct collapsed *c, const char *from, const char *end)
{
	c->frames.count = 0;
	if (text_is(from, end, "[no frames]"))
		return true;
	for (const char *stop; from <= end; from = stop + 1) {
		stop = frame_end(from, end);
		if (c->frames.count == READ_DEPTH_MAX)
			return fail(c, "a stack of too many frames");
		uint32_t *frame = frame_ids_append(&c->frames);
		if (!frame)
			return fail(c, "no memory");
		*frame = make_frame(c, from, stop);
	}
	return true;
}

/* "[cut: REASON]", the outermost frame of a stack that is cut. */
static enum reason find_end(const char *from, const char *end)
{
	static const char before[] = "[cut: ";
	size_t size = sizeof(before) - 1;
	char name[64];
	enum reason reason;
	const char *stop = frame_end(from, end);
	size_t length = (size_t)(stop - from);
	if (length <= size || length - size > sizeof(name) || memcmp(from, before, size) != 0 ||
	    stop[-1] != ']')
		return REASON_OK;
	memcpy(name, from + size, length - size - 1);
	name[length - size - 1] = '\0';
	return read_reason(name, &reason) ? reason : REASON_OK;
}

static bool add_sample(struct collapsed *c, const struct profile_sample *sample)
{
	struct stats *stats = &c->profile->stats;
	if (profile_merge(c->profile, sample) != REASON_OK)
		return fail(c, "no memory");
	stats->samples += sample->count;
	if (sample->end == REASON_OK)
		stats->complete += sample->count;
	else
		stats->cut[sample->end] += sample->count;
	return true;
}

static bool read_line(struct collapsed *c, const char *from, const char *end)
{
	uint64_t number;
	if (from < end && end[-1] == '\r')
		end--;
	/* Some tools begin with remarks. */
	if (from == end || (!c->any && end - from > 1 && from[0] == '#' && from[1] == ' '))
		return true;
	if (memchr(from, '\0', (size_t)(end - from)))
		return fail(c, "a NUL byte");
	if (!split_line(c, from, end, &end, &number))
		return false;
	c->any = true;

	uint32_t thread = take_thread(c, &from, end);
	struct profile_sample sample = {
		.thread = thread,
		.stack = PROFILE_NONE,
		.count = c->options->ns ? 1 : number,
		.wall_ns = number,
		.cpu_ns = number,
	};
	if (thread == PROFILE_NONE)
		return fail(c, "no memory");
	if (from <= end) {
		if (!take_frames(c, from, end))
			return false;
		sample.end = (uint16_t)find_end(from, end);
	}
	switch (profile_stack(c->profile, c->frames.items, c->frames.count, &sample.stack)) {
	case REASON_OK:
		return add_sample(c, &sample);
	case REASON_LIMIT:
		return fail(c, "too many stacks");
	default:
		return fail(c, "no memory");
	}
}

static bool note_what_was(struct collapsed *c)
{
	struct profile *profile = c->profile;
	for (uint32_t i = 0; i < profile->processes.count; i++)
		if (!idset_put(&c->processes, i, process_key, profile))
			return false;
	for (uint32_t i = 0; i < profile->threads.count; i++)
		if (!idset_put(&c->threads, i, thread_key, profile))
			return false;
	vec_foreach (sample, &profile->samples)
		c->total = read_add(c->total, sample->wall_ns);
	return true;
}

struct error *read_collapsed(const char *text, size_t size, const struct read_options *options,
			     struct profile *profile)
{
	_cleanup_(collapsed_deinit) struct collapsed c = {
		.profile = profile,
		.options = options,
	};
	if (!note_what_was(&c))
		return error_no_memory();
	profile->facts.stacks_only = true;
	profile->facts.untimed = !options->ns;

	const char *end = text + size;
	for (const char *from = text, *stop; from < end; from = stop + 1) {
		stop = memchr(from, '\n', (size_t)(end - from));
		if (!stop)
			stop = end;
		c.line++;
		if (!read_line(&c, from, stop))
			return error_create(ERROR_CORRUPT, "line %zu: %s", c.line, c.wrong);
	}
	if (!c.any)
		return error_create(ERROR_CORRUPT, "no stacks in it");
	return NULL;
}
