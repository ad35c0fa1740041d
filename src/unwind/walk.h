/* SPDX-License-Identifier: MIT */
/*
 * walk.h: a snapshot → its native frames.
 *
 * From the registers and the copied stack alone; the thread runs meanwhile. A pc that is a return address is looked up one byte
 * before, in the call; the pc of the innermost frame and of one that a signal interrupted is looked up as it is. Each frame must
 * lie above the one before, but for a step over a signal frame, whose caller may be on another stack.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/reason.h"
#include "base/vec.h"
#include "target/memory.h"
#include "unwind/code_map.h"

/* Deeper stacks are cut, at their outer end, and marked. */
#define WALK_FRAMES_MAX 8192

struct native_frame {
	uint64_t pc;      /* as found */
	uint64_t address; /* in the instruction: pc, or pc − 1 for a return address */
	uint64_t sp;      /* of the frame; the CFA of the one before */
	bool signal;      /* a signal interrupted this frame: pc is no return address */
	bool guessed;     /* reached by a frame pointer or the like, not by unwind information */
	bool has_fp;      /* fp is known: the frame pointer register's content in the frame */
	uint64_t fp;
};

DEFINE_VEC(struct native_frames, native_frames_vec, struct native_frame)

/* What a walk found out beside the frames. */
struct walk_end {
	uint64_t used;  /* the highest stack pointer that was reached; 0: none */
	uint64_t fault; /* the last address that could not be read; 0: all could */
	bool no_code;   /* an address was met that the maps have no code at */
};

/*
 * Appends the frames to @frames, innermost first. REASON_OK: the outermost frame was reached. Otherwise the frames up to there are
 * right and the reason says why there are no more.
 */
enum reason walk_noting(struct code_map *map, const struct arch *arch,
			const struct arch_registers *registers, struct memory *memory,
			struct native_frames *frames, struct walk_end *end_ret);
/* The same where no more can be copied: *used_ret is walk_end's. */
enum reason walk(struct code_map *map, const struct arch *arch,
		 const struct arch_registers *registers, struct memory *memory,
		 struct native_frames *frames, uint64_t *used_ret);
