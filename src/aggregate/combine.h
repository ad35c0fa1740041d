/* SPDX-License-Identifier: MIT */
/* combine.h: several profiles in one. */
#pragma once

#include "aggregate/profile.h"

/*
 * Adds the processes, threads and samples of @from to @into, with all that belongs to them. Processes and threads are new ones, in
 * their order; functions, frames and stacks that are there already are used again. Facts and stats are left as they are. On an error
 * a part may have been added.
 */
struct error *profile_append(struct profile *into, const struct profile *from);
