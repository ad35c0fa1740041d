/* SPDX-License-Identifier: MIT */
/* crosscheck_run.h: the subcommand that compares native stacks with libunwind's, in the same stops. */
#pragma once

#include "options.h"

/* How many of a hundred frames have to be the same for exit status 0. */
#define CROSSCHECK_ENOUGH 99.9

/* Returns the exit status: 0 if the two agree, 1 if not or if it failed. */
int crosscheck_run(const struct options *options);
