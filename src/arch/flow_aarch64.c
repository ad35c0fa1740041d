/* SPDX-License-Identifier: MIT */
/* flow_aarch64.c: where aarch64 code goes next. Encodings: Arm ARM (DDI 0487) C4. */
#include "arch/flow.h"

#include <string.h>

#include "base/reader.h"

enum { FIRST_KEPT = 19, FP = 29, LR = 30, SP = 31 }; /* numbers of DWARF and of the hardware */

/* Stack frames beyond this are not read from instructions. */
#define FRAME_MAX  (1 << 24)
#define STORES_MAX 16
#define WORD       8

/* Where a register's value is. */
enum held {
	HELD_NOW,  /* as at the start */
	HELD_AT,   /* loaded on the way, from at */
	HELD_LOST, /* written by something else */
};

struct value {
	enum held held;
	int64_t at;
};

/* A stack while it is unwound instruction by instruction; offsets are from the stack pointer at the start. */
struct way {
	int64_t sp;
	bool on_frame_pointer; /* offsets are from the frame pointer at the start instead */
	bool has_frame;        /* the frame pointer was set on the way: */
	int64_t frame;         /* to this */
	struct value values[SP];
	struct {
		uint8_t reg;
		int64_t at;
	} stores[STORES_MAX];
	unsigned store_count;
};

static int64_t sign_extend(uint32_t value, unsigned bits)
{
	uint64_t sign = UINT64_C(1) << (bits - 1);
	return (int64_t)((value ^ sign) - sign);
}

static uint32_t field(uint32_t word, unsigned low, unsigned bits)
{
	return word >> low & ((UINT32_C(1) << bits) - 1);
}

static bool set_sp(struct way *way, int64_t sp)
{
	way->sp = sp;
	return sp >= -FRAME_MAX && sp <= FRAME_MAX;
}

/* ---- loads and stores ---- */

static bool load(struct way *way, unsigned reg, int64_t at)
{
	if (reg >= SP)
		return reg == SP; /* xzr */
	for (unsigned i = way->store_count; i-- > 0;) {
		if (way->stores[i].at != at)
			continue;
		/* What was stored on the way comes back as it was. */
		if (way->stores[i].reg != reg)
			return false;
		way->values[reg] = (struct value){ .held = HELD_NOW };
		return true;
	}
	/* Below the stack pointer that it began with nothing is kept. */
	if (!way->on_frame_pointer && at < 0)
		return false;
	way->values[reg] = (struct value){ .held = HELD_AT, .at = at };
	return true;
}

static bool store(struct way *way, unsigned reg, int64_t at)
{
	if (way->store_count == STORES_MAX ||
	    (reg < SP && reg >= FIRST_KEPT && way->values[reg].held != HELD_NOW))
		return false;
	way->stores[way->store_count].reg = (uint8_t)reg;
	way->stores[way->store_count++].at = at;
	return true;
}

/* How an instruction moves registers to or from the stack. */
struct transfer {
	bool is_load, is_pair;
	bool is_vector; /* of registers that no walk carries */
	bool moves_before, moves_after;
	int64_t offset;
};

static bool transfer(struct way *way, uint32_t word, const struct transfer *t)
{
	int64_t at = way->sp + (t->moves_after ? 0 : t->offset);
	unsigned first = field(word, 0, 5), second = field(word, 10, 5);
	if (field(word, 5, 5) != SP || at % WORD)
		return false;
	if (!t->is_vector) {
		bool (*move)(struct way *, unsigned, int64_t) = t->is_load ? load : store;
		if (!move(way, first, at) || (t->is_pair && !move(way, second, at + WORD)))
			return false;
	} else if (!t->is_load && way->store_count) {
		/* It may lie over what was stored. */
		for (unsigned i = 0; i < way->store_count; i++)
			if (way->stores[i].at >= at && way->stores[i].at < at + 32)
				return false;
	}
	return t->moves_before || t->moves_after ? set_sp(way, way->sp + t->offset) : true;
}

/* ldp, stp of 8-byte registers (x: 10 101 0, d: 01 101 1) and of 16-byte ones (q: 10 101 1). */
static bool take_pair(struct way *way, uint32_t word, bool *ok_ret)
{
	uint32_t kind = word & 0xfe000000;
	bool is_q = kind == 0xac000000;
	unsigned indexing = field(word, 23, 2);
	if ((kind != 0xa8000000 && kind != 0x6c000000 && !is_q) || !indexing)
		return false;
	const struct transfer t = {
		.is_load = field(word, 22, 1),
		.is_pair = true,
		.is_vector = kind != 0xa8000000,
		.moves_after = indexing == 1,
		.moves_before = indexing == 3,
		.offset = sign_extend(field(word, 15, 7), 7) * (is_q ? 2 * WORD : WORD),
	};
	*ok_ret = transfer(way, word, &t);
	return true;
}

