/* SPDX-License-Identifier: MIT */
/* native_capsule.c: the native part of a capsule. */
#include "native_capsule.h"

#include <stdlib.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "merge/evalmap.h"
#include "unwind/exits.h"
#include "unwind/recorded.h"

/* Above the outermost frame's stack pointer: a walk that ends before its time may have looked that far. */
#define STACK_SLACK 64
/* The registers of an interrupted frame lie above the stack pointer of the signal frame. */
#define SIGNAL_FRAME 1024
/* Instructions that a walk may read at a pc without unwind information. */
#define CODE_BYTES 64
/* Instructions before a pc: it may be at the last one of a signal's trampoline. */
#define CODE_BEFORE 16
#define PAGE_BYTES  4096

/* Only what the frames lie in: most of a copied stack is older than they are. */
static void trim_stack(struct snapshot *snapshot, const struct native_frames *frames)
{
	uint64_t end = 0;
	for (size_t i = 0; i < frames->count; i++) {
		bool signal = i + 1 < frames->count && frames->items[i + 1].signal;
		uint64_t needed = frames->items[i].sp + (signal ? SIGNAL_FRAME : STACK_SLACK);
		end = needed > end ? needed : end;
	}
	vec_foreach (block, &snapshot->blocks.list) {
		if (!block->extra || end <= block->address || end - block->address >= block->size)
			continue;
		block->size = (size_t)(end - block->address);
	}
}

/* Only what was read from a block is kept in a capsule. */
static void keep(struct snapshot *snapshot, uint64_t start, const uint8_t *bytes, size_t size)
{
	uint8_t page[PAGE_BYTES];
	if (!blocks_add(&snapshot->blocks, start, bytes, size))
		return;
	for (size_t at = 0; at < size; at += sizeof(page)) {
		size_t left = size - at;
		if (!memory_read(&snapshot->blocks.memory, start + at, page,
				 left < sizeof(page) ? left : sizeof(page)))
			return;
	}
}

/* All that the way out of code with jumps was read from. */
static bool save_leaf(struct native *native, struct snapshot *snapshot,
		      const struct native_frame *frame)
{
	struct memory *memory = &native->subject->live.memory;
	struct memory_range range;
	if (frame->address != frame->pc ||
	    !exits_memory(native->subject->arch, memory, frame->pc, &range))
		return false;
	_cleanup_free_ uint8_t *bytes = malloc(range.size);
	if (!bytes || !memory_read(memory, range.address, bytes, range.size))
		return false;
	keep(snapshot, range.address, bytes, range.size);
	return true;
}

static void save_instructions(struct native *native, struct snapshot *snapshot,
			      const struct native_frame *frame)
{
	uint8_t bytes[CODE_BEFORE + CODE_BYTES];
	const struct cfi_row *row = code_map_find(native->map, frame->address)->row;
	if (row && !(row->flags & CFI_ROW_SIGNAL_FRAME))
		return;
	if (!row && save_leaf(native, snapshot, frame))
		return;
	struct memory *memory = &native->subject->live.memory;
	uint64_t start = frame->pc - CODE_BEFORE;
	size_t size = sizeof(bytes);
	/* A page may begin or end the mapping. */
	if (!memory_read(memory, start, bytes, size)) {
		start = frame->pc;
		size = PAGE_BYTES - start % PAGE_BYTES;
		size = size < CODE_BYTES ? size : CODE_BYTES;
		if (!memory_read(memory, start, bytes, size))
			return;
	}
	keep(snapshot, start, bytes, size);
}

bool native_capsule_save(struct native *native, const struct debuginfo_places *places,
			 struct snapshot *snapshot, struct capsule_code *code)
{
	const struct native_frames *frames = &native->frames;
	if (!recorded_save(native->map, native->subject->modules, places, frames, code))
		return false;
	vec_foreach (function, &code->functions)
		vec_foreach (frame, frames)
			if (frame->address >= function->start && frame->address < function->end &&
			    evalmap_is_eval(&native->evals, frame->address))
				function->eval = true;
	trim_stack(snapshot, frames);
	vec_foreach (frame, frames)
		save_instructions(native, snapshot, frame);
	return true;
}

struct error *native_capsule_walk(struct capsule *capsule, struct native_frames *frames,
				  enum reason *end_ret)
{
	const struct arch *arch = arch_by_machine(capsule->machine);
	struct memory *memory = &capsule->snapshot.blocks.memory;
	_cleanup_code_map_ struct code_map *map = NULL;
	uint64_t used;
	if (!arch)
		return error_create(ERROR_UNSUPPORTED, "no unwinding of %s code",
				    arch_machine_name(capsule->machine));
	struct error *err = code_map_create_recorded(&capsule->code, memory, arch, &map);
	if (err)
		return err;
	*end_ret = walk(map, arch, &capsule->snapshot.registers, memory, frames, &used);
	return NULL;
}
