/* SPDX-License-Identifier: MIT */
/* progress.c: the line that shows on a terminal how a recording goes. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

#define INTERVAL_NS (250 * NS_PER_MS)
#define BAR_COLUMNS 20
#define COLUMNS_MAX 200

void progress_init(struct progress *progress, const struct options *options, bool wanted,
		   uint64_t now_ns)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	*progress = (struct progress){
		.shown = wanted && !options->quiet && isatty(STDERR_FILENO) &&
			 !(term && !strcmp(term, "dumb")),
		.color = !no_color || !*no_color,
		.start_ns = now_ns,
		.duration_ns = options->duration_ns,
		.samples = options->samples,
		.next_ns = now_ns + INTERVAL_NS,
		.shown_ns = now_ns,
	};
}

/* The done part of the run; negative: not known. */
static double share_done(const struct progress *progress, uint64_t samples, uint64_t now_ns)
{
	double share = -1;
	if (progress->duration_ns)
		share = (double)(now_ns - progress->start_ns) / (double)progress->duration_ns;
	if (progress->samples && (double)samples / (double)progress->samples > share)
		share = (double)samples / (double)progress->samples;
	return share > 1 ? 1 : share;
}

static int add_bar(const struct progress *progress, double share, char *text, size_t size)
{
	static const char full[] = "####################", none[] = "....................";
	int done = (int)(share * BAR_COLUMNS);
	const char *on = progress->color ? "\033[36m" : "", *off = progress->color ? "\033[0m" : "";
	return snprintf(text, size, "%s%.*s%s%.*s %3.0f%%  ", on, done, full, off,
			BAR_COLUMNS - done, none, 100 * share);
}

static int screen_columns(void)
{
	struct winsize size;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col < COLUMNS_MAX ? size.ws_col : COLUMNS_MAX;
}

/* Ticks a second since the line was last drawn. A window begins its count anew. */
static void measure_rate(struct progress *progress, const struct stats *stats, uint64_t now_ns)
{
	uint64_t ticks = stats->ticks >= progress->shown_ticks
				 ? stats->ticks - progress->shown_ticks
				 : stats->ticks;
	progress->rate = (double)ticks * 1e9 / (double)(now_ns - progress->shown_ns + 1);
	progress->shown_ticks = stats->ticks;
	progress->shown_ns = now_ns;
}

void progress_show(struct progress *progress, const struct stats *stats, uint64_t samples,
		   size_t processes, uint64_t now_ns)
{
	if (!progress->shown || now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + INTERVAL_NS;
	measure_rate(progress, stats, now_ns);
	char bar[128] = "", text[COLUMNS_MAX + 1], left[32] = "";
	double elapsed = (double)(now_ns - progress->start_ns) / 1e9;
	double share = share_done(progress, samples, now_ns);
	int columns = screen_columns() - 1;
	if (share >= 0 && columns > 2 * BAR_COLUMNS) {
		add_bar(progress, share, bar, sizeof(bar));
		columns -= BAR_COLUMNS + (int)strlen(" 100%  ");
	}
	if (share > 0)
		snprintf(left, sizeof(left), "  %.0f s left", elapsed / share - elapsed);
	snprintf(text, sizeof(text),
		 "%.1f s%s  %" PRIu64 " samples  %.0f ticks/s  %" PRIu64 " lost  %zu process%s",
		 elapsed, left, samples, progress->rate, stats_lost(stats), processes,
		 processes == 1 ? "" : "es");
	/* A line that is wider than the screen would stay there. */
	fprintf(stderr, "\r%s%.*s\033[K", bar, columns > 0 ? columns : 0, text);
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
