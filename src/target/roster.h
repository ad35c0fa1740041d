/* SPDX-License-Identifier: MIT */
/*
 * roster.h: which processes there are.
 *
 * A look at all of /proc costs some microseconds a process. That nothing has been started since is told by one number: the id that
 * the kernel gave out last, which is in /proc/loadavg.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"

struct roster_row {
	pid_t pid;
	pid_t parent;
	char state;           /* as in /proc/PID/stat: 'R', 'S', 'Z', … */
	uint64_t start_ticks; /* tells it from a later one with its number */
};

DEFINE_VEC(struct roster, roster, struct roster_row)

/* All processes that /proc shows, in the order of their ids, in the place of what was in @roster. */
struct error *roster_read(struct roster *roster);
/* The process or thread with id @pid. False: there is none. */
bool roster_look(pid_t pid, struct roster_row *row_ret);
/* True if @pid is the id of a thread that does not lead a process. */
bool roster_is_thread(pid_t pid);
/* Opens what roster_last_pid reads; -1 where there is no such file. */
int roster_open_last_pid(void);
/* The id that was given out last in our PID namespace; 0: not known. */
pid_t roster_last_pid(int fd);
