/* SPDX-License-Identifier: MIT */
/* nested.c: DEPTH frames of nested() below main, then spin() for ever. usage: nested DEPTH */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile long rounds, done;

__attribute__((noinline)) static void spin(void)
{
	puts("ready");
	fflush(stdout);
	while (!done)
		rounds++;
}

__attribute__((noinline)) static void nested(long depth)
{
	if (depth > 1)
		nested(depth - 1);
	else
		spin();
	rounds++; /* no tail call */
}

int main(int argc, char **argv)
{
	/* The stack may grow as far as the limit at the program's start says. */
	struct rlimit unlimited = { 1 << 28, RLIM_INFINITY }, limit;
	getrlimit(RLIMIT_STACK, &limit);
	if (limit.rlim_cur < unlimited.rlim_cur && !setrlimit(RLIMIT_STACK, &unlimited))
		execv("/proc/self/exe", argv);
	nested(argc > 1 ? atol(argv[1]) : 50000);
	return 0;
}
