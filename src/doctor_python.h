/* SPDX-License-Identifier: MIT */
/* doctor_python.h: what doctor says of the Python in a target. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "doctor_report.h"
#include "target/stop.h"

/* Adds findings about the runtimes in process @pid and the ways to its threads' states; true if it
 * can be sampled as Python. */
bool doctor_python(struct report *report, pid_t pid, struct stopper *stopper);
