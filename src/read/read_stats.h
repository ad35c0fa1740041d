/* SPDX-License-Identifier: MIT */
/* read_stats.h: the members "stats" and "losses" of a JSON profile. For read_json.c. */
#pragma once

#include "aggregate/stats.h"
#include "base/strbuf.h"
#include "read/scan.h"

/* Each adds the numbers of the value at @scan to @stats. What is wrong stays with the scan. */
void read_stats(struct scan *scan, struct stats *stats);
void read_losses(struct scan *scan, struct stats *stats);

/* a + b, at most UINT64_MAX. */
uint64_t read_add(uint64_t a, uint64_t b);
/* The reason of that name; false if there is none. */
bool read_reason(const char *name, enum reason *reason_ret);
