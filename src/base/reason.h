/* SPDX-License-Identifier: MIT */
/*
 * reason.h: why a sample or a frame was lost.
 *
 * Permanent ids from reason.def: files written today are read by tomorrow's tools. REASON_OK is success. Returned on the hot
 * path, counted by aggregate/stats, never allocated.
 */
#pragma once

enum reason {
#define REASON(id, name, value, text) REASON_##id = (value),
#include "base/reason.def"
#undef REASON
	REASON_COUNT_
};

/* Short lower-case id as written to files ("torn_chain"); "unknown" for a number that is none. */
const char *reason_name(enum reason reason);
/* One line for a person. */
const char *reason_text(enum reason reason);
