/* SPDX-License-Identifier: MIT */
/*
 * writer.h: the registry of formats, and what they share.
 *
 * A format is a file here with one struct writer and a row in the table of writer.c;
 * docs/formats.md says how to add one. Writers stream: their memory grows with the number of
 * distinct stacks, not with the size of the file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "aggregate/profile.h"
#include "base/error.h"
#include "write/paths.h"

enum writer_weights {
	WRITER_DEFAULT, /* what the format's page says */
	WRITER_SAMPLES, /* number of samples */
	WRITER_NS,      /* nanoseconds, by the profile's mode */
};

/* How a format gets at the target's files; read may be NULL. */
struct source_reader {
	/* The text of @path as the target names it, which the caller frees, and its size; NULL where it cannot be had or has more
	 * than @limit bytes. */
	char *(*read)(void *context, const char *path, size_t limit, size_t *size_ret);
	void *context;
};

struct writer_options {
	bool no_line;    /* a frame is its function, whatever the line */
	bool full_paths; /* files as the target names them */
	bool threads;    /* an outermost frame a thread */
	enum writer_weights weights;
	struct path_rules paths;
	struct source_reader sources; /* only for formats that want them */
};

struct writer {
	const char *name; /* for -f */
	const char *description;
	const char *const *endings; /* of file names, with the dot; NULL-terminated */
	bool wants_sources;         /* shows the target's files where they can be read */
	/*
	 * Writes all of @profile. Errors are of memory; those of @stream are the caller's to find,
	 * and make a writer stop early.
	 */
	struct error *(*write)(const struct profile *profile, const struct writer_options *options,
			       FILE *stream);
};

/* The formats in the order of --help; NULL-terminated. */
extern const struct writer *const writers[];

/* The format called @name. ERROR_USAGE, with the known ones, if there is none. */
struct error *writer_by_name(const char *name, const struct writer **writer_ret);
/*
 * The format for a file called @path, by the longest ending that fits: collapsed for NULL, "-" and
 * names without a dot, ERROR_USAGE with the known endings for any other name.
 */
struct error *writer_by_ending(const char *path, const struct writer **writer_ret);

/* What @sample counts in a file; @fallback is the format's own default. */
uint64_t writer_weight(const struct profile *profile, const struct writer_options *options,
		       enum writer_weights fallback, const struct profile_sample *sample);
/* When the run began, in nanoseconds since 1970; 0 if that is not known. */
int64_t writer_start_ns(const struct profile *profile);
/*
 * The text for each file of the profile, by string id; NULL where the string is not a file. The
 * array is the caller's, the texts are the profile's.
 */
struct error *writer_files(const struct profile *profile, const struct writer_options *options,
			   const char ***files_ret);