/* ldr, str of x and d registers: with an offset, or moving the stack pointer before or after. */
static bool take_single(struct way *way, uint32_t word, bool *ok_ret)
{
	uint32_t kind = word & 0xfb800000;
	struct transfer t = {
		.is_load = field(word, 22, 1),
		.is_vector = field(word, 26, 1),
	};
	if (kind == 0xf9000000) {
		t.offset = (int64_t)field(word, 10, 12) * WORD;
	} else if (kind == 0xf8000000 && !field(word, 21, 1) && field(word, 10, 1)) {
		t.moves_after = !field(word, 11, 1);
		t.moves_before = field(word, 11, 1);
		t.offset = sign_extend(field(word, 12, 9), 9);
	} else {
		return false;
	}
	*ok_ret = transfer(way, word, &t);
	return true;
}

/* ---- the stack pointer and the frame pointer ---- */

/* mov sp, x29 and the like */
static bool leave(struct way *way, int64_t offset)
{
	if (way->has_frame)
		return set_sp(way, way->frame + offset);
	if (way->values[FP].held != HELD_NOW)
		return false;
	if (way->on_frame_pointer)
		return set_sp(way, offset);
	if (way->store_count)
		return false;
	for (unsigned reg = FIRST_KEPT; reg < SP; reg++)
		if (way->values[reg].held == HELD_AT)
			return false;
	way->on_frame_pointer = true;
	return set_sp(way, offset);
}

/* add, sub with an immediate between sp and x29. */
static bool take_add(struct way *way, uint32_t word, bool *ok_ret)
{
	if ((word & 0xbf800000) != 0x91000000)
		return false;
	unsigned to = field(word, 0, 5), from = field(word, 5, 5);
	int64_t by = (int64_t)field(word, 10, 12) << (field(word, 22, 1) ? 12 : 0);
	by = field(word, 30, 1) ? -by : by;
	if (to == SP && from == SP) {
		*ok_ret = set_sp(way, way->sp + by);
	} else if (to == SP && from == FP) {
		*ok_ret = leave(way, by);
	} else if (to == FP && from == SP && !way->on_frame_pointer) {
		way->has_frame = true;
		way->frame = way->sp + by;
		way->values[FP].held = HELD_LOST;
		*ok_ret = true;
	} else {
		*ok_ret = false;
	}
	return true;
}

/* ---- the rest ---- */

/* nop, bti, paciasp, autiasp and what else has no effect on a CPU that does not know it. */
static bool is_hint(uint32_t word)
{
	return (word & 0xfffff01f) == 0xd503201f;
}

/* bl; blr, blraaz, blrabz; blraa, blrab */
static bool is_call(uint32_t word)
{
	return (word & 0xfc000000) == 0x94000000 || (word & 0xfffff01f) == 0xd63f0000 ||
	       (word & 0xfffff000) == 0xd73f0000;
}

/* ret, retaa, retab */
static bool is_return(uint32_t word)
{
	return word == 0xd65f03c0 || word == 0xd65f0bff || word == 0xd65f0fff;
}

/* mov from a register, movn, movz, into one that no callee keeps: the result, mostly. */
static bool is_result(uint32_t word)
{
	bool is_move = (word & 0x7fe0ffe0) == 0x2a0003e0 || (word & 0x7f800000) == 0x52800000 ||
		       (word & 0x7f800000) == 0x12800000;
	return is_move && field(word, 0, 5) < FIRST_KEPT;
}

static bool step(struct way *way, uint32_t word)
{
	bool ok;
	if (is_hint(word) || is_result(word))
		return true;
	if (is_call(word)) {
		way->values[LR].held = HELD_LOST;
		return true;
	}
	if (take_add(way, word, &ok) || take_pair(way, word, &ok) || take_single(way, word, &ok))
		return ok;
	return false;
}

static bool make_exit(const struct way *way, struct flow_exit *exit_ret)
{
	const struct value *lr = &way->values[LR];
	struct flow_exit exit = {
		.base = way->on_frame_pointer ? FP : SP,
		.cfa = (int32_t)way->sp,
		.in_register = lr->held == HELD_NOW,
		.returns = lr->held == HELD_AT ? (int32_t)(lr->at - way->sp) : 0,
	};
	/* Below the stack pointer that it began with there is nothing to return to. */
	if (way->sp < 0 || way->sp % 16 || lr->held == HELD_LOST ||
	    way->values[FP].held == HELD_LOST)
		return false;
	for (unsigned reg = FIRST_KEPT; reg <= FP; reg++) {
		if (way->values[reg].held != HELD_AT)
			continue;
		exit.saved[exit.saved_count].reg = (uint8_t)reg;
		exit.saved[exit.saved_count++].at = (int32_t)(way->values[reg].at - way->sp);
	}
	*exit_ret = exit;
	return true;
}

