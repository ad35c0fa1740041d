/* SPDX-License-Identifier: MIT */
/*
 * profile.h: many stacks turned into one profile.
 *
 * Strings, functions, frames and stacks are interned: each distinct one is kept once and has a
 * small id, counted from 0. A stack is a node of a trie: its innermost frame and the stack of its
 * caller. A sample is what was seen of one thread with one stack in one state, added up. Ids stay
 * valid for the profile's life; a parent's id is lower than its children's.
 *
 * The session's use, per sample: function and frame ids come from its own caches or from
 * profile_function and profile_frame; then profile_add, or profile_count with the thread's last
 * stack when it is known to be unchanged. Nothing is allocated for what was seen before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "aggregate/stats.h"
#include "base/error.h"
#include "base/idset.h"
#include "base/intern.h"
#include "base/reason.h"
#include "base/vec.h"

/* No id: out of memory, no file, or the stack without frames. */
#define PROFILE_NONE UINT32_MAX
/* Most stacks in one profile: what a hostile target can make us keep is bounded. */
#define PROFILE_STACKS_MAX (UINT32_C(1) << 24)

enum profile_kind {
	PROFILE_PYTHON, /* file: of the code object */
	PROFILE_NATIVE, /* file: the module's path */
	PROFILE_MARKER, /* not a function: tells something about the stack at this place */
};

struct profile_function {
	uint32_t name;        /* string ids */
	uint32_t file;        /* PROFILE_NONE: none */
	uint32_t firstlineno; /* 0: unknown */
	enum profile_kind kind;
	uint32_t next; /* another one of the same name and file */
};

struct profile_frame {
	uint32_t function;
	uint32_t line; /* 0: unknown */
};

struct profile_stack {
	uint32_t parent; /* PROFILE_NONE: this is the outermost frame */
	uint32_t frame;
};

/* A frame of a stack, and the stack down to it. */
struct profile_step {
	uint32_t frame;
	uint32_t stack;
};

/* Arguments as /proc/PID/cmdline has them: each ends with a NUL. */
struct profile_argv {
	char *bytes;
	size_t size;
};

/* What was profiled. Texts are owned by the profile and may be NULL; see profile_fact. */
struct profile_process {
	pid_t pid;
	uint32_t
		parent; /* another process of the profile, which started this one; PROFILE_NONE: none of them */
	char *name; /* short, to tell it from others */
	struct profile_argv argv;
	char *executable;
	char *python_version; /* as the runtime says it: "3.12.1" */
	char *runtime;        /* the file that the runtime is in */
	char *found_by;       /* how it was found */
	char *layout;         /* where the offsets come from */
	char *thread_source;  /* how a thread's Python state was found */
};

struct profile_thread {
	uint32_t process;
	pid_t tid;
	char *kernel_name; /* NULL: unknown */
	char *python_name; /* NULL: unknown */
};

enum profile_flags {
	PROFILE_IDLE = 1, /* blocked in the kernel, not running or runnable */
	PROFILE_GIL = 2,  /* holds the GIL */
};

struct profile_sample {
	uint32_t thread;
	uint32_t stack;   /* PROFILE_NONE: no frames */
	uint16_t flags;   /* enum profile_flags */
	uint16_t end;     /* enum reason: REASON_OK, or why the stack is cut at its outer end */
	uint32_t next;    /* another one of the same thread and stack */
	uint64_t count;   /* samples */
	uint64_t wall_ns; /* time that they stand for */
	uint64_t cpu_ns;  /* CPU time that the thread used in it */
};

enum profile_mode {
	PROFILE_WALL,     /* weight: wall time */
	PROFILE_CPU,      /* CPU time */
	PROFILE_OFFCPU,   /* wall time less CPU time */
	PROFILE_GIL_ONLY, /* wall time of threads that hold the GIL; others are not in the profile
			   */
};

/* How it was profiled. Texts are owned by the profile and may be NULL; see profile_fact. */
struct profile_facts {
	char *tool_version;
	struct profile_argv tool_argv;
	char *start_time; /* ISO 8601, for information: never measured with */
	enum profile_mode mode;
	bool stacks_only; /* read from stacks and numbers: little else is known */
	bool untimed;     /* and these are numbers of samples, which stand for the times too */
};

DEFINE_VEC(struct profile_functions, profile_functions, struct profile_function);
DEFINE_VEC(struct profile_frames, profile_frames, struct profile_frame);
DEFINE_VEC(struct profile_stacks, profile_stacks, struct profile_stack);
DEFINE_VEC(struct profile_steps, profile_steps, struct profile_step);
DEFINE_VEC(struct profile_processes, profile_processes, struct profile_process);
DEFINE_VEC(struct profile_threads, profile_threads, struct profile_thread);
DEFINE_VEC(struct profile_samples, profile_samples, struct profile_sample);
DEFINE_VEC(struct profile_starts, profile_starts, uint32_t);

