/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h: one thread as it was at one moment: registers and the memory that was copied. Inert once it is taken, and reused
 * from sample to sample.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "snapshot/blocks.h"
#include "target/activity.h"

enum snapshot_kind {
	SNAPSHOT_HELD,    /* taken while the thread was stopped */
	SNAPSHOT_ASLEEP,  /* taken while it slept, and it slept on until the end */
	SNAPSHOT_RUNNING, /* taken while it ran: what it shows has to be validated */
};

struct snapshot {
	pid_t tid;
	enum snapshot_kind kind;
	struct arch_registers
		registers; /* none known unless they were asked for, or asleep: sp and pc */
	struct blocks blocks;
	uint64_t stack_end;   /* one past the last byte of stack that was copied; 0: none was */
	uint64_t asked_ns;    /* HELD: when the stop was asked for, */
	uint64_t held_ns;     /* when it was seen, */
	uint64_t released_ns; /* and when the thread was let go */
};

static inline void snapshot_init(struct snapshot *snapshot)
{
	*snapshot = (struct snapshot){ 0 };
	blocks_init(&snapshot->blocks);
}

static inline void snapshot_deinit(struct snapshot *snapshot)
{
	blocks_deinit(&snapshot->blocks);
}
