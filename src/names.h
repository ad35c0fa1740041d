/* SPDX-License-Identifier: MIT */
/* names.h: which thread is which: names of threads, the filters by id and name, and directories of the target for file names. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "aggregate/profile.h"
#include "options.h"
#include "sampler.h"
#include "subject.h"
#include "write/paths.h"

/* Reads the names that the kernel and Python's threading give the threads; keeps them with the threads, and in @profile (may be
 * NULL) for those that have a number there. */
void names_refresh(struct sampler *sampler, struct profile *profile);
/* The same, when threads have come since or some time has gone by. */
void names_refresh_if_due(struct sampler *sampler, struct profile *profile, uint64_t now_ns);
/* True if the filters of @options let @thread through. */
bool names_is_wanted(const struct options *options, const struct thread *thread);
/* Asks the target's own file tree whether a directory is a package. @subject must outlive the rules. */
struct path_rules names_path_rules(struct subject *subject);
