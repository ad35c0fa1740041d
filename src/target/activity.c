/* SPDX-License-Identifier: MIT */
/* activity.c: what the kernel says a thread is doing. */
#include "target/activity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

void activity_open(struct activity_files *files, const struct process *process, pid_t tid)
{
	char path[64];
	const char *names[] = { "syscall", "schedstat", "stat" };
	int *fds[] = { &files->syscall_fd, &files->schedstat_fd, &files->stat_fd };
	files->ended = false;
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)process->pid, (int)tid,
			 names[i]);
		*fds[i] = -1;
		/* The third only stands in for the others: most hosts never need its descriptor. */
		if (i == 2 && files->syscall_fd >= 0 && files->schedstat_fd >= 0)
			break;
		*fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (*fds[i] < 0 && (errno == ENOENT || errno == ESRCH) && i == 2)
			files->ended = true;
	}
}

void activity_close(struct activity_files *files)
{
	int *fds[] = { &files->syscall_fd, &files->schedstat_fd, &files->stat_fd };
	for (size_t i = 0; i < 3; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

/* The file's text from its start; -1 with errno. */
static ssize_t read_again(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

bool activity_parse_syscall(const char *text, struct activity *activity)
{
	if (!strncmp(text, "running", 7)) {
		activity->state = ACTIVITY_RUNNING;
		activity->syscall = ACTIVITY_NO_SYSCALL;
		activity->sp = activity->pc = 0;
		return true;
	}

	/* "NR arg0 … arg5 SP PC", or "-1 SP PC" outside a system call. */
	char *end;
	long number = strtol(text, &end, 10);
	if (end == text)
		return false;
	uint64_t values[8];
	size_t count = 0;
	for (; count < 8; count++) {
		const char *at = end;
		values[count] = strtoull(at, &end, 0);
		if (end == at)
			break;
	}
	if (count != (number < 0 ? 2 : 8))
		return false;
	activity->state = ACTIVITY_BLOCKED;
	activity->syscall = number < 0 ? ACTIVITY_NO_SYSCALL : number;
	activity->sp = values[count - 2];
	activity->pc = values[count - 1];
	return true;
}

/* Fields of stat after the name: the state letter, and utime + stime in clock ticks. */
static bool parse_stat(const char *text, char *state_ret, uint64_t *ticks_ret)
{
	const char *p = strrchr(text, ')');
	unsigned long long utime, stime;
	if (!p || sscanf(p + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", state_ret,
			 &utime, &stime) != 3)
		return false;
	*ticks_ret = utime + stime;
	return true;
}

static void look_at_stat(struct activity_files *files, struct activity *activity)
{
	char text[1024], state;
	uint64_t ticks;
	activity->syscall = ACTIVITY_NO_SYSCALL;
	activity->sp = activity->pc = 0;
	if (files->stat_fd < 0 || read_again(files->stat_fd, text, sizeof(text)) <= 0 ||
	    !parse_stat(text, &state, &ticks)) {
		activity->state = ACTIVITY_ENDED;
		files->ended = true;
		return;
	}
	switch (state) {
	case 'R':
		activity->state = ACTIVITY_RUNNING;
		break;
	case 'T':
	case 't':
		activity->state = ACTIVITY_STOPPED;
		break;
	case 'Z':
	case 'X':
		/* A zombie leader stays listed while other threads run: it is no new thread. */
		activity->state = ACTIVITY_ENDED;
		break;
	default:
		activity->state = ACTIVITY_BLOCKED;
	}
}

void activity_look(struct activity_files *files, struct activity *activity)
{
	char text[256];
	if (files->syscall_fd < 0) {
		look_at_stat(files, activity);
		return;
	}
	ssize_t n = read_again(files->syscall_fd, text, sizeof(text));
	if (n > 0 && activity_parse_syscall(text, activity))
		return;
	if (n < 0 && errno != ESRCH && errno != ENOENT && files->stat_fd >= 0) {
		/* Openable and yet not readable, as for a target of another user. */
		look_at_stat(files, activity);
		return;
	}
	activity->state = ACTIVITY_ENDED;
	files->ended = true;
}

void activity_count(struct activity_files *files, struct activity *activity)
{
	char text[1024], state;
	uint64_t ticks;
	activity->cpu_ns = 0;
	activity->runs = 0;
	if (files->schedstat_fd >= 0) {
		uint64_t wait_ns;
		if (read_again(files->schedstat_fd, text, sizeof(text)) > 0)
			sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &activity->cpu_ns,
			       &wait_ns, &activity->runs);
		return;
	}
	if (files->stat_fd >= 0 && read_again(files->stat_fd, text, sizeof(text)) > 0 &&
	    parse_stat(text, &state, &ticks))
		activity->cpu_ns = ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

bool activity_same_sleep(const struct activity *a, const struct activity *b)
{
	return a->state == b->state && a->state != ACTIVITY_RUNNING && a->syscall == b->syscall &&
	       a->sp == b->sp && a->pc == b->pc && a->cpu_ns == b->cpu_ns && a->runs == b->runs;
}
