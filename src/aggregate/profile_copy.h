/* SPDX-License-Identifier: MIT */
/* profile_copy.h: what of a profile is not about stacks, for a copy that stands for itself. */
#pragma once

#include <stdint.h>

#include "aggregate/profile.h"
#include "base/error.h"

/*
 * Copies facts, stats, and those processes and threads of @old that have samples (and the processes that started them) to @fresh,
 * which is empty. *threads_ret, the caller's, holds for each thread of @old its number in @fresh, or PROFILE_NONE.
 */
struct error *profile_copy_facts(const struct profile *old, struct profile *fresh,
				 uint32_t **threads_ret);
