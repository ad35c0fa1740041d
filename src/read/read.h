/* SPDX-License-Identifier: MIT */
/*
 * read.h: a file that pysample or another profiler wrote → a profile again.
 *
 * JSON profiles of ours (versions 1 and 2) come back with all that is in them; collapsed stacks, ours or others', with what a line
 * says. Both may be compressed with gzip or xz. The bytes are foreign: whatever they are, they are read or refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "aggregate/profile.h"
#include "base/error.h"

/* Most bytes of one file, after it was unpacked. */
#define READ_BYTES_MAX ((size_t)4 << 30)
/* Most frames of a stack: some work grows with depth times stacks. */
#define READ_DEPTH_MAX 65536

struct read_options {
	bool ns; /* the numbers of collapsed stacks are nanoseconds, not samples */
};

/*
 * Adds what the file called @path ("-": standard input) holds to @profile, to which earlier files may have been added: what they
 * have in common is one function, stack, process or thread of the profile then. On failure @profile is good for nothing more.
 * ERROR_ERRNO or ERROR_CORRUPT, "PATH: what is wrong where".
 */
struct error *read_profile(const char *path, const struct read_options *options,
			   struct profile *profile);
/* The same for bytes in memory; an error does not name the place they are from. */
struct error *read_bytes(const char *bytes, size_t size, const struct read_options *options,
			 struct profile *profile);
