/* SPDX-License-Identifier: MIT */
/* budget.c: how long threads are held → how often they may be sampled. */
#include "budget.h"

#include "base/clock.h"

/* What a hold is taken to cost as long as none was seen: more than it does, so that the first ticks are not too many. */
#define FIRST_GUESS_NS (200 * NS_PER_US)
/* What is remembered is about so many ticks. */
#define MEMORY_TICKS 64
/* A thread that is let go runs again a little later than we know: what we count is taken to be less than it is by a quarter. */
#define UNSEEN 1.25

void budget_init(struct budget *budget, double share, uint64_t start_ns)
{
	*budget = (struct budget){
		.share = share,
		.mean_ns = FIRST_GUESS_NS,
		.start_ns = start_ns,
	};
}

void budget_next_thread(struct budget *budget)
{
	if (budget->thread_ns > budget->worst_ns)
		budget->worst_ns = budget->thread_ns;
	budget->thread_ns = 0;
}

void budget_spend(struct budget *budget, uint64_t ns)
{
	budget->thread_ns += ns;
}

void budget_next_tick(struct budget *budget)
{
	budget_next_thread(budget);
	budget->held_ns += budget->worst_ns;
	if (budget->ticks < MEMORY_TICKS)
		budget->ticks++;
	budget->mean_ns +=
		((double)budget->worst_ns - budget->mean_ns) / (double)(budget->ticks + 1);
	budget->worst_ns = 0;
}

bool budget_affords(const struct budget *budget, uint64_t now_ns)
{
	double allowed_ns = (double)(now_ns - budget->start_ns) * budget->share;
	return budget->share <= 0 || (double)budget->held_ns * UNSEEN <= allowed_ns;
}

uint64_t budget_period_ns(const struct budget *budget)
{
	return budget->share > 0 ? (uint64_t)(budget->mean_ns * UNSEEN / budget->share) : 0;
}
