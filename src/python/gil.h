/* SPDX-License-Identifier: MIT */
/* gil.h: which thread holds the global interpreter lock. */
#pragma once

#include <stdbool.h>

#include "python/detect.h"
#include "python/frames.h"
#include "target/memory.h"

/*
 * True if the thread of @tstate holds the lock of its interpreter. False also where that can not be read, and in a free-threaded
 * build that runs without the lock.
 */
bool gil_is_held_by(struct memory *memory, const struct py_runtime *runtime,
		    const struct py_tstate *tstate);
