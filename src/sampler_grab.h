/* SPDX-License-Identifier: MIT */
/*
 * sampler_grab.h: the parts of the sampler that touch the target's memory for one thread.
 *
 * sampler_tstate.c finds its thread state, sampler_grab.c copies and walks its Python frames. Nothing here stops a thread: the
 * sampler calls it inside a stop, or over memory that was copied at one moment.
 */
#pragma once

#include "sampler.h"

/* What a grab works on. */
struct grab {
	struct sampler *sampler;
	struct thread *thread;
	struct sampled *sampled;
	struct py_frames *frames;
};

/*
 * A capture_grab; @data is a struct grab. Fills @frames, and of the sampler: tstate, python, gil. Code objects that its cache lacks
 * are read on the way.
 */
enum reason grab_stack(void *data, struct snapshot *snapshot);

/*
 * The same for a thread that runs on meanwhile. Two copies are made one right after the other; a chain that is the same in both was
 * the thread's at the moment between them. Tried again until there is such a moment; REASON_MOVED if there was none.
 */
enum reason grab_unstopped(struct grab *grab);

/* How a thread is named to the TSD. */
struct tsd_thread grab_tsd_thread(const struct thread *thread, const struct sampled *sampled);

/* Reads the interpreters' lists, once a round. */
void grab_read_lists(struct sampler *sampler);

/* Before anything is held: what the lists say of a thread that was never held. */
void grab_learn_thread_pointer(struct sampler *sampler, struct thread *thread,
			       struct sampled *sampled);

/*
 * Thread → thread state. TSD first, in the runtime where the thread was last found; the lists where TSD is not to be had. A state
 * that belongs to no interpreter of the runtime is refused: the lists were read at most a tick ago.
 */
enum reason grab_find_tstate(struct grab *grab, struct py_tstate *tstate_ret);
