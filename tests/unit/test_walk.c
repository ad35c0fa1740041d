/* SPDX-License-Identifier: MIT */
/*
 * Stacks written out word by word, walked through a map of code that is written out too: its functions take the place of
 * unwind/code_map.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "unwind/walk.h"

enum { RDI = 5, RBP = 6, RSP = 7, RIP = 16 };

#define STACK  UINT64_C(0x7000)
#define STACK2 UINT64_C(0x9000)
#define FAR    UINT64_C(0x200000)

/* ---- the code ---- */

struct row {
	struct cfi_row row;
	struct cfi_rule rules[2];
};

#define RETURN_AT_CFA                                                                              \
	{                                                                                          \
		.reg = RIP, .kind = CFI_RULE_AT_CFA, .offset = -8                                  \
	}

static const struct row usual = {
	{ .cfa_kind = CFI_CFA_REGISTER,
	  .cfa_register = RSP,
	  .cfa_offset = 16,
	  .return_register = RIP,
	  .rule_count = 1 },
	{ RETURN_AT_CFA },
};
static const struct row framed = {
	{ .cfa_kind = CFI_CFA_REGISTER,
	  .cfa_register = RBP,
	  .cfa_offset = 16,
	  .return_register = RIP,
	  .rule_count = 2 },
	{ { .reg = RBP, .kind = CFI_RULE_AT_CFA, .offset = -16 }, RETURN_AT_CFA },
};
static const struct row by_rdi = {
	{ .cfa_kind = CFI_CFA_REGISTER,
	  .cfa_register = RDI,
	  .cfa_offset = 16,
	  .return_register = RIP,
	  .rule_count = 1 },
	{ RETURN_AT_CFA },
};
static const struct row outermost = { { .flags = CFI_ROW_OUTERMOST }, { { 0 } } };
/* The interrupted stack pointer is at rsp + 8, the pc at rsp. */
static const struct row signal_frame = {
	{ .cfa_kind = CFI_CFA_DEREF,
	  .cfa_register = RSP,
	  .cfa_offset = 8,
	  .flags = CFI_ROW_SIGNAL_FRAME,
	  .return_register = RIP,
	  .rule_count = 1 },
	{ { .reg = RIP, .kind = CFI_RULE_AT_REGISTER, .base = RSP } },
};
/* A CFA that goes down. */
static const struct row backwards = {
	{ .cfa_kind = CFI_CFA_REGISTER,
	  .cfa_register = RSP,
	  .cfa_offset = -16,
	  .return_register = RIP,
	  .rule_count = 1 },
	{ { .reg = RIP, .kind = CFI_RULE_AT_REGISTER, .base = RSP } },
};

static const struct place {
	uint64_t start, end;
	const struct row *row;
} places[] = {
	{ 0x100, 0x110, &outermost }, { 0x200, 0x210, &usual },        { 0x300, 0x310, &framed },
	{ 0x400, 0x410, NULL },       { 0x4ff, 0x508, &signal_frame }, { 0x600, 0x610, &backwards },
	{ 0x700, 0x710, NULL },
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
	if (place && place->row)
		found.row = &place->row->row;
	return &found;
}

bool code_map_is_code(const struct code_map *map, uint64_t address)
{
	return place_at(address);
}

/* At 0x70c it goes on with the stack that rdi has. Behind 0x408 the code of 0x400 has a straight way out; elsewhere without rows it has none. */
const struct cfi_row *code_map_exit(struct code_map *map, uint64_t pc, bool after_call)
{
	return pc == 0x408 ? &usual.row : pc == 0x70c ? &by_rdi.row : NULL;
}

/* ---- the stacks ---- */

struct stack {
	struct memory memory;
	uint64_t words[16]; /* at STACK */
	uint64_t words2[8]; /* at STACK2, and at FAR */
};

static bool read_stack(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct stack *stack = (struct stack *)memory;
	if (address >= STACK && address + size <= STACK + sizeof(stack->words))
		memcpy(buffer, (char *)stack->words + (address - STACK), size);
	else if (address >= STACK2 && address + size <= STACK2 + sizeof(stack->words2))
		memcpy(buffer, (char *)stack->words2 + (address - STACK2), size);
	else if (address >= FAR && address + size <= FAR + sizeof(stack->words2))
		memcpy(buffer, (char *)stack->words2 + (address - FAR), size);
	else
		return false;
	return true;
}

struct result {
	enum reason reason;
	struct native_frames frames;
	struct walk_end end;
};

static struct result walk_from(struct stack *stack, uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct result result = { 0 };
	struct arch_registers registers = { 0 };
	stack->memory.read = read_stack;
	arch_register_set(&registers, RIP, pc);
	arch_register_set(&registers, RSP, sp);
	if (fp != UINT64_MAX)
		arch_register_set(&registers, RBP, fp);
	result.reason = walk_noting(NULL, &arch_x86_64, &registers, &stack->memory, &result.frames,
				    &result.end);
	return result;
}

