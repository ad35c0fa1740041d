/* SPDX-License-Identifier: MIT */
/*
 * family.h: the processes that descend from others, found by looking, without trace events.
 *
 * A look asks the kernel which id it gave out last. Only ids that are new since the last look are looked at, each once; what a look
 * costs grows with the processes that are started, not with those that are there. Where the kernel does not tell, and once in a
 * while in any case, all of /proc is read.
 *
 * A process that is found is young at first: one that ends at once is nobody's concern, and between vfork and exec it is not a
 * process of its own yet. It is due when it has lived for some milliseconds; the user then takes it, or leaves it alone until it
 * executes another program or maps something new. A known process stays known when its parent ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "target/roster.h"

/* Between two looks. */
#define FAMILY_LOOK_NS (10 * UINT64_C(1000000))

enum relative_state {
	RELATIVE_NEW,   /* to be tried when it is due */
	RELATIVE_TAKEN, /* it is being sampled */
	RELATIVE_ALONE, /* there is nothing to sample in it, as far as is known */
	RELATIVE_ENDED,
};

struct relative {
	pid_t pid;
	pid_t parent; /* 0: none of the family */
	enum relative_state state;
	uint64_t start_ticks;
	uint64_t
		due_ns; /* RELATIVE_NEW: when to try it; _ALONE: when to look for something new in it */
	uint64_t pause_ns;              /* between two such looks */
	uint64_t exe_device, exe_inode; /* of the program that was found to have nothing */
	uint64_t mapped;                /* and a hash of the code that it had mapped */
};

DEFINE_VEC(struct relatives, relatives, struct relative)

struct family {
	struct relatives list;
	int last_pid_fd;
	pid_t last_pid; /* at the last look */
	uint64_t next_look_ns, next_scan_ns;
	size_t cursor; /* in list: whose program is looked at next */
	struct roster roster;
};

void family_init(struct family *family);
void family_deinit(struct family *family);
/* A process whose descendants are looked for. @taken: it is sampled itself. False without memory. */
bool family_add(struct family *family, pid_t pid, bool taken);
/* Finds new ones, if it is time to. */
void family_look(struct family *family, uint64_t now_ns);
/* One that is due: to be answered with family_take or family_leave before the next call. NULL: there is none. */
struct relative *family_due(struct family *family, uint64_t now_ns);
void family_take(struct relative *relative);
/* There is no Python in it. @starting: but one that is not ready yet. */
void family_leave(struct family *family, struct relative *relative, bool starting, uint64_t now_ns);
/* A taken one has ended, or is of no interest any more (@alone). */
void family_drop(struct family *family, pid_t pid, bool alone);
/* No more are to be expected: nobody is new, and of those that were added nobody lives. */
bool family_is_over(const struct family *family);
/* When family_look or family_due have something to do. */
uint64_t family_next_ns(const struct family *family);
