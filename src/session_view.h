/* SPDX-License-Identifier: MIT */
/*
 * session_view.h: someone who looks at a recording while it goes on, in the place of a file at its end.
 *
 * All is called from the sampling loop, between two samples: no thread is held meanwhile, and the next tick is late by as long as it
 * takes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "member.h"
#include "recording.h"
#include "write/paths.h"

/* Longest time between two looks, however low the rate. */
#define SESSION_VIEW_NS (100 * NS_PER_MS)

struct session_moment {
	struct recording *recording;
	struct members *members; /* the processes that are left */
	struct path_rules paths; /* for the files of the profile */
	uint64_t now_ns;
	bool over; /* there is nothing left to sample: looks go on until one ends them */
};

struct session_view {
	/* The first sample is about to be taken; on failure it is not, and the error is the session's. */
	struct error *(*begin)(void *data, const struct session_moment *moment);
	/* False: the recording ends here. */
	bool (*look)(void *data, const struct session_moment *moment);
	/* The last call, also where something failed: from here on the session writes its messages. */
	void (*end)(void *data);
	void *data;
};
