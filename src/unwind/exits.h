/* SPDX-License-Identifier: MIT */
/*
 * exits.h: rows made from code, where no unwind information covers it.
 *
 * Only of code that leads straight to its return, or that calls nothing and has one way out (arch/flow.h). A row is kept for a short
 * time where code may be replaced without a trace. A row in a kernel of OpenBLAS takes 0.2 to 0.4 ms on
 * average, in made-up code up to 3.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/hash.h"
#include "target/memory.h"
#include "unwind/cfi_row.h"

/* A zeroed one is empty. */
struct exits {
	struct hash
		rows; /* pc, or its complement after a call → row, or a row that stands for none */
	uint64_t cleared_ns;
};

void exits_clear(struct exits *exits);
/* Forgets all rows if they are old, or if @changed: other code may be mapped now. */
void exits_refresh(struct exits *exits, bool changed, uint64_t now_ns);
/*
 * How the code at @pc gets back to its caller; NULL if it is not that simple. Valid until the next call. @after_call: a call has
 * put @pc on the stack. Then it is not in code that calls nothing; and if the call was to a function that never comes back, @pc may
 * be another function's start.
 */
const struct cfi_row *exits_find(struct exits *exits, const struct arch *arch,
				 struct memory *memory, uint64_t pc, bool after_call);
/*
 * The memory, in whole pages, that exits_find's answer for @pc, which was interrupted, comes from. False if there is no answer, or
 * one from the FLOW_EXIT_BYTES at @pc alone.
 */
bool exits_memory(const struct arch *arch, struct memory *memory, uint64_t pc,
		  struct memory_range *range_ret);
