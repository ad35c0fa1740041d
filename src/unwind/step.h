/* SPDX-License-Identifier: MIT */
/*
 * step.h: from the registers of a frame to those of its caller.
 *
 * Applies one rule to known registers and recorded memory. Registers that can not be known stay unknown; a rule that needs one
 * fails by that name.
 */
#pragma once

#include <stdint.h>

#include "arch/arch.h"
#include "base/reason.h"
#include "target/memory.h"
#include "unwind/cfi_row.h"
#include "unwind/cfi_table.h"

/* In what follows, caller_ret may be the callee's registers themselves: copying them would be half of the work. */

/* What a row refers to. */
struct step_context {
	const struct arch *arch;
	struct memory *memory;
	const struct cfi_table *table; /* the row's: for its expressions */
	uint64_t bias;                 /* of its image */
};

/*
 * The caller's registers: its pc is in arch->pc, without a signature, its stack pointer is the CFA, which *cfa_ret gets too. REASON_OK
 * with an unknown pc means that the row says there is no caller. Rules that look for saved registers above the CFA by a base register
 * have outlived it (docs/unwinding.md, "Epilogues of realigned frames"): what they would recover is taken as it is.
 */
enum reason step_row(const struct step_context *context, const struct cfi_row *row,
		     const struct arch_registers *registers, struct arch_registers *caller_ret,
		     uint64_t *cfa_ret);

/*
 * The same where the code keeps a frame pointer:
 *
 *	[fp] = the caller's fp, [fp + 8] = return address, cfa = fp + 16
 *
 * On a CPU whose frames may go on above that pair the stack pointer stays unknown, and *cfa_ret is the least that the CFA can be.
 */
enum reason step_frame_pointer(const struct arch *arch, struct memory *memory,
			       const struct arch_registers *registers,
			       struct arch_registers *caller_ret, uint64_t *cfa_ret);

/*
 * Sets the stack pointer, if it is unknown, of a frame that has made a call by the rules of @row: the frame pointer points at the pair
 * that it saves. False if they do not say.
 */
bool step_find_sp(const struct arch *arch, const struct cfi_row *row,
		  struct arch_registers *registers);

/* The caller's registers just after a call whose target is no code: nothing but the return address was put on the stack. */
enum reason step_after_call(const struct arch *arch, struct memory *memory,
			    const struct arch_registers *registers,
			    struct arch_registers *caller_ret, uint64_t *cfa_ret);
