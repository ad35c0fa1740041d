/* SPDX-License-Identifier: MIT */
/* walk.c: a snapshot → its native frames. */
#include "unwind/walk.h"

#include "unwind/step.h"

/* Nested handlers on stacks of their own: each may go down once. */
#define SIGNAL_FRAMES_MAX 64
/* Code that calls nothing has less on the stack. */
#define LEAF_FRAME_MAX (1 << 20)

/* Notes where memory is missing. */
struct watched {
	struct memory memory;
	struct memory *inner;
	const struct arch *arch;
	uint64_t fault;
};

struct walker {
	struct code_map *map;
	const struct arch *arch;
	struct watched watched;
	struct memory *memory; /* watched's */
	struct arch_registers registers;
	uint64_t pc, sp;
	bool is_return; /* pc is a return address */
	bool signal;    /* pc was interrupted by a signal */
	bool guessed;
	bool no_code;
	unsigned signal_frames;
	uint64_t used;
};

static bool watched_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct watched *watched = (struct watched *)memory;
	address = arch_untagged(watched->arch, address);
	if (memory_read(watched->inner, address, buffer, size))
		return true;
	watched->fault = address;
	return false;
}

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
	frame->has_fp = arch_register_get(&walker->registers, walker->arch->fp, &frame->fp);
	return REASON_OK;
}

/* A function that was just interrupted may not have its return address on the stack: vfork has it in a register. */
static bool leads_up(const struct walker *walker, uint64_t cfa)
{
	return cfa > walker->sp || (cfa == walker->sp && !walker->is_return);
}

/* What no unwind information says is believed only where it leads up the stack and to code. */
static bool is_plausible(const struct walker *walker, const struct arch_registers *caller,
			 uint64_t cfa)
{
	uint64_t pc;
	return leads_up(walker, cfa) && arch_register_get(caller, walker->arch->pc, &pc) && pc &&
	       code_map_is_code(walker->map, pc - 1);
}

/* By a register that code is about to make the stack pointer. Of a switch of stacks that leads to a stack that was left before. */
static bool leads_away(const struct walker *walker, const struct cfi_row *row, uint64_t cfa)
{
	return row->cfa_register != walker->arch->sp && row->cfa_register != walker->arch->fp &&
	       cfa - walker->sp > LEAF_FRAME_MAX;
}

static enum reason follow_exit(struct walker *walker, struct arch_registers *caller, uint64_t *cfa)
{
	const struct cfi_row *row = code_map_exit(walker->map, walker->pc, walker->is_return);
	struct step_context context = { .arch = walker->arch, .memory = walker->memory };
	if (!row)
		return REASON_GAP;
	enum reason reason = step_row(&context, row, &walker->registers, caller, cfa);
	if (reason)
		return reason;
	bool ok = is_plausible(walker, caller, *cfa) && !leads_away(walker, row, *cfa);
	return ok ? REASON_OK : REASON_GAP;
}

/* The outermost frame has no caller's frame pointer: psABI AMD64 §3.4.1. */
static bool is_last_frame_pointer(const struct walker *walker)
{
	uint64_t fp;
	return walker->is_return && arch_register_get(&walker->registers, walker->arch->fp, &fp) &&
	       !fp;
}

/* The pc by the frame pointer; 0: none. */
static uint64_t pc_by_frame_pointer(const struct walker *walker)
{
	struct arch_registers caller = walker->registers;
	uint64_t cfa, pc;
	if (step_frame_pointer(walker->arch, walker->memory, &walker->registers, &caller, &cfa) ||
	    !arch_register_get(&caller, walker->arch->pc, &pc))
		return 0;
	return pc;
}

/*
 * The register for the return address still has it if it points out of the code at @here: a call of its own would have left an
 * address in it. Only of code that was interrupted, and where that register is not the pc itself. How much of the stack the code has
 * taken is not known, nor what it has put into registers: of the rest only the frame pointer is believed. If the code has put the same
 * address into a frame record, that is the way.
 */
static bool follow_register(struct walker *walker, const struct code_place *here,
			    struct arch_registers *caller, uint64_t *cfa)
{
	const struct arch *arch = walker->arch;
	const struct code_place from = *here;
	uint64_t pc;
	if (arch->return_address_at || walker->is_return ||
	    step_after_call(arch, walker->memory, &walker->registers, caller, cfa) ||
	    !is_plausible(walker, caller, *cfa) || !arch_register_get(caller, arch->pc, &pc) ||
	    pc == pc_by_frame_pointer(walker))
		return false;
	caller->known &= UINT64_C(1) << arch->pc | UINT64_C(1) << arch->fp;
	const struct code_place *to = code_map_find(walker->map, pc - 1);
	return to->row || to->kind != from.kind || to->module != from.module ||
	       to->bias != from.bias;
}

