/* SPDX-License-Identifier: MIT */
/*
 * sampler.h: one thread → its Python stack.
 *
 * Chooses how a thread is looked at (held while it runs, unstopped while it sleeps), finds its thread state, copies its frames, and
 * turns them into functions and lines once the thread is on its way again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/reason.h"
#include "image/debuginfo.h"
#include "native.h"
#include "python/code.h"
#include "python/frames.h"
#include "resolve.h"
#include "sleep_memory.h"
#include "snapshot/capture.h"
#include "subject.h"
#include "unwind/crosscheck.h"

/* What is kept for a thread from sample to sample. */
struct sampled {
	uint64_t thread_pointer; /* 0: not known yet */
	uint64_t slot;           /* address of the pointer to its thread state, 0: not known */
	size_t runtime;          /* in which of the subject's runtimes it was last found */
	bool never_python;       /* it had no thread state when last looked at */
	unsigned lists_wait;     /* rounds until the lists are asked for it again, */
	unsigned lists_pause;    /* longer each time that they did not know it */
	struct plan plan;
	uint64_t stack_need;         /* bytes of stack that its native walk needed lately */
	struct sleep_memory *sleeps; /* NULL: it was never held for a register */
	struct activity resting;     /* the last look at it, */
	unsigned rests;              /* and how many looks in a row found the same sleep */
	struct activity last;        /* when its stack was last taken asleep */
	bool has_last;               /* the user's stack of that moment is still its stack */
	char python_name[128];       /* "" as long as none is known */
	uint64_t user_id;            /* the user's, 0 at first */
	uint64_t user_stack;
	uint64_t user_time_ns;
	uint64_t user_cpu_ns;
	unsigned user_flags;
	enum reason user_end;
};

struct sampler {
	struct subject *subject;
	struct capture capture;
	struct snapshot snapshot;
	struct py_frames frames;
	struct blocks twin;     /* the second copy of a thread that is not stopped, */
	struct py_frames again; /* and its frames */
	struct sample_frames stack;
	struct native *native; /* NULL: Python frames only; not owned */
	struct crosscheck
		*crosscheck; /* NULL: our own walk; else native frames are libunwind's. Not owned */
	enum reason crosscheck_end;
	bool nonblocking;
	bool keep_codes;       /* copy code objects with the next sample, for a capsule */
	bool hold;             /* the next thread is held whether it sleeps or not */
	uint64_t image_number; /* of the program that the captured code mask is of */
	bool lists_read;       /* in this round: sampler_round */
	bool lists_stale;      /* an interpreter was met that they did not have */
	struct py_tstate tstate;
	bool python; /* what was taken has a thread state */
	bool gil;
};

struct sample {
	const struct sample_frame *frames; /* innermost first */
	size_t count;
	enum reason end; /* REASON_OK, or why the stack is cut at its outer end */
	bool gil;        /* it holds the GIL */
	uint64_t tstate;
	const struct subject_runtime *runtime; /* NULL: not a Python thread, only native frames */
	const struct native_frame *native;     /* innermost first */
	size_t native_count;
	enum reason native_end;
};

/* @native may be NULL. Both must outlive the sampler. */
struct error *sampler_init(struct sampler *sampler, struct subject *subject, struct native *native,
			   bool nonblocking);
void sampler_deinit(struct sampler *sampler);

/* To be called before each round over the threads. */
void sampler_round(struct sampler *sampler);
/* What is kept for @thread; NULL without memory. */
struct sampled *sampler_of(struct thread *thread);

/* Finds out without a stop what the interpreters' lists say of @thread. */
void sampler_learn(struct sampler *sampler, struct thread *thread);

/*
 * What @thread is doing, counted if it sleeps and that costs little or @count says so. One that has slept for many looks is looked
 * at in a cheaper way, which does not notice that it was woken before it is on a CPU.
 */
void sampler_look(struct thread *thread, struct sampled *sampled, bool count,
		  struct activity *activity_ret);

/*
 * Takes the stack of @thread, which is as @now says (counted, if it sleeps). REASON_NO_THREAD_STATE: it is no Python thread, which
 * is no loss.
 */
enum reason sampler_take(struct sampler *sampler, struct thread *thread, const struct activity *now,
			 struct sample *sample_ret);

/* Saves what the last successful sampler_take, with keep_codes set, copied; native frames too, unless they are libunwind's, with names
 * also from debug files at @places. */
struct error *sampler_save(struct sampler *sampler, const struct thread *thread,
			   const struct sample *sample, const struct debuginfo_places *places,
			   const char *path);
