/* SPDX-License-Identifier: MIT */
/* collect.h: a sample's frames → a stack of a profile. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/profile.h"
#include "aggregate/symbolize.h"
#include "base/reason.h"
#include "merge/merge.h"
#include "native.h"
#include "sampler.h"

#define COLLECT_CACHE 4096

/* The profile's frame of a native address. */
struct collected {
	uint64_t address; /* 0: free */
	uint32_t frame;
};

/* Room that is used again from sample to sample; a zeroed one is ready for Python frames alone. */
struct collector {
	uint32_t *frames; /* outermost first */
	size_t capacity;
	struct native *native;       /* with native frames: where they come from, */
	struct symbolize *symbolize; /* and who will name them; both not owned */
	struct merged_vec merged;
	struct collected cache[COLLECT_CACHE]; /* by address, as long as the code is the same: */
	uint64_t cache_image, cache_generation;
	uint64_t mismatches; /* samples whose native and Python frames did not fit together */
};

void collector_deinit(struct collector *collector);
/*
 * The stack of @sample in @profile. One that is cut has a mark that says why: at its outer end, or where the native frames end and the
 * Python frames go on. *end_ret is that reason, or REASON_OK.
 */
enum reason collect_stack(struct collector *collector, struct profile *profile,
			  const struct sample *sample, uint32_t *stack_ret, enum reason *end_ret);
