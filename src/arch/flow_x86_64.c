/* SPDX-License-Identifier: MIT */
/* flow_x86_64.c: where x86-64 code goes next. Encodings: Intel SDM volume 2. */
#include "arch/flow.h"

#include <string.h>

#include "arch/leaf_x86_64.h"
#include "base/reader.h"

enum { RAX = 0, RBP = 6, RSP = 7, R8 = 8, REGISTERS = 16 }; /* DWARF numbers */

/* Stack frames beyond this are not read from instructions. */
#define FRAME_MAX (1 << 24)
#define STUB_SIZE 16
#define WORD      8

/* The hardware's order of the first eight registers, as DWARF numbers. */
static const uint8_t dwarf_numbers[] = { 0, 2, 1, 3, 7, 6, 4, 5 };

static uint8_t dwarf_number(unsigned low, bool extended)
{
	return extended ? (uint8_t)(R8 + low) : dwarf_numbers[low];
}

/* A stack while it is unwound instruction by instruction; offsets are from the stack pointer at the start. */
struct way {
	struct reader code;
	int64_t sp;
	bool on_frame_pointer; /* sp counts from the frame pointer at the start instead */
	bool has_frame;        /* the frame pointer was set on the way: */
	int64_t frame;         /* to this */
	bool has_called;       /* with the stack pointer at: */
	int64_t called;
	bool popped[REGISTERS];
	int64_t popped_at[REGISTERS];
};

static bool take(struct reader *code, const void *bytes, size_t size)
{
	if (reader_left(code) < size || memcmp(code->pos, bytes, size))
		return false;
	return reader_skip(code, size);
}

static bool pop(struct way *way, uint8_t reg)
{
	if (reg == RSP || (way->popped[reg] && way->sp >= 0))
		return false;
	/* What was pushed on the way here comes back as it was. */
	if (way->on_frame_pointer || way->sp >= 0) {
		way->popped[reg] = true;
		way->popped_at[reg] = way->sp;
	}
	way->sp += 8;
	return true;
}

/* mov %rbp,%rsp; pop %rbp */
static bool leave(struct way *way)
{
	if (way->popped[RBP])
		return false;
	if (way->has_frame) {
		way->sp = way->frame;
	} else {
		for (unsigned i = 0; i < REGISTERS; i++)
			if (way->popped[i])
				return false;
		way->on_frame_pointer = true;
		way->has_called = false;
		way->sp = 0;
	}
	return pop(way, RBP);
}

static bool move_stack_pointer(struct way *way, int sign, bool is_long)
{
	int8_t short_by;
	int32_t by = 0;
	if (is_long ? !reader_i32(&way->code, &by) : !reader_i8(&way->code, &short_by))
		return false;
	if (!is_long)
		by = short_by;
	way->sp += sign * (int64_t)by;
	return way->sp >= -FRAME_MAX && way->sp <= FRAME_MAX;
}

enum went {
	WENT_ON,
	WENT_BACK, /* returned */
	WENT_AWAY, /* not understood */
};

static enum went on_if(bool understood)
{
	return understood ? WENT_ON : WENT_AWAY;
}

/*
 * The stack pointer is a multiple of 16 at every call, and 8 past one at a return (psABI AMD64 §3.2.2). Where that does not hold a call
 * was to a function that does not come back, and what was read behind it is another function.
 */
static bool is_aligned(const struct way *way, uint64_t offset)
{
	return !way->has_called || (uint64_t)(way->sp - way->called) % 16 == offset;
}

static bool note_call(struct way *way)
{
	if (!is_aligned(way, 0))
		return false;
	way->has_called = true;
	way->called = way->sp;
	return true;
}

static enum went step_byte(struct way *way)
{
	uint8_t byte = 0;
	if (!reader_u8(&way->code, &byte))
		return WENT_AWAY;
	bool extended = byte == 0x41;
	if (extended && !reader_u8(&way->code, &byte))
		return WENT_AWAY;
	if (byte >= 0x50 && byte <= 0x57) {
		way->sp -= 8;
		return WENT_ON;
	}
	if (byte >= 0x58 && byte <= 0x5f)
		return on_if(pop(way, dwarf_number(byte - 0x58u, extended)));
	if (byte == 0xff) { /* call *reg */
		uint8_t operand = 0;
		return on_if(reader_u8(&way->code, &operand) && operand >= 0xd0 &&
			     operand <= 0xd7 && note_call(way));
	}
	if (extended)
		return WENT_AWAY;
	switch (byte) {
	case 0x90:
		return WENT_ON;
	case 0xc9:
		return on_if(leave(way));
	case 0xe8: /* call */
		return on_if(reader_skip(&way->code, 4) && note_call(way));
	case 0xc3:
		return WENT_BACK;
	default:
		return WENT_AWAY;
	}
}

