/* SPDX-License-Identifier: MIT */
/*
 * subject.h: one target process and what is known of the Python in it.
 *
 * Ties the stages together for all commands: process, memory, modules, runtimes, thread-state sources, threads. After an exec all
 * of it is read anew.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/error.h"
#include "image/modules.h"
#include "python/code.h"
#include "python/detect.h"
#include "python/threadlist.h"
#include "python/tsd.h"
#include "target/memory_live.h"
#include "target/process.h"
#include "target/stop.h"
#include "target/threads.h"

/* One interpreter runtime and the ways to its threads. */
struct subject_runtime {
	struct py_runtime py;
	bool has_source; /* pthread TSD leads to thread states */
	struct tstate_source source;
	char *source_error;     /* why it does not, if so; NULL otherwise */
	struct threadlist list; /* as last read */
	struct code_cache *codes;
};

struct subject {
	struct process *process;
	const struct arch *arch;
	struct stopper *stopper; /* not owned */
	struct memory_live live;
	bool has_live;
	struct modules *modules;
	bool has_tsd_layout;
	struct tsd_layout tsd;
	struct subject_runtime *runtimes;
	size_t runtime_count;
	struct error
		*lost; /* why it can not be looked at any more though it lives; NULL if it can */
	struct error *python_error; /* why there is no runtime; NULL if there is one */
	struct threads threads;
	uint64_t image_number;     /* grows with each exec that was noticed */
	uint64_t names_read_ns;    /* when names of threads were last read (names.h), */
	uint64_t names_pause_ns;   /* how long they will do; 0: never read yet, */
	size_t names_thread_count; /* and how many threads there were */
};

/*
 * Opens process @pid. Fails if it can not be looked at at all (with the cause in words); that there is no Python in it is not a
 * failure but python_error. @stopper must outlive the subject.
 */
struct error *subject_open(pid_t pid, struct stopper *stopper, struct subject **subject_ret);
void subject_close(struct subject *subject);
DEFINE_CLEANUP(subject_cleanup, struct subject, subject_close)
#define _cleanup_subject_ _cleanup_(subject_cleanup)

/* Looks for Python again where none was so far. True if there is one now. */
bool subject_find_python(struct subject *subject);

enum subject_change {
	SUBJECT_SAME,
	SUBJECT_EXECUTED, /* another program image: everything was read anew */
	SUBJECT_ENDED,
};

/* Notices exec, end, new and ended threads. One or two system calls where nothing happened. */
enum subject_change subject_update(struct subject *subject);

/* Reads the lists of thread states again; false if one could not be read. */
bool subject_read_lists(struct subject *subject);
