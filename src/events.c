/* SPDX-License-Identifier: MIT */
/* events.c: what a recording waits for between its ticks. */
#include "events.h"

#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static volatile sig_atomic_t last_signal;
static volatile sig_atomic_t snapshot_asked;

static void on_signal(int number)
{
	if (number == SIGUSR1)
		snapshot_asked = 1;
	else if (number != SIGCHLD)
		last_signal = number;
}

void events_init(struct events *events, const struct launch_inherited *inherited)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD };
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t blocked;
	sigemptyset(&action.sa_mask);
	sigemptyset(&blocked);
	*events = (struct events){ .wait_mask = inherited->mask, .pidfd = -1 };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaddset(&blocked, numbers[i]);
		sigdelset(&events->wait_mask, numbers[i]);
		if (numbers[i] == SIGCHLD || !launch_was_ignored(inherited, numbers[i]))
			sigaction(numbers[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGPIPE, SIG_IGN);
}

void events_deinit(struct events *events)
{
	if (events->pidfd >= 0)
		close(events->pidfd);
	events->pidfd = -1;
}

void events_watch(struct events *events, pid_t pid)
{
	events_deinit(events);
	if (pid)
		events->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
}

bool events_wait(const struct events *events, uint64_t ns, bool children)
{
	sigset_t mask = events->wait_mask;
	if (!children)
		sigaddset(&mask, SIGCHLD);
	struct pollfd process = { .fd = events->pidfd, .events = POLLIN };
	struct timespec timeout = { .tv_sec = (time_t)(ns / NS_PER_S),
				    .tv_nsec = (long)(ns % NS_PER_S) };
	return ppoll(&process, 1, &timeout, &mask) > 0;
}

int events_signal(void)
{
	return last_signal;
}

void events_clear_signal(void)
{
	last_signal = 0;
}

bool events_snapshot_asked(void)
{
	bool asked = snapshot_asked;
	if (asked)
		snapshot_asked = 0;
	return asked;
}
