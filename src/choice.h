/* SPDX-License-Identifier: MIT */
/*
 * choice.h: which processes are meant: ids, names, a file with an id, the children of a process.
 *
 * A name fits a process whose command it is: as the kernel has it, as the first argument's file name, or, where that is a Python,
 * as the script's file name (with .py or without) or the module after -m.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"

DEFINE_VEC(struct pids, pids, pid_t)
DEFINE_VEC(struct words, words, const char *)

/* As it was said on the command line; texts are not owned. */
struct choice {
	struct words given; /* -p: each a number or a name */
	pid_t children_of;  /* 0: not said */
	const char *pid_file;
	const char *wait; /* the name of a process that may have yet to start */
	bool subprocesses;
};

/* Whether anything was chosen, and whether it may be more than one process. */
bool choice_is_made(const struct choice *choice);
bool choice_is_one_process(const struct choice *choice);

/* True if @name fits the process. Never ourselves. */
bool choice_fits(const char *name, pid_t pid);

/*
 * The processes that are meant, each once. A name has to fit one process; with subprocesses, one and what descends from it. Else
 * ERROR_USAGE, with all that it fits, a line each. With a name to wait for it sleeps until there is such a process; @stopped, asked
 * meanwhile, ends the wait.
 */
struct error *choice_resolve(const struct choice *choice, bool (*stopped)(void),
			     struct pids *pids_ret);

/* Adds what descends from @pids, and from @parent if it is not 0. */
struct error *choice_add_descendants(struct pids *pids, pid_t parent);