static void check(struct result *result, enum reason reason, size_t count, const uint64_t *pcs)
{
	assert_int_equal(result->reason, reason);
	assert_int_equal(result->frames.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(result->frames.items[i].pc, pcs[i]);
}

#define CHECK(result, reason, ...)                                                                 \
	check(result, reason, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ })

/*
 *	7000 local | 7008 return to 204 | 7010 local | 7018 return to 104
 */
static void test_two_calls(void **state)
{
	struct stack stack = { .words = { 1, 0x204, 2, 0x104 } };
	struct result result = walk_from(&stack, 0x200, STACK, UINT64_MAX);
	CHECK(&result, REASON_OK, 0x200, 0x204, 0x104);
	assert_int_equal(result.frames.items[0].address, 0x200);
	assert_int_equal(result.frames.items[1].address, 0x203);
	assert_int_equal(result.frames.items[1].sp, 0x7010);
	assert_int_equal(result.frames.items[2].address, 0x103);
	assert_int_equal(result.end.used, 0x7020);
	assert_int_equal(result.end.fault, 0);
	native_frames_vec_deinit(&result.frames);
}

/* A call as a function's last instruction: the return address lies behind the function, the call in it. */
static void test_a_return_address_is_looked_up_in_the_call(void **state)
{
	struct stack stack = { .words = { 1, 0x210, 2, 0x104 } };
	struct result result = walk_from(&stack, 0x200, STACK, UINT64_MAX);
	CHECK(&result, REASON_OK, 0x200, 0x210, 0x104);
	native_frames_vec_deinit(&result.frames);
}

/* Interrupted at a function's first instruction: the pc of a signal frame's caller is looked up as it is. */
static void test_a_signal_leads_to_another_stack_below(void **state)
{
	/* The handler runs at 9000; the interrupted stack is the lower one. */
	struct stack stack = { .words = { 1, 0x104 }, .words2 = { 1, 0x500, 0x200, STACK } };
	struct result result = walk_from(&stack, 0x204, STACK2, UINT64_MAX);
	CHECK(&result, REASON_OK, 0x204, 0x500, 0x200, 0x104);
	assert_int_equal(result.frames.items[1].address, 0x4ff);
	native_frames_vec_deinit(&result.frames);
}

/*
 *	7000 → 7018 caller's rbp | 7008 return to 304 | 7010 - | 7018 → 0 | 7020 return to 104
 */
static void test_frames_with_frame_pointers(void **state)
{
	struct stack stack = { .words = { 0x7018, 0x304, 0, 0, 0x104 } };
	struct result result = walk_from(&stack, 0x304, STACK - 8, STACK);
	CHECK(&result, REASON_OK, 0x304, 0x304, 0x104);
	assert_false(result.frames.items[1].guessed);
	native_frames_vec_deinit(&result.frames);
}

static void test_an_unknown_register_ends_the_walk_by_name(void **state)
{
	struct stack stack = { .words = { 0 } };
	struct result result = walk_from(&stack, 0x304, STACK, UINT64_MAX);
	CHECK(&result, REASON_UNKNOWN_REGISTER, 0x304);
	native_frames_vec_deinit(&result.frames);
}

/* Code without rules whose instructions lead straight to its return: cfa = rsp + 16. */
static void test_the_way_out_of_code_without_rules(void **state)
{
	struct stack stack = { .words = { 1, 0x408, 2, 0x104 } };
	struct result result = walk_from(&stack, 0x200, STACK, UINT64_MAX);
	CHECK(&result, REASON_OK, 0x200, 0x408, 0x104);
	assert_false(result.frames.items[2].guessed);
	native_frames_vec_deinit(&result.frames);
}

/* The same by another register: within a frame's size it was the stack pointer, farther away is another stack. */
static void test_the_way_out_to_another_stack(void **state)
{
	struct stack stack = { .memory = { .read = read_stack }, .words2 = { 0, 0x104 } };
	struct arch_registers registers = { 0 };
	arch_register_set(&registers, RIP, 0x70c);
	arch_register_set(&registers, RSP, STACK);
	arch_register_set(&registers, RDI, STACK2);
	struct result result = { 0 };
	result.reason = walk_noting(NULL, &arch_x86_64, &registers, &stack.memory, &result.frames,
				    &result.end);
	CHECK(&result, REASON_OK, 0x70c, 0x104);
	result.frames.count = 0;
	arch_register_set(&registers, RDI, FAR);
	result.reason = walk_noting(NULL, &arch_x86_64, &registers, &stack.memory, &result.frames,
				    &result.end);
	CHECK(&result, REASON_GAP, 0x70c);
	native_frames_vec_deinit(&result.frames);
}

/*
 * Code without rules, its frame pointer 7018:
 *
 *	7008 return to 404 | … | 7018 → 7038 | 7020 return to 104
 */
