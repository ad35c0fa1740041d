/* SPDX-License-Identifier: MIT */
/* doctor.h: the subcommand that says what can be sampled here, and what stands in the way. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * Tries everything on a child of ours (@pid 0) or on process @pid, which runs on afterwards, and
 * prints a line for each finding to @out. Returns the exit status: 0 if it can be sampled, 1 if
 * something is in the way.
 */
int doctor_run(pid_t pid, bool json, FILE *out);
