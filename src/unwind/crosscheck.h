/* SPDX-License-Identifier: MIT */
/*
 * crosscheck.h: a second opinion on the stack of a held thread: libunwind's.
 *
 * libunwind reads the registers and the memory by ptrace, finds the files and decodes their unwind information, all by itself: no
 * byte of its answer went through code of ours, but that it gets addresses of code without a signature. It is slow, and the thread
 * waits meanwhile. The only file that includes libunwind; a pysample may be built without it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "base/error.h"
#include "base/reason.h"
#include "base/vec.h"
#include "unwind/code_map.h"
#include "unwind/walk.h"

struct crosscheck;

/* Where libunwind found the registers of a frame: addresses on the stack; 0: not on the stack. */
struct crosscheck_place {
	uint64_t pc_at;
	uint64_t fp_at;
};

DEFINE_VEC(struct crosscheck_places, crosscheck_places_vec, struct crosscheck_place)

/* ERROR_UNSUPPORTED where pysample was built without libunwind. One serves for all threads of a process. */
struct error *crosscheck_create(const struct arch *arch, struct crosscheck **crosscheck_ret);
void crosscheck_destroy(struct crosscheck *crosscheck);
DEFINE_CLEANUP(crosscheck_cleanup, struct crosscheck, crosscheck_destroy)
#define _cleanup_crosscheck_ _cleanup_(crosscheck_cleanup)

/* libunwind keeps rules by pc: to be called when the mappings of the process have changed. */
void crosscheck_forget(struct crosscheck *crosscheck);

/*
 * Appends to @frames, innermost first, what libunwind finds for thread @tid, which must be held by this thread. REASON_OK: it says
 * that the outermost frame was reached. @places (may be NULL) gets one for each frame. @registers, of the same stop, have the bits that
 * sign addresses, and @map says what is code.
 */
enum reason crosscheck_walk(struct crosscheck *crosscheck, pid_t tid,
			    const struct arch_registers *registers, struct code_map *map,
			    struct native_frames *frames, struct crosscheck_places *places);

/* Whether libunwind finds unwind information for @address for thread @tid, which must be held. Where it does not, it guesses. */
bool crosscheck_knows(const struct crosscheck *crosscheck, pid_t tid, uint64_t address);
