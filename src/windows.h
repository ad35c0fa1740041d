/* SPDX-License-Identifier: MIT */
/* windows.h: a recording cut into windows, each with a profile of its own: what is kept grows with a window, not with the run. */
#pragma once

#include "aggregate/profile.h"
#include "base/error.h"
#include "member.h"
#include "recording.h"

/* Everything that makes the recording's profile a whole one: names and notes. */
struct error *windows_finish(struct recording *recording, const struct members *members);
/*
 * Finishes the profile of the time since @start_ns, as above, and gives the recording an empty one. The old one is the caller's; what it counted is added to @total.
 * On failure the recording goes on with the old one.
 */
struct error *windows_turn(struct recording *recording, const struct members *members,
			   uint64_t start_ns, uint64_t now_ns, struct stats *total,
			   struct profile **profile_ret);
