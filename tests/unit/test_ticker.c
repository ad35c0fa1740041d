/* SPDX-License-Identifier: MIT */
/* test_ticker.c: ticks are at absolute times, late ones are not made up for, and the last one is at the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "ticker.h"

#define START (1000 * NS_PER_S)

static void without_jitter_ticks_are_exact(void **state)
{
	struct ticker ticker;
	ticker_init(&ticker, 100, false, START, 0);
	uint64_t tick, skipped;
	for (uint64_t i = 0; i < 1000; i++) {
		assert_true(ticker_next(&ticker, START + i * 10 * NS_PER_MS, &tick, &skipped));
		assert_int_equal(tick, START + i * 10 * NS_PER_MS);
		assert_int_equal(skipped, 0);
	}
}

static void with_jitter_each_period_has_one_tick(void **state)
{
	struct ticker ticker;
	ticker_init(&ticker, 100, true, START, 0);
	uint64_t tick = START, skipped, distinct = 0, last = 0;
	for (uint64_t i = 0; i < 1000; i++) {
		assert_true(ticker_next(&ticker, tick, &tick, &skipped));
		uint64_t offset = tick - START - i * 10 * NS_PER_MS;
		assert_true(offset < 10 * NS_PER_MS);
		assert_int_equal(skipped, 0);
		distinct += offset != last;
		last = offset;
	}
	assert_true(distinct > 900);
}

static void what_was_slept_through_is_skipped(void **state)
{
	struct ticker ticker;
	ticker_init(&ticker, 100, false, START, 0);
	uint64_t tick, skipped;
	assert_true(ticker_next(&ticker, START, &tick, &skipped));
	/* The next tick would have been at 10 ms; now it is 47 ms. The period from 40 ms on is still running. */
	assert_true(ticker_next(&ticker, START + 47 * NS_PER_MS, &tick, &skipped));
	assert_int_equal(skipped, 3);
	assert_int_equal(tick, START + 40 * NS_PER_MS);
	assert_true(ticker_next(&ticker, START + 48 * NS_PER_MS, &tick, &skipped));
	assert_int_equal(skipped, 0);
	assert_int_equal(tick, START + 50 * NS_PER_MS);
}

static void the_last_tick_is_at_the_end(void **state)
{
	struct ticker ticker;
	ticker_init(&ticker, 7, true, START, NS_PER_S);
	uint64_t tick = START, skipped;
	while (ticker_next(&ticker, tick, &tick, &skipped))
		assert_true(tick <= START + NS_PER_S);
	assert_int_equal(tick, START + NS_PER_S);
}

/* Each tick's work takes 5 ms, of 1 kHz: four of five ticks are skipped. Returns when the last one is over. */
static uint64_t work_too_long(struct ticker *ticker, uint64_t now)
{
	uint64_t tick, skipped;
	for (int i = 0; i < 500; i++) {
		assert_true(ticker_next(ticker, now, &tick, &skipped));
		now = (tick > now ? tick : now) + 5 * NS_PER_MS;
	}
	return now;
}

static void a_rate_that_can_not_be_kept_is_lowered(void **state)
{
	struct ticker ticker;
	ticker_init(&ticker, 1000, false, START, 0);
	uint64_t tick, skipped, now = START;
	now = work_too_long(&ticker, now);
	/* 1000 → 500 → 250 Hz: there half or fewer are skipped. */
	assert_int_equal(ticker.longest_period_ns, 4 * NS_PER_MS);
	assert_int_equal(ticker.period_ns, 4 * NS_PER_MS);

	/* The work becomes light: after some good ticks it is 1 kHz again. */
	for (int i = 0; i < 500; i++) {
		assert_true(ticker_next(&ticker, now, &tick, &skipped));
		now = tick > now ? tick : now;
	}
	assert_int_equal(ticker.period_ns, NS_PER_MS);
}

