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

static int open_file(const struct activity_files *files, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)files->pid, (int)files->tid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void activity_open(struct activity_files *files, const struct process *process, pid_t tid)
{
	*files = (struct activity_files){ .pid = process->pid, .tid = tid };
	files->syscall_fd = open_file(files, "syscall");
	files->schedstat_fd = open_file(files, "schedstat");
}

void activity_close(struct activity_files *files)
{
	int *fds[] = { &files->syscall_fd, &files->schedstat_fd };
	for (size_t i = 0; i < 2; i++) {
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

static ssize_t read_once(const struct activity_files *files, const char *name, char *text,
			 size_t size)
{
	_cleanup_close_ int fd = open_file(files, name);
	if (fd >= 0)
		return read_again(fd, text, size);
	text[0] = '\0';
	return -1;
}

/* The words after the number: six arguments, sp and pc; one more is too many. */
#define SYSCALL_WORDS 9

static bool parse_address(const char *text, uint64_t *value_ret)
{
	char *end;
	*value_ret = strtoull(text, &end, 0);
	return end != text && (*end == ' ' || *end == '\n' || !*end);
}

bool activity_parse_syscall(const char *text, struct activity *activity)
{
	if (!strncmp(text, "running", 7)) {
		activity->state = ACTIVITY_RUNNING;
		activity->syscall = ACTIVITY_NO_SYSCALL;
		activity->sp = activity->pc = 0;
		return true;
	}

	/* "NR arg0 … arg5 SP PC", or "-1 SP PC" outside a system call: of many threads at each tick, so no word more than needed. */
	char *end;
	long number = strtol(text, &end, 10);
	if (end == text)
		return false;
	const char *word[SYSCALL_WORDS];
	size_t count = 0;
	for (const char *p = end; (p = strchr(p, ' ')) && count < SYSCALL_WORDS; p++)
		word[count++] = p;
	if (count != (number < 0 ? 2 : 8))
		return false;
	uint64_t sp, pc;
	if (!parse_address(word[count - 2], &sp) || !parse_address(word[count - 1], &pc))
		return false;
	activity->state = ACTIVITY_BLOCKED;
	activity->syscall = number < 0 ? ACTIVITY_NO_SYSCALL : number;
	activity->sp = sp;
	activity->pc = pc;
	return true;
}

/* Fields of stat after the name: the state letter, and utime + stime in clock ticks. */
static bool read_stat(const struct activity_files *files, char *state_ret, uint64_t *ticks_ret)
{
	char text[1024];
	const char *p =
		read_once(files, "stat", text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
	unsigned long long utime, stime;
	if (!p || sscanf(p + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", state_ret,
			 &utime, &stime) != 3)
		return false;
	*ticks_ret = utime + stime;
	return true;
}

static void set_ended(struct activity_files *files, struct activity *activity)
{
	activity->state = ACTIVITY_ENDED;
	files->ended = true;
}

void activity_look_closely(struct activity_files *files, struct activity *activity)
{
	char state;
	uint64_t ticks;
	if (!read_stat(files, &state, &ticks)) {
		/* Too many open files is no reason to forget a thread. */
		if (errno == ENOENT || errno == ESRCH)
			set_ended(files, activity);
		else
			activity->state = ACTIVITY_ENDED;
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
	*activity = (struct activity){ .syscall = ACTIVITY_NO_SYSCALL };
	ssize_t n = files->syscall_fd < 0 ? -1 : read_again(files->syscall_fd, text, sizeof(text));
	if (files->syscall_fd >= 0 && n < 0 && (errno == ESRCH || errno == ENOENT)) {
		set_ended(files, activity);
		return;
	}
	/* Without a stack it is a zombie, or starting or ending; without the file stat has to do. */
	if (n > 0 && activity_parse_syscall(text, activity) &&
	    (activity->state == ACTIVITY_RUNNING || activity->sp))
		return;
	activity_look_closely(files, activity);
}

/* Voluntary and other context switches together. */
static bool read_switches(const struct activity_files *files, uint64_t *switches_ret)
{
	char text[8192];
	unsigned long long wanted, forced;
	if (read_once(files, "status", text, sizeof(text)) <= 0)
		return false;
	const char *line = strstr(text, "\nvoluntary_ctxt_switches:");
	if (!line || sscanf(line, " voluntary_ctxt_switches: %llu nonvoluntary_ctxt_switches: %llu",
			    &wanted, &forced) != 2)
		return false;
	*switches_ret = wanted + forced;
	return true;
}

/* "CPU-ns WAIT-ns RUNS" */
static bool parse_schedstat(const char *text, struct activity *activity)
{
	char *end, *end_of_wait, *end_of_runs;
	uint64_t cpu_ns = strtoull(text, &end, 10);
	strtoull(end, &end_of_wait, 10);
	uint64_t runs = strtoull(end_of_wait, &end_of_runs, 10);
	if (end == text || end_of_wait == end || end_of_runs == end_of_wait)
		return false;
	activity->cpu_ns = cpu_ns;
	activity->runs = runs;
	return true;
}

void activity_count(struct activity_files *files, struct activity *activity)
{
	char text[128], state;
	uint64_t ticks;
	if (files->schedstat_fd >= 0) {
		activity->counted = read_again(files->schedstat_fd, text, sizeof(text)) > 0 &&
				    parse_schedstat(text, activity);
		return;
	}
	activity->counted =
		read_stat(files, &state, &ticks) && read_switches(files, &activity->runs);
	if (activity->counted)
		activity->cpu_ns = ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

bool activity_rests(struct activity_files *files, const struct activity *last)
{
	struct activity now = { 0 };
	/* A kernel that does not count says 0. */
	if (files->schedstat_fd < 0 || !last->counted || !last->runs)
		return false;
	activity_count(files, &now);
	return now.counted && now.runs == last->runs && now.cpu_ns == last->cpu_ns;
}

bool activity_same_sleep(const struct activity *a, const struct activity *b)
{
	/* Whether it is stopped or merely blocked is not always told apart; what counts is that it did not run. */
	return a->counted && b->counted && a->state != ACTIVITY_RUNNING &&
	       b->state != ACTIVITY_RUNNING && a->syscall == b->syscall && a->sp == b->sp &&
	       a->pc == b->pc && a->cpu_ns == b->cpu_ns && a->runs == b->runs;
}
