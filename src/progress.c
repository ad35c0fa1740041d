/* SPDX-License-Identifier: MIT */
/* progress.c: the line that shows on a terminal how a recording goes. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define INTERVAL_NS (250 * NS_PER_MS)

void progress_init(struct progress *progress, bool quiet, uint64_t now_ns)
{
	*progress = (struct progress){
		.shown = !quiet && isatty(STDERR_FILENO),
		.start_ns = now_ns,
		.next_ns = now_ns + INTERVAL_NS,
	};
}

void progress_show(struct progress *progress, const struct stats *stats, uint64_t now_ns)
{
	if (!progress->shown || now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + INTERVAL_NS;
	double elapsed = (double)(now_ns - progress->start_ns) / 1e9;
	fprintf(stderr, "\r%6.1f s  %" PRIu64 " samples  %.0f ticks/s  %" PRIu64 " lost\033[K",
		elapsed, stats->samples, (double)stats->ticks / elapsed, stats_lost(stats));
	fflush(stderr);
	progress->dirty = true;
}

void progress_clear(struct progress *progress)
{
	if (!progress->dirty)
		return;
	fputs("\r\033[K", stderr);
	progress->dirty = false;
}
