/* SPDX-License-Identifier: MIT */
/* read_json_target.c: what was profiled and how: tool, options, processes and threads of a JSON profile. */
#include <limits.h>
#include <string.h>

#include "read/read_json_private.h"
#include "read/read_stats.h"

/* Longest command line that is kept. */
#define ARGV_MAX (1 << 20)

void json_get_fact(struct json_file *f, char **fact)
{
	const char *text;
	if (json_get_text(f, &f->text, &text) && !*fact)
		profile_fact(fact, text);
}

static void get_argv(struct json_file *f, struct profile_argv *argv)
{
	bool null;
	if (!scan_null(&f->scan, &null) || null)
		return;
	strbuf_reset(&f->shown);
	strbuf_add(&f->shown, "", 0);
	for (bool first = scan_open(&f->scan, '['); json_next_item(f, &first);) {
		const char *text;
		if (!json_get_text(f, &f->text, &text))
			return;
		strbuf_adds(&f->shown, text ? text : "");
		strbuf_add(&f->shown, "", 1);
		if (f->shown.failed || f->shown.length > ARGV_MAX) {
			scan_fail(&f->scan, "a command line that is too long");
			return;
		}
	}
	if (!f->scan.wrong && !argv->bytes)
		profile_fact_argv(argv, f->shown.text, f->shown.length);
}

void json_read_tool(struct json_file *f)
{
	for (bool first = scan_open(&f->scan, '{'); json_next_member(f, &first);) {
		if (json_key_is(f, "version"))
			json_get_fact(f, &f->profile->facts.tool_version);
		else if (json_key_is(f, "argv"))
			get_argv(f, &f->profile->facts.tool_argv);
		else
			scan_skip(&f->scan);
	}
}

static bool find_mode(const char *name, enum profile_mode *mode_ret)
{
	for (int mode = PROFILE_WALL; mode <= PROFILE_GIL_ONLY; mode++) {
		if (strcmp(profile_mode_name((enum profile_mode)mode), name) != 0)
			continue;
		*mode_ret = (enum profile_mode)mode;
		return true;
	}
	return false;
}

static void read_mode(struct json_file *f)
{
	struct profile_facts *facts = &f->profile->facts;
	enum profile_mode mode;
	if (!scan_string(&f->scan, &f->raw))
		return;
	if (!find_mode(f->raw.text, &mode))
		scan_fail(&f->scan, "a mode that this pysample does not know");
	else if (!f->first && mode != facts->mode)
		scan_fail(&f->scan,
			  "another mode than that of the files before: they do not add up");
	else
		facts->mode = mode;
}

static void read_interval(struct json_file *f)
{
	struct stats *stats = &f->profile->stats;
	uint64_t interval_ns;
	if (!scan_number(&f->scan, UINT64_MAX, &interval_ns))
		return;
	stats->interval_ns = f->first || stats->interval_ns == interval_ns ? interval_ns : 0;
}

