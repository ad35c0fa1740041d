/* SPDX-License-Identifier: MIT */
/*
 * floor: what holding a thread costs at the least.
 *
 *   bench/floor -p PID [-d SECONDS] [-F HZ] [--bytes N] [--spin US] [--all]
 *
 * At each tick, for each thread that /proc/PID/task/TID/syscall calls running (--all: for each thread): seize, interrupt, wait, registers,
 * one copy of N bytes (default 16384) from the stack pointer up, detach. The wait spins for US (default 25) and
 * then sleeps. Nothing is unwound, decoded or kept. Whatever a sampler that
 * stops threads does comes on top of this. It shares no code with pysample, so that a change there does not move it.
 *
 * Ends after SECONDS, at SIGINT, or with the process; prints how long the stops took, by its own clock, to standard error.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The only difference between CPUs. */
#if defined(__x86_64__)
#define STACK_POINTER(registers) ((registers).rsp)
#elif defined(__aarch64__)
#define STACK_POINTER(registers) ((registers).sp)
#endif

#define S_NS          1000000000ull
#define SPIN_NS       25000ull     /* unless --spin: as in src/target/stop.c */
#define TIMEOUT_NS    400000000ull /* src/snapshot/capture.h */
#define RESCAN_NS     100000000ull
#define THREADS_MAX   4096
#define BYTES_DEFAULT 16384
#define BYTES_MAX     ((size_t)1 << 20)
#define BUCKETS       24 /* of 1, 2, 4 … µs */

struct floor_thread {
	pid_t tid;
	int syscall; /* its /proc file, kept open */
};

struct floor_bench {
	pid_t pid;
	uint64_t spin_ns;
	uint64_t interval_ns, end_ns;
	size_t bytes;
	bool all;
	char *buffer;
	struct floor_thread threads[THREADS_MAX];
	size_t count;
	uint64_t stops, signals, failed, timeouts, total_ns;
	uint64_t buckets[BUCKETS];
};

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int signal)
{
	(void)signal;
	is_interrupted = 1;
}

static uint64_t now_ns(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * S_NS + (uint64_t)at.tv_nsec;
}

/* ---- threads ---- */

static void forget_threads(struct floor_bench *bench)
{
	for (size_t i = 0; i < bench->count; i++)
		close(bench->threads[i].syscall);
	bench->count = 0;
}

static void add_thread(struct floor_bench *bench, pid_t tid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)bench->pid, (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		bench->threads[bench->count++] = (struct floor_thread){ .tid = tid, .syscall = fd };
}

/* False: the process has ended. */
static bool find_threads(struct floor_bench *bench)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)bench->pid);
	DIR *folder = opendir(path);
	if (!folder)
		return false;
	forget_threads(bench);
	for (struct dirent *entry; (entry = readdir(folder)) && bench->count < THREADS_MAX;)
		if (atoi(entry->d_name) > 0)
			add_thread(bench, atoi(entry->d_name));
	closedir(folder);
	return bench->count > 0;
}

static bool is_running(const struct floor_thread *thread)
{
	char text[16];
	ssize_t length = pread(thread->syscall, text, sizeof(text), 0);
	return length >= 7 && !memcmp(text, "running", 7);
}

/* ---- the stop ---- */

static bool look(pid_t tid, int *status_ret)
{
	return waitpid(tid, status_ret, __WALL | WNOHANG) != 0;
}

static void sleep_until_signal(uint64_t ns)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	struct timespec timeout = { .tv_sec = (time_t)(ns / S_NS), .tv_nsec = (long)(ns % S_NS) };
	sigtimedwait(&set, NULL, &timeout);
}

/* Spins for a moment, then sleeps: as pysample waits. */
static bool wait_for_stop(const struct floor_bench *bench, pid_t tid, int *status_ret)
{
	uint64_t start_ns = now_ns(), at_ns = start_ns;
	for (; at_ns - start_ns < bench->spin_ns; at_ns = now_ns())
		if (look(tid, status_ret))
			return true;
	for (; at_ns - start_ns < TIMEOUT_NS; at_ns = now_ns()) {
		sleep_until_signal(start_ns + TIMEOUT_NS - at_ns);
		if (look(tid, status_ret))
			return true;
	}
	return false;
}

static void copy(struct floor_bench *bench, pid_t tid)
{
	struct user_regs_struct registers;
	struct iovec set = { .iov_base = &registers, .iov_len = sizeof(registers) };
	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &set))
		return;
	struct iovec local = { .iov_base = bench->buffer, .iov_len = bench->bytes };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)STACK_POINTER(registers),
				.iov_len = bench->bytes };
	bench->failed += process_vm_readv(bench->pid, &local, 1, &remote, 1, 0) <= 0;
}

