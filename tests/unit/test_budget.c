/* SPDX-License-Identifier: MIT */
/* test_budget.c: how often threads may be sampled that are held for so long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "budget.h"

static void spend_ticks(struct budget *budget, unsigned ticks, uint64_t ns)
{
	for (unsigned i = 0; i < ticks; i++) {
		budget_spend(budget, ns);
		budget_next_thread(budget);
		budget_next_tick(budget);
	}
}

static void without_a_limit_any_period_will_do(void **state)
{
	struct budget budget;
	budget_init(&budget, 0, 0);
	spend_ticks(&budget, 10, NS_PER_S);
	assert_int_equal(budget_period_ns(&budget), 0);
	assert_int_equal(budget.held_ns, 10 * NS_PER_S);
}

/* 80 µs and the quarter more that we do not see are 1 % of 10 ms. */
static void the_period_follows_the_hold(void **state)
{
	struct budget budget;
	budget_init(&budget, 0.01, 0);
	assert_int_equal(budget_period_ns(&budget), 25 * NS_PER_MS);
	spend_ticks(&budget, 2000, 80 * NS_PER_US);
	assert_in_range(budget_period_ns(&budget), 9999 * NS_PER_US, 10001 * NS_PER_US);
	spend_ticks(&budget, 2000, 160 * NS_PER_US);
	assert_in_range(budget_period_ns(&budget), 19999 * NS_PER_US, 20001 * NS_PER_US);
}

/* Each thread has all of its own time: what counts is the one that was held longest, all its holds together. */
static void threads_do_not_share_a_budget(void **state)
{
	struct budget budget;
	budget_init(&budget, 0.01, 0);
	for (unsigned i = 0; i < 2000; i++) {
		budget_spend(&budget, 30 * NS_PER_US);
		budget_next_thread(&budget);
		budget_spend(&budget, 60 * NS_PER_US);
		budget_spend(&budget, 20 * NS_PER_US);
		budget_next_thread(&budget);
		budget_spend(&budget, 70 * NS_PER_US);
		budget_next_tick(&budget);
	}
	assert_in_range(budget_period_ns(&budget), 9999 * NS_PER_US, 10001 * NS_PER_US);
	assert_int_equal(budget.held_ns, 2000 * 80 * NS_PER_US);
}

/* Ticks at which nothing ran cost nothing. */
static void idle_ticks_are_free(void **state)
{
	struct budget budget;
	budget_init(&budget, 0.01, 0);
	spend_ticks(&budget, 2000, 80 * NS_PER_US);
	spend_ticks(&budget, 2000, 0);
	assert_in_range(budget_period_ns(&budget), 0, NS_PER_US);
}

/* One hold of 20 ms is the 1 % of two seconds, and of half a second more for what we do not see. */
static void a_long_hold_is_paid_for(void **state)
{
	struct budget budget;
	budget_init(&budget, 0.01, NS_PER_S);
	assert_true(budget_affords(&budget, NS_PER_S));
	spend_ticks(&budget, 1, 20 * NS_PER_MS);
	assert_false(budget_affords(&budget, NS_PER_S + 2499 * NS_PER_MS));
	assert_true(budget_affords(&budget, NS_PER_S + 2500 * NS_PER_MS));

	budget_init(&budget, 0, NS_PER_S);
	spend_ticks(&budget, 1, NS_PER_S);
	assert_true(budget_affords(&budget, NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit_any_period_will_do),
		cmocka_unit_test(the_period_follows_the_hold),
		cmocka_unit_test(threads_do_not_share_a_budget),
		cmocka_unit_test(idle_ticks_are_free),
		cmocka_unit_test(a_long_hold_is_paid_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
