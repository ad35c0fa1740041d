/* SPDX-License-Identifier: MIT */
/* progress.h: the line that shows on a terminal how a recording goes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "aggregate/stats.h"

struct progress {
	bool shown; /* a terminal is there and wants it */
	uint64_t start_ns;
	uint64_t next_ns;
	bool dirty; /* the line is on the screen */
};

void progress_init(struct progress *progress, bool quiet, uint64_t now_ns);
/* Draws the line anew a few times a second. */
void progress_show(struct progress *progress, const struct stats *stats, uint64_t now_ns);
/* Takes the line off the screen. */
void progress_clear(struct progress *progress);
