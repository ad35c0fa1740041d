/* SPDX-License-Identifier: MIT */
/* vdso.c: main → ask, which asks the kernel's vdso for the time again and again. */
#include <stdio.h>
#include <time.h>

__attribute__((noinline)) static long ask(void)
{
	struct timespec now;
	long sum = 0;
	for (int i = 0; i < 1000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		sum += now.tv_nsec;
	}
	return sum;
}

int main(void)
{
	volatile long sum = 0;
	puts("ready");
	fflush(stdout);
	for (;;)
		sum += ask();
}
