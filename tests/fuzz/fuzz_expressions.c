/* SPDX-License-Identifier: MIT */
/*
 * DWARF expressions. Input: a byte for the registers' values, the expression. Where a shape is recognised, its rule and the stack
 * machine must say the same.
 */
#include "cfi_check.h"

#define CFA UINT64_C(0x7fff1230)

struct answer {
	enum reason reason;
	uint64_t value;
};

static struct answer evaluate(const uint8_t *expression, size_t size,
			      struct arch_registers *registers, bool has_cfa)
{
	const struct cfi_expr_input input = {
		.registers = registers,
		.registers_count = arch_x86_64.registers,
		.memory = &check_memory,
		.bias = 0x5500000000,
		.has_cfa = has_cfa,
		.cfa = CFA,
	};
	struct answer answer = { .value = 0xdead };
	answer.reason = cfi_expr_evaluate(expression, size, &input, &answer.value);
	CHECK(!answer.reason || answer.value == 0xdead);
	return answer;
}

static struct answer sum(const struct arch_registers *registers, unsigned reg, int32_t offset)
{
	struct answer answer = { .reason = REASON_UNKNOWN_REGISTER };
	if (arch_register_get(registers, reg, &answer.value))
		answer.reason = REASON_OK;
	answer.value += (uint64_t)(int64_t)offset;
	return answer;
}

static struct answer load(struct answer address)
{
	if (!address.reason && !memory_read_u64(&check_memory, address.value, &address.value))
		address.reason = REASON_MEMORY_FAULT;
	return address;
}

static struct answer cfa_of(const struct cfi_row *row, const struct arch_registers *registers)
{
	struct answer cfa = sum(registers, row->cfa_register, row->cfa_offset);
	struct answer pc = sum(registers, arch_x86_64.pc, 0);
	switch (row->cfa_kind) {
	case CFI_CFA_DEREF:
		cfa = load(cfa);
		cfa.value += (uint64_t)(int64_t)row->cfa_bias;
		break;
	case CFI_CFA_PLT:
		cfa.reason = cfa.reason ? cfa.reason : pc.reason;
		cfa.value += (pc.value & 15) >= (uint64_t)row->cfa_bias ? 8 : 0;
		break;
	default:
		CHECK(row->cfa_kind == CFI_CFA_REGISTER);
	}
	return cfa;
}

/* What the expression of a register gives: the register's place, or its value. */
static struct answer rule_of(const struct cfi_rule *rule, const struct arch_registers *registers,
			     bool is_value)
{
	struct answer answer = { .value = CFA + (uint64_t)(int64_t)rule->offset };
	switch (rule->kind) {
	case CFI_RULE_AT_CFA:
		CHECK(!is_value);
		return answer;
	case CFI_RULE_CFA:
		CHECK(is_value);
		return answer;
	case CFI_RULE_REGISTER:
		CHECK(is_value);
		return sum(registers, rule->base, rule->offset);
	default:
		CHECK(rule->kind == CFI_RULE_AT_REGISTER);
		answer = sum(registers, rule->base, rule->offset);
		return is_value ? load(answer) : answer;
	}
}

static void check_same(struct answer a, struct answer b)
{
	CHECK(a.reason == b.reason);
	CHECK(a.reason || a.value == b.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	struct arch_registers registers = check_registers(&arch_x86_64, data[0]);
	data++;
	size--;
	struct answer without_cfa = evaluate(data, size, &registers, false);
	struct answer with_cfa = evaluate(data, size, &registers, true);
	struct cfi_row row = { 0 };
	if (cfi_expr_match_cfa(&arch_x86_64, data, size, &row))
		check_same(cfa_of(&row, &registers), without_cfa);
	for (int is_value = 0; is_value < 2; is_value++) {
		struct cfi_rule rule = { 0 };
		if (cfi_expr_match_rule(&arch_x86_64, data, size, is_value, &rule))
			check_same(rule_of(&rule, &registers, is_value), with_cfa);
	}
	return 0;
}
