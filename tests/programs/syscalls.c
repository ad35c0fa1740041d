/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c: what a program under test cannot do in Python: system calls without a retry, native threads, vfork,
 * signal handlers that count. Called through ctypes; counters lie in memory of the caller.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum call { CALL_EPOLL, CALL_SEMOP, CALL_SIGTIMEDWAIT, CALL_INOTIFY, CALL_RECV, CALL_COUNT };

struct parked {
	uint64_t tid;
	uint64_t calls;
	uint64_t interrupted;
	uint64_t failed;
};

static int wait_once(enum call call, int fd, int sem, int timeout_ms)
{
	struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	struct sembuf take = { 0, -1, 0 };
	struct epoll_event event;
	char bytes[512];
	sigset_t set;

	switch (call) {
	case CALL_EPOLL:
		return epoll_wait(fd, &event, 1, timeout_ms);
	case CALL_SEMOP:
		return semtimedop(sem, &take, 1, &timeout);
	case CALL_SIGTIMEDWAIT:
		sigemptyset(&set);
		sigaddset(&set, SIGRTMIN + 9);
		return sigtimedwait(&set, NULL, &timeout);
	case CALL_INOTIFY:
		return read(fd, bytes, sizeof(bytes));
	default:
		return recv(fd, bytes, sizeof(bytes), 0);
	}
}

static int open_for(enum call call, int timeout_ms)
{
	struct timeval timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000L };
	int pair[2];

	if (call == CALL_EPOLL)
		return epoll_create1(EPOLL_CLOEXEC);
	if (call == CALL_INOTIFY)
		return inotify_init1(IN_CLOEXEC);
	if (call != CALL_RECV)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		abort();
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	return pair[0];
}

/* Waits in one system call for ever, counts how often it came back with EINTR. */
void park(int call, struct parked *out, int timeout_ms)
{
	int fd = open_for(call, timeout_ms);
	int sem = call == CALL_SEMOP ? semget(IPC_PRIVATE, 1, 0600) : -1;

	__atomic_store_n(&out->tid, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	for (;;) {
		int result = wait_once(call, fd, sem, timeout_ms);
		int error = result < 0 ? errno : 0;

		__atomic_add_fetch(&out->calls, 1, __ATOMIC_SEQ_CST);
		if (error == EINTR)
			__atomic_add_fetch(&out->interrupted, 1, __ATOMIC_SEQ_CST);
		else if (error && error != EAGAIN)
			__atomic_add_fetch(&out->failed, 1, __ATOMIC_SEQ_CST);
	}
}

struct order {
	int call;
	int timeout_ms;
	struct parked *out;
};

static void *park_thread(void *argument)
{
	struct order *order = argument;

	park(order->call, order->out, order->timeout_ms);
	return NULL;
}

/* The same in a thread of which Python knows nothing. */
int start_parked(int call, struct parked *out, int timeout_ms)
{
	struct order *order = malloc(sizeof(*order));
	pthread_t thread;

	*order = (struct order){ call, timeout_ms, out };
	return pthread_create(&thread, NULL, park_thread, order);
}

/* Runs on a CPU for ever. */
void spin(volatile uint64_t *rounds)
{
	for (;;)
		(*rounds)++;
}

/* The caller is in uninterruptible sleep until the child has slept. */
int vfork_and_sleep(int seconds)
{
	struct timespec time = { seconds, 0 };
	pid_t child = vfork();

	if (child == 0) {
		syscall(SYS_nanosleep, &time, NULL);
		_exit(0);
	}
	/* The signal by which the test asks for the count ends the wait too: the child would stay a zombie. */
	pid_t ended;
	do
		ended = waitpid(child, NULL, 0);
	while (ended < 0 && errno == EINTR);
	return ended == child;
}

/* One vfork with a child that ends at once. */
int vfork_once(void)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	/* The signal by which the test asks for the count ends the wait too: the child would stay a zombie. */
	pid_t ended;
	do
		ended = waitpid(child, NULL, 0);
	while (ended < 0 && errno == EINTR);
	return ended == child;
}

typedef void callback(void);

static void *call_thread(void *argument)
{
	((callback *)argument)();
	return NULL;
}

/* Calls back from a thread that was not made by Python. */
int call_in_thread(callback *function)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, call_thread, (void *)function);
}

struct signals {
	uint64_t queued;       /* real-time signals that arrived */
	uint64_t queued_sum;   /* sum of their values */
	uint64_t out_of_order; /* values that did not grow */
	uint64_t strange;      /* si_code or sender was not the sender's */
	uint64_t expiries;     /* of the interval timer, overruns included */
	int64_t last;
	int64_t sender;
};

static struct signals *signals;

static void on_queued(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	signals->queued++;
	signals->queued_sum += info->si_value.sival_int;
	if (info->si_value.sival_int <= signals->last)
		signals->out_of_order++;
	signals->last = info->si_value.sival_int;
	if (info->si_code != SI_QUEUE || info->si_pid != signals->sender)
		signals->strange++;
}

static void on_timer(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	signals->expiries += 1 + info->si_overrun;
	if (info->si_code != SI_TIMER)
		signals->strange++;
}

/* Counts SIGRTMIN + 5 with values that grow, and the expiries of a timer of 0.5 ms that signals this thread. */
int count_signals(struct signals *out)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 6 };
	struct itimerspec interval = { { 0, 500000 }, { 0, 500000 } };
	timer_t timer;

	signals = out;
	action.sa_sigaction = on_queued;
	if (sigaction(SIGRTMIN + 5, &action, NULL) != 0)
		return -1;
	action.sa_sigaction = on_timer;
	if (sigaction(SIGRTMIN + 6, &action, NULL) != 0)
		return -1;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		return -1;
	return timer_settime(timer, 0, &interval, NULL);
}
