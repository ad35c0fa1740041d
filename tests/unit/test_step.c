/* SPDX-License-Identifier: MIT */
/* One rule applied to known registers and memory: given these bytes on a stack, these registers of the caller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "unwind/step.h"

enum { RAX = 0, RBX = 3, RBP = 6, RSP = 7, R10 = 10, R12 = 12, RIP = 16 };

/* Eight words at 0x1000; nothing else can be read. */
struct words {
	struct memory memory;
	uint64_t at[8];
};

static bool read_words(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct words *words = (struct words *)memory;
	if (address < 0x1000 || address > 0x1040 - size)
		return false;
	memcpy(buffer, (char *)words->at + (address - 0x1000), size);
	return true;
}

static struct words words = {
	.memory = { .read = read_words },
	.at = { 0x1038, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 },
};

struct row {
	struct cfi_row row;
	struct cfi_rule rules[4];
};

static struct arch_registers registers(void)
{
	struct arch_registers known = { 0 };
	arch_register_set(&known, RSP, 0x1000);
	arch_register_set(&known, RBP, 0x1020);
	arch_register_set(&known, RBX, 0xb);
	arch_register_set(&known, RAX, 0xa);
	arch_register_set(&known, RIP, 0x400a);
	return known;
}

static enum reason step(const struct row *row, const struct arch_registers *from,
			struct arch_registers *caller, uint64_t *cfa)
{
	struct step_context context = { .arch = &arch_x86_64, .memory = &words.memory };
	return step_row(&context, &row->row, from, caller, cfa);
}

static void assert_register(const struct arch_registers *registers, unsigned number, uint64_t value)
{
	uint64_t found = 0;
	assert_true(arch_register_get(registers, number, &found));
	assert_int_equal(found, value);
}

static void assert_unknown(const struct arch_registers *registers, unsigned number)
{
	uint64_t value;
	assert_false(arch_register_get(registers, number, &value));
}

#define RETURN_AT_CFA                                                                              \
	{                                                                                          \
		.reg = RIP, .kind = CFI_RULE_AT_CFA, .offset = -8                                  \
	}

/* cfa = rsp + 24, return address at cfa − 8; rbx keeps its value, rax is lost, rsp is the CFA. */
static void test_usual_row(void **state)
{
	const struct row row = {
		{ .cfa_kind = CFI_CFA_REGISTER,
		  .cfa_register = RSP,
		  .cfa_offset = 24,
		  .return_register = RIP,
		  .rule_count = 1 },
		{ RETURN_AT_CFA },
	};
	struct arch_registers from = registers(), caller;
	uint64_t cfa;
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_OK);
	assert_int_equal(cfa, 0x1018);
	assert_register(&caller, RIP, 0x33);
	assert_register(&caller, RSP, 0x1018);
	assert_register(&caller, RBX, 0xb);
	assert_register(&caller, RBP, 0x1020);
	assert_unknown(&caller, RAX);
}

/* GCC's realigned frame: cfa = *(rbp − 32), rbp = *(rbp). */
static void test_realigned_row(void **state)
{
	const struct row row = {
		{ .cfa_kind = CFI_CFA_DEREF,
		  .cfa_register = RBP,
		  .cfa_offset = -32,
		  .return_register = RIP,
		  .rule_count = 2 },
		{ { .reg = RBP, .kind = CFI_RULE_AT_REGISTER, .base = RBP }, RETURN_AT_CFA },
	};
	struct arch_registers from = registers(), caller;
	uint64_t cfa;
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_OK);
	assert_int_equal(cfa, 0x1038);
	assert_register(&caller, RBP, 0x55);
	assert_register(&caller, RIP, 0x77);
}

/*
 * GCC's realigned frame between "pop %rbp" and the return: cfa = r10, and rbx = *(rbp - 32), rbp = *(rbp) still, though rbp is the
 * caller's again. Above the CFA nothing of this frame is saved: both are taken as they are.
 */
