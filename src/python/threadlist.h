/* SPDX-License-Identifier: MIT */
/*
 * threadlist.h: the interpreters of a runtime and their thread states, from the interpreter's own lists.
 *
 * The second way from a thread to its PyThreadState beside pthread TSD (tsd.h): it serves where there is no key, finds the states
 * of threads that were never stopped, and confirms what TSD says.
 */
#pragma once

#include "base/reason.h"
#include "base/vec.h"
#include "python/detect.h"
#include "python/frames.h"
#include "target/memory.h"

/* Real programs have a few interpreters and some thousand threads; a cyclic list ends here. */
#define THREADLIST_INTERPS_MAX 1024
#define THREADLIST_THREADS_MAX 65536

DEFINE_VEC(struct interp_vec, interp_vec, uint64_t)
DEFINE_VEC(struct tstate_vec, tstate_vec, struct py_tstate)

struct threadlist {
	struct interp_vec
		interps; /* PyInterpreterState addresses, newest first as CPython links them */
	struct tstate_vec tstates; /* of all interpreters */
};

void threadlist_deinit(struct threadlist *list);

/*
 * Reads all lists of @runtime. The target may run meanwhile: a list that changes under the reading
 * gives a reason, and then the list is as it was before the call. Links are checked: each state must point back to its interpreter.
 */
enum reason threadlist_read(struct memory *memory, const struct py_runtime *runtime,
			    struct threadlist *list);
