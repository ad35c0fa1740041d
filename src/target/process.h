/* SPDX-License-Identifier: MIT */
/*
 * process.h: one process under /proc.
 *
 * Everything is opened through a living thread: when the main thread has exited and others run, /proc/PID/maps is empty and
 * /proc/PID/exe unreadable, while the same files of another thread are fine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct process {
	pid_t pid;
	pid_t tid;  /* a thread that was alive when last looked: the leader unless it is a zombie */
	int dir_fd; /* /proc/TID; keeps its meaning when the number is reused */
	/* When the leader started, in the kernel's ticks since boot: tells a process from a later one with its number. An exec keeps it. */
	uint64_t start_ticks;
};

/* ERROR_GONE if there is no such process; a thread's id that is not a process is refused too. */
struct error *process_open(pid_t pid, struct process **process_ret);
void process_close(struct process *process);
DEFINE_CLEANUP(process_cleanup, struct process, process_close)
#define _cleanup_process_ _cleanup_(process_cleanup)

/* Looks for a living thread again, after exec or when the one used so far has ended. ERROR_GONE if none is left. */
struct error *process_refresh(struct process *process);

/* Opens /proc/TID/@name read-only with @flags added; the descriptor, or -1 with errno. */
int process_open_file(const struct process *process, const char *name, int flags);
/* The whole content of /proc/TID/@name, NUL-terminated. At most @limit bytes are accepted. */
struct error *process_read_file(const struct process *process, const char *name, size_t limit,
				char **text_ret, size_t *size_ret);
/* Of /proc/TID/stat: fields 3, 4 and 22. */
struct process_stat {
	char state;
	pid_t parent;
	uint64_t start_ticks;
};

/* False: @text is not of such a file. */
bool process_parse_stat(const char *text, struct process_stat *stat_ret);
/*
 * What /proc/@pid/@name begins with, at most @size - 1 bytes, NUL-terminated; how many, 0 if there are none. For a look at many
 * processes: nothing is opened but that file.
 */
size_t process_read_start(pid_t pid, const char *name, char *text, size_t size);
/* Target of the link /proc/TID/@name ("exe", "cwd"). */
struct error *process_read_link(const struct process *process, const char *name, char **path_ret);

/* Thread ids of the process, in the kernel's order. The array is the caller's. */
struct error *process_list_threads(const struct process *process, pid_t **tids_ret,
				   size_t *count_ret);
/*
 * A field of /proc/TID/status by name ("NSpid", "State"): the text after the colon without surrounding blanks. NULL without
 * memory or where there is no such field. The caller frees it.
 */
char *process_status_field(const struct process *process, const char *name);
