/* SPDX-License-Identifier: MIT */
/* native_capsule.h: the native part of a capsule, made from a sample and worked out again. */
#pragma once

#include <stdbool.h>

#include "image/debuginfo.h"
#include "native.h"
#include "snapshot/capsule.h"

/*
 * Fills @code, an empty one, with what the last walk of @native over @snapshot needed, cuts the copy of the stack down to that, and
 * adds to @snapshot what else was read. False without memory; @code is to be released in any case.
 */
bool native_capsule_save(struct native *native, const struct debuginfo_places *places,
			 struct snapshot *snapshot, struct capsule_code *code);

/* Appends the frames in @capsule, which has code. An error only if there is nothing to be worked out; *end_ret says how it ended. */
struct error *native_capsule_walk(struct capsule *capsule, struct native_frames *frames,
				  enum reason *end_ret);
