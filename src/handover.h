/* SPDX-License-Identifier: MIT */
/*
 * handover.h: the windows of a recording on their way to a server, and what is said about its processes.
 *
 * Where to and how comes from the options, the file of --push-config and the environment. A window is a profile that begins empty and
 * is handed over when its time is up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "aggregate/profile.h"
#include "base/error.h"
#include "options.h"
#include "push/push.h"
#include "target/process.h"

struct handover;

/* Reads the settings and loads what is needed, before anything is started. @other: as push_config_read. */
struct error *handover_create(const struct options *options, push_config_key other, void *context,
			      struct handover **handover_ret);
/* Starts the thread that pushes, and the first window. */
struct error *handover_start(struct handover *handover, uint64_t now_ns);
/* @process of the current window's profile is @target: to be called while it lives, and again after an exec. */
void handover_process(struct handover *handover, uint32_t process, const struct process *target);
bool handover_due(const struct handover *handover, uint64_t now_ns);
/* Hands @profile over, of which the window up to @now_ns is made, and begins the next one. */
void handover_window(struct handover *handover, const struct profile *profile, uint64_t now_ns);
/* Reads the settings again. What waits for the old place still goes there. With an error everything stays as it was. */
struct error *handover_reload(struct handover *handover, push_config_key other, void *context);
/* Gives the last windows --push-timeout to go out, and counts. True if a thread hangs: the program must end by _exit. */
bool handover_finish(struct handover *handover);
/* The lines of the summary. */
void handover_print(const struct handover *handover, FILE *stream);
/* After handover_finish, unless that said that a thread hangs. */
void handover_destroy(struct handover *handover);
DEFINE_CLEANUP(handover_cleanup, struct handover, handover_destroy)
#define _cleanup_handover_ _cleanup_(handover_cleanup)
