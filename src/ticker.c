/* SPDX-License-Identifier: MIT */
/* ticker.c: when to sample. */
#include "ticker.h"

#include "base/clock.h"
#include "base/hash.h"

/* The rate is given up for a lower one after this many ticks of which most were skipped. */
#define WINDOW_TICKS 200
/* Ticks in a row without a skip before it is raised again: at first, and at most, when raising it did not last. */
#define GOOD_MIN 8
#define GOOD_MAX 5000

void ticker_init(struct ticker *ticker, double rate_hz, bool jitter, uint64_t start_ns,
		 uint64_t duration_ns)
{
	*ticker = (struct ticker){
		.start_ns = start_ns,
		.base_ns = start_ns,
		.period_ns = (uint64_t)(1e9 / rate_hz),
		.asked_period_ns = (uint64_t)(1e9 / rate_hz),
		.floor_ns = (uint64_t)(1e9 / rate_hz),
		.longest_period_ns = (uint64_t)(1e9 / rate_hz),
		.good_needed = GOOD_MIN,
		.end_ns = duration_ns ? start_ns + duration_ns : UINT64_MAX,
		.jitter = jitter,
		.random = hash_mix(start_ns | 1),
	};
}

/* A step of a multiplicative generator: quality matters little, cost and independence of the target do. */
static uint64_t random_below(struct ticker *ticker, uint64_t limit)
{
	ticker->random = hash_mix(ticker->random + 1);
	return ticker->random % limit;
}

/* Numbers count from here on, with another period. */
static void change_period(struct ticker *ticker, uint64_t period_ns)
{
	ticker->base_ns += ticker->number * ticker->period_ns;
	ticker->number = 0;
	ticker->period_ns = period_ns;
	ticker->good_ticks = 0;
	ticker->window_ticks = ticker->window_skipped = 0;
	if (period_ns > ticker->longest_period_ns)
		ticker->longest_period_ns = period_ns;
}

static void adapt(struct ticker *ticker)
{
	if (ticker->window_ticks + ticker->window_skipped >= WINDOW_TICKS) {
		if (ticker->window_skipped > ticker->window_ticks) {
			change_period(ticker, ticker->period_ns * 2);
			if (ticker->raised && ticker->good_needed < GOOD_MAX)
				ticker->good_needed *= 2;
			ticker->raised = false;
		}
		ticker->window_ticks = ticker->window_skipped = 0;
	}
	if (ticker->period_ns > ticker->floor_ns && ticker->good_ticks >= ticker->good_needed) {
		uint64_t half_ns = ticker->period_ns / 2;
		change_period(ticker, half_ns > ticker->floor_ns ? half_ns : ticker->floor_ns);
		ticker->raised = true;
	}
}

void ticker_limit(struct ticker *ticker, uint64_t period_ns)
{
	uint64_t asked_ns = ticker->asked_period_ns;
	uint64_t floor_ns = period_ns > asked_ns ? period_ns : asked_ns;
	bool at_floor = ticker->period_ns <= ticker->floor_ns;
	/* Not for a change of a few percent: each begins a new count of ticks. */
	if (floor_ns <= ticker->floor_ns && floor_ns > ticker->floor_ns - ticker->floor_ns / 8)
		return;
	ticker->floor_ns = floor_ns;
	if (at_floor || ticker->period_ns < floor_ns)
		change_period(ticker, floor_ns);
}

void ticker_forgive(struct ticker *ticker)
{
	ticker->forgiving = true;
}

bool ticker_next(struct ticker *ticker, uint64_t now_ns, uint64_t *tick_ns_ret,
		 uint64_t *skipped_ret)
{
	if (now_ns >= ticker->end_ns)
		return false;
	adapt(ticker);

	/* Tick k may begin as long as its own period is not over. */
	uint64_t current =
		now_ns > ticker->base_ns ? (now_ns - ticker->base_ns) / ticker->period_ns : 0;
	uint64_t skipped = current > ticker->number ? current - ticker->number : 0;
	ticker->number += skipped;
	uint64_t tick_ns = ticker->base_ns + ticker->number * ticker->period_ns;
	if (ticker->jitter)
		tick_ns += random_below(ticker, ticker->period_ns);
	ticker->number++;
	ticker->window_ticks++;
	uint64_t counted = ticker->forgiving ? 0 : skipped;
	ticker->forgiving = false;
	ticker->window_skipped += counted;
	ticker->good_ticks = counted ? 0 : ticker->good_ticks + 1;

	*tick_ns_ret = tick_ns < ticker->end_ns ? tick_ns : ticker->end_ns;
	*skipped_ret = skipped;
	return true;
}
