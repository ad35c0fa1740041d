/* SPDX-License-Identifier: MIT */
/* stats.c: how well a run went. */
#include "aggregate/stats.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

static const struct {
	const char *name;
	const char *text;
} counters[STATS_COUNTERS] = {
#define COUNTER(id, name_, text_) [STATS_##id] = { name_, text_ },
#include "aggregate/counters.def"
#undef COUNTER
};

void stats_deinit(struct stats *stats)
{
	for (unsigned i = 0; i < stats->note_count; i++)
		free(stats->notes[i]);
	memset(stats, 0, sizeof(*stats));
}

void stats_tick(struct stats *stats, uint64_t lateness_ns)
{
	stats->ticks++;
	if (lateness_ns > stats->late_ns)
		stats->late++;
	histogram_add(&stats->lateness_ns, lateness_ns);
}

void stats_sample(struct stats *stats, enum reason end)
{
	stats->samples++;
	if (end == REASON_OK)
		stats->complete++;
	else
		stats->cut[end]++;
}

void stats_loss(struct stats *stats, enum reason reason)
{
	stats->lost[reason]++;
}

void stats_note(struct stats *stats, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	_cleanup_free_ char *text = NULL;
	int length = vasprintf(&text, format, ap);
	va_end(ap);
	if (length < 0) {
		text = NULL;
		return;
	}

	for (unsigned i = 0; i < stats->note_count; i++)
		if (!strcmp(stats->notes[i], text))
			return;
	if (stats->note_count < STATS_NOTES_MAX)
		stats->notes[stats->note_count++] = no_cleanup(text);
}

void stats_add(struct stats *stats, const struct stats *more)
{
	stats->interval_ns = more->interval_ns;
	stats->late_ns = more->late_ns;
	stats->duration_ns += more->duration_ns;
	stats->ticks += more->ticks;
	stats->late += more->late;
	stats->skipped += more->skipped;
	histogram_merge(&stats->lateness_ns, &more->lateness_ns);
	histogram_merge(&stats->stop_ns, &more->stop_ns);
	histogram_merge(&stats->hold_ns, &more->hold_ns);
	stats->samples += more->samples;
	stats->complete += more->complete;
	for (size_t i = 0; i < REASON_COUNT_; i++) {
		stats->cut[i] += more->cut[i];
		stats->lost[i] += more->lost[i];
	}
	for (size_t i = 0; i < STATS_COUNTERS; i++)
		stats->counters[i] += more->counters[i];
	for (unsigned i = 0; i < more->note_count; i++)
		stats_note(stats, "%s", more->notes[i]);
}

uint64_t stats_lost(const struct stats *stats)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < REASON_COUNT_; i++)
		lost += stats->lost[i];
	return lost;
}

/* count * 1e12 / duration: a 128-bit product, since a count of 10^8 would already overflow 64 bits.
 */
static uint64_t rate_mhz(uint64_t count, uint64_t duration_ns)
{
	if (!duration_ns)
		return 0;
	return (uint64_t)((unsigned __int128)count * 1000 * NS_PER_S / duration_ns);
}

uint64_t stats_rate_mhz(const struct stats *stats)
{
	return rate_mhz(stats->ticks, stats->duration_ns);
}

const char *stats_counter_name(enum stats_counter counter)
{
	return counters[counter].name;
}

/* "12.3 us": at most four digits before the point, one after it. */
static void print_time(FILE *stream, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { NS_PER_S, "s" }, { NS_PER_MS, "ms" }, { NS_PER_US, "us" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (ns < units[i].ns)
			continue;
		fprintf(stream, "%" PRIu64 ".%" PRIu64 " %s", ns / units[i].ns,
			ns % units[i].ns / (units[i].ns / 10), units[i].name);
		return;
	}
	fprintf(stream, "%" PRIu64 " ns", ns);
}

