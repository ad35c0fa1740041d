/* SPDX-License-Identifier: MIT */
/*
 * cfi_check.h: what must hold of every answer of unwind/, whatever the bytes are. Broken: abort.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "unwind/cfi_expr.h"
#include "unwind/cfi_table.h"
#include "unwind/cfi_text.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

/* Memory with a value of its own at every address, and some that is not readable. */
static inline bool check_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	uint64_t value = hash_mix(address);
	if ((address & 0xf00) == 0xf00)
		return false;
	CHECK(size <= sizeof(value));
	memcpy(buffer, &value, size);
	return true;
}

static struct memory check_memory = { .read = check_read };

/* Registers with values that depend on @seed; one in eight is not known. */
static inline struct arch_registers check_registers(const struct arch *arch, uint64_t seed)
{
	struct arch_registers registers = { 0 };
	for (unsigned i = 0; i < arch->registers; i++)
		if (hash_mix(seed + i) % 8)
			arch_register_set(&registers, i, hash_mix(seed ^ i) & 0x7fffffffffff);
	return registers;
}

static inline void check_evaluation(const struct cfi_table *table, int32_t number, bool has_cfa)
{
	size_t size;
	const uint8_t *expression = cfi_table_expression(table, number, &size);
	CHECK(expression);
	struct arch_registers registers = check_registers(cfi_table_arch(table), size);
	const struct cfi_expr_input input = {
		.registers = &registers,
		.registers_count = cfi_table_arch(table)->registers,
		.memory = &check_memory,
		.bias = 0x10000,
		.has_cfa = has_cfa,
		.cfa = 0x7fff0000,
	};
	uint64_t value;
	cfi_expr_evaluate(expression, size, &input, &value);
}

static inline void check_rule(const struct cfi_table *table, const struct cfi_rule *rule)
{
	const struct arch *arch = cfi_table_arch(table);
	CHECK(rule->reg < arch->registers && rule->kind < CFI_RULE_KINDS_);
	CHECK(rule->base < arch->registers && !rule->zero);
	if (rule->kind == CFI_RULE_AT_EXPRESSION || rule->kind == CFI_RULE_VALUE_EXPRESSION)
		check_evaluation(table, rule->offset, true);
}

static inline void check_row(const struct cfi_table *table, const struct cfi_row *row)
{
	const struct arch *arch = cfi_table_arch(table);
	CHECK(row->cfa_kind < CFI_CFA_KINDS_ && row->cfa_register < arch->registers);
	CHECK(row->return_register < arch->registers && row->rule_count <= arch->registers);
	for (uint32_t i = 0; i < row->rule_count; i++) {
		CHECK(i == 0 || row->rules[i - 1].reg < row->rules[i].reg);
		check_rule(table, &row->rules[i]);
	}
	if (row->cfa_kind == CFI_CFA_EXPRESSION)
		check_evaluation(table, row->cfa_offset, false);
	struct strbuf text = { 0 };
	cfi_text_row(table, row, &text);
	CHECK(text.length > 0);
	strbuf_deinit(&text);
}

/* The row at @pc, twice, and the end of its range. */
static inline uint64_t check_lookup(struct cfi_table *table, uint64_t pc)
{
	const struct cfi_row *row = NULL, *again = NULL, *by_pc = NULL;
	uint64_t start = 0, end = 0, start_again = 0, end_again = 0;
	enum reason reason = cfi_table_lookup_range(table, pc, &row, &start, &end);
	CHECK(start <= pc && (pc < end || pc == UINT64_MAX));
	CHECK(cfi_table_lookup_range(table, pc, &again, &start_again, &end_again) == reason);
	CHECK(again == row && start_again == start && end_again == end);
	CHECK(cfi_table_lookup(table, pc, &by_pc) == reason && by_pc == row);
	CHECK((reason == REASON_OK) == (row != NULL));
	if (row)
		check_row(table, row);
	return end;
}

/* Some ranges of every function; @limit bounds the work. */
static inline void check_pieces(struct cfi_table *table, struct cfi_index *index, unsigned limit)
{
	const struct cfi_piece *pieces;
	size_t count;
	if (!index || cfi_index_pieces(index, &pieces, &count))
		return;
	for (size_t i = 0; i < count && limit; i++) {
		CHECK(pieces[i].size);
		CHECK(i == 0 || pieces[i - 1].start + pieces[i - 1].size <= pieces[i].start);
		uint64_t end = pieces[i].start + pieces[i].size;
		for (uint64_t pc = pieces[i].start; pc < end && limit; limit--)
			pc = check_lookup(table, pc);
	}
}
