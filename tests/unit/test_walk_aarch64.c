/* SPDX-License-Identifier: MIT */
/*
 * aarch64 stacks written out word by word: signed return addresses, the link register, frame records. The functions of a map of code
 * that is written out too take the place of unwind/code_map.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "unwind/walk.h"

enum { X19 = 19, X29 = 29, X30 = 30, SP = 31, PC = 32 };

#define STACK UINT64_C(0xfffff7f00000)
/* 48-bit addresses: seven bits sign. */
#define MASK                  UINT64_C(0x007f000000000000)
#define CODE                  UINT64_C(0xaaaaaaaa0000)
#define SIGNED(address, code) ((address) | UINT64_C(code) << 48)

/* ---- the code ---- */

struct row {
	struct cfi_row row;
	struct cfi_rule rules[3];
};

/* stp x29, x30, [sp, #-32]! */
static const struct row usual = {
	{ .cfa_kind = CFI_CFA_REGISTER,
	  .cfa_register = SP,
	  .cfa_offset = 32,
	  .return_register = X30,
	  .flags = CFI_ROW_RA_SIGNED,
	  .rule_count = 2 },
	{ { .reg = X29, .kind = CFI_RULE_AT_CFA, .offset = -32 },
	  { .reg = X30, .kind = CFI_RULE_AT_CFA, .offset = -24 } },
};
/* The record not where the frame pointer can tell: saved apart. */
static const struct row apart = {
	{ .cfa_kind = CFI_CFA_REGISTER,
	  .cfa_register = SP,
	  .cfa_offset = 32,
	  .return_register = X30,
	  .rule_count = 1 },
	{ { .reg = X30, .kind = CFI_RULE_AT_CFA, .offset = -16 } },
};
/* The frame is found by x19. */
static const struct row by_x19 = {
	{ .cfa_kind = CFI_CFA_REGISTER,
	  .cfa_register = X19,
	  .cfa_offset = 16,
	  .return_register = X30,
	  .rule_count = 1 },
	{ { .reg = X30, .kind = CFI_RULE_AT_CFA, .offset = -8 } },
};
static const struct row leaf = {
	{ .cfa_kind = CFI_CFA_REGISTER, .cfa_register = SP, .return_register = X30 },
	{ { 0 } },
};
static const struct row outermost = { { .flags = CFI_ROW_OUTERMOST }, { { 0 } } };
/* The interrupted pc is at sp, its stack pointer at sp + 8, its x30 at sp + 16. */
static const struct row signal_frame = {
	{ .cfa_kind = CFI_CFA_DEREF,
	  .cfa_register = SP,
	  .cfa_offset = 8,
	  .flags = CFI_ROW_SIGNAL_FRAME,
	  .return_register = PC,
	  .rule_count = 2 },
	{ { .reg = X30, .kind = CFI_RULE_AT_REGISTER, .base = SP, .offset = 16 },
	  { .reg = PC, .kind = CFI_RULE_AT_REGISTER, .base = SP } },
};

static const struct place {
	uint64_t start, end;
	const struct row *row;
	uint64_t bias;
} places[] = {
	{ CODE + 0x100, CODE + 0x110, &outermost, 0 },
	{ CODE + 0x200, CODE + 0x240, &usual, 0 },
	{ CODE + 0x300, CODE + 0x340, &leaf, 0 },
	{ CODE + 0x400, CODE + 0x440, NULL, 0 },
	{ CODE + 0x4ff, CODE + 0x508, &signal_frame, 0 },
	{ CODE + 0x600, CODE + 0x640, &apart, 0 },
	{ CODE + 0x700, CODE + 0x740, NULL, 1 },
	{ CODE + 0x800, CODE + 0x840, &by_x19, 0 },
};

static const struct place *place_at(uint64_t address)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (address >= places[i].start && address < places[i].end)
			return &places[i];
	return NULL;
}

const struct code_place *code_map_find(struct code_map *map, uint64_t address)
{
	static struct code_place found;
	const struct place *place = place_at(address);
	found = (struct code_place){ .kind = place ? CODE_MODULE : CODE_NONE };
	if (place) {
		found.row = place->row ? &place->row->row : NULL;
		found.bias = place->bias;
	}
	return &found;
}

