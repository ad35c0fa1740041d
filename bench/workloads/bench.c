/* SPDX-License-Identifier: MIT */
/*
 * bench.c: what the workloads do in C.
 *
 *   gap_run      a thread that spins and records the holes in its time: the gap meter
 *   eintr_loop   a system call again and again that is not restarted after EINTR
 *   c_outer …    native frames, and callbacks into Python
 *
 * Built by the harness: gcc -D_GNU_SOURCE -O2 -g -shared -fPIC -pthread. The workloads call it through ctypes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull
#define NOINLINE  __attribute__((noinline))

static uint64_t now_ns(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * NS_PER_S + (uint64_t)at.tv_nsec;
}

/* ---- gap meter ---- */

/* One hole: its end, its length, how much of it the thread waited for a CPU, how often it gave one up. */
struct gap {
	uint64_t end_ns, length_ns, waited_ns, voluntary;
};

/* A ring in memory that the harness shares: gap number i is at gaps[i % capacity]. */
struct gaps {
	uint64_t count, capacity, tid, loops;
	struct gap gaps[];
};

/* What the kernel has counted for the calling thread. */
struct counted {
	uint64_t waited_ns, voluntary;
};

/* /proc/PID/task/TID/schedstat: time on a CPU, time waiting for one, slices. */
static struct counted count_now(int schedstat)
{
	char text[128];
	ssize_t length = pread(schedstat, text, sizeof(text) - 1, 0);
	text[length > 0 ? length : 0] = '\0';
	char *rest = text;
	strtoull(rest, &rest, 10);
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	return (struct counted){
		.waited_ns = strtoull(rest, NULL, 10),
		.voluntary = (uint64_t)usage.ru_nvcsw,
	};
}

/*
 * Spins for ever and records each hole of more than @least_ns. A thread that only spins never gives its CPU up: a voluntary switch
 * in a hole means that it was put to sleep, by ptrace or a stop signal. Without one it was preempted.
 */
NOINLINE int gap_run(struct gaps *gaps, uint64_t least_ns)
{
	char path[64];
	gaps->tid = (uint64_t)syscall(SYS_gettid);
	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)gaps->tid);
	int schedstat = open(path, O_RDONLY | O_CLOEXEC);
	struct counted before = count_now(schedstat);
	uint64_t last_ns = now_ns();
	for (;;) {
		uint64_t at_ns = now_ns();
		if (at_ns - last_ns > least_ns) {
			struct counted after = count_now(schedstat);
			gaps->gaps[gaps->count % gaps->capacity] = (struct gap){
				.end_ns = at_ns,
				.length_ns = at_ns - last_ns,
				.waited_ns = after.waited_ns - before.waited_ns,
				.voluntary = after.voluntary - before.voluntary,
			};
			__atomic_store_n(&gaps->count, gaps->count + 1, __ATOMIC_RELEASE);
			before = after;
			at_ns = now_ns();
		}
		last_ns = at_ns;
		gaps->loops++;
	}
}

/* ---- native frames ---- */

NOINLINE uint64_t c_leaf(uint64_t rounds)
{
	volatile uint64_t value = rounds;
	for (uint64_t i = 0; i < rounds; i++)
		value = value * 6364136223846793005ull + 1442695040888963407ull;
	return value;
}

/* The additions keep the calls from becoming jumps. */
NOINLINE uint64_t c_middle(uint64_t rounds)
{
	return c_leaf(rounds) + 1;
}

NOINLINE uint64_t c_outer(uint64_t rounds)
{
	return c_middle(rounds) + 1;
}

NOINLINE int c_qsort(int *items, int count, int (*compare)(const void *, const void *))
{
	qsort(items, (size_t)count, sizeof(*items), compare);
	return items[0];
}

NOINLINE int c_nest_inner(int (*callback)(int), int count)
{
	int sum = 0;
	for (int i = 0; i < count; i++)
		sum += callback(i);
	return sum;
}

NOINLINE int c_nest(int (*callback)(int), int count)
{
	return c_nest_inner(callback, count) + 1;
}

/* ---- EINTR ---- */

/* What the calls of one thread wait on; nothing ever comes. */
struct waits {
	int epoll, pipe[2], sockets[2], inotify, semaphore, queue;
	uint32_t word;
	aio_context_t aio;
	sigset_t signals;
	struct timespec timeout;
};

static long wait_epoll(struct waits *waits)
{
	struct epoll_event event;
	int ms = (int)(waits->timeout.tv_nsec / (long)NS_PER_MS);
	return syscall(SYS_epoll_pwait, waits->epoll, &event, 1, ms, NULL, 8);
}

static long wait_poll(struct waits *waits)
{
	struct pollfd file = { .fd = waits->pipe[0], .events = POLLIN };
	struct timespec timeout = waits->timeout;
	return syscall(SYS_ppoll, &file, 1, &timeout, NULL, 8);
}

static long wait_nanosleep(struct waits *waits)
{
	return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &waits->timeout, NULL) ? -1 : 0;
}