static void note(struct floor_bench *bench, uint64_t ns)
{
	size_t bucket = 0;
	while (bucket < BUCKETS - 1 && ns >= 1000ull << bucket)
		bucket++;
	bench->buckets[bucket]++;
	bench->total_ns += ns;
	bench->stops++;
}

static void hold(struct floor_bench *bench, pid_t tid)
{
	int status;
	uint64_t start_ns = now_ns();
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		bench->failed++;
		return;
	}
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	if (!wait_for_stop(bench, tid, &status)) {
		/* Seized it stays, until this process ends. */
		bench->timeouts++;
		return;
	}
	if (!WIFSTOPPED(status))
		return;
	copy(bench, tid);
	/* A thread that was about to take a signal is owed it. */
	int signal = status >> 16 ? 0 : WSTOPSIG(status);
	bench->signals += signal != 0;
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)signal);
	note(bench, now_ns() - start_ns);
}

/* ---- the loop ---- */

static void sleep_until(uint64_t ns)
{
	struct timespec at = { .tv_sec = (time_t)(ns / S_NS), .tv_nsec = (long)(ns % S_NS) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void sample(struct floor_bench *bench)
{
	uint64_t next_ns = now_ns(), scan_ns = 0;
	while (!is_interrupted && now_ns() < bench->end_ns) {
		if (next_ns >= scan_ns) {
			if (!find_threads(bench))
				return;
			scan_ns = next_ns + RESCAN_NS;
		}
		for (size_t i = 0; i < bench->count; i++)
			if (bench->all || is_running(&bench->threads[i]))
				hold(bench, bench->threads[i].tid);
		next_ns += bench->interval_ns;
		/* Ticks that could not be kept are left out. */
		if (next_ns < now_ns())
			next_ns = now_ns();
		sleep_until(next_ns);
	}
}

static void print(const struct floor_bench *bench)
{
	fprintf(stderr,
		"floor: %" PRIu64 " samples, %" PRIu64 " with a signal, %" PRIu64
		" failed, %" PRIu64 " timeouts, mean %.1f us\n",
		bench->stops, bench->signals, bench->failed, bench->timeouts,
		bench->stops ? (double)bench->total_ns / (double)bench->stops / 1000 : 0);
	for (size_t i = 0; i < BUCKETS; i++)
		if (bench->buckets[i])
			fprintf(stderr, "  < %8llu us %8" PRIu64 "\n", 1ull << i,
				bench->buckets[i]);
}

static bool parse(int argc, char **argv, struct floor_bench *bench)
{
	static const struct option options[] = {
		{ "bytes", required_argument, NULL, 'b' },
		{ "spin", required_argument, NULL, 's' },
		{ "all", no_argument, NULL, 'a' },
		{ 0 },
	};
	double seconds = 3600, rate_hz = 100;
	for (int option; (option = getopt_long(argc, argv, "p:d:F:", options, NULL)) != -1;)
		switch (option) {
		case 'p':
			bench->pid = atoi(optarg);
			break;
		case 'd':
			seconds = atof(optarg);
			break;
		case 'F':
			rate_hz = atof(optarg);
			break;
		case 'b':
			bench->bytes = strtoul(optarg, NULL, 10);
			break;
		case 's':
			bench->spin_ns = (uint64_t)(atof(optarg) * 1000);
			break;
		case 'a':
			bench->all = true;
			break;
		default:
			return false;
		}
	if (bench->pid <= 0 || rate_hz <= 0 || seconds <= 0 || !bench->bytes ||
	    bench->bytes > BYTES_MAX)
		return false;
	bench->interval_ns = (uint64_t)((double)S_NS / rate_hz);
	bench->end_ns = now_ns() + (uint64_t)(seconds * (double)S_NS);
	return true;
}

int main(int argc, char **argv)
{
	static struct floor_bench bench = { .bytes = BYTES_DEFAULT, .spin_ns = SPIN_NS };
	if (!parse(argc, argv, &bench)) {
		fputs("usage: bench/floor -p PID [-d SECONDS] [-F HZ] [--bytes N] [--spin US] "
		      "[--all]\n",
		      stderr);
		return 2;
	}
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGINT, on_interrupt);
	bench.buffer = malloc(bench.bytes);
	if (!bench.buffer)
		return 1;
	memset(bench.buffer, 0, bench.bytes);
	sample(&bench);
	forget_threads(&bench);
	free(bench.buffer);
	print(&bench);
	return bench.stops ? 0 : 1;
}
