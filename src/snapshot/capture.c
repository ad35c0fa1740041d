/* SPDX-License-Identifier: MIT */
/* capture.c: a living thread → a snapshot. */
#include "snapshot/capture.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "target/ptrace.h"

static void begin(const struct capture *capture, struct snapshot *snapshot,
		  const struct thread *thread, enum snapshot_kind kind)
{
	snapshot->tid = thread->tid;
	snapshot->kind = kind;
	snapshot->registers = (struct arch_registers){ .code_mask = capture->code_mask };
	snapshot->asked_ns = snapshot->held_ns = snapshot->released_ns = 0;
	snapshot->stack_end = 0;
	blocks_reset(&snapshot->blocks);
}

static bool read_registers(const struct arch *arch, pid_t tid, struct arch_registers *registers)
{
	uint8_t general[ARCH_REGSET_MAX], thread[ARCH_REGSET_MAX];
	size_t size = sizeof(general);
	if (ptrace_get_regset(tid, arch->general.note, general, &size) || size < arch->general.size)
		return false;
	size = sizeof(thread);
	if (arch->thread_pointer.note &&
	    (ptrace_get_regset(tid, arch->thread_pointer.note, thread, &size) ||
	     size < arch->thread_pointer.size))
		return false;
	arch->parse_registers(general, thread, registers);
	return true;
}

/* A process without signed addresses has no such set. */
static void read_code_mask(struct capture *capture, pid_t tid)
{
	const struct arch *arch = capture->arch;
	uint8_t set[ARCH_REGSET_MAX];
	size_t size = sizeof(set);
	if (!arch->code_mask.note || capture->has_code_mask)
		return;
	bool has = !ptrace_get_regset(tid, arch->code_mask.note, set, &size) &&
		   size >= arch->code_mask.size;
	capture->code_mask = has ? arch->parse_code_mask(set) : 0;
	capture->has_code_mask = true;
}

static enum reason refused(struct capture *capture, const struct stop *stop)
{
	capture->errnum = stop->errnum;
	return stop->errnum == ESRCH ? REASON_THREAD_GONE : REASON_SEIZE_FAILED;
}

/* Why there is no hold; REASON_OK if there is one. */
static enum reason not_held(struct capture *capture, const struct stop *stop)
{
	switch (stop->kind) {
	case STOP_ENDED:
		return REASON_THREAD_GONE;
	case STOP_TIMEOUT:
		return REASON_STOP_TIMEOUT;
	case STOP_REFUSED:
		return refused(capture, stop);
	default:
		return REASON_OK;
	}
}

enum reason capture_registers(struct capture *capture, pid_t tid,
			      struct arch_registers *registers_ret)
{
	struct stop stop = stop_thread(capture->stopper, tid, CAPTURE_TIMEOUT_NS);
	enum reason reason = not_held(capture, &stop);
	if (reason)
		return reason;
	struct arch_registers registers;
	bool ok = read_registers(capture->arch, tid, &registers);
	stop_release(capture->stopper, &stop);
	if (!ok)
		return REASON_REGISTERS;
	*registers_ret = registers;
	return REASON_OK;
}

enum reason capture_signing(struct capture *capture, pid_t tid, struct capture_signing *signing_ret)
{
	const struct arch *arch = capture->arch;
	struct capture_signing signing = { 0 };
	uint8_t set[ARCH_REGSET_MAX];
	size_t size = sizeof(set);
	if (!arch->code_mask.note) {
		*signing_ret = signing;
		return REASON_OK;
	}
	struct stop stop = stop_thread(capture->stopper, tid, CAPTURE_TIMEOUT_NS);
	enum reason reason = not_held(capture, &stop);
	if (reason)
		return reason;
	capture_forget(capture, true);
	read_code_mask(capture, tid);
	signing.code_mask = capture->code_mask;
	signing.signs = signing.code_mask != 0;
	if (!ptrace_get_regset(tid, arch->keys.note, set, &size) && size >= sizeof(signing.keys))
		memcpy(&signing.keys, set, sizeof(signing.keys));
	stop_release(capture->stopper, &stop);
	*signing_ret = signing;
	return REASON_OK;
}

