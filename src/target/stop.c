/* SPDX-License-Identifier: MIT */
/* stop.c: SEIZE, INTERRUPT, bounded wait; DETACH. */
#include "target/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "target/ptrace.h"

/*
 * How long the wait spins before it sleeps. A thread that runs on another CPU stops within about 10 µs; one that waits for a CPU
 * needs ours more than we do.
 */
#define SPIN_NS (25 * NS_PER_US)
/* A thread that executes a program can lose what it was asked for, and would be waited for until it ends. */
#define ASK_AGAIN_NS (100 * NS_PER_MS)

void stopper_init(struct stopper *stopper)
{
	*stopper = (struct stopper){ 0 };
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* An inherited SIG_IGN would keep the kernel from telling us of stops. */
	struct sigaction action;
	if (!sigaction(SIGCHLD, NULL, &action) && action.sa_handler == SIG_IGN)
		signal(SIGCHLD, SIG_DFL);
}

void stopper_deinit(struct stopper *stopper)
{
	stop_collect(stopper);
	stop_pending_deinit(&stopper->pending);
}

struct stop stop_classify(pid_t tid, int status)
{
	if (!WIFSTOPPED(status))
		return (struct stop){ .kind = STOP_ENDED, .tid = tid, .status = status };

	int event = status >> 16;
	int signal = WSTOPSIG(status);
	if (event == PTRACE_EVENT_STOP && signal != SIGTRAP)
		return (struct stop){ .kind = STOP_GROUP, .tid = tid };
	if (event != 0)
		return (struct stop){ .kind = STOP_INTERRUPTED, .tid = tid };
	return (struct stop){ .kind = STOP_SIGNAL, .tid = tid, .signal = signal };
}

/* Looks once. False: nothing to see yet. */
static bool stop_look(struct stopper *stopper, pid_t tid, struct stop *stop_ret)
{
	int status;
	pid_t got = wait4(tid, &status, __WALL | WNOHANG, NULL);
	if (got == 0 || (got < 0 && errno == EINTR))
		return false;
	if (got < 0) {
		/* ECHILD: it is no tracee of ours any more, as after an exec in another of its threads. */
		*stop_ret = (struct stop){ .kind = STOP_ENDED, .tid = tid };
		return true;
	}
	*stop_ret = stop_classify(tid, status);
	if (stop_ret->kind == STOP_ENDED && stopper->ended)
		stopper->ended(stopper->ended_data, tid, status);
	return true;
}

void stop_wait(uint64_t ns)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	struct timespec timeout = { .tv_sec = (time_t)(ns / NS_PER_S),
				    .tv_nsec = (long)(ns % NS_PER_S) };
	sigtimedwait(&set, NULL, &timeout);
}

/* Waits for the stop of a seized thread until @deadline_ns; false: it has not stopped. */
static bool wait_for_stop(struct stopper *stopper, pid_t tid, uint64_t deadline_ns,
			  struct stop *stop_ret)
{
	uint64_t start_ns = clock_now_ns(), now_ns = start_ns;
	while (now_ns - start_ns < SPIN_NS) {
		if (stop_look(stopper, tid, stop_ret))
			return true;
		now_ns = clock_now_ns();
	}
	while (now_ns < deadline_ns) {
		stop_wait(deadline_ns - now_ns);
		stop_collect(stopper);
		if (stop_look(stopper, tid, stop_ret))
			return true;
		now_ns = clock_now_ns();
	}
	return false;
}

static bool is_our_tracee(pid_t tid)
{
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	const char *line = strstr(text, "\nTracerPid:");
	return line && atoi(line + strlen("\nTracerPid:")) == getpid();
}

/* Room was reserved before the thread was seized. */
static void wait_later(struct stopper *stopper, pid_t tid, pid_t leader)
{
	struct stop_late *late = stop_pending_append(&stopper->pending);
	if (late)
		*late = (struct stop_late){ tid, leader, clock_now_ns() };
}

/* The thread is gone; if an exec has made it the leader it is still ours under that id, and is let go there. */
static struct stop let_go_renamed(struct stopper *stopper, pid_t tid, pid_t leader,
				  uint64_t deadline_ns)
{
	struct stop ended = { .kind = STOP_ENDED, .tid = tid };
	if (!leader || leader == tid || !is_our_tracee(leader))
		return ended;
	ptrace_interrupt(leader);
	struct stop stop;
	if (wait_for_stop(stopper, leader, deadline_ns, &stop))
		stop_release(stopper, &stop);
	else
		wait_later(stopper, leader, leader);
	return ended;
}

struct stop stop_thread(struct stopper *stopper, pid_t tid, uint64_t timeout_ns)
{
	stop_collect(stopper);
	if (stop_is_pending(stopper, tid))
		return (struct stop){ .kind = STOP_TIMEOUT, .tid = tid };
	/* Room first: a thread that can not be put on the list must not be seized. */
	if (!stop_pending_reserve(&stopper->pending, stopper->pending.count + 2))
		return (struct stop){ .kind = STOP_REFUSED, .tid = tid, .errnum = ENOMEM };

	uint64_t deadline_ns = clock_now_ns() + timeout_ns;
	int errnum = ptrace_seize(tid);
	if (errnum)
		return (struct stop){ .kind = STOP_REFUSED, .tid = tid, .errnum = errnum };
	/* A failure shows in the wait: the thread has ended, or has another id. */
	ptrace_interrupt(tid);
	struct stop stop;
	if (!wait_for_stop(stopper, tid, deadline_ns, &stop)) {
		wait_later(stopper, tid, stopper->leader);
		return (struct stop){ .kind = STOP_TIMEOUT, .tid = tid };
	}
	if (stop.kind == STOP_ENDED && !stop.status)
		return let_go_renamed(stopper, tid, stopper->leader, deadline_ns);
	return stop;
}

int stop_probe(pid_t tid)
{
	pid_t child = fork();
	if (child == 0)
		_exit(ptrace_seize(tid));
	int status;
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	if (child < 0 || !WIFEXITED(status))
		return child < 0 ? errno : EIO;
	return WEXITSTATUS(status);
}

void stop_release(struct stopper *stopper, const struct stop *stop)
{
	if (!stop_is_held(stop) ||
	    !ptrace_detach(stop->tid, stop->kind == STOP_SIGNAL ? stop->signal : 0))
		return;
	wait_later(stopper, stop->tid, stopper->leader);
}

static void ask_again(struct stop_late *late)
{
	uint64_t now_ns = clock_now_ns();
	if (now_ns - late->asked_ns < ASK_AGAIN_NS)
		return;
	late->asked_ns = now_ns;
	ptrace_interrupt(late->tid);
}

void stop_collect(struct stopper *stopper)
{
	for (size_t i = stopper->pending.count; i-- > 0;) {
		struct stop stop;
		struct stop_late late = stopper->pending.items[i];
		if (!stop_look(stopper, late.tid, &stop)) {
			ask_again(&stopper->pending.items[i]);
			continue;
		}
		stopper->pending.items[i] = stopper->pending.items[--stopper->pending.count];
		stop_release(stopper, &stop);
		if (stop.kind == STOP_ENDED && !stop.status)
			let_go_renamed(stopper, late.tid, late.leader, clock_now_ns());
	}
}

bool stop_is_pending(const struct stopper *stopper, pid_t tid)
{
	vec_foreach (late, &stopper->pending)
		if (late->tid == tid)
			return true;
	return false;
}
