/* SPDX-License-Identifier: MIT */
/* tracer PID: holds a process as a debugger would, without stopping it, until it is killed. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 2 || ptrace(PTRACE_SEIZE, atoi(argv[1]), NULL, NULL)) {
		perror("tracer");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
