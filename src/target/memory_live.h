/* SPDX-License-Identifier: MIT */
/*
 * memory_live.h: memory of a running process, read without its help.
 *
 * By process_vm_readv, then /proc/PID/mem, then PTRACE_PEEKDATA (only while one of its threads is held): the first that works
 * is kept. Nothing is ever written. The descriptor of /proc/PID/mem belongs to the program image that the process had when it was
 * opened: after exec it reads nothing, which is how an exec is noticed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/memory.h"
#include "target/process.h"
#include "target/stop.h"

enum memory_method {
	MEMORY_VM_READV,
	MEMORY_PROC_MEM,
	MEMORY_PEEK,
};

struct memory_live {
	struct memory memory;
	pid_t pid;
	int mem_fd;
	enum memory_method method;
	uint64_t probe;          /* an address that is mapped as long as the image is the same */
	pid_t held_tid;          /* a thread that is held now, 0 if none: PEEKDATA needs one */
	struct stopper *stopper; /* holds a thread for PEEKDATA where none is held; may be NULL */
	bool stale;     /* the thread that stands for the process has ended: memory_live_adopt */
	int errnum;     /* of the last failed read */
	uint64_t calls; /* system calls made */
};

/* Picks the method by trying to read at @probe. Fails with what the last method said; errnum has the errno. */
struct error *memory_live_init(struct memory_live *live, const struct process *process,
			       uint64_t probe);
void memory_live_deinit(struct memory_live *live);

/* Goes on by way of another thread of the same process. */
void memory_live_adopt(struct memory_live *live, pid_t tid);

struct memory_piece {
	uint64_t address;
	size_t size;
	void *buffer;
	bool ok; /* out: all its bytes were read */
};

/*
 * Reads many pieces with as few system calls as possible, one where all are readable. Each piece says for itself whether it was
 * read. Pieces after an unreadable one cost another call; after @MEMORY_FAULTS_MAX of them the rest is given up.
 */
#define MEMORY_FAULTS_MAX 8
void memory_live_readv(struct memory_live *live, struct memory_piece *pieces, size_t count);

/* False once the process runs another program image than at init, or has ended. Costs one system call. */
bool memory_live_same_image(const struct memory_live *live);
/* "process_vm_readv", "/proc/PID/mem", "PTRACE_PEEKDATA" */
const char *memory_method_name(enum memory_method method);
