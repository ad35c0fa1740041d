/* SPDX-License-Identifier: MIT */
/* gil.h: which thread holds the global interpreter lock. */
#pragma once

#include <stdbool.h>

#include "python/detect.h"
#include "python/frames.h"
#include "target/memory.h"

/* The thread state that runs now, where the version has one for all interpreters (up to 3.11); 0 where it does not, or none runs. */
uint64_t gil_current(struct memory *memory, const struct py_runtime *runtime);
/*
 * True if the thread of @tstate holds the lock of its interpreter. False also where that can not be read, and in a free-threaded
 * build that runs without the lock.
 */
bool gil_is_held_by(struct memory *memory, const struct py_runtime *runtime,
		    const struct py_tstate *tstate);