static void what_is_forgiven_does_not_lower_the_rate(void **state)
{
	struct ticker ticker;
	ticker_init(&ticker, 1000, false, START, 0);
	uint64_t tick, skipped, now = START;
	for (int i = 0; i < 500; i++) {
		ticker_forgive(&ticker);
		assert_true(ticker_next(&ticker, now, &tick, &skipped));
		now = (tick > now ? tick : now) + 5 * NS_PER_MS;
	}
	assert_int_equal(ticker.longest_period_ns, NS_PER_MS);
}

static void one_stall_does_not_change_the_rate(void **state)
{
	struct ticker ticker;
	ticker_init(&ticker, 1000, true, START, 0);
	uint64_t tick, skipped, now = START, total = 0;
	for (int i = 0; i < 5000; i++) {
		assert_true(ticker_next(&ticker, now, &tick, &skipped));
		total += skipped;
		now = tick > now ? tick : now;
		if (i == 100)
			now += 300 * NS_PER_MS;
	}
	assert_in_range(total, 298, 302);
	assert_int_equal(ticker.period_ns, NS_PER_MS);
	/* 5000 ticks and 300 that were skipped: the clock and the ticks agree. */
	assert_in_range(now - START, 4900 * NS_PER_MS, 5700 * NS_PER_MS);
}

/* The period is never shorter than the limit, or than what was asked for; small changes of the limit are not followed. */
static void a_limit_makes_the_period_longer(void **state)
{
	struct ticker ticker;
	ticker_init(&ticker, 1000, false, START, 0);
	uint64_t tick = START, skipped;
	ticker_limit(&ticker, 500 * NS_PER_US);
	assert_int_equal(ticker.period_ns, NS_PER_MS);
	for (uint64_t i = 0; i < 10; i++) {
		assert_true(ticker_next(&ticker, tick, &tick, &skipped));
		assert_int_equal(tick, START + i * NS_PER_MS);
	}
	ticker_limit(&ticker, 4 * NS_PER_MS);
	ticker_limit(&ticker, 3900 * NS_PER_US);
	for (uint64_t i = 0; i < 100; i++) {
		assert_true(ticker_next(&ticker, tick, &tick, &skipped));
		assert_int_equal(tick, START + 10 * NS_PER_MS + i * 4 * NS_PER_MS);
		assert_int_equal(skipped, 0);
	}
	ticker_limit(&ticker, 2 * NS_PER_MS);
	assert_int_equal(ticker.period_ns, 2 * NS_PER_MS);
	ticker_limit(&ticker, 0);
	assert_int_equal(ticker.period_ns, NS_PER_MS);
}

/* A period that is longer because ticks were skipped is not made shorter by a limit, and raised no further than to it. */
static void a_limit_and_a_lowered_rate(void **state)
{
	struct ticker ticker;
	ticker_init(&ticker, 1000, false, START, 0);
	uint64_t tick, skipped, now = START;
	now = work_too_long(&ticker, now);
	assert_int_equal(ticker.period_ns, 4 * NS_PER_MS);
	ticker_limit(&ticker, 3 * NS_PER_MS);
	assert_int_equal(ticker.period_ns, 4 * NS_PER_MS);
	for (int i = 0; i < 2000; i++) {
		assert_true(ticker_next(&ticker, now, &tick, &skipped));
		now = tick > now ? tick : now;
	}
	assert_int_equal(ticker.period_ns, 3 * NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_jitter_ticks_are_exact),
		cmocka_unit_test(with_jitter_each_period_has_one_tick),
		cmocka_unit_test(what_was_slept_through_is_skipped),
		cmocka_unit_test(the_last_tick_is_at_the_end),
		cmocka_unit_test(a_rate_that_can_not_be_kept_is_lowered),
		cmocka_unit_test(what_is_forgiven_does_not_lower_the_rate),
		cmocka_unit_test(one_stall_does_not_change_the_rate),
		cmocka_unit_test(a_limit_makes_the_period_longer),
		cmocka_unit_test(a_limit_and_a_lowered_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
