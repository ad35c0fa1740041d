/* SPDX-License-Identifier: MIT */
/* progress.h: the line that shows on a terminal how a recording goes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregate/stats.h"
#include "options.h"

struct progress {
	bool shown; /* a terminal is there and wants it */
	bool color; /* and shows colours: NO_COLOR is not set */
	uint64_t start_ns;
	uint64_t duration_ns; /* of the run, 0: not known */
	uint64_t samples;     /* that are enough, 0: not known */
	uint64_t next_ns;
	uint64_t shown_ns, shown_ticks; /* at the last look: for the rate since */
	double rate;
	bool dirty; /* the line is on the screen */
};

/* @wanted: the screen is free for it. */
void progress_init(struct progress *progress, const struct options *options, bool wanted,
		   uint64_t now_ns);
/* Draws the line anew a few times a second. @samples: of all windows; @processes: that are sampled now. */
void progress_show(struct progress *progress, const struct stats *stats, uint64_t samples,
		   size_t processes, uint64_t now_ns);
/* Takes the line off the screen. */
void progress_clear(struct progress *progress);