static void test_a_frame_pointer_is_followed_where_there_are_no_rules(void **state)
{
	struct stack stack = { .words = { 1, 0x404, 2, 0x7038, 0x104 } };
	struct result result = walk_from(&stack, 0x200, STACK, 0x7018);
	CHECK(&result, REASON_OK, 0x200, 0x404, 0x104);
	assert_false(result.frames.items[1].guessed);
	assert_true(result.frames.items[2].guessed);
	native_frames_vec_deinit(&result.frames);
}

/* The same with a frame pointer that leads to no code, down the stack, or nowhere. */
static void test_a_frame_pointer_that_is_none_is_a_gap(void **state)
{
	const uint64_t pointers[] = { 0x7028, 0x7000, 0x7019, 0xdead0, UINT64_MAX };
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
		struct stack stack = { .words = { 0, 0x404, 2, 0x7038, 0x104, 0x7038, 0x999 } };
		struct result result = walk_from(&stack, 0x200, STACK, pointers[i]);
		CHECK(&result, REASON_GAP, 0x200, 0x404);
		native_frames_vec_deinit(&result.frames);
	}
}

/* psABI: the outermost frame's frame pointer is 0. */
static void test_a_frame_pointer_of_zero_is_the_end(void **state)
{
	struct stack stack = { .words = { 1, 0x404 } };
	struct result result = walk_from(&stack, 0x200, STACK, 0);
	CHECK(&result, REASON_OK, 0x200, 0x404);
	native_frames_vec_deinit(&result.frames);
}

/* A call through a bad pointer: nothing but the return address was pushed. */
static void test_a_call_to_nowhere(void **state)
{
	struct stack stack = { .words = { 0x204, 1, 0x104 } };
	struct result result = walk_from(&stack, 0x10, STACK, UINT64_MAX);
	CHECK(&result, REASON_OK, 0x10, 0x204, 0x104);
	assert_true(result.end.no_code);
	native_frames_vec_deinit(&result.frames);
}

static void test_a_return_address_that_is_none(void **state)
{
	struct stack stack = { .words = { 1, 0x999, 2, 0x104 } };
	struct result result = walk_from(&stack, 0x200, STACK, UINT64_MAX);
	CHECK(&result, REASON_NO_CODE, 0x200, 0x999);
	assert_true(result.end.no_code);
	native_frames_vec_deinit(&result.frames);
}

static void test_a_return_address_of_zero_is_the_end(void **state)
{
	struct stack stack = { .words = { 1, 0 } };
	struct result result = walk_from(&stack, 0x200, STACK, UINT64_MAX);
	CHECK(&result, REASON_OK, 0x200);
	native_frames_vec_deinit(&result.frames);
}

static void test_a_cfa_must_lie_above(void **state)
{
	struct stack stack = { .words = { 1, 2, 0x604, 3 } };
	struct result result = walk_from(&stack, 0x600, STACK + 16, UINT64_MAX);
	CHECK(&result, REASON_BAD_CFA, 0x600);
	native_frames_vec_deinit(&result.frames);
}

static void test_where_memory_is_missing(void **state)
{
	struct stack stack = { .words = { 0 } };
	struct result result = walk_from(&stack, 0x200, STACK + 15 * 8, UINT64_MAX);
	CHECK(&result, REASON_MEMORY_FAULT, 0x200);
	assert_int_equal(result.end.fault, 0x7080);
	native_frames_vec_deinit(&result.frames);
}

/* A signal frame that leads to itself: without a bound it would go on for ever. */
static void test_signal_frames_are_bounded(void **state)
{
	struct stack stack = { .words = { 0x500, STACK } };
	struct result result = walk_from(&stack, 0x500, STACK, UINT64_MAX);
	assert_int_equal(result.reason, REASON_BAD_CFA);
	assert_int_equal(result.frames.count, 65);
	native_frames_vec_deinit(&result.frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_calls),
		cmocka_unit_test(test_a_return_address_is_looked_up_in_the_call),
		cmocka_unit_test(test_a_signal_leads_to_another_stack_below),
		cmocka_unit_test(test_frames_with_frame_pointers),
		cmocka_unit_test(test_an_unknown_register_ends_the_walk_by_name),
		cmocka_unit_test(test_the_way_out_of_code_without_rules),
		cmocka_unit_test(test_the_way_out_to_another_stack),
		cmocka_unit_test(test_a_frame_pointer_is_followed_where_there_are_no_rules),
		cmocka_unit_test(test_a_frame_pointer_that_is_none_is_a_gap),
		cmocka_unit_test(test_a_frame_pointer_of_zero_is_the_end),
		cmocka_unit_test(test_a_call_to_nowhere),
		cmocka_unit_test(test_a_return_address_that_is_none),
		cmocka_unit_test(test_a_return_address_of_zero_is_the_end),
		cmocka_unit_test(test_a_cfa_must_lie_above),
		cmocka_unit_test(test_where_memory_is_missing),
		cmocka_unit_test(test_signal_frames_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