bool code_map_is_code(const struct code_map *map, uint64_t address)
{
	return place_at(address);
}

const struct cfi_row *code_map_exit(struct code_map *map, uint64_t pc, bool after_call)
{
	return NULL;
}

/* ---- the stacks ---- */

struct stack {
	struct memory memory;
	uint64_t words[16]; /* at STACK */
};

static bool read_stack(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct stack *stack = (struct stack *)memory;
	if (address < STACK || address + size > STACK + sizeof(stack->words))
		return false;
	memcpy(buffer, (char *)stack->words + (address - STACK), size);
	return true;
}

#define UNKNOWN UINT64_MAX

struct start {
	uint64_t pc, sp, fp, lr, mask;
};

static enum reason walk_from(struct stack *stack, const struct start *start,
			     struct native_frames *frames)
{
	struct arch_registers registers = { .code_mask = start->mask };
	struct walk_end end;
	stack->memory.read = read_stack;
	arch_register_set(&registers, PC, start->pc);
	arch_register_set(&registers, SP, start->sp);
	if (start->fp != UNKNOWN)
		arch_register_set(&registers, X29, start->fp);
	if (start->lr != UNKNOWN)
		arch_register_set(&registers, X30, start->lr);
	frames->count = 0;
	return walk_noting(NULL, &arch_aarch64, &registers, &stack->memory, frames, &end);
}

