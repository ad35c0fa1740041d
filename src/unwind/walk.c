/* SPDX-License-Identifier: MIT */
/* walk.c: a snapshot → its native frames. */
#include "unwind/walk.h"

#include "unwind/step.h"

/* Nested handlers on stacks of their own: each may go down once. */
#define SIGNAL_FRAMES_MAX 64

struct walker {
	struct code_map *map;
	const struct arch *arch;
	struct memory *memory;
	struct arch_registers registers;
	uint64_t pc, sp;
	bool is_return; /* pc is a return address */
	bool signal;    /* pc was interrupted by a signal */
	bool guessed;
	unsigned signal_frames;
};

static uint64_t lookup_address(const struct walker *walker)
{
	return walker->is_return ? walker->pc - 1 : walker->pc;
}

static enum reason add_frame(const struct walker *walker, struct native_frames *frames)
{
	struct native_frame *frame = native_frames_vec_append(frames);
	if (!frame)
		return REASON_NO_MEMORY;
	*frame = (struct native_frame){
		.pc = walker->pc,
		.address = lookup_address(walker),
		.sp = walker->sp,
		.signal = walker->signal,
		.guessed = walker->guessed,
	};
	return REASON_OK;
}

/* A frame pointer is believed only where it leads up the stack and to code. */
static enum reason guess(struct walker *walker, const struct code_place *place,
			 struct arch_registers *caller, uint64_t *cfa)
{
	uint64_t pc;
	enum reason reason;
	if (place->kind == CODE_NONE || place->is_clone)
		reason = step_after_call(walker->arch, walker->memory, &walker->registers, caller,
					 cfa);
	else
		reason = step_frame_pointer(walker->arch, walker->memory, &walker->registers,
					    caller, cfa);
	if (reason)
		return reason;
	if (*cfa <= walker->sp || !arch_register_get(caller, walker->arch->pc, &pc) || !pc ||
	    !code_map_is_code(walker->map, pc - 1))
		return place->kind == CODE_NONE ? REASON_NO_CODE : REASON_GAP;
	walker->guessed = true;
	return REASON_OK;
}

static enum reason follow_row(struct walker *walker, const struct code_place *place,
			      struct arch_registers *caller, uint64_t *cfa)
{
	struct step_context context = {
		.arch = walker->arch,
		.memory = walker->memory,
		.table = place->table,
		.bias = place->bias,
	};
	enum reason reason = step_row(&context, place->row, &walker->registers, caller, cfa);
	if (reason || (place->row->flags & CFI_ROW_OUTERMOST))
		return reason;
	walker->guessed = false;
	if (place->row->flags & CFI_ROW_SIGNAL_FRAME)
		return ++walker->signal_frames > SIGNAL_FRAMES_MAX ? REASON_BAD_CFA : REASON_OK;
	/* A function that was just interrupted may not have its return address on the stack: vfork has it in a register. */
	bool may_stay = !walker->is_return;
	return *cfa > walker->sp || (may_stay && *cfa == walker->sp) ? REASON_OK : REASON_BAD_CFA;
}

/* Just made by clone: the new thread's system call returned 0, and there is nothing that it could return to. */
static bool is_new_thread(const struct walker *walker, const struct code_place *place)
{
	uint64_t result;
	return place->is_clone && !walker->is_return &&
	       arch_register_get(&walker->registers, walker->arch->result, &result) && !result;
}

/* One frame up. *end_ret: there is none. */
static enum reason step_up(struct walker *walker, bool *end_ret)
{
	const struct code_place *place = code_map_find(walker->map, lookup_address(walker));
	struct arch_registers *registers = &walker->registers;
	uint64_t cfa = 0, pc;
	/* Only the innermost frame can be where no code is. */
	if (place->kind == CODE_NONE && walker->is_return)
		return REASON_NO_CODE;
	if (is_new_thread(walker, place)) {
		*end_ret = true;
		return REASON_OK;
	}
	enum reason reason = place->row ? follow_row(walker, place, registers, &cfa)
					: guess(walker, place, registers, &cfa);
	if (reason)
		return reason;
	if (!arch_register_get(registers, walker->arch->pc, &pc) || !pc) {
		*end_ret = true;
		return REASON_OK;
	}
	walker->signal = place->row && (place->row->flags & CFI_ROW_SIGNAL_FRAME);
	walker->is_return = !walker->signal;
	walker->pc = pc;
	if (!arch_register_get(registers, walker->arch->sp, &walker->sp))
		return REASON_UNKNOWN_REGISTER;
	return REASON_OK;
}

enum reason walk(struct code_map *map, const struct arch *arch,
		 const struct arch_registers *registers, struct memory *memory,
		 struct native_frames *frames, uint64_t *used_ret)
{
	struct walker walker = { .map = map, .arch = arch, .memory = memory };
	walker.registers = *registers;
	*used_ret = 0;
	if (!arch_register_get(registers, arch->pc, &walker.pc) ||
	    !arch_register_get(registers, arch->sp, &walker.sp))
		return REASON_UNKNOWN_REGISTER;

	size_t first = frames->count;
	bool end = false;
	while (!end) {
		if (frames->count - first >= WALK_FRAMES_MAX)
			return REASON_DEPTH_LIMIT;
		enum reason reason = add_frame(&walker, frames);
		if (!reason)
			reason = step_up(&walker, &end);
		if (reason)
			return reason;
		if (walker.sp > *used_ret)
			*used_ret = walker.sp;
	}
	return REASON_OK;
}
