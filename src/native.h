/* SPDX-License-Identifier: MIT */
/* native.h: the native side of a subject: its code, its evaluation loops, and the walk over a snapshot. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/reason.h"
#include "image/debuginfo.h"
#include "image/rootfs.h"
#include "merge/evalmap.h"
#include "snapshot/snapshot.h"
#include "subject.h"
#include "unwind/code_map.h"
#include "unwind/walk.h"

struct native {
	struct subject *subject;
	struct code_map *map;
	struct evalmap evals;
	size_t eval_runtimes; /* runtimes whose loops are in evals */
	uint64_t image_number;
	uint64_t maps_ns; /* when they were last read because code was met that they do not have */
	struct native_frames frames; /* of the last walk, innermost first */
	bool lost;                   /* the last walk came to an address where no code is */
	struct memory_range
		missing; /* what the last walk lacked beside the stack; of size 0: nothing */
};

/* A zeroed one is empty; @subject must outlive it. */
void native_init(struct native *native, struct subject *subject);
void native_deinit(struct native *native);

/*
 * Where names of native functions of @process may be: @dirs and its root, which is only this program's where it cannot be opened.
 * *@root_ret is to be closed.
 */
struct debuginfo_places native_places(const struct process *process, const char *const *dirs,
				      size_t dir_count, struct rootfs *root_ret);

/* To be called before each round: follows exec, mappings and newly found runtimes. */
struct error *native_refresh(struct native *native, uint64_t now_ns);

/* How much stack to copy for a thread that needed @need bytes at most lately; 0: not known yet. */
size_t native_stack_bytes(uint64_t need);

/*
 * Fills frames from @snapshot. REASON_OK: down to the outermost frame. REASON_STACK_CUT: more of the stack has to be copied; take
 * the thread again, and missing with it: a stack that the thread left for a signal handler's. @need is the thread's and is kept up
 * to date: it grows at once and shrinks slowly.
 */
enum reason native_walk(struct native *native, struct snapshot *snapshot, uint64_t *need);
