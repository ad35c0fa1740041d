/* SPDX-License-Identifier: MIT */
/*
 * threadnames.h: the names that Python's threading module gave its threads.
 *
 * Read from threading._active without stopping anything: best effort, for display. A thread that
 * threading does not know, or whose entry changed while it was looked at, has no name here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "python/layout.h"
#include "target/memory.h"

struct threadname {
	uint64_t ident; /* Thread.ident: PyThreadState.thread_id, pthread_self */
	char *name;     /* UTF-8 as python/text.h says */
};

DEFINE_VEC(struct threadnames, threadname_vec, struct threadname)

/*
 * The names in the interpreter at @interp; @names_ret is overwritten and to be released with
 * threadnames_deinit. False, with
 * @names_ret untouched, if threading is not to be found, usually because the program never imported
 * it. About three reads a loaded module and six a thread.
 */
bool threadnames_read(struct memory *memory, const struct py_layout *layout, uint64_t interp,
		      struct threadnames *names_ret);
void threadnames_deinit(struct threadnames *names);
/* NULL if there is none. */
const char *threadnames_find(const struct threadnames *names, uint64_t ident);
