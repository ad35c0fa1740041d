/* SPDX-License-Identifier: MIT */
/*
 * launch.h: starting the program that is to be profiled.
 *
 * The child waits before its exec until it is let go, so that nothing of it runs unseen. It keeps our standard streams, and gets
 * back the signal mask and dispositions that we were started with.
 */
#pragma once

#include <stdbool.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"

/* What pysample changes of itself and a program that it starts shall have as it was. */
#define LAUNCH_SIGNALS_MAX 8
struct launch_inherited {
	sigset_t mask;
	struct rlimit files; /* RLIMIT_NOFILE */
	struct {
		int number;
		bool ignored;
	} signals[LAUNCH_SIGNALS_MAX];
};

/* To be called before anything of it is changed. */
void launch_remember(struct launch_inherited *inherited);
/* True if @number was ignored then: it stays so for us too, as under nohup. */
bool launch_was_ignored(const struct launch_inherited *inherited, int number);

struct launch {
	pid_t pid;
	int go_fd;     /* closing it lets the child exec */
	int failed_fd; /* errno of a failed exec comes here; closed by a successful one */
	bool ended;
	int status; /* wait status, once ended */
};

/* Forks. @program is NULL-terminated. */
struct error *launch_start(char *const *program, const struct launch_inherited *inherited,
			   struct launch *launch_ret);
/* Lets it exec. ERROR_ERRNO naming the program if that fails; the child is gone then. */
struct error *launch_go(struct launch *launch);
/* True if it has ended; collects its status without waiting. */
bool launch_poll(struct launch *launch);
/* Waits until it ends. */
void launch_wait(struct launch *launch);
/* What a shell would make of its end: its exit status, or 128 + the signal that killed it. */
int launch_exit_status(const struct launch *launch);
/* Releases the descriptors. A child that was never let go ends. */
void launch_deinit(struct launch *launch);
