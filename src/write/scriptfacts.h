/* SPDX-License-Identifier: MIT */
/* scriptfacts.h: what ran and how the run went, as data for the heads of pages. */
#pragma once

#include "aggregate/profile.h"
#include "write/script.h"

/* An object: tool, start, rate, samples, losses. */
void scriptfacts_run(struct script *script, const struct profile *profile);
/* An object: process @id of @profile, which belongs to the run of that number. */
void scriptfacts_process(struct script *script, const struct profile *profile, uint32_t id,
			 unsigned run);
