/* SPDX-License-Identifier: MIT */
/* read_stats.c: the members "stats" and "losses" of a JSON profile. */
#include "read/read_stats.h"

#include <string.h>

#include "base/vec.h"
#include "read/unescape.h"

uint64_t read_add(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

bool read_reason(const char *name, enum reason *reason_ret)
{
	for (int i = 0; i < REASON_COUNT_; i++) {
		if (strcmp(reason_name((enum reason)i), name) != 0)
			continue;
		*reason_ret = (enum reason)i;
		return true;
	}
	return false;
}

static void add_number(struct scan *scan, uint64_t *sum)
{
	uint64_t value;
	if (scan_number(scan, UINT64_MAX, &value))
		*sum = read_add(*sum, value);
}

/* {"reason": number}. */
static void add_reasons(struct scan *scan, struct strbuf *key, uint64_t counts[REASON_COUNT_])
{
	for (bool first = scan_open(scan, '{'); scan_more(scan, &first, '}');) {
		enum reason reason;
		if (!scan_key(scan, key))
			return;
		if (!read_reason(key->text, &reason)) {
			scan_fail(scan, "a reason that this pysample does not know");
			return;
		}
		add_number(scan, &counts[reason]);
	}
}

static void add_buckets(struct scan *scan, struct histogram *histogram)
{
	for (bool first = scan_open(scan, '['); scan_more(scan, &first, ']');) {
		uint64_t low, count;
		if (!scan_open(scan, '[') || !scan_number(scan, UINT64_MAX, &low) ||
		    !scan_char(scan, ',') || !scan_number(scan, UINT64_MAX, &count) ||
		    !scan_char(scan, ']'))
			return;
		uint64_t *bucket = &histogram->counts[histogram_bucket(low)];
		*bucket = read_add(*bucket, count);
		histogram->total = read_add(histogram->total, count);
	}
}

static void add_histogram(struct scan *scan, struct strbuf *key, struct histogram *histogram)
{
	for (bool first = scan_open(scan, '{'); scan_more(scan, &first, '}');) {
		uint64_t max = 0;
		if (!scan_key(scan, key))
			return;
		if (!strcmp(key->text, "buckets")) {
			add_buckets(scan, histogram);
		} else if (!strcmp(key->text, "sum")) {
			add_number(scan, &histogram->sum);
		} else if (!strcmp(key->text, "max")) {
			add_number(scan, &max);
			if (max > histogram->max)
				histogram->max = max;
		} else {
			scan_skip(scan);
		}
	}
}

static void add_notes(struct scan *scan, struct strbuf *key, struct stats *stats)
{
	_cleanup_strbuf_ struct strbuf note = { 0 };
	for (bool first = scan_open(scan, '['); scan_more(scan, &first, ']');) {
		if (!scan_string(scan, key))
			return;
		strbuf_reset(&note);
		strbuf_add(&note, "", 0);
		unescape_add(&note, key->text, key->length);
		if (!note.failed)
			stats_note(stats, "%s", note.text);
	}
}

/* Where the number called @name belongs; NULL: nowhere. */
static uint64_t *find_number(struct stats *stats, const char *name)
{
	const struct {
		const char *name;
		uint64_t *number;
	} numbers[] = {
		{ "ticks", &stats->ticks },       { "late", &stats->late },
		{ "skipped", &stats->skipped },   { "samples", &stats->samples },
		{ "complete", &stats->complete },
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(numbers[i].name, name))
			return numbers[i].number;
	for (int i = 0; i < STATS_COUNTERS; i++)
		if (!strcmp(stats_counter_name((enum stats_counter)i), name))
			return &stats->counters[i];
	return NULL;
}

static struct histogram *find_histogram(struct stats *stats, const char *name)
{
	if (!strcmp(name, "stop_ns"))
		return &stats->stop_ns;
	if (!strcmp(name, "hold_ns"))
		return &stats->hold_ns;
	return strcmp(name, "lateness_ns") ? NULL : &stats->lateness_ns;
}

void read_stats(struct scan *scan, struct stats *stats)
{
	_cleanup_strbuf_ struct strbuf key = { 0 };
	for (bool first = scan_open(scan, '{'); scan_more(scan, &first, '}');) {
		if (!scan_key(scan, &key))
			return;
		uint64_t *number = find_number(stats, key.text);
		struct histogram *histogram = find_histogram(stats, key.text);
		if (number)
			add_number(scan, number);
		else if (histogram)
			add_histogram(scan, &key, histogram);
		else if (!strcmp(key.text, "cut"))
			add_reasons(scan, &key, stats->cut);
		else if (!strcmp(key.text, "notes"))
			add_notes(scan, &key, stats);
		else
			scan_skip(scan);
	}
}

void read_losses(struct scan *scan, struct stats *stats)
{
	_cleanup_strbuf_ struct strbuf key = { 0 };
	add_reasons(scan, &key, stats->lost);
}