/* For reading; written only by the functions below, but for facts and stats. */
struct profile {
	struct profile_facts facts;
	struct stats stats;
	struct intern strings;
	struct profile_functions functions;
	struct profile_frames frames;
	struct profile_stacks stacks;
	struct profile_processes processes;
	struct profile_threads threads;
	struct profile_samples samples;
	uint32_t stacks_max;         /* PROFILE_STACKS_MAX; tests lower it */
	struct profile_starts shown; /* by string id, may be shorter; see profile_file_shown */

	/* Private. */
	struct idset function_index; /* by name and file, the first of a chain */
	struct idset frame_index;    /* by function and line */
	struct idset stack_index;    /* by parent and frame */
	struct idset sample_index;   /* by thread and stack, the first of a chain */
	/* The frames that profile_stack last had and the stack down to each: the next ones begin alike as a rule. */
	struct profile_steps last;
};

struct error *profile_create(struct profile **profile_ret);
void profile_destroy(struct profile *profile);
DEFINE_CLEANUP(profile_cleanup, struct profile, profile_destroy)
#define _cleanup_profile_ _cleanup_(profile_cleanup)

/* Sets a text or arguments of the facts to a copy, in the place of an older one. Without memory it
 * is left empty, and so it is for NULL. */
void profile_fact(char **fact, const char *text);
void profile_fact_argv(struct profile_argv *fact, const char *bytes, size_t size);

/* The id of a function, new or old. @file may be NULL. PROFILE_NONE without memory. */
uint32_t profile_function(struct profile *profile, const char *name, const char *file,
			  uint32_t firstlineno, enum profile_kind kind);
/* The file with string id @file is to be shown from byte @start of it: so it was in the file that this profile was read from. */
struct error *profile_show_file(struct profile *profile, uint32_t file, size_t start);
/* False where nothing was said of @file. */
bool profile_file_shown(const struct profile *profile, uint32_t file, size_t *start_ret);
/* The id of a function at a line. PROFILE_NONE without memory or if @function is PROFILE_NONE. */
uint32_t profile_frame(struct profile *profile, uint32_t function, uint32_t line);

/* A new process, started by @parent of the profile (PROFILE_NONE: by none): to be called once for each, since process ids are reused.
 * PROFILE_NONE without memory. Its facts are set by the caller. */
uint32_t profile_process(struct profile *profile, pid_t pid, uint32_t parent);
/* Frees the texts of a process that is not in a profile. */
void profile_process_deinit(struct profile_process *process);
/* The name, else the end of the executable's path, else "?". */
const char *profile_process_name(const struct profile *profile, uint32_t process);
/* A new thread of @process with a copy of @kernel_name (may be NULL): to be called once for each, since thread
 * ids are reused. PROFILE_NONE without memory or if @process is PROFILE_NONE. */
uint32_t profile_thread(struct profile *profile, uint32_t process, pid_t tid,
			const char *kernel_name);
/* A NULL @name leaves the one that is known. */
void profile_thread_set_kernel_name(struct profile *profile, uint32_t thread, const char *name);
void profile_thread_set_python_name(struct profile *profile, uint32_t thread, const char *name);
/* Python's name, else the kernel's, else "?". */
const char *profile_thread_name(const struct profile *profile, uint32_t thread);

/*
 * The id of a stack given by its @count frames, outermost first; PROFILE_NONE for no frames.
 * REASON_NO_MEMORY (also if a frame is PROFILE_NONE) or REASON_LIMIT if it cannot be kept.
 */
enum reason profile_stack(struct profile *profile, const uint32_t *frames, size_t count,
			  uint32_t *stack_ret);
/* The stack of @frame called from @parent, which may be PROFILE_NONE; PROFILE_NONE if there is no room for a new one. */
uint32_t profile_stack_child(struct profile *profile, uint32_t parent, uint32_t frame);
/* Adds one sample to @stack and counts it in the stats; on failure counts a loss there. */
enum reason profile_count(struct profile *profile, uint32_t thread, uint32_t stack, enum reason end,
			  unsigned flags, uint64_t wall_ns, uint64_t cpu_ns);
/* Adds the numbers of @sample, of another profile but with ids of this one, without counting it in the stats. */
enum reason profile_merge(struct profile *profile, const struct profile_sample *sample);
/* Both in one. */
enum reason profile_add(struct profile *profile, uint32_t thread, const uint32_t *frames,
			size_t count, enum reason end, unsigned flags, uint64_t wall_ns,
			uint64_t cpu_ns);

/* What @sample weighs in the profile's mode. */
uint64_t profile_weight_ns(const struct profile *profile, const struct profile_sample *sample);
const char *profile_kind_name(enum profile_kind kind);
const char *profile_mode_name(enum profile_mode mode);
