/* SPDX-License-Identifier: MIT */
/* collect.h: a sample's frames → a stack of a profile. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/profile.h"
#include "base/reason.h"
#include "sampler.h"

/* Room that is used again from sample to sample; a zeroed one is ready. */
struct collector {
	uint32_t *frames; /* outermost first */
	size_t capacity;
};

void collector_deinit(struct collector *collector);
/* The stack of @sample in @profile. One that is cut at its outer end begins with a mark that says why. */
enum reason collect_stack(struct collector *collector, struct profile *profile,
			  const struct sample *sample, uint32_t *stack_ret);
