/* SPDX-License-Identifier: MIT */
/* memory_live.c: memory of a running process. */
#include "target/memory_live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/ptrace.h"

/* The longest vector that the kernel takes. */
#define VECTOR_MAX 1024

/* PEEKDATA takes a call a word: what is longer than this is not read that way. */
#define PEEK_SIZE_MAX 65536

/* A thread that does not stop for PEEKDATA within this time is not read from. */
#define PEEK_TIMEOUT_NS (100 * NS_PER_MS)

static bool peek_held(struct memory_live *live, uint64_t address, void *buffer, size_t size)
{
	uint8_t *out = buffer;
	while (size) {
		uint64_t word, start = address & ~UINT64_C(7);
		live->calls++;
		int errnum = ptrace_peek(live->held_tid, start, &word);
		if (errnum) {
			live->errnum = errnum;
			return false;
		}
		size_t skip = (size_t)(address - start);
		size_t n = 8 - skip < size ? 8 - skip : size;
		memcpy(out, (uint8_t *)&word + skip, n);
		out += n;
		address += n;
		size -= n;
	}
	return true;
}

static bool peek_bytes(struct memory_live *live, uint64_t address, void *buffer, size_t size)
{
	if (size > PEEK_SIZE_MAX || (!live->held_tid && !live->stopper)) {
		live->errnum = live->stopper ? E2BIG : ESRCH;
		return false;
	}
	if (live->held_tid)
		return peek_held(live, address, buffer, size);

	struct stop stop = stop_thread(live->stopper, live->pid, PEEK_TIMEOUT_NS);
	if (!stop_is_held(&stop)) {
		live->errnum = stop.kind == STOP_REFUSED ? stop.errnum : ESRCH;
		return false;
	}
	live->held_tid = stop.tid;
	bool ok = peek_held(live, address, buffer, size);
	live->held_tid = 0;
	stop_release(live->stopper, &stop);
	return ok;
}

static bool pread_bytes(struct memory_live *live, uint64_t address, void *buffer, size_t size)
{
	if (live->mem_fd < 0 || address > INT64_MAX) {
		live->errnum = EIO;
		return false;
	}
	live->calls++;
	ssize_t n = pread(live->mem_fd, buffer, size, (off_t)address);
	live->errnum = n < 0 ? errno : EFAULT;
	return n >= 0 && (size_t)n == size;
}

/* The memory may live on with other threads, and the open file leads to it all the same. */
static bool thread_is_gone(struct memory_live *live, uint64_t address, void *buffer, size_t size)
{
	live->stale = true;
	return pread_bytes(live, address, buffer, size);
}

static bool vm_read_bytes(struct memory_live *live, uint64_t address, void *buffer, size_t size)
{
	struct iovec local = { .iov_base = buffer, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	live->calls++;
	ssize_t n = process_vm_readv(live->pid, &local, 1, &remote, 1, 0);
	live->errnum = n < 0 ? errno : EFAULT;
	if (n < 0 && errno == ESRCH)
		return thread_is_gone(live, address, buffer, size);
	return n >= 0 && (size_t)n == size;
}

static bool live_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct memory_live *live = (struct memory_live *)memory;
	switch (live->method) {
	case MEMORY_VM_READV:
		return vm_read_bytes(live, address, buffer, size);
	case MEMORY_PROC_MEM:
		return pread_bytes(live, address, buffer, size);
	case MEMORY_PEEK:
		return peek_bytes(live, address, buffer, size);
	}
	return false;
}

struct error *memory_live_init(struct memory_live *live, const struct process *process,
			       uint64_t probe)
{
	*live = (struct memory_live){
		.memory.read = live_read,
		.pid = process->tid,
		.probe = probe,
	};
	live->mem_fd = process_open_file(process, "mem", 0);

	/* A probe of 0 means that nothing can be tried: the process has no memory of its own. */
	uint64_t word;
	live->method = MEMORY_VM_READV;
	if (vm_read_bytes(live, probe, &word, sizeof(word)))
		return NULL;
	int errnum = live->errnum;
	live->method = MEMORY_PROC_MEM;
	bool may = errnum == EPERM || errnum == EACCES || errnum == ENOSYS;
	if (may && pread_bytes(live, probe, &word, sizeof(word)))
		return NULL;
	/* PEEKDATA can be tried only once a thread is held; where seizing works, it does. */
	live->method = MEMORY_PEEK;
	live->errnum = errnum;
	return error_errno(errnum, "cannot read memory of process %d at %#" PRIx64,
			   (int)process->pid, probe);
}

void memory_live_deinit(struct memory_live *live)
{
	if (live->mem_fd >= 0)
		close(live->mem_fd);
	live->mem_fd = -1;
}

/* One process_vm_readv over as many pieces as it takes; returns how many were read in full. */
static size_t vm_read_pieces(struct memory_live *live, struct memory_piece *pieces, size_t count)
{
	struct iovec local[VECTOR_MAX], remote[VECTOR_MAX];
	if (!count)
		return 0;
	if (count > VECTOR_MAX)
		count = VECTOR_MAX;
	size_t buffers = 0;
	for (size_t i = 0; i < count; i++) {
		remote[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].address, pieces[i].size };
		if (i && (uint8_t *)pieces[i - 1].buffer + pieces[i - 1].size == pieces[i].buffer)
			local[buffers - 1].iov_len += pieces[i].size;
		else
			local[buffers++] = (struct iovec){ pieces[i].buffer, pieces[i].size };
	}
	live->calls++;
	ssize_t n = process_vm_readv(live->pid, local, buffers, remote, count, 0);
	if (n < 0) {
		live->errnum = errno;
		live->stale = live->stale || errno == ESRCH;
		return 0;
	}
	size_t done = 0;
	for (size_t left = (size_t)n; done < count && left >= pieces[done].size; done++) {
		left -= pieces[done].size;
		pieces[done].ok = true;
	}
	return done;
}

static void vm_readv(struct memory_live *live, struct memory_piece *pieces, size_t count)
{
	size_t at = 0;
	for (int faults = 0; at < count && faults < MEMORY_FAULTS_MAX && !live->stale; faults++) {
		size_t done;
		while (at < count && (done = vm_read_pieces(live, pieces + at, count - at)))
			at += done;
		at++;
	}
}

void memory_live_readv(struct memory_live *live, struct memory_piece *pieces, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pieces[i].ok = false;
	if (live->method == MEMORY_VM_READV && !live->stale) {
		vm_readv(live, pieces, count);
		if (!live->stale)
			return;
	}
	for (size_t i = 0; i < count; i++)
		pieces[i].ok = pieces[i].ok || live_read(&live->memory, pieces[i].address,
							 pieces[i].buffer, pieces[i].size);
}

void memory_live_adopt(struct memory_live *live, pid_t tid)
{
	live->pid = tid;
	live->stale = false;
}

bool memory_live_same_image(const struct memory_live *live)
{
	uint8_t byte;
	if (live->mem_fd < 0 || live->probe > INT64_MAX)
		return true;
	return pread(live->mem_fd, &byte, 1, (off_t)live->probe) == 1;
}

const char *memory_method_name(enum memory_method method)
{
	switch (method) {
	case MEMORY_VM_READV:
		return "process_vm_readv";
	case MEMORY_PROC_MEM:
		return "/proc/PID/mem";
	case MEMORY_PEEK:
		return "PTRACE_PEEKDATA";
	}
	return "unknown";
}
