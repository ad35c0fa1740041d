/* SPDX-License-Identifier: MIT */
/*
 * stop.h: stopping one thread for a moment.
 *
 * pysample is a tracer only between stop_thread and stop_release: SEIZE, INTERRUPT, bounded wait; copy; DETACH. What may come
 * instead of the stop that was asked for is told apart by kind, and each kind says what is owed to the thread. A thread that did
 * not stop in time stays on a list of pending ones and is detached as soon as it does stop (stop_collect); when pysample ends,
 * however it ends, the kernel detaches what is left.
 *
 * An exec in a thread that is not the leader gives that thread the leader's id, also while it is being seized: it is then found, and
 * let go, under that id.
 *
 * SIGCHLD must be blocked in the calling thread (stop_init sees to it): it is what the timed wait waits for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

enum stop_kind {
	STOP_INTERRUPTED, /* the stop we asked for: release without a signal */
	STOP_SIGNAL,      /* it was about to take a signal: release *with* that signal */
	STOP_GROUP,       /* job control holds it: release, and it stays stopped */
	STOP_ENDED,       /* it ended; nothing is owed, status says how */
	STOP_TIMEOUT,     /* not stopped by the deadline; it is on the pending list */
	STOP_REFUSED,     /* it could not be seized: errnum says why */
};

struct stop {
	enum stop_kind kind;
	pid_t tid;
	int signal; /* STOP_SIGNAL */
	int status; /* STOP_ENDED: the wait status */
	int errnum; /* STOP_REFUSED */
};

/* A thread that is waited for, and the process that it was of. */
struct stop_late {
	pid_t tid;
	pid_t leader;
	uint64_t asked_ns; /* when it was last asked to stop */
};

DEFINE_VEC(struct stop_pending, stop_pending, struct stop_late)

struct stopper {
	struct stop_pending pending;
	pid_t leader; /* id of the process whose threads are stopped next; 0: not known */
	/* Called when the wait for a thread yields the end of a process, which may be a child of ours: its status is gone then. */
	void (*ended)(void *data, pid_t tid, int status);
	void *ended_data;
};

void stopper_init(struct stopper *stopper);
/* Detaches what is still pending, as far as it can be. */
void stopper_deinit(struct stopper *stopper);

/* What wait @status of seized thread @tid means. Pure. */
struct stop stop_classify(pid_t tid, int status);

/* Stops @tid, waiting @timeout_ns at most. After STOP_INTERRUPTED, _SIGNAL and _GROUP the caller owes a stop_release. */
struct stop stop_thread(struct stopper *stopper, pid_t tid, uint64_t timeout_ns);
/* True if the thread is held now and has to be released. */
static inline bool stop_is_held(const struct stop *stop)
{
	return stop->kind <= STOP_GROUP;
}
/*
 * Detaches with what is owed. Does nothing where nothing is held. A thread that was killed under our hands is put on the pending
 * list, since its end has to be collected by us before the kernel lets its process go on.
 */
void stop_release(struct stopper *stopper, const struct stop *stop);
/* Detaches pending threads that have stopped by now. Cheap when there is none. */
void stop_collect(struct stopper *stopper);
/*
 * Whether thread @tid may be held, without holding it: 0 or the errno of PTRACE_SEIZE. A child of ours becomes its tracer and ends
 * at once, which leaves the thread as it was; to detach from it ourselves we would have to stop it.
 */
int stop_probe(pid_t tid);
/* Sleeps until some thread that is waited for, or a child, changes state; @ns at most. */
void stop_wait(uint64_t ns);
/* True if @tid is still waited for: it must not be seized again. */
bool stop_is_pending(const struct stopper *stopper, pid_t tid);
