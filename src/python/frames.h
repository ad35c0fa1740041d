/* SPDX-License-Identifier: MIT */
/*
 * frames.h: a thread state → its chain of Python frames.
 *
 * Runs over a struct memory: inside a stop over blocks that fetch what is missing, later over what was recorded. A chain that does
 * not reach its base frame is a reason, never a shorter stack.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/reason.h"
#include "base/vec.h"
#include "python/layout.h"
#include "target/memory.h"

/* Frames beyond this many are not walked: sys.getrecursionlimit() is 1000 unless raised. */
#define FRAMES_MAX 4096

struct py_frame {
	uint64_t address;
	uint64_t code; /* PyCodeObject */
	int64_t lasti; /* byte offset of the current instruction; negative before the first */
	bool checked;  /* its code object was read in the same stop */
	bool entry;    /* the outermost frame that its C evaluation loop runs */
};

DEFINE_VEC(struct py_frames, py_frames_vec, struct py_frame)

/* The fields of a PyThreadState that are needed; absent ones are 0. */
struct py_tstate {
	uint64_t address;
	uint64_t next;
	uint64_t interp;
	uint64_t thread_id;        /* pthread_self of its thread */
	uint64_t native_thread_id; /* gettid, in the innermost PID namespace; 0 up to 3.10 */
	uint64_t frame;            /* of the top frame, by whatever way the version has */
	uint64_t datastack_chunk;
	uint64_t datastack_top;
};

/* Reads the thread state at @address and checks what can be checked: alignment, and an interpreter that points to memory. */
enum reason frames_read_tstate(struct memory *memory, const struct py_layout *layout,
			       uint64_t address, struct py_tstate *tstate_ret);

/*
 * Appends the frames of @tstate to @frames, innermost first. REASON_OK when the base frame was reached; REASON_DEPTH_LIMIT when
 * the frames so far are right and the rest was left out; with any other reason what was appended must not be used.
 */
enum reason frames_walk(struct memory *memory, const struct py_layout *layout,
			const struct py_tstate *tstate, struct py_frames *frames);
