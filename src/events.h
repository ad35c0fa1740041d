/* SPDX-License-Identifier: MIT */
/*
 * events.h: what a recording waits for between its ticks: a signal to us, a thread that stops late, the end of the process.
 *
 * Signals are blocked but for the waits: none is missed between a look and a sleep. One that we were started to ignore stays ignored.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/launch.h"

struct events {
	sigset_t wait_mask; /* while waiting: what is caught gets through */
	int pidfd;          /* of the process; -1: none yet, or the kernel has none */
};

/* Catches SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGCHLD, and ignores SIGPIPE, for the whole program. */
void events_init(struct events *events, const struct launch_inherited *inherited);
void events_deinit(struct events *events);
/* The process whose end ends a wait; 0: none. */
void events_watch(struct events *events, pid_t pid);
/*
 * Sleeps @ns at most: until a signal comes or the process has ended (true), and with @children until a child or a late thread changes
 * state. Without them that is no reason to wake up: each stop that was waited for leaves such a signal behind.
 */
bool events_wait(const struct events *events, uint64_t ns, bool children);
/* The last signal that asked us to end; 0: none. */
int events_signal(void);
void events_clear_signal(void);
/* True once for each SIGUSR1, which asks for what there is so far. */
bool events_snapshot_asked(void);
