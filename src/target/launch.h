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
#include <sys/types.h>

#include "base/error.h"

struct launch {
	pid_t pid;
	int go_fd;     /* closing it lets the child exec */
	int failed_fd; /* errno of a failed exec comes here; closed by a successful one */
	bool ended;
	int status; /* wait status, once ended */
};

/* Forks. @program is NULL-terminated; @mask is the signal mask that the program shall have. */
struct error *launch_start(char *const *program, const sigset_t *mask, struct launch *launch_ret);
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