void json_read_options(struct json_file *f)
{
	for (bool first = scan_open(&f->scan, '{'); json_next_member(f, &first);) {
		if (json_key_is(f, "mode"))
			read_mode(f);
		else if (json_key_is(f, "interval_ns"))
			read_interval(f);
		else
			scan_skip(&f->scan);
	}
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_process(const struct profile_process *a, const struct profile_process *b)
{
	return a->pid == b->pid && same_text(a->executable, b->executable) &&
	       a->argv.size == b->argv.size &&
	       (!a->argv.size || !memcmp(a->argv.bytes, b->argv.bytes, a->argv.size));
}

/* A process that an earlier file has too. */
static uint32_t known_process(const struct json_file *f, const struct profile_process *process)
{
	const struct profile_process *items = f->profile->processes.items;
	for (uint32_t i = 0; i < f->processes_before; i++)
		if (same_process(&items[i], process))
			return i;
	return PROFILE_NONE;
}

void json_read_process(struct json_file *f, const char **parent_at)
{
	_cleanup_(profile_process_deinit) struct profile_process process = { 0 };
	uint64_t pid;
	for (bool first = scan_open(&f->scan, '{'); json_next_member(f, &first);) {
		if (json_key_is(f, "pid")) {
			if (scan_number(&f->scan, INT_MAX, &pid))
				process.pid = (pid_t)pid;
		} else if (json_key_is(f, "parent")) {
			scan_peek(&f->scan);
			*parent_at = f->scan.pos;
			scan_skip(&f->scan);
		} else if (json_key_is(f, "name")) {
			json_get_fact(f, &process.name);
		} else if (json_key_is(f, "argv")) {
			get_argv(f, &process.argv);
		} else if (json_key_is(f, "executable")) {
			json_get_fact(f, &process.executable);
		} else if (json_key_is(f, "python_version")) {
			json_get_fact(f, &process.python_version);
		} else if (json_key_is(f, "runtime")) {
			json_get_fact(f, &process.runtime);
		} else if (json_key_is(f, "found_by")) {
			json_get_fact(f, &process.found_by);
		} else if (json_key_is(f, "layout")) {
			json_get_fact(f, &process.layout);
		} else if (json_key_is(f, "thread_source")) {
			json_get_fact(f, &process.thread_source);
		} else {
			scan_skip(&f->scan);
		}
	}
	if (f->scan.wrong)
		return;
	uint32_t id = known_process(f, &process);
	if (id == PROFILE_NONE) {
		id = profile_process(f->profile, process.pid, PROFILE_NONE);
		if (id != PROFILE_NONE) {
			f->profile->processes.items[id] = process;
			f->profile->processes.items[id].parent = PROFILE_NONE;
			process = (struct profile_process){ 0 };
		}
	}
	json_append_id(f, &f->processes, id);
}

/* A parent may come after its child: it is looked up once all are there. */
static void read_parent(struct json_file *f, size_t index, const char *at)
{
	const char *pos = f->scan.pos;
	uint32_t id = f->processes.items[index], parent;
	f->scan.pos = at;
	if (!json_get_id_or_null(f, &f->processes, "a process that is not in the file", &parent))
		return;
	if (id >= f->processes_before)
		f->profile->processes.items[id].parent = parent;
	f->scan.pos = pos;
}

/* No process may be above itself. Each is walked through once: what has the mark of another walk leads to no circle. */
static void check_parents(struct json_file *f)
{
	const struct profile_processes *processes = &f->profile->processes;
	_cleanup_free_ uint32_t *marks = calloc(processes->count + 1, sizeof(*marks));
	if (!marks) {
		json_no_memory(f);
		return;
	}
	for (uint32_t i = 0; i < processes->count; i++) {
		uint32_t at = i;
		for (; at != PROFILE_NONE && !marks[at]; at = processes->items[at].parent)
			marks[at] = i + 1;
		if (at != PROFILE_NONE && marks[at] == i + 1) {
			scan_fail(&f->scan, "processes that are each other's parents");
			return;
		}
	}
}

DEFINE_VEC(struct places, places, const char *);

void json_read_processes(struct json_file *f)
{
	struct places parents = { 0 };
	for (bool first = scan_open(&f->scan, '['); json_next_item(f, &first);) {
		const char **parent = places_append(&parents);
		if (!parent) {
			json_no_memory(f);
			break;
		}
		json_read_process(f, parent);
	}
	for (size_t i = 0; i < parents.count && !f->scan.wrong; i++)
		if (parents.items[i])
			read_parent(f, i, parents.items[i]);
	places_deinit(&parents);
	if (!f->scan.wrong)
		check_parents(f);
}

static uint64_t mix_text(uint64_t key, const char *text)
{
	/* FNV-1a; a missing text is other than an empty one. */
	for (const char *p = text ? text : "\1"; *p; p++)
		key = (key ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	return (key ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t key_of(const struct profile_thread *thread)
{
	uint64_t key = idset_pair(thread->process, (uint32_t)thread->tid);
	return mix_text(mix_text(key, thread->kernel_name), thread->python_name);
}

uint64_t json_thread_key(const void *data, uint32_t id)
{
	return key_of(&((const struct profile *)data)->threads.items[id]);
}

/* A thread that an earlier file has too, else a new one. The names stay the caller's. */
static uint32_t make_thread(struct json_file *f, const struct profile_thread *thread)
{
	struct profile *profile = f->profile;
	uint32_t id = idset_get(&f->threads_known, key_of(thread), json_thread_key, profile);
	if (id != IDSET_NONE) {
		const struct profile_thread *known = &profile->threads.items[id];
		if (known->process == thread->process && known->tid == thread->tid &&
		    same_text(known->kernel_name, thread->kernel_name) &&
		    same_text(known->python_name, thread->python_name))
			return id;
	}
	id = profile_thread(profile, thread->process, thread->tid, thread->kernel_name);
	profile_thread_set_python_name(profile, id, thread->python_name);
	return id;
}

void json_read_threads(struct json_file *f)
{
	for (bool first = scan_open(&f->scan, '['); json_next_item(f, &first);) {
		uint32_t process = f->processes.count ? f->processes.items[0] : PROFILE_NONE;
		uint64_t tid = 0;
		const char *kernel = NULL, *python = NULL;
		for (bool inner = scan_open(&f->scan, '{'); json_next_member(f, &inner);) {
			if (json_key_is(f, "process"))
				json_get_id(f, &f->processes, "a process that is not in the file",
					    &process);
			else if (json_key_is(f, "tid"))
				scan_number(&f->scan, INT_MAX, &tid);
			else if (json_key_is(f, "kernel_name"))
				json_get_text(f, &f->text, &kernel);
			else if (json_key_is(f, "python_name"))
				json_get_text(f, &f->file, &python);
			else
				scan_skip(&f->scan);
		}
		if (!f->scan.wrong && process == PROFILE_NONE)
			scan_fail(&f->scan, "a thread of no process");
		if (f->scan.wrong)
			return;
		const struct profile_thread thread = {
			.process = process,
			.tid = (pid_t)tid,
			.kernel_name = (char *)kernel,
			.python_name = (char *)python,
		};
		json_append_id(f, &f->threads, make_thread(f, &thread));
	}
}
