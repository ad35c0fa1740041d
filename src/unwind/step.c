/* SPDX-License-Identifier: MIT */
/* step.c: from the registers of a frame to those of its caller. */
#include "unwind/step.h"

#include "unwind/cfi_expr.h"

#define WORD 8

static enum reason get(const struct arch_registers *registers, unsigned number, uint64_t *value_ret)
{
	return arch_register_get(registers, number, value_ret) ? REASON_OK
							       : REASON_UNKNOWN_REGISTER;
}

static enum reason load(struct memory *memory, uint64_t address, uint64_t *value_ret)
{
	return memory_read_u64(memory, address, value_ret) ? REASON_OK : REASON_MEMORY_FAULT;
}

static enum reason evaluate(const struct step_context *context, int32_t number,
			    const struct arch_registers *registers, const uint64_t *cfa,
			    uint64_t *value_ret)
{
	size_t size;
	const uint8_t *bytes = cfi_table_expression(context->table, number, &size);
	struct cfi_expr_input input = {
		.registers = registers,
		.memory = context->memory,
		.bias = context->bias,
		.has_cfa = cfa != NULL,
		.cfa = cfa ? *cfa : 0,
		.registers_count = context->arch->registers,
	};
	return cfi_expr_evaluate(bytes, size, &input, value_ret);
}

static enum reason find_cfa(const struct step_context *context, const struct cfi_row *row,
			    const struct arch_registers *registers, uint64_t *cfa_ret)
{
	uint64_t value = 0, pc = 0;
	enum reason reason;
	switch ((enum cfi_cfa_kind)row->cfa_kind) {
	case CFI_CFA_REGISTER:
		/* cfa = reg + offset */
		reason = get(registers, row->cfa_register, &value);
		*cfa_ret = value + (uint64_t)(int64_t)row->cfa_offset;
		return reason;
	case CFI_CFA_DEREF:
		/* cfa = *(reg + offset) + bias */
		reason = get(registers, row->cfa_register, &value);
		if (!reason)
			reason = load(context->memory, value + (uint64_t)(int64_t)row->cfa_offset,
				      &value);
		*cfa_ret = value + (uint64_t)(int64_t)row->cfa_bias;
		return reason;
	case CFI_CFA_PLT:
		/* cfa = reg + offset + ((pc & 15) >= bias ? 8 : 0) */
		reason = get(registers, row->cfa_register, &value);
		if (!reason)
			reason = get(registers, context->arch->pc, &pc);
		if (reason)
			return reason;
		*cfa_ret = value + (uint64_t)(int64_t)row->cfa_offset +
			   ((pc & 15) >= (uint64_t)(int64_t)row->cfa_bias ? WORD : 0);
		return REASON_OK;
	case CFI_CFA_EXPRESSION:
		return evaluate(context, row->cfa_offset, registers, NULL, cfa_ret);
	case CFI_CFA_UNDEFINED:
	case CFI_CFA_KINDS_:
		break;
	}
	return REASON_BAD_CFI;
}

/*
 * Whether @base, by which a row finds saved registers, is the caller's again. GCC leaves the rules of a realigned frame (rbp = *rbp)
 * in force from "pop %rbp" to the return. No function saves anything above its own CFA, so a slot there tells; a trampoline, whose
 * return address is anywhere, may.
 */
static bool is_restored(const struct cfi_row *row, const struct arch_registers *registers,
			uint64_t cfa, unsigned base)
{
	uint64_t value;
	bool above = false;
	if (!arch_register_get(registers, base, &value))
		return false;
	for (uint32_t i = 0; i < row->rule_count; i++) {
		const struct cfi_rule *rule = &row->rules[i];
		if (rule->kind != CFI_RULE_AT_REGISTER)
			continue;
		if (rule->reg == row->return_register)
			return false;
		if (rule->base == base && value + (uint64_t)(int64_t)rule->offset >= cfa)
			above = true;
	}
	return above;
}

static enum reason recover(const struct step_context *context, const struct cfi_row *row,
			   const struct cfi_rule *rule, const struct arch_registers *registers,
			   uint64_t cfa, uint64_t *value_ret)
{
	uint64_t offset = (uint64_t)(int64_t)rule->offset, value = 0;
	enum reason reason;
	switch ((enum cfi_rule_kind)rule->kind) {
	case CFI_RULE_SAME:
		return get(registers, rule->reg, value_ret);
	case CFI_RULE_AT_CFA:
		return load(context->memory, cfa + offset, value_ret);
	case CFI_RULE_AT_REGISTER:
		if (is_restored(row, registers, cfa, rule->base))
			return get(registers, rule->reg, value_ret);
		reason = get(registers, rule->base, &value);
		return reason ? reason : load(context->memory, value + offset, value_ret);
	case CFI_RULE_CFA:
		*value_ret = cfa + offset;
		return REASON_OK;
	case CFI_RULE_REGISTER:
		reason = get(registers, rule->base, &value);
		*value_ret = value + offset;
		return reason;
	case CFI_RULE_AT_EXPRESSION:
		reason = evaluate(context, rule->offset, registers, &cfa, &value);
		return reason ? reason : load(context->memory, value, value_ret);
	case CFI_RULE_VALUE_EXPRESSION:
		return evaluate(context, rule->offset, registers, &cfa, value_ret);
	case CFI_RULE_UNDEFINED:
	case CFI_RULE_KINDS_:
		break;
	}
	return REASON_UNKNOWN_REGISTER;
}

