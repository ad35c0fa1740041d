/* SPDX-License-Identifier: MIT */
/* replay.h: the subcommand that works out the stacks in saved capsules. */
#pragma once

#include "base/strbuf.h"
#include "options.h"
#include "snapshot/capsule.h"

/* Returns the exit status. */
int replay_run(const struct options *options);

/* The stack in @capsule as text, one frame a line, outermost first, appended to @text; the last line says how it ended. */
struct error *replay_capsule(struct capsule *capsule, struct strbuf *text);
