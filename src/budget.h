/* SPDX-License-Identifier: MIT */
/*
 * budget.h: how long threads are held → how often they may be sampled (--max-overhead).
 *
 * A thread that is held for h at each tick is held a share of h / period of its time. The budget knows the h of late, of the thread
 * that was held longest in each tick, and says which period keeps it within the share that is allowed. A tick that took far longer
 * than those before is paid for with the ticks after it: none is made until the share of all the time so far is within the limit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct budget {
	double share;       /* allowed; 0: whatever it takes */
	double mean_ns;     /* hold a tick, of late */
	uint64_t ticks;     /* that it is the mean of */
	uint64_t thread_ns; /* of the thread that is being sampled */
	uint64_t worst_ns;  /* of this tick's threads the longest */
	uint64_t held_ns;   /* sum of all ticks' longest */
	uint64_t start_ns;  /* of the time that they are a share of */
};

void budget_init(struct budget *budget, double share, uint64_t start_ns);
/* What is spent from now on is another thread's. */
void budget_next_thread(struct budget *budget);
/* The thread was held for @ns. */
void budget_spend(struct budget *budget, uint64_t ns);
/* A round over the threads has ended. */
void budget_next_tick(struct budget *budget);
/* False: what was spent so far is more than the share of the time until @now_ns, and this tick is to be left out. */
bool budget_affords(const struct budget *budget, uint64_t now_ns);
/* The shortest period that is within the budget; 0: any is. */
uint64_t budget_period_ns(const struct budget *budget);