static void check(struct stack *stack, struct start start, enum reason reason, size_t count,
		  const uint64_t *pcs)
{
	struct native_frames frames = { 0 };
	assert_int_equal(walk_from(stack, &start, &frames), reason);
	assert_int_equal(frames.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(frames.items[i].pc, pcs[i]);
	native_frames_vec_deinit(&frames);
}

#define CHECK(stack, start, reason, ...)                                                           \
	check(stack, start, reason, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8,                       \
	      (uint64_t[]){ __VA_ARGS__ })

/*
 *	+00 x29 | +08 signed return to 204 | +20 x29 | +28 signed return to 104
 */
static void test_signed_return_addresses(void **state)
{
	struct stack stack = { .words = { 0, SIGNED(CODE + 0x204, 0x55), 0, 0, 0,
					  SIGNED(CODE + 0x104, 0x01) } };
	struct start start = { CODE + 0x200, STACK, UNKNOWN, UNKNOWN, MASK };
	CHECK(&stack, start, REASON_OK, CODE + 0x200, CODE + 0x204, CODE + 0x104);
	/* A code of zero is one of them. */
	stack.words[1] = CODE + 0x204;
	CHECK(&stack, start, REASON_OK, CODE + 0x200, CODE + 0x204, CODE + 0x104);
	/* 52-bit addresses: three bits. */
	start.mask = UINT64_C(0x0070000000000000);
	stack.words[1] = SIGNED(CODE + 0x204, 0x30);
	stack.words[5] = SIGNED(CODE + 0x104, 0x70);
	CHECK(&stack, start, REASON_OK, CODE + 0x200, CODE + 0x204, CODE + 0x104);
	/* Other bits than those of the mask are the address's. */
	stack.words[1] = SIGNED(CODE + 0x204, 0x31);
	CHECK(&stack, start, REASON_NO_CODE, CODE + 0x200);
}

/* Without the mask nothing is guessed: the walk ends, and what it ended at is told as it is. */
static void test_without_a_mask(void **state)
{
	struct stack stack = { .words = { 0, SIGNED(CODE + 0x204, 0x55) } };
	struct start start = { CODE + 0x200, STACK, UNKNOWN, UNKNOWN, 0 };
	CHECK(&stack, start, REASON_NO_CODE, CODE + 0x200, SIGNED(CODE + 0x204, 0x55));
}

/* What is stripped and is no code is no frame; an address of the kernel is not stripped to one. */
static void test_a_stripped_word_that_is_no_code(void **state)
{
	struct stack stack = { .words = { 0, SIGNED(CODE + 0x999, 0x55) } };
	struct start start = { CODE + 0x200, STACK, UNKNOWN, UNKNOWN, MASK };
	CHECK(&stack, start, REASON_NO_CODE, CODE + 0x200);
	stack.words[1] = UINT64_C(0xff80000000000000) | (CODE + 0x204);
	CHECK(&stack, start, REASON_NO_CODE, CODE + 0x200);
}

static void test_tags_are_not_looked_at(void **state)
{
	struct stack stack = { .words = { 0, UINT64_C(0xa5) << 56 | (CODE + 0x104) } };
	struct start start = { CODE + 0x200, UINT64_C(0xb4) << 56 | STACK, UNKNOWN, UNKNOWN, 0 };
	CHECK(&stack, start, REASON_OK, CODE + 0x200, CODE + 0x104);
}

/* A leaf's return address is in x30, signed as long as it is not authenticated; its caller has the same stack pointer. */
static void test_the_link_register_of_a_leaf(void **state)
{
	struct stack stack = { .words = { 0, CODE + 0x104 } };
	struct start start = { CODE + 0x300, STACK, UNKNOWN, SIGNED(CODE + 0x204, 0x12), MASK };
	CHECK(&stack, start, REASON_OK, CODE + 0x300, CODE + 0x204, CODE + 0x104);
	start.lr = UNKNOWN;
	CHECK(&stack, start, REASON_UNKNOWN_REGISTER, CODE + 0x300);
}

/* A caller's x30 is overwritten by the call: rules that say it still has it would lead round and round. */
static void test_the_link_register_of_a_caller(void **state)
{
	struct stack stack = { .words = { 0, CODE + 0x304, 0, 0, 0, CODE + 0x104 } };
	struct start start = { CODE + 0x200, STACK, UNKNOWN, CODE + 0x204, MASK };
	CHECK(&stack, start, REASON_UNKNOWN_REGISTER, CODE + 0x200, CODE + 0x304);
}

/* One that a signal interrupted has it, and is looked up as it is. */
static void test_a_leaf_that_was_interrupted(void **state)
{
	struct stack stack = { .words = { 0, CODE + 0x500, 0, 0, CODE + 0x300, STACK + 0x40,
					  SIGNED(CODE + 0x204, 0x3), 0, 0, CODE + 0x104 } };
	struct start start = { CODE + 0x200, STACK, UNKNOWN, UNKNOWN, MASK };
	CHECK(&stack, start, REASON_OK, CODE + 0x200, CODE + 0x500, CODE + 0x300, CODE + 0x204,
	      CODE + 0x104);
}

/* A call through a bad pointer. */
static void test_a_call_to_nowhere(void **state)
{
	struct stack stack = { .words = { 0, CODE + 0x104 } };
	struct start start = { 0x10, STACK, UNKNOWN, SIGNED(CODE + 0x204, 0x12), MASK };
	CHECK(&stack, start, REASON_OK, 0x10, CODE + 0x204, CODE + 0x104);
}

/* Without rules: the link register where it leads out of the code, else the frame record. */
static void test_code_without_rules(void **state)
{
	/* +00 caller's frame record: x29, return to 104 | +20 its own caller's */
	struct stack stack = { .words = { STACK + 0x60, SIGNED(CODE + 0x204, 0x55), 0, 0, 0, 0, 0,
					  0, 0, 0, 0, 0, 0, SIGNED(CODE + 0x104, 0x7) } };
	const uint64_t inside = SIGNED(CODE + 0x404, 0x2), data = 5;
	/* In the same code, or no code: it was used for a call, or for something else. */
	struct start start = { CODE + 0x400, STACK - 0x20, STACK, inside, MASK };
	CHECK(&stack, start, REASON_OK, CODE + 0x400, CODE + 0x204, CODE + 0x104);
	start.lr = data;
	CHECK(&stack, start, REASON_OK, CODE + 0x400, CODE + 0x204, CODE + 0x104);
	start.lr = UNKNOWN;
	CHECK(&stack, start, REASON_OK, CODE + 0x400, CODE + 0x204, CODE + 0x104);
	/* Of another module, without rules itself. */
	start.lr = SIGNED(CODE + 0x704, 0x33);
	CHECK(&stack, start, REASON_OK, CODE + 0x400, CODE + 0x704, CODE + 0x204, CODE + 0x104);
	/* Of code with rules. */
	start = (struct start){ CODE + 0x400, STACK + 0x40, STACK + 0x60, CODE + 0x208, MASK };
	CHECK(&stack, start, REASON_OK, CODE + 0x400, CODE + 0x208, CODE + 0x104);
	/* The code has made a frame with a record, and the register has the address still. */
	start = (struct start){ CODE + 0x400, STACK - 0x20, STACK, SIGNED(CODE + 0x204, 0x1),
				MASK };
	CHECK(&stack, start, REASON_OK, CODE + 0x400, CODE + 0x204, CODE + 0x104);
}

/*
 * Code without rules that has saved registers, uses them, and calls nothing. Its caller's stack pointer is not its own:
 *
 *	+00 left from an earlier call, with a return to 704 | +20 the caller's record: 0, return to 104
 */
static void test_code_without_rules_that_saves_registers(void **state)
{
	struct stack stack = { .words = { 0, CODE + 0x704, 0, 0, 0, CODE + 0x104 } };
	struct start start = { CODE + 0x400, STACK, STACK + 0x20, CODE + 0x208, MASK };
	CHECK(&stack, start, REASON_OK, CODE + 0x400, CODE + 0x208, CODE + 0x104);
	/* Without a frame pointer there is nothing to tell. */
	start.fp = UNKNOWN;
	CHECK(&stack, start, REASON_UNKNOWN_REGISTER, CODE + 0x400, CODE + 0x208);
	/* The caller's rules do not refer to a record. */
	start.fp = STACK + 0x20;
	start.lr = CODE + 0x608;
	CHECK(&stack, start, REASON_OK, CODE + 0x400, CODE + 0x608, CODE + 0x104);
}

/* What such code has in a register that callees keep may be its own. */
static void test_code_without_rules_that_uses_registers(void **state)
{
	struct stack stack = { .memory = { .read = read_stack }, .words = { 0, CODE + 0x104 } };
	struct arch_registers registers = { 0 };
	struct native_frames frames = { 0 };
	struct walk_end end;
	arch_register_set(&registers, PC, CODE + 0x400);
	arch_register_set(&registers, SP, STACK - 0x20);
	arch_register_set(&registers, X19, STACK);
	arch_register_set(&registers, X30, CODE + 0x804);
	assert_int_equal(walk_noting(NULL, &arch_aarch64, &registers, &stack.memory, &frames, &end),
			 REASON_UNKNOWN_REGISTER);
	assert_int_equal(frames.count, 2);
	native_frames_vec_deinit(&frames);
}

/*
 * After a step by a frame record the stack pointer is unknown: rules that save a record say where it is, and others are left out.
 *
 *	+00 → +20, return to 604 | +20 → +60, return to 204 | +60 its record: 0, return to 104
 */
static void test_frame_records_in_a_row(void **state)
{
	struct stack stack = { .words = { STACK + 0x20, CODE + 0x604, 0, 0, STACK + 0x60,
					  CODE + 0x204, 0, 0, 0, 0, 0, 0, 0,
					  SIGNED(CODE + 0x104, 0x7) } };
	struct start start = { CODE + 0x400, STACK, STACK, UNKNOWN, MASK };
	struct native_frames frames = { 0 };
	assert_int_equal(walk_from(&stack, &start, &frames), REASON_OK);
	assert_int_equal(frames.count, 4);
	assert_int_equal(frames.items[1].pc, CODE + 0x604);
	assert_true(frames.items[1].guessed);
	assert_int_equal(frames.items[2].pc, CODE + 0x204);
	assert_true(frames.items[2].guessed);
	assert_int_equal(frames.items[3].pc, CODE + 0x104);
	assert_false(frames.items[3].guessed);
	assert_int_equal(frames.items[3].sp, STACK + 0x80);
	native_frames_vec_deinit(&frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signed_return_addresses),
		cmocka_unit_test(test_without_a_mask),
		cmocka_unit_test(test_a_stripped_word_that_is_no_code),
		cmocka_unit_test(test_tags_are_not_looked_at),
		cmocka_unit_test(test_the_link_register_of_a_leaf),
		cmocka_unit_test(test_the_link_register_of_a_caller),
		cmocka_unit_test(test_a_leaf_that_was_interrupted),
		cmocka_unit_test(test_a_call_to_nowhere),
		cmocka_unit_test(test_code_without_rules),
		cmocka_unit_test(test_code_without_rules_that_saves_registers),
		cmocka_unit_test(test_code_without_rules_that_uses_registers),
		cmocka_unit_test(test_frame_records_in_a_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
