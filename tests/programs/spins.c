/* SPDX-License-Identifier: MIT */
/* spins.c: a library with a function that runs for a while. */
#include <time.h>

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noipa)) long spin_for(double seconds)
{
	volatile long rounds = 0;
	double end = now() + seconds;
	while (now() < end)
		for (int i = 0; i < 10000; i++)
			rounds++;
	return rounds;
}