static enum went step(struct way *way)
{
	struct reader *code = &way->code;
	if (take(code, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
		return WENT_ON;
	if (take(code, "\x48\x83\xec", 3))
		return on_if(move_stack_pointer(way, -1, false));
	if (take(code, "\x48\x81\xec", 3))
		return on_if(move_stack_pointer(way, -1, true));
	if (take(code, "\x48\x83\xc4", 3))
		return on_if(move_stack_pointer(way, 1, false));
	if (take(code, "\x48\x81\xc4", 3))
		return on_if(move_stack_pointer(way, 1, true));
	if (take(code, "\x48\x89\xe5", 3) || take(code, "\x48\x8b\xec", 3)) { /* mov %rsp,%rbp */
		way->has_frame = true;
		way->frame = way->sp;
		return on_if(!way->on_frame_pointer);
	}
	if (take(code, "\xf3\xc3", 2) || take(code, "\xf2\xc3", 2))
		return WENT_BACK;
	take(code, "\xf2", 1);
	if (take(code, "\xff\x25", 2)) /* jmp *slot(%rip) */
		return WENT_BACK;
	return step_byte(way);
}

static bool find_exit(const uint8_t *bytes, size_t size, struct flow_exit *exit_ret)
{
	struct way way = { .code = reader_make(bytes,
					       size < FLOW_EXIT_BYTES ? size : FLOW_EXIT_BYTES) };
	enum went went;
	do
		went = step(&way);
	while (went == WENT_ON);
	/* Below the stack pointer that it began with there is no return address. */
	if (went == WENT_AWAY || way.sp < 0 || !is_aligned(&way, WORD))
		return false;

	struct flow_exit exit = {
		.base = way.on_frame_pointer ? RBP : RSP,
		.cfa = (int32_t)way.sp + 8,
		.returns = -8,
	};
	for (unsigned reg = 0; reg < REGISTERS; reg++) {
		if (!way.popped[reg])
			continue;
		if (exit.saved_count == FLOW_SAVED_MAX)
			return false;
		exit.saved[exit.saved_count].reg = (uint8_t)reg;
		exit.saved[exit.saved_count++].at = (int32_t)(way.popped_at[reg] - way.sp) - 8;
	}
	*exit_ret = exit;
	return true;
}

/*
 * .plt.sec, .plt.got and .plt without lazy binding: [endbr64] [bnd] jmp *slot(%rip).
 * .plt where indirect branches are tracked: endbr64; push $number; [bnd] jmp.
 */
static bool read_stub(const uint8_t *bytes, size_t size, uint64_t address,
		      struct flow_stub *stub_ret)
{
	struct reader code = reader_make(bytes, size);
	uint32_t number = 0;
	int32_t distance = 0;
	take(&code, "\xf3\x0f\x1e\xfa", 4);
	if (take(&code, "\x68", 1)) {
		if (!reader_u32(&code, &number) ||
		    !(take(&code, "\xf2\xe9", 2) || take(&code, "\xe9", 1)))
			return false;
		*stub_ret = (struct flow_stub){ .number = number, .size = STUB_SIZE };
		return true;
	}
	take(&code, "\xf2", 1);
	if (!take(&code, "\xff\x25", 2) || !reader_i32(&code, &distance))
		return false;
	*stub_ret = (struct flow_stub){
		.has_slot = true,
		.slot = address + reader_offset(&code) + (uint64_t)(int64_t)distance,
		.size = STUB_SIZE,
	};
	return true;
}

/* jmp rel32: e9; jcc rel32: 0f 80 to 0f 8f. Parts of one function lie too far apart for the short forms. */
static bool read_jump(const uint8_t *bytes, size_t size, uint64_t address, uint64_t *target_ret)
{
	size_t opcode = size >= 5 && bytes[0] == 0xe9                                ? 1
			: size >= 6 && bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80 ? 2
										     : 0;
	if (!opcode)
		return false;
	int32_t distance;
	memcpy(&distance, bytes + opcode, sizeof(distance));
	*target_ret = address + opcode + sizeof(distance) + (uint64_t)(int64_t)distance;
	return true;
}

/* mov $15 (rt_sigreturn),%rax; syscall */
static size_t read_signal_return(const uint8_t *bytes, size_t size)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };
	return size >= sizeof(code) && !memcmp(bytes, code, sizeof(code)) ? sizeof(code) : 0;
}

const struct flow flow_x86_64 = {
	.exit = find_exit,
	.exit_of_leaf = leaf_x86_64_exit,
	.stub = read_stub,
	.stub_step = STUB_SIZE,
	.jump = read_jump,
	.signal_return = read_signal_return,
};