static void print_times(FILE *stream, const char *title, const struct histogram *times)
{
	if (!times->total)
		return;
	static const struct {
		unsigned permille;
		const char *name;
	} quantiles[] = { { 500, "p50" }, { 900, "p90" }, { 990, "p99" } };

	fprintf(stream, "  %-17s", title);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
		fprintf(stream, "%s ", quantiles[i].name);
		print_time(stream, histogram_quantile(times, quantiles[i].permille));
		fputs(", ", stream);
	}
	fputs("max ", stream);
	print_time(stream, times->max);
	fputc('\n', stream);
}

/* One line of "name: count", the most frequent first; nothing if all are zero. */
static void print_reasons(FILE *stream, const char *title, const uint64_t counts[REASON_COUNT_])
{
	bool printed[REASON_COUNT_] = { false };
	bool first = true;
	for (;;) {
		size_t most = REASON_COUNT_;
		for (size_t i = 0; i < REASON_COUNT_; i++)
			if (counts[i] && !printed[i] &&
			    (most == REASON_COUNT_ || counts[i] > counts[most]))
				most = i;
		if (most == REASON_COUNT_)
			break;
		printed[most] = true;
		if (first)
			fprintf(stream, "  %-17s", title);
		fprintf(stream, "%s%s: %" PRIu64, first ? "" : ", ", reason_name((enum reason)most),
			counts[most]);
		first = false;
	}
	if (!first)
		fputc('\n', stream);
}

static void print_ticks(const struct stats *stats, FILE *stream)
{
	uint64_t achieved = stats_rate_mhz(stats);
	fprintf(stream, "  %-17s%" PRIu64 " (%" PRIu64 " late, %" PRIu64 " skipped)", "ticks",
		stats->ticks, stats->late, stats->skipped);
	fprintf(stream, ", %" PRIu64 ".%" PRIu64 " Hz", achieved / 1000, achieved % 1000 / 100);
	if (stats->interval_ns) {
		uint64_t asked = rate_mhz(1, stats->interval_ns);
		fprintf(stream, " of %" PRIu64 ".%" PRIu64 " Hz asked for", asked / 1000,
			asked % 1000 / 100);
	}
	fputc('\n', stream);
}

static void print_complete(const struct stats *stats, FILE *stream)
{
	uint64_t attempts = stats->samples + stats_lost(stats);
	if (!attempts)
		return;
	/* Rounded down: 100.0 % is said only of all. */
	uint64_t permille = (uint64_t)((unsigned __int128)stats->complete * 1000 / attempts);
	fprintf(stream, "  %-17s%" PRIu64 ".%" PRIu64 " %% (%" PRIu64 " of %" PRIu64 ")\n",
		"complete stacks", permille / 10, permille % 10, stats->complete, attempts);
}

static void print_counters(const struct stats *stats, FILE *stream)
{
	bool first = true;
	for (size_t i = 0; i < STATS_COUNTERS; i++) {
		if (!stats->counters[i])
			continue;
		fprintf(stream, "  %-17s%" PRIu64 " %s\n", first ? "work" : "", stats->counters[i],
			counters[i].text);
		first = false;
	}
}

void stats_print_summary(const struct stats *stats, FILE *stream)
{
	fprintf(stream, "pysample: %" PRIu64 " samples in ", stats->samples);
	print_time(stream, stats->duration_ns);
	fputc('\n', stream);
	print_ticks(stats, stream);
	print_complete(stats, stream);
	print_reasons(stream, "lost", stats->lost);
	print_reasons(stream, "cut", stats->cut);
	print_times(stream, "stop time", &stats->stop_ns);
	print_times(stream, "thereof held", &stats->hold_ns);
	print_times(stream, "tick lateness", &stats->lateness_ns);
	print_counters(stats, stream);
	for (unsigned i = 0; i < stats->note_count; i++)
		fprintf(stream, "  note: %s\n", stats->notes[i]);
}
