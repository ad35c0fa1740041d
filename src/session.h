/* SPDX-License-Identifier: MIT */
/*
 * session.h: the recording of a profile, from the command line to what is made of it: a file at its end, files or messages to a
 * server of windows, or a view.
 */
#pragma once

#include "options.h"
#include "session_view.h"

/* Records as @options say; writes messages to stderr. Returns the exit status. */
int session_record(const struct options *options);
/* The same, but nothing is written: @view sees what there is. */
int session_show(const struct options *options, const struct session_view *view);
