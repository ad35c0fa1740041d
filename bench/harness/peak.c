/* SPDX-License-Identifier: MIT */
/*
 * peak: runs a program and writes what it used.
 *
 *   peak FILE PROGRAM [ARGUMENT]...
 *
 * FILE gets one line: the most kilobytes that were resident at once, and the microseconds of CPU time in user and kernel mode. The
 * kernel's figure for a child counts what its parent had resident when it was started: a parent as small as this one does not show.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long microseconds(struct timeval at)
{
	return (long)at.tv_sec * 1000000 + at.tv_usec;
}

int main(int argc, char **argv)
{
	struct rusage used;
	int status;
	if (argc < 3)
		return 2;
	pid_t pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	while (wait4(pid, &status, 0, &used) < 0) {
		if (errno != EINTR)
			return 1;
	}
	FILE *file = fopen(argv[1], "we");
	if (!file)
		return 1;
	fprintf(file, "%ld %ld %ld\n", used.ru_maxrss, microseconds(used.ru_utime),
		microseconds(used.ru_stime));
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
