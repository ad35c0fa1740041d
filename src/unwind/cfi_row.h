/* SPDX-License-Identifier: MIT */
/*
 * cfi_row.h: how to get from a frame to its caller. The vocabulary of unwind/.
 *
 * A row says, for one range of pc, how the canonical frame address (CFA: the caller's stack pointer
 * at the call) is computed and where the caller's registers are. It is what the decoders of call
 * frame information (cfi_exec.h) produce, what a table keeps (cfi_table.h) and what a step
 * executes. It holds no pointers: equal rules are equal bytes, and a row means the same in another
 * process. docs/unwinding.md says which real code needs which rule.
 *
 * A register without a rule has what the psABI says: one that a callee keeps is unchanged, the
 * stack pointer is the CFA, every other is unknown in the caller. Rules that say the same are left
 * out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* How the CFA is computed; reg, offset and bias are the row's cfa_register, cfa_offset and
 * cfa_bias. */
enum cfi_cfa_kind {
	CFI_CFA_UNDEFINED, /* the information does not say: only an outermost frame may do so */
	CFI_CFA_REGISTER,  /* cfa = reg + offset */
	CFI_CFA_DEREF,     /* cfa = *(reg + offset) + bias: realigned and switched stacks */
	CFI_CFA_PLT,       /* cfa = reg + offset + ((pc & 15) >= bias ? 8 : 0): x86-64's .plt, which
			      pushes midway */
	CFI_CFA_EXPRESSION, /* cfa = value of the expression number offset */
	CFI_CFA_KINDS_
};

/* Where the caller's value of a register is; base and offset are the rule's. */
enum cfi_rule_kind {
	CFI_RULE_UNDEFINED,        /* it cannot be known */
	CFI_RULE_SAME,             /* unchanged */
	CFI_RULE_AT_CFA,           /* saved: *(cfa + offset) */
	CFI_RULE_AT_REGISTER,      /* saved: *(base + offset), for example rbp = *(rbp) */
	CFI_RULE_CFA,              /* value: cfa + offset */
	CFI_RULE_REGISTER,         /* value: base + offset */
	CFI_RULE_AT_EXPRESSION,    /* saved: *(value of the expression number offset, the CFA on its
				      stack) */
	CFI_RULE_VALUE_EXPRESSION, /* value: of the expression number offset, the CFA on its stack
				    */
	CFI_RULE_KINDS_
};

struct cfi_rule {
	uint8_t reg;  /* DWARF number of the register that the rule recovers */
	uint8_t kind; /* enum cfi_rule_kind */
	uint8_t base; /* DWARF number; 0 where the kind has none */
	uint8_t zero;
	int32_t offset; /* bytes, or the number of an expression (cfi_table_expression) */
};

enum cfi_row_flags {
	/* The frame is a signal trampoline's: its caller was interrupted, did not call. The
	   caller's pc is no return address, its stack may be another one. */
	CFI_ROW_SIGNAL_FRAME = 1 << 0,
	/* The return address is undefined: there is no caller (_start, clone). */
	CFI_ROW_OUTERMOST = 1 << 1,
	/* aarch64: the return address is signed, with key B if CFI_ROW_KEY_B; the authentication
	   code must be stripped. */
	CFI_ROW_RA_SIGNED = 1 << 2,
	CFI_ROW_KEY_B = 1 << 3,
};

struct cfi_row {
	uint8_t cfa_kind; /* enum cfi_cfa_kind */
	uint8_t cfa_register;
	uint8_t return_register; /* DWARF number whose caller's value is the caller's pc */
	uint8_t flags;           /* enum cfi_row_flags */
	int32_t cfa_offset;
	int32_t cfa_bias;
	uint32_t rule_count;
	struct cfi_rule rules[]; /* ascending by reg, at most one a register */
};

_Static_assert(sizeof(struct cfi_rule) == 8 && sizeof(struct cfi_row) == 16,
	       "rows are compared and kept as bytes: no padding");

/* Bytes of the longest row. */
#define CFI_ROW_SIZE_MAX (sizeof(struct cfi_row) + ARCH_REGISTERS_MAX * sizeof(struct cfi_rule))

static inline size_t cfi_row_size(const struct cfi_row *row)
{
	return sizeof(*row) + row->rule_count * sizeof(row->rules[0]);
}

/* The rule that recovers @reg; NULL where the psABI's default holds. */
static inline const struct cfi_rule *cfi_row_rule(const struct cfi_row *row, unsigned reg)
{
	for (uint32_t i = 0; i < row->rule_count; i++)
		if (row->rules[i].reg == reg)
			return &row->rules[i];
	return NULL;
}
