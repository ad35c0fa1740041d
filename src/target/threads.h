/* SPDX-License-Identifier: MIT */
/*
 * threads.h: the threads of a process, noticed by looking.
 *
 * New threads and ended ones are found by reading /proc/PID/task, and only when there is a reason to: the number of threads has
 * changed, or one of them answers no more. As many threads as before, all of which still answer, are the same threads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "target/activity.h"
#include "target/process.h"

struct thread {
	pid_t tid;
	pid_t inner_tid; /* as the thread itself sees it: the last number of NSpid */
	char name[16];   /* the kernel's: comm, not escaped */
	struct activity_files files;
	void *attached; /* what the user of the table keeps for it; released by the table's callback */
	bool seen;      /* private to threads_update */
};

DEFINE_VEC(struct thread_vec, thread_vec, struct thread *)

struct threads {
	struct thread_vec list;
	/* What it says may be NULL: both are called with what was attached. */
	void (*detach)(void *data, struct thread *thread);
	void *detach_data;
};

void threads_deinit(struct threads *threads);
/* Cheap look: true if threads_update would find something new. */
bool threads_changed(const struct threads *threads, const struct process *process);
/* Reads the list again. A thread that is still there keeps its struct. */
struct error *threads_update(struct threads *threads, const struct process *process);
/* Reads the thread's name again: threads name themselves after they have started. */
void thread_read_name(struct thread *thread, const struct process *process);
