/* SPDX-License-Identifier: MIT */
/*
 * activity.h: what the kernel says a thread is doing, without stopping it.
 *
 * /proc/PID/task/TID/syscall says "running", or the system call that the thread is blocked in with its stack pointer and pc;
 * schedstat says how long it ran. Blocked, and both as before: it has not moved meanwhile. Without these files (a kernel built
 * without them, or a strict container) state, CPU time and context switches of stat and status serve.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "target/process.h"

enum activity_state {
	ACTIVITY_RUNNING, /* on a CPU or waiting for one */
	ACTIVITY_BLOCKED, /* asleep, in a system call or a page fault */
	ACTIVITY_STOPPED, /* job control or another tracer */
	ACTIVITY_ENDED,
};

/* "The kernel gives no system call number": a fault, a stop, or the files are not there. */
#define ACTIVITY_NO_SYSCALL (-1)

struct activity {
	enum activity_state state;
	long syscall;    /* of a blocked thread, or ACTIVITY_NO_SYSCALL */
	uint64_t sp, pc; /* of a blocked thread, 0 where not known */
	bool counted;    /* the two below are known */
	uint64_t cpu_ns; /* time on a CPU so far */
	uint64_t
		runs; /* times it was put on a CPU; with cpu_ns it tells whether it ran meanwhile */
};

/* Open files of one thread. A descriptor is -1 where the file is missing or could not be kept open. */
struct activity_files {
	pid_t pid, tid;
	int syscall_fd;
	int schedstat_fd;
	bool ended; /* the kernel knows the thread no more */
};

/* Never fails: a file that can not be opened is done without, by stat and status, opened for each look. */
void activity_open(struct activity_files *files, const struct process *process, pid_t tid);
void activity_close(struct activity_files *files);

/* State, system call, sp and pc: one read of about 1 µs. A stopped thread may look like a blocked one. */
void activity_look(struct activity_files *files, struct activity *activity);
/* The state by itself, stopped threads told from blocked ones: opens a file. */
void activity_look_closely(struct activity_files *files, struct activity *activity);
/* cpu_ns and runs: one more read. */
void activity_count(struct activity_files *files, struct activity *activity);
/*
 * True if the thread has not been put on a CPU since @last, a counted look at a blocked one: a third of the cost of a look. It may
 * have been woken and wait for a CPU. False if it can not be told.
 */
bool activity_rests(struct activity_files *files, const struct activity *last);
/* Both looks were at the same uninterrupted sleep. False unless both are counted. */
bool activity_same_sleep(const struct activity *a, const struct activity *b);

/* Parses the text of a syscall file; false if it is none. */
bool activity_parse_syscall(const char *text, struct activity *activity);