static void test_rules_that_outlive_their_base(void **state)
{
	const struct row row = {
		{ .cfa_kind = CFI_CFA_REGISTER,
		  .cfa_register = R10,
		  .return_register = RIP,
		  .rule_count = 3 },
		{ { .reg = RBX, .kind = CFI_RULE_AT_REGISTER, .base = RBP, .offset = -32 },
		  { .reg = RBP, .kind = CFI_RULE_AT_REGISTER, .base = RBP },
		  RETURN_AT_CFA },
	};
	struct arch_registers from = registers(), caller;
	uint64_t cfa;
	arch_register_set(&from, R10, 0x1010);
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_OK);
	assert_register(&caller, RBP, 0x1020);
	assert_register(&caller, RBX, 0xb);
	assert_register(&caller, RIP, 0x22);

	arch_register_set(&from, R10, 0x1028);
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_OK);
	assert_register(&caller, RBP, 0x55);
	assert_register(&caller, RBX, 0x1038);
}

/* A signal frame's registers are above its CFA as a rule: they are read from there. */
static void test_a_signal_frame_saves_where_it_likes(void **state)
{
	const struct row row = {
		{ .cfa_kind = CFI_CFA_REGISTER,
		  .cfa_register = RSP,
		  .cfa_offset = 8,
		  .return_register = RIP,
		  .flags = CFI_ROW_SIGNAL_FRAME,
		  .rule_count = 2 },
		{ { .reg = RBX, .kind = CFI_RULE_AT_REGISTER, .base = RSP, .offset = 16 },
		  { .reg = RIP, .kind = CFI_RULE_AT_REGISTER, .base = RSP, .offset = 24 } },
	};
	struct arch_registers from = registers(), caller;
	uint64_t cfa;
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_OK);
	assert_register(&caller, RBX, 0x33);
	assert_register(&caller, RIP, 0x44);
}

/* OpenSSL's assembly: cfa = *(rsp) + 8. */
static void test_saved_cfa_with_bias(void **state)
{
	const struct row row = {
		{ .cfa_kind = CFI_CFA_DEREF,
		  .cfa_register = RSP,
		  .cfa_bias = 8,
		  .return_register = RIP,
		  .rule_count = 1 },
		{ RETURN_AT_CFA },
	};
	struct arch_registers from = registers(), caller;
	uint64_t cfa;
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_OK);
	assert_int_equal(cfa, 0x1040);
	assert_register(&caller, RIP, 0x88);
}

/* .plt: 8 bytes more from the second instruction on. */
static void test_plt_row(void **state)
{
	const struct row row = {
		{ .cfa_kind = CFI_CFA_PLT,
		  .cfa_register = RSP,
		  .cfa_offset = 8,
		  .cfa_bias = 11,
		  .return_register = RIP,
		  .rule_count = 1 },
		{ RETURN_AT_CFA },
	};
	struct arch_registers from = registers(), caller;
	uint64_t cfa;
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_OK);
	assert_int_equal(cfa, 0x1008);
	assert_register(&caller, RIP, 0x1038);
	arch_register_set(&from, RIP, 0x400b);
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_OK);
	assert_int_equal(cfa, 0x1010);
	assert_register(&caller, RIP, 0x22);
}

/* vfork: the return address is in a register; r12 is the CFA plus 4, rbx is declared lost. */
static void test_other_rules(void **state)
{
	const struct row row = {
		{ .cfa_kind = CFI_CFA_REGISTER,
		  .cfa_register = RSP,
		  .cfa_offset = 8,
		  .return_register = RIP,
		  .rule_count = 4 },
		{ { .reg = RBX, .kind = CFI_RULE_UNDEFINED },
		  { .reg = R10, .kind = CFI_RULE_SAME },
		  { .reg = R12, .kind = CFI_RULE_CFA, .offset = 4 },
		  { .reg = RIP, .kind = CFI_RULE_REGISTER, .base = RAX, .offset = 1 } },
	};
	struct arch_registers from = registers(), caller;
	uint64_t cfa;
	arch_register_set(&from, R10, 0x10);
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_OK);
	assert_unknown(&caller, RBX);
	assert_register(&caller, R10, 0x10);
	assert_register(&caller, R12, 0x100c);
	assert_register(&caller, RIP, 0xb);
}

