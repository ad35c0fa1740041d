/* SPDX-License-Identifier: MIT */
/* A process that only CAP_SYS_PTRACE may look at. Ends with 7 on SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static void end(int number)
{
	_exit(7);
}

int main(void)
{
	signal(SIGTERM, end);
	if (prctl(PR_SET_DUMPABLE, 0))
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
