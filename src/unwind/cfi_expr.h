/* SPDX-License-Identifier: MIT */
/*
 * cfi_expr.h: DWARF expressions in call frame information.
 *
 * Two ways. An expression that is, from its first to its last byte, one of a few known shapes
 * becomes a rule of the vocabulary (cfi_row.h). Every other is kept and run by a bounded stack
 * machine. Both give the same value. DWARF 5 §2.5 and §6.4.2.
 */
#pragma once

#include "arch/arch.h"
#include "base/reason.h"
#include "target/memory.h"
#include "unwind/cfi_row.h"

/* Expressions in real code have at most some tens of operations. */
#define CFI_EXPR_STEP_LIMIT  1024
#define CFI_EXPR_STACK_LIMIT 64

/* Sets the CFA part of @row if DW_CFA_def_cfa_expression's @expression has a known shape; else
 * leaves it. */
bool cfi_expr_match_cfa(const struct arch *arch, const uint8_t *expression, size_t size,
			struct cfi_row *row);

/* Sets kind, base and offset of @rule, of DW_CFA_expression or (@is_value) DW_CFA_val_expression.
 */
bool cfi_expr_match_rule(const struct arch *arch, const uint8_t *expression, size_t size,
			 bool is_value, struct cfi_rule *rule);

struct cfi_expr_input {
	const struct arch_registers *registers;
	struct memory *memory;
	uint64_t bias; /* what to add to an address in the image (DW_OP_addr) */
	bool has_cfa;  /* the CFA is known, and is on the stack at the start: a register's rule */
	uint64_t cfa;
	unsigned registers_count; /* arch's */
};

/*
 * The value of @expression. REASON_UNKNOWN_REGISTER, REASON_MEMORY_FAULT where it needs what is not
 * there; REASON_BAD_CFI for an operation that has no meaning here, a stack that under- or
 * overflows, a division by zero; REASON_LIMIT for one that does not end.
 */
enum reason cfi_expr_evaluate(const uint8_t *expression, size_t size,
			      const struct cfi_expr_input *input, uint64_t *ret);
