/* SPDX-License-Identifier: MIT */
/* trial.h: which of the kernel's ways to look at a process work, found out by using them once. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "target/process.h"
#include "target/stop.h"

/* errno of each, 0: it worked, -1: not tried. */
struct trial {
	int attach; /* stopped, seen to be stopped, and let go; ETIMEDOUT: it did not stop */
	int readv;  /* process_vm_readv */
	int mem_file;
	int syscall_file; /* /proc/PID/task/TID/syscall */
	int schedstat;
	int map_files; /* a file behind a mapping opened */
};

/* A child of ours that does nothing and dies with us. -1 with errno. */
pid_t trial_start_child(void);
/* Ends it and collects it. */
void trial_end_child(pid_t child);

/* Reads a few bytes of @pid at @address; 0 or errno. */
int trial_readv(pid_t pid, const void *address);

/* Tries all on thread @tid of @process, which runs on afterwards. */
void trial_run(const struct process *process, pid_t tid, struct stopper *stopper,
	       struct trial *trial_ret);
