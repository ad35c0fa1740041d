/* SPDX-License-Identifier: MIT */
/* stop.c: SEIZE, INTERRUPT, bounded wait; DETACH. */
#include "target/stop.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/ptrace.h"

/*
 * How long the wait spins before it sleeps. A thread that runs on another CPU stops within about 10 µs; one that waits for a CPU
 * needs ours more than we do.
 */
#define SPIN_NS (25 * NS_PER_US)

void stopper_init(struct stopper *stopper)
{
	*stopper = (struct stopper){ 0 };
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* An inherited SIG_IGN would keep the kernel from telling us of stops. */
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

struct stop stop_thread(struct stopper *stopper, pid_t tid, uint64_t timeout_ns)
{
	if (stop_is_pending(stopper, tid))
		return (struct stop){ .kind = STOP_TIMEOUT, .tid = tid };
	/* Room first: a thread that can not be put on the list must not be seized. */
	if (!stop_pending_reserve(&stopper->pending, stopper->pending.count + 1))
		return (struct stop){ .kind = STOP_REFUSED, .tid = tid, .errnum = ENOMEM };

	int errnum = ptrace_seize(tid);
	if (errnum)
		return (struct stop){ .kind = STOP_REFUSED, .tid = tid, .errnum = errnum };
	/* A failure shows in the wait: the thread has ended. */
	ptrace_interrupt(tid);

	struct stop stop;
	uint64_t start = clock_now_ns(), now = start;
	while (now - start < SPIN_NS) {
		if (stop_look(stopper, tid, &stop))
			return stop;
		now = clock_now_ns();
	}
	while (now - start < timeout_ns) {
		stop_wait(timeout_ns - (now - start));
		if (stop_look(stopper, tid, &stop))
			return stop;
		now = clock_now_ns();
	}
	*stop_pending_append(&stopper->pending) = tid;
	return (struct stop){ .kind = STOP_TIMEOUT, .tid = tid };
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

void stop_release(const struct stop *stop)
{
	if (stop_is_held(stop))
		ptrace_detach(stop->tid, stop->kind == STOP_SIGNAL ? stop->signal : 0);
}

void stop_collect(struct stopper *stopper)
{
	for (size_t i = stopper->pending.count; i-- > 0;) {
		struct stop stop;
		if (!stop_look(stopper, stopper->pending.items[i], &stop))
			continue;
		stop_release(&stop);
		stopper->pending.items[i] = stopper->pending.items[--stopper->pending.count];
	}
}

bool stop_is_pending(const struct stopper *stopper, pid_t tid)
{
	vec_foreach (pending, &stopper->pending)
		if (*pending == tid)
			return true;
	return false;
}
