/* SPDX-License-Identifier: MIT */
/*
 * ticker.h: when to sample.
 *
 * Ticks are at absolute times: tick k lies in [start + k·period, start + (k+1)·period), at its beginning without jitter, anywhere
 * in it with. A fixed period would beat with programs that are periodic themselves. A tick whose time has gone by when the one
 * before is over is skipped, not made up for. When more than half of some hundred ticks were skipped, the period doubles; after
 * some ticks in a row without a skip it halves again, down to what was asked for; each time that this did not last it takes more of
 * them. The period can also be kept from being shorter than a budget allows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ticker {
	uint64_t start_ns;
	uint64_t period_ns;
	uint64_t end_ns; /* UINT64_MAX: none; the last tick is at the end itself */
	bool jitter;
	uint64_t base_ns; /* start of the period that number counts from */
	uint64_t number;
	uint64_t random;
	/* of the current window */
	uint64_t window_ticks, window_skipped;
	uint64_t asked_period_ns;
	uint64_t floor_ns;          /* no period is shorter; at least what was asked for */
	uint64_t longest_period_ns; /* so far */
	uint64_t good_ticks;        /* in a row without a skip */
	uint64_t good_needed;       /* of them before the period halves */
	bool raised;                /* the last change was to a shorter period */
	bool forgiving;             /* what is skipped next does not count */
};

void ticker_init(struct ticker *ticker, double rate_hz, bool jitter, uint64_t start_ns,
		 uint64_t duration_ns);
/* What is skipped before the next tick says nothing of the cost of sampling: something else was done that happens once. */
void ticker_forgive(struct ticker *ticker);
/* No period shorter than @period_ns from the next tick on, as far as that is longer than what was asked for. */
void ticker_limit(struct ticker *ticker, uint64_t period_ns);
/* The time of the next tick, and how many were skipped before it since the one before. False: the run is over. */
bool ticker_next(struct ticker *ticker, uint64_t now_ns, uint64_t *tick_ns_ret,
		 uint64_t *skipped_ret);
