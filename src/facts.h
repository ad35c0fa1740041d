/* SPDX-License-Identifier: MIT */
/* facts.h: what was profiled and how, for the header of a profile. */
#pragma once

#include "aggregate/profile.h"
#include "options.h"
#include "subject.h"

/* The target's command line and program, and our own. */
void facts_of_run(struct profile *profile, const struct subject *subject,
		  const struct options *options);
/* Version of the Python in it and how all that is known of it was found. */
void facts_of_python(struct profile *profile, const struct subject *subject);
