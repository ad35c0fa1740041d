/* SPDX-License-Identifier: MIT */
/* Counters and histograms, and the summary that people and scripts read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "aggregate/stats.h"

static void a_bucket_is_at_most_a_sixteenth_wide(void **state)
{
	static const struct {
		uint64_t value, quantile;
	} expected[] = {
		/* One value and a far larger one: the median is the upper end of the value's
		   bucket. */
		{ 0, 0 },       { 1, 1 },
		{ 15, 15 },     { 16, 16 },
		{ 31, 31 },     { 32, 33 },
		{ 33, 33 },     { 34, 35 },
		{ 1000, 1023 }, { 1023, 1023 },
		{ 1024, 1087 }, { 1087, 1087 },
		{ 1088, 1151 }, { 1000000, 1015807 },
	};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct histogram histogram = { 0 };
		histogram_add(&histogram, expected[i].value);
		histogram_add(&histogram, UINT64_MAX);
		assert_int_equal(histogram_quantile(&histogram, 500), expected[i].quantile);
	}
}

static void buckets_cover_all_values(void **state)
{
	struct histogram histogram = { 0 };
	histogram_add(&histogram, UINT64_MAX);
	assert_int_equal(histogram.counts[HISTOGRAM_BUCKETS - 1], 1);
	assert_int_equal(histogram_quantile(&histogram, 500), UINT64_MAX);
	for (size_t i = 1; i < HISTOGRAM_BUCKETS; i++) {
		struct histogram at = { 0 };
		histogram_add(&at, histogram_bucket_low(i));
		histogram_add(&at, histogram_bucket_low(i) - 1);
		assert_int_equal(at.counts[i], 1);
		assert_int_equal(at.counts[i - 1], 1);
	}
}

static void quantiles_are_reached_by_their_share(void **state)
{
	struct histogram histogram = { 0 };
	assert_int_equal(histogram_quantile(&histogram, 500), 0);
	for (uint64_t value = 1; value <= 10; value++)
		histogram_add(&histogram, value);
	assert_int_equal(histogram_quantile(&histogram, 0), 1);
	assert_int_equal(histogram_quantile(&histogram, 500), 5);
	assert_int_equal(histogram_quantile(&histogram, 501), 6);
	assert_int_equal(histogram_quantile(&histogram, 900), 9);
	assert_int_equal(histogram_quantile(&histogram, 990), 10);
	assert_int_equal(histogram_quantile(&histogram, 1000), 10);
	assert_int_equal(histogram.sum, 55);

	/* Never above what was seen, though the bucket goes on. */
	histogram_add(&histogram, 1000);
	assert_int_equal(histogram_quantile(&histogram, 1000), 1000);
}

static void a_tick_is_late_beyond_the_limit(void **state)
{
	struct stats stats = { .late_ns = 1000 };
	stats_tick(&stats, 1000);
	stats_tick(&stats, 1001);
	assert_int_equal(stats.ticks, 2);
	assert_int_equal(stats.late, 1);
	assert_int_equal(stats.lateness_ns.total, 2);
}

static void notes_are_kept_once(void **state)
{
	struct stats stats = { 0 };
	stats_note(&stats, "read by %s", "mem");
	stats_note(&stats, "read by %s", "mem");
	for (int i = 0; i < 100; i++)
		stats_note(&stats, "note %d", i);
	assert_int_equal(stats.note_count, STATS_NOTES_MAX);
	assert_string_equal(stats.notes[0], "read by mem");
	assert_string_equal(stats.notes[1], "note 0");
	stats_deinit(&stats);
	assert_int_equal(stats.note_count, 0);
}

static char *summary_of(const struct stats *stats)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	assert_non_null(stream);
	stats_print_summary(stats, stream);
	assert_int_equal(fclose(stream), 0);
	return text;
}

static void the_summary_says_all(void **state)
{
	struct stats stats = {
		.interval_ns = 10000000,
		.late_ns = 1000,
		.duration_ns = UINT64_C(30004000000),
		.skipped = 3,
	};
	for (int i = 0; i < 2998; i++)
		stats_tick(&stats, i < 2 ? 2000 : 0);
	for (int i = 0; i < 2987; i++)
		stats_sample(&stats, i < 2 ? REASON_DEPTH_LIMIT : REASON_OK);
	for (int i = 0; i < 5; i++)
		stats_loss(&stats, REASON_TORN_CHAIN);
	stats_loss(&stats, REASON_MOVED);
	for (int i = 0; i < 100; i++)
		stats_stop(&stats, 15, 7);
	stats_stop(&stats, 12345678, 8);
	stats_count(&stats, STATS_SLEEPERS_REPEATED, 40);
	stats_note(&stats, "something was odd");

	char *text = summary_of(&stats);
	assert_string_equal(
		text, "pysample: 2987 samples in 30.0 s\n"
		      "  ticks            2998 (2 late, 3 skipped), 99.9 Hz of 100.0 Hz asked for\n"
		      "  complete stacks  99.7 % (2985 of 2993)\n"
		      "  lost             torn_chain: 5, moved: 1\n"
		      "  cut              depth_limit: 2\n"
		      "  stop time        p50 15 ns, p90 15 ns, p99 15 ns, max 12.3 ms\n"
		      "  thereof held     p50 7 ns, p90 7 ns, p99 7 ns, max 8 ns\n"
		      "  tick lateness    p50 0 ns, p90 0 ns, p99 0 ns, max 2.0 us\n"
		      "  work             101 threads stopped\n"
		      "                   40 sleepers counted again\n"
		      "  note: something was odd\n");
	free(text);
	stats_deinit(&stats);
}

static void the_summary_of_nothing_is_short(void **state)
{
	struct stats stats = { 0 };
	char *text = summary_of(&stats);
	assert_string_equal(text, "pysample: 0 samples in 0 ns\n"
				  "  ticks            0 (0 late, 0 skipped), 0.0 Hz\n");
	free(text);
}

static void all_complete_is_said_only_of_all(void **state)
{
	struct stats stats = { .samples = 99999, .complete = 99999 };
	stats_loss(&stats, REASON_CYCLE);
	char *text = summary_of(&stats);
	assert_non_null(strstr(text, "99.9 % (99999 of 100000)"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_is_at_most_a_sixteenth_wide),
		cmocka_unit_test(buckets_cover_all_values),
		cmocka_unit_test(quantiles_are_reached_by_their_share),
		cmocka_unit_test(a_tick_is_late_beyond_the_limit),
		cmocka_unit_test(notes_are_kept_once),
		cmocka_unit_test(the_summary_says_all),
		cmocka_unit_test(the_summary_of_nothing_is_short),
		cmocka_unit_test(all_complete_is_said_only_of_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
