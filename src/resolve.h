/* SPDX-License-Identifier: MIT */
/*
 * resolve.h: frames → functions and lines, with the thread on its way again.
 *
 * What was read inside the stop is right by itself. What the cache of code objects answered is compared with memory once more: an
 * address may have been given to another code object.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/reason.h"
#include "base/vec.h"
#include "python/code.h"
#include "python/frames.h"
#include "subject.h"
#include "target/memory_live.h"

struct sample_frame {
	const struct code *code; /* valid until the next sampler_take */
	uint32_t line;
	bool checked; /* code was read in the same stop: it is the frame's for sure */
	bool entry;   /* see py_frame */
};

DEFINE_VEC(struct sample_frames, sample_frames, struct sample_frame)

/*
 * Fills @stack, in the order of @frames, which were copied while the thread was @held or not. With a reason nothing of it must be
 * used.
 */
enum reason resolve_frames(struct memory_live *live, const struct subject_runtime *runtime,
			   const struct py_frames *frames, bool held, struct sample_frames *stack);
