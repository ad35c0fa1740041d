/* SPDX-License-Identifier: MIT */
/*
 * output.h: where a profile is written.
 *
 * Opened before the target is touched, so that a place that cannot be written is found out first. A
 * regular file is written under a temporary name in the same directory and renamed at the end: a
 * reader sees the old file or the whole new one. Symbolic links are followed to the end and the
 * file there is replaced. Everything else that exists (pipes, devices, /dev/stdout, mount points, a
 * writable file in a directory that is not) is written in place.
 *
 * The program must ignore SIGPIPE, else a closed pipe ends it instead of being reported.
 */
#pragma once

#include <stdio.h>

#include "base/error.h"

struct output;

/* Opens @path for writing. NULL and "-" are standard output. A FIFO without a reader blocks, as it
 * does for any program. */
struct error *output_open(const char *path, struct output **output_ret);
/* Where to write. What fails is remembered and reported by output_commit. */
FILE *output_stream(struct output *output);
/*
 * Flushes, puts the new file in its place, and releases @output whether that worked or not. An
 * error says what went wrong with which path; the temporary file is gone then and an old file is as
 * it was.
 */
struct error *output_commit(struct output *output);
/* Releases @output. What was written is thrown away and the temporary file removed. */
void output_abort(struct output *output);
DEFINE_CLEANUP(output_cleanup, struct output, output_abort)
#define _cleanup_output_ _cleanup_(output_cleanup)
