/* SPDX-License-Identifier: MIT */
/* facts.h: what was profiled and how, for the header of a profile. */
#pragma once

#include "aggregate/profile.h"
#include "options.h"
#include "recording.h"
#include "subject.h"
#include "target/memory_live.h"

/* Our own version and command line, what we were asked for, and the time. */
void facts_of_run(struct profile *profile, const struct options *options);
/* Name, command line and program of the profile's process @id, and the Python in it as below. Nothing for PROFILE_NONE. */
void facts_of_process(struct profile *profile, uint32_t id, const struct subject *subject);
/* Version of the Python in it and how all that is known of it was found. */
void facts_of_python(struct profile *profile, uint32_t id, const struct subject *subject);
/* Why the rate was not what was asked for, from the start of the run to its last tick. */
void facts_of_rate(struct stats *stats, const struct recording *recording);
/* How often memory was read since the last call, and by what. */
void facts_of_reads(struct profile *profile, struct memory_live *live);