static long wait_futex(struct waits *waits)
{
	return syscall(SYS_futex, &waits->word, FUTEX_WAIT_PRIVATE, 0, &waits->timeout, NULL, 0);
}

static long wait_select(struct waits *waits)
{
	fd_set files;
	FD_ZERO(&files);
	FD_SET(waits->pipe[0], &files);
	struct timespec timeout = waits->timeout;
	return syscall(SYS_pselect6, waits->pipe[0] + 1, &files, NULL, NULL, &timeout, NULL);
}

static long wait_semtimedop(struct waits *waits)
{
	struct sembuf take = { .sem_op = -1 };
	return semtimedop(waits->semaphore, &take, 1, &waits->timeout);
}

static long wait_sigtimedwait(struct waits *waits)
{
	return syscall(SYS_rt_sigtimedwait, &waits->signals, NULL, &waits->timeout, 8);
}

static long wait_recv(struct waits *waits)
{
	char byte;
	return recv(waits->sockets[0], &byte, 1, 0);
}

static long wait_io_getevents(struct waits *waits)
{
	struct io_event event;
	return syscall(SYS_io_getevents, waits->aio, 1, 1, &event, &waits->timeout);
}

/* The last three have no timeout: only EINTR ends them. */
static long wait_inotify(struct waits *waits)
{
	char buffer[512];
	return read(waits->inotify, buffer, sizeof(buffer));
}

static long wait_msgrcv(struct waits *waits)
{
	struct {
		long type;
		char text[8];
	} message;
	return msgrcv(waits->queue, &message, sizeof(message.text), 0, 0);
}

static long wait_read(struct waits *waits)
{
	char byte;
	return read(waits->pipe[0], &byte, 1);
}

/* In the order of harness/kinds/eintr.py. */
static long (*const calls[])(struct waits *) = {
	wait_epoll,        wait_poll, wait_nanosleep,    wait_futex,   wait_select, wait_semtimedop,
	wait_sigtimedwait, wait_recv, wait_io_getevents, wait_inotify, wait_msgrcv, wait_read,
};

static int open_waits(struct waits *waits, int ms)
{
	*waits = (struct waits){
		.epoll = epoll_create1(0),
		.inotify = inotify_init1(0),
		.semaphore = semget(IPC_PRIVATE, 1, 0600),
		.queue = msgget(IPC_PRIVATE, 0600),
		.timeout = { .tv_nsec = ms * (long)NS_PER_MS },
	};
	if (pipe(waits->pipe) || socketpair(AF_UNIX, SOCK_STREAM, 0, waits->sockets))
		return -1;
	struct epoll_event event = { .events = EPOLLIN };
	epoll_ctl(waits->epoll, EPOLL_CTL_ADD, waits->pipe[0], &event);
	struct timeval timeout = { .tv_usec = ms * 1000 };
	setsockopt(waits->sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	syscall(SYS_io_setup, 8, &waits->aio);
	sigemptyset(&waits->signals);
	sigaddset(&waits->signals, SIGUSR2);
	return pthread_sigmask(SIG_BLOCK, &waits->signals, NULL);
}

/* Without an id of its own, System V's things live on after the process: they go while they are still in use. */
static void forget_on_exit(const struct waits *waits, size_t kind)
{
	if (calls[kind] != wait_semtimedop)
		semctl(waits->semaphore, 0, IPC_RMID);
	if (calls[kind] != wait_msgrcv)
		msgctl(waits->queue, IPC_RMID, NULL);
}

/* Does call @kind for ever; counts the calls in counts[0], EINTR in counts[1], other failures but "nothing came" in counts[2]. */
NOINLINE int eintr_loop(int kind, volatile uint64_t *counts, int ms)
{
	struct waits waits;
	if (open_waits(&waits, ms))
		return -1;
	forget_on_exit(&waits, (size_t)kind);
	for (;;) {
		errno = 0;
		long result = calls[kind](&waits);
		counts[0]++;
		if (result >= 0 || errno == EAGAIN || errno == ETIMEDOUT)
			continue;
		if (errno == EINTR)
			counts[1]++;
		else
			counts[2]++;
	}
}

struct eintr_thread {
	int kind, ms;
	volatile uint64_t *counts;
};

static void *eintr_main(void *data)
{
	struct eintr_thread thread = *(struct eintr_thread *)data;
	free(data);
	eintr_loop(thread.kind, thread.counts, thread.ms);
	return NULL;
}

/* Semaphores and queues outlive their process, unless they are in a namespace that ends with it. Without the right to one they stay. */
void eintr_own_ids(void)
{
	(void)!unshare(CLONE_NEWIPC);
}

/* The same in a thread that Python does not know. */
int eintr_start(int kind, volatile uint64_t *counts, int ms)
{
	struct eintr_thread *thread = malloc(sizeof(*thread));
	if (!thread)
		return -1;
	*thread = (struct eintr_thread){ .kind = kind, .ms = ms, .counts = counts };
	pthread_t id;
	return pthread_create(&id, NULL, eintr_main, thread);
}