/* What the psABI says of registers without a rule: kept ones are as they were, the stack pointer is the CFA. */
static void set_defaults(const struct arch *arch, const struct arch_registers *registers,
			 uint64_t cfa, struct arch_registers *caller)
{
	if (caller != registers)
		*caller = *registers;
	caller->known &= arch->kept;
	arch_register_set(caller, arch->sp, cfa);
}

/* The caller's pc; its return address register has been overwritten by the call, and is not known but where it is restored. */
static void set_pc(const struct arch *arch, uint64_t pc, bool was_called,
		   struct arch_registers *caller)
{
	if (was_called && arch->return_address != arch->pc)
		caller->known &= ~(UINT64_C(1) << arch->return_address);
	arch_register_set(caller, arch->pc, arch_code_address(arch, caller, pc));
}

/* What a row's rules give, before any of it is put in its place: rules refer to the callee's registers. */
struct recovered {
	uint64_t value[ARCH_REGISTERS_MAX]; /* by number of the rule */
	uint64_t found;                     /* a bit a rule */
	uint64_t pc;
};

static enum reason recover_all(const struct step_context *context, const struct cfi_row *row,
			       const struct arch_registers *registers, uint64_t cfa,
			       struct recovered *recovered)
{
	bool has_return = false;
	recovered->found = 0;
	for (uint32_t i = 0; i < row->rule_count; i++) {
		const struct cfi_rule *rule = &row->rules[i];
		enum reason reason =
			recover(context, row, rule, registers, cfa, &recovered->value[i]);
		/* Any other register that is lost is merely unknown in the caller. */
		if (!reason)
			recovered->found |= UINT64_C(1) << i;
		if (rule->reg != row->return_register)
			continue;
		if (reason)
			return reason;
		has_return = true;
		recovered->pc = recovered->value[i];
	}
	if (!has_return && get(registers, row->return_register, &recovered->pc))
		return REASON_UNKNOWN_REGISTER;
	return REASON_OK;
}

enum reason step_row(const struct step_context *context, const struct cfi_row *row,
		     const struct arch_registers *registers, struct arch_registers *caller_ret,
		     uint64_t *cfa_ret)
{
	const struct arch *arch = context->arch;
	struct recovered recovered;
	uint64_t cfa = 0;
	if (row->flags & CFI_ROW_OUTERMOST) {
		caller_ret->known = 0;
		return REASON_OK;
	}
	enum reason reason = find_cfa(context, row, registers, &cfa);
	if (!reason)
		reason = recover_all(context, row, registers, cfa, &recovered);
	if (reason)
		return reason;

	set_defaults(arch, registers, cfa, caller_ret);
	for (uint32_t i = 0; i < row->rule_count; i++) {
		if (recovered.found >> i & 1)
			arch_register_set(caller_ret, row->rules[i].reg, recovered.value[i]);
		else
			caller_ret->known &= ~(UINT64_C(1) << row->rules[i].reg);
	}
	set_pc(arch, recovered.pc, !(row->flags & CFI_ROW_SIGNAL_FRAME), caller_ret);
	*cfa_ret = cfa;
	return REASON_OK;
}

enum reason step_frame_pointer(const struct arch *arch, struct memory *memory,
			       const struct arch_registers *registers,
			       struct arch_registers *caller_ret, uint64_t *cfa_ret)
{
	uint64_t fp, caller_fp, pc;
	if (get(registers, arch->fp, &fp) || fp % WORD || load(memory, fp, &caller_fp) ||
	    load(memory, fp + WORD, &pc))
		return REASON_GAP;
	*caller_ret = (struct arch_registers){ .code_mask = registers->code_mask };
	arch_register_set(caller_ret, arch->fp, caller_fp);
	if (arch->fp_is_at_cfa)
		arch_register_set(caller_ret, arch->sp, fp + 2 * WORD);
	set_pc(arch, pc, true, caller_ret);
	*cfa_ret = fp + 2 * WORD;
	return REASON_OK;
}

/* cfa = fp − offset of the saved fp = sp + cfa_offset */
bool step_find_sp(const struct arch *arch, const struct cfi_row *row,
		  struct arch_registers *registers)
{
	const struct cfi_rule *fp_rule = cfi_row_rule(row, arch->fp);
	const struct cfi_rule *return_rule = cfi_row_rule(row, row->return_register);
	uint64_t fp, sp;
	if (arch_register_get(registers, arch->sp, &sp) || row->cfa_kind != CFI_CFA_REGISTER ||
	    row->cfa_register != arch->sp || !fp_rule || fp_rule->kind != CFI_RULE_AT_CFA ||
	    !return_rule || return_rule->kind != CFI_RULE_AT_CFA ||
	    return_rule->offset != fp_rule->offset + WORD || get(registers, arch->fp, &fp))
		return false;
	arch_register_set(registers, arch->sp,
			  fp - (uint64_t)(int64_t)fp_rule->offset -
				  (uint64_t)(int64_t)row->cfa_offset);
	return true;
}

enum reason step_after_call(const struct arch *arch, struct memory *memory,
			    const struct arch_registers *registers,
			    struct arch_registers *caller_ret, uint64_t *cfa_ret)
{
	uint64_t sp, pc;
	if (get(registers, arch->sp, &sp))
		return REASON_NO_CODE;
	if (!arch->return_address_at) {
		if (get(registers, arch->return_address, &pc))
			return REASON_NO_CODE;
	} else if (load(memory, sp, &pc)) {
		return REASON_NO_CODE;
	}
	uint64_t cfa = sp - (uint64_t)(int64_t)arch->return_address_at;
	set_defaults(arch, registers, cfa, caller_ret);
	set_pc(arch, pc, true, caller_ret);
	*cfa_ret = cfa;
	return REASON_OK;
}
