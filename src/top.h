/* SPDX-License-Identifier: MIT */
/* top.h: a live view of what a process is doing, on a terminal. */
#pragma once

#include "options.h"

/* Shows until a person ends it; writes messages to stderr. Returns the exit status. */
int top_run(const struct options *options);
