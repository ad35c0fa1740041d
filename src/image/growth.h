/* SPDX-License-Identifier: MIT */
/*
 * growth.h: how fast a file that a process appends to is read.
 *
 * Bytes are taken from a budget that is full at first and grows with time: what exists at the start
 * is read, and a process that writes without end costs no more than the rate.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* CPython writes about 300 bytes a function; 10,000 functions a second are a busy compiler. */
#define GROWTH_BYTES_PER_MS UINT64_C(8192)
#define GROWTH_BYTES_BURST  (UINT64_C(256) << 20)

struct growth {
	uint64_t budget;
	uint64_t time_ns;
};

static inline struct growth growth_make(void)
{
	return (struct growth){ .budget = GROWTH_BYTES_BURST };
}

/* @now_ns is monotonic; one that goes back counts as no time. */
static inline void growth_advance(struct growth *growth, uint64_t now_ns)
{
	uint64_t ms = now_ns > growth->time_ns ? (now_ns - growth->time_ns) / 1000000 : 0;
	uint64_t missing = GROWTH_BYTES_BURST - growth->budget;
	if (!ms)
		return;
	growth->time_ns = now_ns;
	growth->budget += ms < missing / GROWTH_BYTES_PER_MS ? ms * GROWTH_BYTES_PER_MS : missing;
}

/* True, and @size less is left, if the budget has that much. */
static inline bool growth_take(struct growth *growth, uint64_t size)
{
	if (size > growth->budget)
		return false;
	growth->budget -= size;
	return true;
}
