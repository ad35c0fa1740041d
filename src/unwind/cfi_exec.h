/* SPDX-License-Identifier: MIT */
/*
 * cfi_exec.h: runs the call frame instructions of one FDE, giving its rows one after the other.
 *
 * DWARF 5 §6.4.2, with the GNU and aarch64 additions. The rows are here as the instructions state
 * them, expressions as bytes; cfi_table.h makes rows of the vocabulary (cfi_row.h) of them.
 * CPU-neutral: what differs is data in struct arch.
 */
#pragma once

#include "arch/arch.h"
#include "base/reason.h"
#include "unwind/cfi_entry.h"

/* Depth of DW_CFA_remember_state; compilers use 1 or 2. */
#define CFI_REMEMBER_LIMIT 16

enum cfi_state_kind {
	CFI_STATE_UNSPECIFIED, /* nothing was said: the psABI's default */
	CFI_STATE_UNDEFINED,
	CFI_STATE_SAME,
	CFI_STATE_AT_CFA,           /* at cfa + offset */
	CFI_STATE_CFA,              /* is cfa + offset */
	CFI_STATE_REGISTER,         /* is base */
	CFI_STATE_AT_EXPRESSION,    /* at the value of expression */
	CFI_STATE_VALUE_EXPRESSION, /* is the value of expression */
};

struct cfi_state_rule {
	enum cfi_state_kind kind;
	uint32_t expression_size;
	union {
		int64_t offset;
		uint64_t base;
		const uint8_t *expression; /* as long as the FDE's and CIE's bytes are */
	};
};

struct cfi_state {
	/* The CFA: UNSPECIFIED, AT_EXPRESSION (its value is the CFA) or REGISTER, of which a later
	 * definition may change a part. */
	enum cfi_state_kind cfa_kind;
	uint32_t cfa_expression_size;
	const uint8_t *cfa_expression;
	uint64_t cfa_register;
	int64_t cfa_offset;
	bool is_ra_signed;
	struct cfi_state_rule rules[ARCH_REGISTERS_MAX]; /* by DWARF number */
};

struct cfi_exec {
	/* The row that the last cfi_exec_next gave: it is in force for vaddrs in [start, end). */
	uint64_t start, end;
	struct cfi_state state;
	enum reason reason; /* not REASON_OK: its instructions are bad, there is no rule for the
			       range */

	/* private */
	const struct arch *arch;
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	const struct cfi_fde *fde;
	struct reader reader;
	uint64_t instructions_vaddr;
	uint64_t location;
	bool is_in_cie;
	unsigned saved_count;
	struct cfi_state initial;
	struct cfi_state saved[CFI_REMEMBER_LIMIT];
};

/* All that is passed must outlive @exec, the bytes of @fde too: a window over them must not move.
 */
void cfi_exec_begin(struct cfi_exec *exec, const struct arch *arch,
		    const struct cfi_section *section, const struct cfi_cie *cie,
		    const struct cfi_fde *fde);

/*
 * Goes to the next row; false when there is none. The rows are ascending, not empty, and leave no
 * gap between the FDE's start and its end; the last one may carry a reason.
 */
bool cfi_exec_next(struct cfi_exec *exec);
