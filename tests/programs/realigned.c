/* SPDX-License-Identifier: MIT */
/*
 * realigned.c: main → realigned_caller → realigned_frame → realigned_leaf, where realigned_frame keeps its CFA on the stack:
 * a 32-byte-aligned local and arguments on the stack make gcc -O2 set up a frame with CFA = *(rbp − 8) and rbp saved at rbp.
 * To be built with -O2, and -fno-omit-frame-pointer or -fomit-frame-pointer for the callers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often the leaf goes round; few let every instruction of its callers be met. */
static int turns;

__attribute__((noipa)) static long realigned_leaf(long a, long b, long c, long d, long e, long f,
						  long g, const double *aligned)
{
	volatile long sum = a + b + c + d + e + f + g;
	for (int i = 0; i < turns; i++)
		sum += (long)aligned[i & 3];
	return sum;
}

__attribute__((noipa)) static long realigned_frame(long a, long b, long c, long d, long e, long f,
						   long g, long h)
{
	double aligned[4] __attribute__((aligned(32)));
	for (int i = 0; i < 4; i++)
		aligned[i] = (double)(a + i);
	__asm__ volatile("" : : "r"(aligned) : "memory");
	return realigned_leaf(a, b, c, d, e, f, g + h, aligned) + (long)aligned[0];
}

__attribute__((noipa)) static long realigned_caller(long n)
{
	long sum = realigned_frame(n, 1, 2, 3, 4, 5, 6, 7);
	__asm__ volatile("" : "+r"(sum));
	return sum;
}

int main(int argc, char **argv)
{
	turns = argc > 1 ? atoi(argv[1]) : 20000;
	volatile long sum = 0;
	puts("ready");
	fflush(stdout);
	for (;;)
		sum += realigned_caller(sum & 7);
}
