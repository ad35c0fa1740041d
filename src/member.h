/* SPDX-License-Identifier: MIT */
/*
 * member.h: one process of a recording: all that is kept for it from tick to tick, and its part of a tick.
 *
 * target → sampler (capture, frames, functions and lines) → profile: the stages of a sample follow each other here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "collect.h"
#include "image/rootfs.h"
#include "native.h"
#include "recording.h"
#include "sampler.h"
#include "subject.h"

struct member {
	struct recording *recording; /* not owned */
	struct subject *subject;
	struct sampler sampler;
	struct native native;
	struct crosscheck *crosscheck; /* with --unwinder=libunwind */
	uint64_t crosscheck_generation;
	struct collector collector;
	struct rootfs
		root; /* with native frames: kept open, for names when the process has ended */
	pid_t pid, parent_pid;
	bool is_root;     /* it was asked for; else found as the child of another one */
	uint32_t process; /* in the profile; PROFILE_NONE: nothing was sampled of it yet */
	uint64_t maps_ns; /* when the mappings are looked at again, */
	size_t maps_threads;
	uint64_t find_ns, find_interval_ns; /* and when for a Python where there was none */
};

DEFINE_VEC(struct members, members, struct member *)

/*
 * Opens process @pid for @recording, which must outlive it. That there is no Python in it is no error. @parent_pid: the process
 * whose child it is, by which it was found, or -1; 0: it was asked for itself.
 */
struct error *member_open(struct recording *recording, pid_t pid, pid_t parent_pid,
			  struct member **member_ret);
void member_close(struct member *member);
DEFINE_CLEANUP(member_cleanup, struct member, member_close)
#define _cleanup_member_ _cleanup_(member_cleanup)

/* Gives it a number in the profile, if it has none yet. False without memory. */
bool member_enter(struct member *member, uint32_t parent);
/* Whether its threads can be held; without it a profile would have no samples. */
struct error *member_try_attach(struct member *member);
/* Waits a moment for a Python that is starting. The error says why there is none. */
struct error *member_await_python(struct member *member);

enum member_state {
	MEMBER_LIVES,
	MEMBER_ENDED,      /* or can not be looked at any more */
	MEMBER_NOT_PYTHON, /* a child that executes something else now */
};

/* Samples its threads. */
enum member_state member_round(struct member *member, uint64_t tick_ns);
/* Gives names to the native addresses that have come up since the last time, in the middle of a run. */
void member_name_frames(struct member *member);
/* Gives names to native addresses and threads, and adds what was found out on the way to the profile: before the profile is written. */
void member_settle(struct member *member);
/* The recording has another profile, in which nothing has a number yet. */
void member_forget(struct member *member);
/* Threads that are known of now. */
static inline size_t member_thread_count(const struct member *member)
{
	return member->subject->threads.list.count;
}
