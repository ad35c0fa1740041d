/* SPDX-License-Identifier: MIT */
/* dump.h: the subcommand that prints what every thread is doing now. */
#pragma once

#include "options.h"

/* Returns the exit status. */
int dump_run(const struct options *options);
