/* SPDX-License-Identifier: MIT */
/*
 * tsd.h: thread pointer → PyThreadState.
 *
 * Up to 3.14 CPython keeps a thread's state under a pthread key, from 3.15 on in a thread-local.
 * Where the C library puts the values is tsd_layout.h's to say.
 *
 * Set-up:     tsd_layout_find, then tsd_find_source
 * In a stop:  tstate_source_address once a thread (cache it), later one 8-byte read of it;
 *             or tstate_source_read
 *
 * A value is a claim of the target's memory, not a proof: the caller checks it against the
 * interpreter's list of thread states.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/reason.h"
#include "image/image.h"
#include "python/layout.h"
#include "python/tsd_layout.h"
#include "target/memory.h"

/*
 * Address of the value of @key, which stays where it is for the thread's life. 0: the thread has no
 * block for this key yet, the value is NULL. REASON_LIMIT for a key that no thread can have.
 */
enum reason tsd_slot(struct memory *memory, const struct tsd_layout *layout,
		     const struct tsd_thread *thread, uint32_t key, uint64_t *address_ret);
/* The value itself. */
enum reason tsd_read(struct memory *memory, const struct tsd_layout *layout,
		     const struct tsd_thread *thread, uint32_t key, uint64_t *value_ret);

/*
 * Address of byte @offset in the thread-local block of module number @module, through the thread's
 * DTV (layout->dtv_entry must not be 0). 0: this thread has no such block yet.
 */
enum reason tls_address(struct memory *memory, const struct tsd_layout *layout,
			const struct tsd_thread *thread, uint64_t module, uint64_t offset,
			uint64_t *address_ret);

/* Where an interpreter keeps the PyThreadState of a thread. */
enum tstate_source_kind {
	TSTATE_KEY,       /* pthread key */
	TSTATE_TLS_LOCAL, /* thread-local at a fixed distance from the thread pointer */
	TSTATE_TLS_DTV,   /* thread-local in a module's block */
};

struct tstate_source {
	enum tstate_source_kind kind;
	struct tsd_layout layout;
	uint32_t key;        /* TSTATE_KEY */
	uint64_t tls_module; /* TSTATE_TLS_DTV */
	int64_t tls_offset;  /* from the thread pointer, or in the module's block */
	char origin[160];    /* for doctor and the profile's header: what, and by which means */
};

/* What is known of one CPython runtime in the target. */
struct tsd_runtime {
	const struct image *image; /* that holds it */
	uint64_t bias;             /* of the image */
	uint64_t runtime_address;  /* of _PyRuntime; 0: none (2.7, 3.6) or not known */
	const struct py_layout *layout;
	struct memory *memory;
};

/*
 * Finds the key (or thread-local) by the layout's offset in _PyRuntime or by symbol, and by
 * decoding PyGILState_GetThisThreadState. Where both ways answer and differ, the code's answer is
 * used, since it is what the target itself runs, and origin says so. ERROR_NOT_PYTHON: the
 * interpreter has not created its key (yet). ERROR_UNSUPPORTED: no way works, or, as in 2.7, the
 * key is none of pthread's; the interpreter's list of thread states has to serve.
 */
struct error *tsd_find_source(const struct tsd_runtime *runtime, const struct tsd_layout *layout,
			      struct tstate_source *source_ret);

/*
 * Where the pointer to the PyThreadState of @thread is, for the thread's life.
 * REASON_NO_THREAD_STATE: it has no such place yet; ask again at the next sample.
 */
enum reason tstate_source_address(const struct tstate_source *source, struct memory *memory,
				  const struct tsd_thread *thread, uint64_t *address_ret);
/* The PyThreadState itself. REASON_NO_THREAD_STATE: the thread has none (any more). */
enum reason tstate_source_read(const struct tstate_source *source, struct memory *memory,
			       const struct tsd_thread *thread, uint64_t *tstate_ret);
