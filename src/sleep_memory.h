/* SPDX-License-Identifier: MIT */
/*
 * sleep_memory.h: registers of sleepers that were held once.
 *
 * Of a thread that sleeps the kernel tells two registers, stack pointer and program counter. Where unwinding needs another one the
 * thread has to be held, which some system calls answer with EINTR. When it sleeps in the same place again, that register is what
 * it was: the frames between are of the same functions, so the same bytes apart. Taken for true only if the whole walk finds the
 * very frames that it found then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "unwind/walk.h"

/* Places that are remembered of a thread; a new one takes the oldest one's room. */
#define SLEEP_PLACES_MAX 4

struct sleep_place {
	struct arch_registers registers;
	uint64_t frames; /* a hash of those that a walk found */
};

struct sleep_memory {
	struct sleep_place places[SLEEP_PLACES_MAX];
	size_t count;
	size_t oldest;
};

/*
 * Remembers a thread that was held with @registers, and what a walk from them found. Nothing happens if it was held elsewhere than
 * where it slept: with another stack pointer or program counter than @slept.
 */
void sleep_memory_keep(struct sleep_memory *memory, const struct arch *arch,
		       const struct arch_registers *slept, const struct arch_registers *registers,
		       const struct native_frames *frames);
/* The place with the stack pointer and program counter of @registers; NULL: none is known. */
const struct sleep_place *sleep_memory_find(const struct sleep_memory *memory,
					    const struct arch *arch,
					    const struct arch_registers *registers);
/* True if @frames are those that were found there. */
bool sleep_place_matches(const struct sleep_place *place, const struct native_frames *frames);
