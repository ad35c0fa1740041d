/* SPDX-License-Identifier: MIT */
/* trial.c: using the kernel's ways to look at a process, once each. */
#include "target/trial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/maps.h"

#define STOP_TIMEOUT_NS (500 * NS_PER_MS)

pid_t trial_start_child(void)
{
	pid_t parent = getpid();
	pid_t child = fork();
	if (child != 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have ended before prctl. */
	while (getppid() == parent)
		pause();
	_exit(0);
}

void trial_end_child(pid_t child)
{
	kill(child, SIGKILL);
	while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		continue;
}

int trial_readv(pid_t pid, const void *address)
{
	uint64_t word;
	struct iovec local = { .iov_base = &word, .iov_len = sizeof(word) };
	struct iovec remote = { .iov_base = (void *)address, .iov_len = sizeof(word) };
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(word) ? 0 : errno;
}

static int try_attach(struct stopper *stopper, pid_t tid)
{
	struct stop stop = stop_thread(stopper, tid, STOP_TIMEOUT_NS);
	stop_release(stopper, &stop);
	switch (stop.kind) {
	case STOP_REFUSED:
		return stop.errnum;
	case STOP_ENDED:
		return ESRCH;
	case STOP_TIMEOUT:
		return ETIMEDOUT;
	default:
		return 0;
	}
}

static int try_mem_file(const struct process *process, const void *address)
{
	_cleanup_close_ int fd = process_open_file(process, "mem", 0);
	uint64_t word;
	if (fd < 0)
		return errno;
	ssize_t n = pread(fd, &word, sizeof(word), (off_t)(uintptr_t)address);
	if (n == sizeof(word))
		return 0;
	/* 0: the address space is gone. */
	return n < 0 ? errno : ESRCH;
}

/* Opens and reads a file of one thread. An empty one counts as absent. */
static int try_task_file(const struct process *process, pid_t tid, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	_cleanup_close_ int fd = process_open_file(process, path, 0);
	if (fd < 0)
		return errno;
	char text[256];
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return n < 0 ? errno : ENODATA;
	text[n] = '\0';
	/* A kernel without CONFIG_SCHED_INFO writes zeroes. */
	return strcmp(text, "0 0 0\n") == 0 ? ENODATA : 0;
}

static int try_map_files(const struct process *process, const struct mapping *mapping)
{
	if (!mapping)
		return -1;
	char path[64];
	snprintf(path, sizeof(path), "map_files/%llx-%llx", (unsigned long long)mapping->start,
		 (unsigned long long)mapping->end);
	_cleanup_close_ int fd = process_open_file(process, path, 0);
	return fd < 0 ? errno : 0;
}

static const struct mapping *first_file_mapping(const struct maps *maps)
{
	vec_foreach (mapping, maps)
		if (mapping->read && mapping->inode && *mapping->path == '/')
			return mapping;
	return NULL;
}

void trial_run(const struct process *process, pid_t tid, struct stopper *stopper,
	       struct trial *trial_ret)
{
	struct trial trial = { .readv = -1, .mem_file = -1, .map_files = -1 };
	struct maps maps = { 0 };
	_cleanup_error_ struct error *err = maps_read(process, &maps);
	const struct mapping *mapping = err ? NULL : first_file_mapping(&maps);

	trial.attach = try_attach(stopper, tid);
	if (mapping) {
		const void *address = (const void *)(uintptr_t)mapping->start;
		trial.readv = trial_readv(process->pid, address);
		trial.mem_file = try_mem_file(process, address);
		trial.map_files = try_map_files(process, mapping);
	} else {
		/* Without an address: whether the file can be opened at all, by the same rule. */
		_cleanup_close_ int fd = process_open_file(process, "mem", 0);
		trial.mem_file = fd < 0 ? errno : -1;
	}
	trial.syscall_file = try_task_file(process, tid, "syscall");
	trial.schedstat = try_task_file(process, tid, "schedstat");
	maps_deinit(&maps);
	*trial_ret = trial;
}