static void test_what_is_not_known_fails_by_name(void **state)
{
	struct row row = {
		{ .cfa_kind = CFI_CFA_REGISTER,
		  .cfa_register = R12,
		  .cfa_offset = 8,
		  .return_register = RIP,
		  .rule_count = 1 },
		{ RETURN_AT_CFA },
	};
	struct arch_registers from = registers(), caller = { .known = 77 };
	uint64_t cfa = 7;
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_UNKNOWN_REGISTER);
	arch_register_set(&from, R12, 0x2000);
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_MEMORY_FAULT);
	row.row.cfa_kind = CFI_CFA_DEREF;
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_MEMORY_FAULT);
	row.row.cfa_kind = CFI_CFA_UNDEFINED;
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_BAD_CFI);
	assert_int_equal(caller.known, 77);
	assert_int_equal(cfa, 7);
}

/* A register that can not be read is unknown in the caller, and no more than that. */
static void test_a_lost_register_does_not_end_the_step(void **state)
{
	const struct row row = {
		{ .cfa_kind = CFI_CFA_REGISTER,
		  .cfa_register = RSP,
		  .cfa_offset = 8,
		  .return_register = RIP,
		  .rule_count = 2 },
		{ { .reg = RBP, .kind = CFI_RULE_AT_CFA, .offset = -16 }, RETURN_AT_CFA },
	};
	struct arch_registers from = registers(), caller;
	uint64_t cfa;
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_OK);
	assert_unknown(&caller, RBP);
	assert_register(&caller, RIP, 0x1038);
}

static void test_outermost_row(void **state)
{
	const struct row row = { { .flags = CFI_ROW_OUTERMOST }, { { 0 } } };
	struct arch_registers from = registers(), caller;
	uint64_t cfa;
	assert_int_equal(step(&row, &from, &caller, &cfa), REASON_OK);
	assert_unknown(&caller, RIP);
}

/*
 *	0x1020 → 0x55 caller's rbp
 *	0x1028 → 0x66 return address
 */
static void test_frame_pointer(void **state)
{
	struct arch_registers from = registers(), caller;
	uint64_t cfa;
	assert_int_equal(step_frame_pointer(&arch_x86_64, &words.memory, &from, &caller, &cfa),
			 REASON_OK);
	assert_int_equal(cfa, 0x1030);
	assert_register(&caller, RBP, 0x55);
	assert_register(&caller, RIP, 0x66);
	assert_register(&caller, RSP, 0x1030);
	assert_unknown(&caller, RBX);

	arch_register_set(&from, RBP, 0x1021);
	assert_int_equal(step_frame_pointer(&arch_x86_64, &words.memory, &from, &caller, &cfa),
			 REASON_GAP);
	arch_register_set(&from, RBP, 0x1038);
	assert_int_equal(step_frame_pointer(&arch_x86_64, &words.memory, &from, &caller, &cfa),
			 REASON_GAP);
	from.known &= ~(UINT64_C(1) << RBP);
	assert_int_equal(step_frame_pointer(&arch_x86_64, &words.memory, &from, &caller, &cfa),
			 REASON_GAP);
}

static void test_after_a_call_to_nowhere(void **state)
{
	struct arch_registers from = registers(), caller;
	uint64_t cfa;
	arch_register_set(&from, RSP, 0x1008);
	assert_int_equal(step_after_call(&arch_x86_64, &words.memory, &from, &caller, &cfa),
			 REASON_OK);
	assert_int_equal(cfa, 0x1010);
	assert_register(&caller, RIP, 0x22);
	assert_register(&caller, RBX, 0xb);
	arch_register_set(&from, RSP, 0x1040);
	assert_int_equal(step_after_call(&arch_x86_64, &words.memory, &from, &caller, &cfa),
			 REASON_NO_CODE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual_row),
		cmocka_unit_test(test_realigned_row),
		cmocka_unit_test(test_rules_that_outlive_their_base),
		cmocka_unit_test(test_a_signal_frame_saves_where_it_likes),
		cmocka_unit_test(test_saved_cfa_with_bias),
		cmocka_unit_test(test_plt_row),
		cmocka_unit_test(test_other_rules),
		cmocka_unit_test(test_what_is_not_known_fails_by_name),
		cmocka_unit_test(test_a_lost_register_does_not_end_the_step),
		cmocka_unit_test(test_outermost_row),
		cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_after_a_call_to_nowhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
