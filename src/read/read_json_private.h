/* SPDX-License-Identifier: MIT */
/* read_json_private.h: a JSON profile while it is read. For read_json*.c only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregate/profile.h"
#include "base/idset.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "read/scan.h"

enum member {
	MEMBER_FORMAT,
	MEMBER_VERSION,
	MEMBER_TOOL,
	MEMBER_TARGET,
	MEMBER_PROCESSES,
	MEMBER_START_TIME,
	MEMBER_DURATION,
	MEMBER_OPTIONS,
	MEMBER_STATS,
	MEMBER_LOSSES,
	MEMBER_THREADS,
	MEMBER_FUNCTIONS,
	MEMBER_FRAMES,
	MEMBER_STACKS,
	MEMBER_SAMPLES,
	MEMBER_COUNT_,
};

/* What the profile calls the things of the file, by their place in it. */
DEFINE_VEC(struct ids, ids, uint32_t);

struct json_file {
	struct profile *profile;
	struct scan scan;
	const char *at[MEMBER_COUNT_]; /* where the value is; NULL: not there */
	struct strbuf key, raw;
	struct strbuf text, file, shown; /* strings with our own escapes undone */
	struct ids processes, threads, functions, frames, stacks;
	struct ids depths; /* by the profile's id of a stack */
	/* Of the profile, before this file. */
	bool first;
	size_t processes_before;
	struct idset threads_known;
	uint64_t count, wall_ns, cpu_ns;
};

/* What these find wrong stays with the scan; they are false, or do nothing, then. */
bool json_no_memory(struct json_file *f);
/* Notes what the profile calls the next thing; PROFILE_NONE is no memory. */
bool json_append_id(struct json_file *f, struct ids *ids, uint32_t id);
/* An index into what was read before, as the profile's id. @wrong: what to say if there is none. */
bool json_get_id(struct json_file *f, const struct ids *ids, const char *wrong, uint32_t *id_ret);
/* The same, or null: PROFILE_NONE. */
bool json_get_id_or_null(struct json_file *f, const struct ids *ids, const char *wrong,
			 uint32_t *id_ret);
/* A text of the target, null or a string; @text_ret is NULL or what is in @buf. */
bool json_get_text(struct json_file *f, struct strbuf *buf, const char **text_ret);
/* For loops over an object, whose next name is in key then, and an array. */
bool json_next_member(struct json_file *f, bool *first);
bool json_next_item(struct json_file *f, bool *first);
bool json_key_is(const struct json_file *f, const char *name);

/* Each reads the member at the scan. */
void json_read_tool(struct json_file *f);
void json_read_options(struct json_file *f);
void json_read_processes(struct json_file *f);
/* A process. @parent_at: where its parent is said, untouched if it is not. */
void json_read_process(struct json_file *f, const char **parent_at);
void json_read_threads(struct json_file *f);

/* The key of threads_known: process, thread id and names. */
uint64_t json_thread_key(const void *data, uint32_t id);
/* A text that says what something is, unless an earlier file did. */
void json_get_fact(struct json_file *f, char **fact);
