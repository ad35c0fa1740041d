/* SPDX-License-Identifier: MIT */
/* glue.h: functions of the interpreter that only pass a call on. */
#pragma once

#include <stdbool.h>

/*
 * True for a function of CPython (2.7 to 3.15) that starts the interpreter, runs a module or hands a call from one form to another:
 * it says nothing of what a program does. False for NULL, and for functions that do the work of a built-in.
 */
bool glue_is_one(const char *name);