/*
 * The stack from the snapshot's stack pointer up, as much of it as is wanted and there, and the red zone below: OpenSSL's SHA-512 has
 * its CFA at sp − 8 in an epilogue.
 */
static bool stack_range(const struct capture *capture, const struct snapshot *snapshot,
			const struct capture_wants *wants, struct memory_range *range_ret)
{
	uint64_t sp;
	if (!wants->stack_bytes || !arch_register_get(&snapshot->registers, capture->arch->sp, &sp))
		return false;
	sp = arch_untagged(capture->arch, sp);
	const struct mapping *mapping = maps_find(wants->maps, sp);
	/* A stack that the maps do not have yet: the rest of its page is there for sure. */
	uint64_t end = mapping ? mapping->end : (sp | 4095) + 1;
	uint64_t below = mapping && sp - mapping->start > capture->arch->red_zone
				 ? capture->arch->red_zone
				 : 0;
	range_ret->address = sp - below;
	range_ret->size = (end - sp < wants->stack_bytes ? end - sp : wants->stack_bytes) + below;
	return true;
}

static void copy(struct capture *capture, const struct capture_wants *wants,
		 struct snapshot *snapshot)
{
	struct memory_range stack;
	bool has_stack = stack_range(capture, snapshot, wants, &stack);
	bool copied = blocks_begin(&snapshot->blocks, capture->live, wants->plan,
				   has_stack ? &stack : NULL);
	snapshot->stack_end = has_stack && copied ? stack.address + stack.size : 0;
}

static enum reason copy_held(struct capture *capture, const struct stop *stop,
			     const struct capture_wants *wants, capture_grab grab, void *data,
			     struct snapshot *snapshot)
{
	capture->live->held_tid = stop->tid;
	if (wants->registers) {
		if (!read_registers(capture->arch, stop->tid, &snapshot->registers))
			return REASON_REGISTERS;
		read_code_mask(capture, stop->tid);
		snapshot->registers.code_mask = capture->code_mask;
	}
	copy(capture, wants, snapshot);
	return grab(data, snapshot);
}

enum reason capture_held(struct capture *capture, const struct thread *thread,
			 const struct capture_wants *wants, capture_grab grab, void *data,
			 struct snapshot *snapshot)
{
	begin(capture, snapshot, thread, SNAPSHOT_HELD);
	snapshot->asked_ns = clock_now_ns();
	struct stop stop = stop_thread(capture->stopper, thread->tid, CAPTURE_TIMEOUT_NS);
	enum reason reason = not_held(capture, &stop);
	if (reason)
		return reason;
	snapshot->held_ns = clock_now_ns();
	reason = copy_held(capture, &stop, wants, grab, data, snapshot);
	stop_release(capture->stopper, &stop);
	snapshot->released_ns = clock_now_ns();
	if (capture->held)
		capture->held(capture->held_data, snapshot->asked_ns, snapshot->held_ns,
			      snapshot->released_ns);

	capture->live->held_tid = 0;
	blocks_end(&snapshot->blocks);
	return reason;
}

enum reason capture_asleep(struct capture *capture, struct thread *thread,
			   const struct activity *before, const struct capture_wants *wants,
			   capture_grab grab, void *data, struct snapshot *snapshot)
{
	begin(capture, snapshot, thread, SNAPSHOT_ASLEEP);
	if (before->sp)
		arch_register_set(&snapshot->registers, capture->arch->sp, before->sp);
	if (before->pc)
		arch_register_set(&snapshot->registers, capture->arch->pc, before->pc);
	copy(capture, wants, snapshot);
	enum reason reason = grab(data, snapshot);
	blocks_end(&snapshot->blocks);

	struct activity after;
	activity_look(&thread->files, &after);
	activity_count(&thread->files, &after);
	return activity_same_sleep(before, &after) ? reason : REASON_MOVED;
}

void capture_running(struct capture *capture, const struct thread *thread, const struct plan *plan,
		     struct snapshot *snapshot, struct blocks *twin)
{
	begin(capture, snapshot, thread, SNAPSHOT_RUNNING);
	blocks_begin_twice(&snapshot->blocks, twin, capture->live, plan);
}