static bool find_exit(const uint8_t *bytes, size_t size, struct flow_exit *exit_ret)
{
	struct reader code = reader_make(bytes, size < FLOW_EXIT_BYTES ? size : FLOW_EXIT_BYTES);
	struct way way = { 0 };
	uint32_t word = 0;
	while (reader_u32(&code, &word)) {
		if (is_return(word))
			return make_exit(&way, exit_ret);
		if (!step(&way, word))
			return false;
	}
	return false;
}

/* [bti c]; adrp x16, page; ldr x17, [x16, #low]; add x16, x16, #low; [autia1716]; br x17 */
static bool read_stub(const uint8_t *bytes, size_t size, uint64_t address,
		      struct flow_stub *stub_ret)
{
	struct reader code = reader_make(bytes, size);
	uint32_t adrp = 0, ldr = 0, add = 0, br = 0;
	uint64_t at = address;
	if (!reader_u32(&code, &adrp))
		return false;
	if (adrp == 0xd503245f) {
		at += 4;
		if (!reader_u32(&code, &adrp))
			return false;
	}
	if ((adrp & 0x9f00001f) != 0x90000010 || !reader_u32(&code, &ldr) ||
	    (ldr & 0xffc003ff) != 0xf9400211 || !reader_u32(&code, &add) ||
	    (add & 0xffc003ff) != 0x91000210 || !reader_u32(&code, &br))
		return false;
	if (br == 0xd503219f && !reader_u32(&code, &br))
		return false;
	uint32_t low = field(ldr, 10, 12) * WORD;
	if (br != 0xd61f0220 || low != field(add, 10, 12))
		return false;
	uint32_t pages = field(adrp, 5, 19) << 2 | field(adrp, 29, 2);
	*stub_ret = (struct flow_stub){
		.has_slot = true,
		.slot = (at & ~UINT64_C(4095)) + ((uint64_t)sign_extend(pages, 21) << 12) + low,
		.size = (uint32_t)reader_offset(&code),
	};
	return true;
}

/* stp x16, x30, [sp, #-16]!: how the stub begins that binds the others. */
#define BINDER_PUSH 0xa9bf7bf0

/* The return address stays in its register to the end. */
static bool find_exit_of_stub(const uint8_t *code, size_t size, size_t at,
			      struct flow_exit *exit_ret)
{
	struct flow_stub stub;
	for (size_t back = 0; back <= at && back < FLOW_STUB_BYTES; back += 4) {
		size_t start = at - back;
		uint32_t before = 0;
		if (!read_stub(code + start, size - start, 0, &stub) || back >= stub.size)
			continue;
		if (start >= sizeof(before))
			memcpy(&before, code + start - sizeof(before), sizeof(before));
		*exit_ret = (struct flow_exit){
			.base = SP,
			.cfa = before == BINDER_PUSH ? 16 : 0,
			.in_register = true,
		};
		return true;
	}
	return false;
}

/* b; b.cond, bc.cond; cbz, cbnz; tbz, tbnz */
static bool read_jump(const uint8_t *bytes, size_t size, uint64_t address, uint64_t *target_ret)
{
	uint32_t word;
	int64_t distance;
	if (size < sizeof(word) || address % sizeof(word))
		return false;
	memcpy(&word, bytes, sizeof(word));
	if ((word & 0xfc000000) == 0x14000000)
		distance = sign_extend(field(word, 0, 26), 26);
	else if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		distance = sign_extend(field(word, 5, 19), 19);
	else if ((word & 0x7e000000) == 0x36000000)
		distance = sign_extend(field(word, 5, 14), 14);
	else
		return false;
	*target_ret = address + (uint64_t)(distance * 4);
	return true;
}

/* mov x8, #139 (rt_sigreturn); svc #0 */
static size_t read_signal_return(const uint8_t *bytes, size_t size)
{
	static const uint8_t code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };
	return size >= sizeof(code) && !memcmp(bytes, code, sizeof(code)) ? sizeof(code) : 0;
}

const struct flow flow_aarch64 = {
	.exit = find_exit,
	.stub = read_stub,
	.exit_of_stub = find_exit_of_stub,
	.stub_step = 4,
	.jump = read_jump,
	.signal_return = read_signal_return,
};
