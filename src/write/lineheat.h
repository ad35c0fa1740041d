/* SPDX-License-Identifier: MIT */
/*
 * lineheat.h: what lines of Python sources weigh, and which functions they call.
 *
 * A line's own weight is that of the stacks in which it is the innermost Python line: native code that it called is in it. Its total
 * is that of the stacks that it is in, each counted once, however often it recurs.
 */
#pragma once

#include <stdint.h>

#include "aggregate/profile.h"

struct lineheat_weight {
	uint64_t count; /* samples */
	uint64_t ns;    /* by the profile's mode */
};

struct lineheat_file {
	uint32_t file; /* string id */
	struct lineheat_weight own, total;
	uint32_t seen; /* private: the last sample that was counted, + 1 */
};

struct lineheat_cell {
	uint32_t file; /* index of its file here */
	uint32_t line; /* 0: unknown */
	struct lineheat_weight own, total;
	uint32_t seen; /* private */
};

/* The calls of one function from one line. The next Python frame counts as called, native frames between or not. */
struct lineheat_call {
	uint32_t cell;     /* index of the cell of the line; after sorting, of the sorted cell */
	uint32_t function; /* of the profile */
	struct lineheat_weight weight;
	uint32_t seen; /* private */
};

DEFINE_VEC(struct lineheat_files, lineheat_files, struct lineheat_file);
DEFINE_VEC(struct lineheat_cells, lineheat_cells, struct lineheat_cell);
DEFINE_VEC(struct lineheat_calls, lineheat_calls, struct lineheat_call);

struct lineheat {
	struct lineheat_files files; /* as the profile has them */
	struct lineheat_cells cells; /* by file, then line */
	struct lineheat_calls calls; /* by cell, then the heaviest first */
	struct lineheat_weight all;  /* of all samples, those without Python too */
};

/* With @no_line a function's frames are all at the line of its definition. */
struct error *lineheat_create(const struct profile *profile, bool no_line,
			      struct lineheat **heat_ret);
void lineheat_destroy(struct lineheat *heat);
DEFINE_CLEANUP(lineheat_cleanup, struct lineheat, lineheat_destroy)
#define _cleanup_lineheat_ _cleanup_(lineheat_cleanup)