static bool follow_frame_pointer(struct walker *walker, struct arch_registers *caller,
				 uint64_t *cfa)
{
	return !step_frame_pointer(walker->arch, walker->memory, &walker->registers, caller, cfa) &&
	       is_plausible(walker, caller, *cfa);
}

static enum reason guess(struct walker *walker, const struct code_place *place,
			 struct arch_registers *caller, uint64_t *cfa)
{
	struct arch_registers tried = walker->registers;
	walker->guessed = false;
	if (place->kind == CODE_NONE || place->is_clone) {
		if (step_after_call(walker->arch, walker->memory, &walker->registers, &tried,
				    cfa) ||
		    !is_plausible(walker, &tried, *cfa))
			return place->kind == CODE_NONE ? REASON_NO_CODE : REASON_GAP;
	} else if (follow_exit(walker, &tried, cfa)) {
		if (is_last_frame_pointer(walker)) {
			caller->known = 0;
			return REASON_OK;
		}
		if (!follow_register(walker, place, &tried, cfa) &&
		    !follow_frame_pointer(walker, &tried, cfa))
			return REASON_GAP;
		walker->guessed = true;
	}
	*caller = tried;
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
	if (walker->guessed)
		step_find_sp(walker->arch, place->row, &walker->registers);
	enum reason reason = step_row(&context, place->row, &walker->registers, caller, cfa);
	if (reason == REASON_UNKNOWN_REGISTER && walker->guessed &&
	    follow_frame_pointer(walker, caller, cfa))
		return REASON_OK;
	if (reason || (place->row->flags & CFI_ROW_OUTERMOST))
		return reason;
	walker->guessed = false;
	if (place->row->flags & CFI_ROW_SIGNAL_FRAME)
		return ++walker->signal_frames > SIGNAL_FRAMES_MAX ? REASON_BAD_CFA : REASON_OK;
	return leads_up(walker, *cfa) ? REASON_OK : REASON_BAD_CFA;
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
	walker->no_code = walker->no_code || place->kind == CODE_NONE;
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
	/* Where it is not known, it is not below. */
	if (!arch_register_get(registers, walker->arch->sp, &walker->sp))
		walker->sp = cfa;
	return REASON_OK;
}

static enum reason walk_frames(struct walker *walker, struct native_frames *frames)
{
	size_t first = frames->count;
	bool end = false;
	while (!end) {
		if (frames->count - first >= WALK_FRAMES_MAX)
			return REASON_DEPTH_LIMIT;
		enum reason reason = add_frame(walker, frames);
		if (!reason)
			reason = step_up(walker, &end);
		/* What is left of a word without its upper bits is not even an address. */
		if (reason == REASON_NO_CODE && walker->is_return && walker->registers.code_mask)
			frames->count--;
		if (reason)
			return reason;
		if (walker->sp > walker->used)
			walker->used = walker->sp;
	}
	return REASON_OK;
}

enum reason walk_noting(struct code_map *map, const struct arch *arch,
			const struct arch_registers *registers, struct memory *memory,
			struct native_frames *frames, struct walk_end *end_ret)
{
	struct walker walker = {
		.map = map,
		.arch = arch,
		.watched = { .memory = { .read = watched_read }, .inner = memory, .arch = arch },
		.registers = *registers,
	};
	*end_ret = (struct walk_end){ 0 };
	walker.memory = &walker.watched.memory;
	if (!arch_register_get(registers, arch->pc, &walker.pc) ||
	    !arch_register_get(registers, arch->sp, &walker.sp))
		return REASON_UNKNOWN_REGISTER;
	enum reason reason = walk_frames(&walker, frames);
	*end_ret = (struct walk_end){
		.used = walker.used,
		.fault = walker.watched.fault,
		.no_code = walker.no_code,
	};
	return reason;
}

enum reason walk(struct code_map *map, const struct arch *arch,
		 const struct arch_registers *registers, struct memory *memory,
		 struct native_frames *frames, uint64_t *used_ret)
{
	struct walk_end end;
	enum reason reason = walk_noting(map, arch, registers, memory, frames, &end);
	*used_ret = end.used;
	return reason;
}
