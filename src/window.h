/* SPDX-License-Identifier: MIT */
/*
 * window.h: the files of a recording that writes more than one.
 *
 * In a file's name %t is the time at which the window begins (UTC, as 20240131T235959Z) and %n its number, from 1 on; a name
 * without either gets the number before its ending: prof.html, prof.1.html.
 */
#pragma once

#include <time.h>

#include "write/writer.h"

/* The name of window @number, which began at @start; the caller's. NULL without memory. */
char *window_path(const char *pattern, const struct writer *format, unsigned number, time_t start);
