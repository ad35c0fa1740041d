/* SPDX-License-Identifier: MIT */
/*
 * budget.h: how long threads are held → how often they may be sampled (--max-overhead).
 *
 * A thread that is held for h at each tick is held a share of h / period of its time. The budget knows the h of late, of the thread
 * that was held longest in each tick, and says which period keeps it within the share that is allowed.
 */
#pragma once

#include <stdint.h>

struct budget {
	double share;       /* allowed; 0: whatever it takes */
	double mean_ns;     /* hold a tick, of late */
	uint64_t ticks;     /* that it is the mean of */
	uint64_t thread_ns; /* of the thread that is being sampled */
	uint64_t worst_ns;  /* of this tick's threads the longest */
	uint64_t held_ns;   /* sum of all ticks' longest */
};

void budget_init(struct budget *budget, double share);
/* What is spent from now on is another thread's. */
void budget_next_thread(struct budget *budget);
/* The thread was held for @ns. */
void budget_spend(struct budget *budget, uint64_t ns);
/* A round over the threads has ended. */
void budget_next_tick(struct budget *budget);
/* The shortest period that is within the budget; 0: any is. */
uint64_t budget_period_ns(const struct budget *budget);
