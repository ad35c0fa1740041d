/* SPDX-License-Identifier: MIT */
/*
 * stats.h: how well a run went.
 *
 * An attempt to take a stack ends as a sample (a stack was recorded: complete, or cut with a
 * reason) or as a loss (none was, with a reason). Nothing is allocated while sampling; only notes
 * are.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "aggregate/histogram.h"
#include "base/reason.h"

enum stats_counter {
#define COUNTER(id, name, text) STATS_##id,
#include "aggregate/counters.def"
#undef COUNTER
	STATS_COUNTERS,
};

#define STATS_NOTES_MAX 32

struct stats {
	/* Set by the session. */
	uint64_t interval_ns; /* asked for; 0 where there was none */
	uint64_t late_ns;     /* a tick that comes later than this is a late one */
	uint64_t duration_ns; /* first tick to the end of the run */

	uint64_t ticks;   /* ticks that took place */
	uint64_t late;    /* of these, late ones */
	uint64_t skipped; /* ticks left out because an earlier one was not over */
	struct histogram lateness_ns;
	struct histogram stop_ns; /* stop asked for → running again */
	struct histogram hold_ns; /* of that, the part in which the thread was held */

	uint64_t samples;
	uint64_t complete;            /* of these, complete ones */
	uint64_t cut[REASON_COUNT_];  /* of these, cut, by reason */
	uint64_t lost[REASON_COUNT_]; /* attempts without a stack, by reason */
	uint64_t counters[STATS_COUNTERS];

	char *notes[STATS_NOTES_MAX];
	unsigned note_count;
};

/* A zeroed stats is an empty one. */
void stats_deinit(struct stats *stats);

/* A tick that began @lateness_ns after its time. */
void stats_tick(struct stats *stats, uint64_t lateness_ns);
/* Called by profile_count for each sample; @end is REASON_OK for a complete stack. */
void stats_sample(struct stats *stats, enum reason end);
void stats_loss(struct stats *stats, enum reason reason);
static inline void stats_stop(struct stats *stats, uint64_t stop_ns, uint64_t hold_ns)
{
	stats->counters[STATS_STOPS]++;
	histogram_add(&stats->stop_ns, stop_ns);
	histogram_add(&stats->hold_ns, hold_ns);
}
static inline void stats_count(struct stats *stats, enum stats_counter counter, uint64_t n)
{
	stats->counters[counter] += n;
}

/* Adds the numbers and notes of @more to @stats, and its time; what was asked for is @more's. */
void stats_add(struct stats *stats, const struct stats *more);

/* A line for the summary and the files ("memory was read by …"). The same text is kept once; a few
 * dozen at most. */
void stats_note(struct stats *stats, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Attempts without a stack, all reasons together. */
uint64_t stats_lost(const struct stats *stats);
/* Ticks that took place a second, in thousandths of a hertz; 0 if nothing was measured. */
uint64_t stats_rate_mhz(const struct stats *stats);
const char *stats_counter_name(enum stats_counter counter);

/* The lines at the end of a run. The first one holds "N samples". */
void stats_print_summary(const struct stats *stats, FILE *stream);
