/* SPDX-License-Identifier: MIT */
/* session.h: the recording of a profile, from the command line to the file. */
#pragma once

#include "options.h"

/* Records as @options say; writes messages to stderr. Returns the exit status. */
int session_record(const struct options *options);
