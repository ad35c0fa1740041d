/* SPDX-License-Identifier: MIT */
/*
 * capture.h: a living thread → a snapshot.
 *
 * The only work done while a thread is held is copying: its registers if they are asked for, the blocks of the plan in one read,
 * and what the caller's grab touches. The caller's grab knows what is worth copying; this file does not know Python.
 */
#pragma once

#include "arch/arch.h"
#include "base/clock.h"
#include "base/reason.h"
#include "snapshot/snapshot.h"
#include "target/maps.h"
#include "target/memory_live.h"
#include "target/stop.h"
#include "target/threads.h"

/*
 * A thread that has not stopped by then is left alone and reported. Threads that sleep uninterruptibly are not waited for at all;
 * what comes here is a thread that waits for a CPU: gaps of 50 to 280 ms were seen with a load of 7 on 2 CPUs.
 */
#define CAPTURE_TIMEOUT_NS (400 * NS_PER_MS)

struct capture {
	struct stopper *stopper;
	struct memory_live *live;
	const struct arch *arch;
	int errnum; /* of the last attach that was refused */
	/* Told of each capture_held that held its thread, in nanoseconds of the monotonic clock; may be NULL. */
	void (*held)(void *data, uint64_t asked_ns, uint64_t held_ns, uint64_t released_ns);
	void *held_data;
	/* Goes with the registers; read with them once, and again after capture_forget. */
	uint64_t code_mask;
	bool has_code_mask;
};

/* After an exec, or where an address of code leads nowhere (@is_due): the next registers come with a new mask. */
static inline void capture_forget(struct capture *capture, bool is_due)
{
	capture->has_code_mask = capture->has_code_mask && !is_due;
}

/* What is copied besides what the grab touches. */
struct capture_wants {
	const struct plan *plan;
	bool registers;
	size_t stack_bytes; /* from the stack pointer up; 0: none */
	const struct maps
		*maps; /* to end the stack where its mapping ends; needed with stack_bytes */
};

/* Copies what it needs through @snapshot->blocks.memory. Its answer becomes the capture's. */
typedef enum reason (*capture_grab)(void *data, struct snapshot *snapshot);

/*
 * Stops @thread, copies, lets it go. Every path out releases it. REASON_STOP_TIMEOUT, REASON_SEIZE_FAILED, REASON_THREAD_GONE and
 * REASON_REGISTERS are its own; others come from @grab.
 */
enum reason capture_held(struct capture *capture, const struct thread *thread,
			 const struct capture_wants *wants, capture_grab grab, void *data,
			 struct snapshot *snapshot);

/*
 * Copies from a thread that sleeps as @before says, without stopping it. REASON_MOVED if it did not sleep on until the end: then
 * nothing in the snapshot can be used.
 */
enum reason capture_asleep(struct capture *capture, struct thread *thread,
			   const struct activity *before, const struct capture_wants *wants,
			   capture_grab grab, void *data, struct snapshot *snapshot);

/* Holds thread @tid for its registers only. The same reasons. */
enum reason capture_registers(struct capture *capture, pid_t tid,
			      struct arch_registers *registers_ret);

/* How a process signs its return addresses. */
struct capture_signing {
	bool signs;         /* false: it does not, or its CPU or kernel can not */
	uint64_t code_mask; /* bits of an address that are its signature */
	uint64_t keys; /* a bit a key that is in use, as arch.key_names has them; 0: not known */
};

/* Holds thread @tid for that only. REASON_OK at once on a CPU that has no such thing. The same reasons. */
enum reason capture_signing(struct capture *capture, pid_t tid,
			    struct capture_signing *signing_ret);

/*
 * Two copies of what @plan says, made one right after the other, of a thread that is not stopped whatever it does: the first in
 * @snapshot, the second in @twin. blocks_end for both is the caller's.
 */
void capture_running(struct capture *capture, const struct thread *thread, const struct plan *plan,
		     struct snapshot *snapshot, struct blocks *twin);
