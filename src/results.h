/* SPDX-License-Identifier: MIT */
/* results.h: the files that a recording is written to: one at its end, or one a window, and what there is so far when that is asked for. */
#pragma once

#include "aggregate/profile.h"
#include "base/error.h"
#include "member.h"
#include "options.h"
#include "sources.h"
#include "write/output.h"
#include "write/paths.h"

struct results {
	const struct options *options; /* not owned */
	const struct members *members; /* whose file trees are asked about paths; not owned */
	struct sources *sources;       /* for formats that show them; not owned */
	struct output *output;         /* NULL: none is open */
	unsigned number;               /* of the window that it is for */
};

/* Opens the file, or that of the next window. */
struct error *results_open(struct results *results);
void results_deinit(struct results *results);
/* Writes @profile to the file that is open, which is closed then whether that worked or not. */
struct error *results_write(struct results *results, const struct profile *profile);
/* Writes @profile to where the whole will be. */
struct error *results_write_early(struct results *results, const struct profile *profile);
/* Whether that can be done at all: only a file can be written twice. */
struct error *results_check_early(const struct results *results);
/* Asks the file trees of @members whether a directory is a package. */
struct path_rules results_path_rules(const struct members *members);
