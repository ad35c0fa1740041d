/* SPDX-License-Identifier: MIT */
/* cfi_exec.c: the call frame instruction machine. */
#include "unwind/cfi_exec.h"

/* DWARF 5 §7.24, table 7.29. The first three have their operand in the low six bits. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_PRIMARY_MASK = 0xc0,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	/* AADWARF64; elsewhere 0x2d is SPARC's window save. */
	CFA_AARCH64_SET_RA_STATE = 0x2b,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	/* LSB 5.0 §10.5.2 */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* ---- operands ---- */

/* An unsigned LEB128, by itself or times the data alignment. */
static bool read_offset(struct cfi_exec *exec, bool is_factored, int64_t *ret)
{
	uint64_t value;
	if (!reader_uleb128(&exec->reader, &value) || value > INT64_MAX)
		return false;
	if (!is_factored) {
		*ret = (int64_t)value;
		return true;
	}
	return !__builtin_mul_overflow((int64_t)value, exec->cie->data_align, ret);
}

static bool read_offset_sf(struct cfi_exec *exec, int64_t *ret)
{
	int64_t value;
	return reader_sleb128(&exec->reader, &value) &&
	       !__builtin_mul_overflow(value, exec->cie->data_align, ret);
}

static bool read_expression(struct cfi_exec *exec, const uint8_t **expression_ret,
			    uint32_t *size_ret)
{
	uint64_t size;
	if (!reader_uleb128(&exec->reader, &size) || size > CFI_ENTRY_LIMIT)
		return false;
	const uint8_t *expression = reader_bytes(&exec->reader, size);
	if (!expression)
		return false;
	*expression_ret = expression;
	*size_ret = (uint32_t)size;
	return true;
}

/* ---- rules ---- */

/* Registers that no walk carries (vectors, flags) may have rules too: they are read and dropped. */
static bool set_rule(struct cfi_exec *exec, uint64_t reg, const struct cfi_state_rule *rule)
{
	if (reg < exec->arch->registers)
		exec->state.rules[reg] = *rule;
	return true;
}

static bool set_kind(struct cfi_exec *exec, enum cfi_state_kind kind)
{
	uint64_t reg;
	const struct cfi_state_rule rule = { .kind = kind };
	return reader_uleb128(&exec->reader, &reg) && set_rule(exec, reg, &rule);
}

static bool set_offset(struct cfi_exec *exec, enum cfi_state_kind kind, bool is_signed)
{
	uint64_t reg;
	struct cfi_state_rule rule = { .kind = kind };
	if (!reader_uleb128(&exec->reader, &reg))
		return false;
	if (!(is_signed ? read_offset_sf(exec, &rule.offset)
			: read_offset(exec, true, &rule.offset)))
		return false;
	return set_rule(exec, reg, &rule);
}

static bool set_offset_primary(struct cfi_exec *exec, unsigned reg)
{
	struct cfi_state_rule rule = { .kind = CFI_STATE_AT_CFA };
	return read_offset(exec, true, &rule.offset) && set_rule(exec, reg, &rule);
}

static bool set_negative_offset(struct cfi_exec *exec)
{
	uint64_t reg;
	struct cfi_state_rule rule = { .kind = CFI_STATE_AT_CFA };
	if (!reader_uleb128(&exec->reader, &reg) || !read_offset(exec, true, &rule.offset) ||
	    __builtin_sub_overflow(INT64_C(0), rule.offset, &rule.offset))
		return false;
	return set_rule(exec, reg, &rule);
}

static bool set_register(struct cfi_exec *exec)
{
	uint64_t reg;
	struct cfi_state_rule rule = { .kind = CFI_STATE_REGISTER };
	return reader_uleb128(&exec->reader, &reg) && reader_uleb128(&exec->reader, &rule.base) &&
	       set_rule(exec, reg, &rule);
}

static bool set_expression(struct cfi_exec *exec, enum cfi_state_kind kind)
{
	uint64_t reg;
	struct cfi_state_rule rule = { .kind = kind };
	return reader_uleb128(&exec->reader, &reg) &&
	       read_expression(exec, &rule.expression, &rule.expression_size) &&
	       set_rule(exec, reg, &rule);
}

static bool restore(struct cfi_exec *exec, uint64_t reg)
{
	if (exec->is_in_cie)
		return false;
	return reg >= exec->arch->registers || set_rule(exec, reg, &exec->initial.rules[reg]);
}

static bool restore_extended(struct cfi_exec *exec)
{
	uint64_t reg;
	return reader_uleb128(&exec->reader, &reg) && restore(exec, reg);
}

static bool remember_state(struct cfi_exec *exec)
{
	if (exec->saved_count == CFI_REMEMBER_LIMIT)
		return false;
	exec->saved[exec->saved_count++] = exec->state;
	return true;
}

/* The CFA rule is restored too, as all unwinders do. */
static bool restore_state(struct cfi_exec *exec)
{
	if (!exec->saved_count)
		return false;
	exec->state = exec->saved[--exec->saved_count];
	return true;
}

static bool negate_ra_state(struct cfi_exec *exec)
{
	exec->state.is_ra_signed = !exec->state.is_ra_signed;
	return exec->arch->negates_ra_state;
}

/* 0 not signed, 1 signed, 2 signed with the pc of an instruction at an offset, which stripping does not need. */
static bool set_ra_state(struct cfi_exec *exec)
{
	uint64_t ra_state;
	int64_t ignored;
	if (!reader_uleb128(&exec->reader, &ra_state) || ra_state > 2 ||
	    !reader_sleb128(&exec->reader, &ignored))
		return false;
	exec->state.is_ra_signed = ra_state != 0;
	return exec->arch->negates_ra_state;
}

/* ---- the CFA ---- */

static bool define_cfa(struct cfi_exec *exec, bool is_signed)
{
	struct cfi_state *state = &exec->state;
	state->cfa_kind = CFI_STATE_REGISTER;
	return reader_uleb128(&exec->reader, &state->cfa_register) &&
	       (is_signed ? read_offset_sf(exec, &state->cfa_offset)
			  : read_offset(exec, false, &state->cfa_offset));
}

/* After an expression too: the offset is then the one before it. */
static bool define_cfa_register(struct cfi_exec *exec)
{
	exec->state.cfa_kind = CFI_STATE_REGISTER;
	return reader_uleb128(&exec->reader, &exec->state.cfa_register);
}

static bool define_cfa_offset(struct cfi_exec *exec, bool is_signed)
{
	return is_signed ? read_offset_sf(exec, &exec->state.cfa_offset)
			 : read_offset(exec, false, &exec->state.cfa_offset);
}

static bool define_cfa_expression(struct cfi_exec *exec)
{
	struct cfi_state *state = &exec->state;
	state->cfa_kind = CFI_STATE_AT_EXPRESSION;
	return read_expression(exec, &state->cfa_expression, &state->cfa_expression_size);
}

/* ---- the location ---- */

static bool advance(struct cfi_exec *exec, uint64_t delta)
{
	return !exec->is_in_cie && !__builtin_mul_overflow(delta, exec->cie->code_align, &delta) &&
	       !__builtin_add_overflow(exec->location, delta, &exec->location);
}

static bool advance_1(struct cfi_exec *exec)
{
	uint8_t delta;
	return reader_u8(&exec->reader, &delta) && advance(exec, delta);
}

static bool advance_2(struct cfi_exec *exec)
{
	uint16_t delta;
	return reader_u16(&exec->reader, &delta) && advance(exec, delta);
}

static bool advance_4(struct cfi_exec *exec)
{
	uint32_t delta;
	return reader_u32(&exec->reader, &delta) && advance(exec, delta);
}

static bool advance_8(struct cfi_exec *exec)
{
	uint64_t delta;
	return reader_u64(&exec->reader, &delta) && advance(exec, delta);
}

static bool set_location(struct cfi_exec *exec)
{
	const struct cfi_pointer_base base = {
		.vaddr = exec->instructions_vaddr,
		.text = exec->section->text_base,
		.data = exec->section->data_base,
		.function = exec->fde->start,
		.address_size = exec->cie->address_size,
		.image = exec->section->image,
	};
	uint64_t location;
	if (exec->is_in_cie || !reader_skip(&exec->reader, exec->cie->segment_size) ||
	    !cfi_pointer_read(&exec->reader, exec->cie->fde_encoding, &base, &location) ||
	    location < exec->location)
		return false;
	exec->location = location;
	return true;
}

/* ---- the machine ---- */

static bool skip_uleb128(struct cfi_exec *exec)
{
	uint64_t ignored;
	return reader_uleb128(&exec->reader, &ignored);
}

static bool run_extended(struct cfi_exec *exec, uint8_t opcode)
{
	switch (opcode) {
	case CFA_NOP:
		return true;
	case CFA_SET_LOC:
		return set_location(exec);
	case CFA_ADVANCE_LOC1:
		return advance_1(exec);
	case CFA_ADVANCE_LOC2:
		return advance_2(exec);
	case CFA_ADVANCE_LOC4:
		return advance_4(exec);
	case CFA_MIPS_ADVANCE_LOC8:
		return advance_8(exec);
	case CFA_OFFSET_EXTENDED:
		return set_offset(exec, CFI_STATE_AT_CFA, false);
	case CFA_OFFSET_EXTENDED_SF:
		return set_offset(exec, CFI_STATE_AT_CFA, true);
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		return set_negative_offset(exec);
	case CFA_VAL_OFFSET:
		return set_offset(exec, CFI_STATE_CFA, false);
	case CFA_VAL_OFFSET_SF:
		return set_offset(exec, CFI_STATE_CFA, true);
	case CFA_RESTORE_EXTENDED:
		return restore_extended(exec);
	case CFA_UNDEFINED:
		return set_kind(exec, CFI_STATE_UNDEFINED);
	case CFA_SAME_VALUE:
		return set_kind(exec, CFI_STATE_SAME);
	case CFA_REGISTER:
		return set_register(exec);
	case CFA_EXPRESSION:
		return set_expression(exec, CFI_STATE_AT_EXPRESSION);
	case CFA_VAL_EXPRESSION:
		return set_expression(exec, CFI_STATE_VALUE_EXPRESSION);
	case CFA_REMEMBER_STATE:
		return remember_state(exec);
	case CFA_RESTORE_STATE:
		return restore_state(exec);
	case CFA_DEF_CFA:
		return define_cfa(exec, false);
	case CFA_DEF_CFA_SF:
		return define_cfa(exec, true);
	case CFA_DEF_CFA_REGISTER:
		return define_cfa_register(exec);
	case CFA_DEF_CFA_OFFSET:
		return define_cfa_offset(exec, false);
	case CFA_DEF_CFA_OFFSET_SF:
		return define_cfa_offset(exec, true);
	case CFA_DEF_CFA_EXPRESSION:
		return define_cfa_expression(exec);
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return negate_ra_state(exec);
	case CFA_AARCH64_SET_RA_STATE:
		return set_ra_state(exec);
	case CFA_GNU_ARGS_SIZE: /* for exceptions: bytes of pushed arguments */
		return skip_uleb128(exec);
	default:
		return false;
	}
}

static bool run_instruction(struct cfi_exec *exec)
{
	uint8_t opcode;
	if (!reader_u8(&exec->reader, &opcode))
		return false;
	unsigned operand = opcode & ~CFA_PRIMARY_MASK;
	switch (opcode & CFA_PRIMARY_MASK) {
	case CFA_ADVANCE_LOC:
		return advance(exec, operand);
	case CFA_OFFSET:
		return set_offset_primary(exec, operand);
	case CFA_RESTORE:
		return restore(exec, operand);
	default:
		return run_extended(exec, opcode);
	}
}

void cfi_exec_begin(struct cfi_exec *exec, const struct arch *arch,
		    const struct cfi_section *section, const struct cfi_cie *cie,
		    const struct cfi_fde *fde)
{
	exec->arch = arch;
	exec->section = section;
	exec->cie = cie;
	exec->fde = fde;
	exec->state = (struct cfi_state){ 0 };
	exec->reason = REASON_OK;
	exec->location = exec->start = exec->end = fde->start;
	exec->saved_count = 0;

	exec->is_in_cie = true;
	exec->instructions_vaddr = cie->instructions_vaddr;
	exec->reader = reader_make(cie->instructions, cie->instructions_size);
	while (!exec->reason && reader_left(&exec->reader))
		exec->reason = run_instruction(exec) ? REASON_OK : REASON_BAD_CFI;
	exec->is_in_cie = false;

	exec->saved_count = 0;
	exec->initial = exec->state;
	exec->instructions_vaddr = fde->instructions_vaddr;
	exec->reader = reader_make(fde->instructions, fde->instructions_size);
}

bool cfi_exec_next(struct cfi_exec *exec)
{
	uint64_t fde_end = exec->fde->start + exec->fde->size;
	if (exec->end >= fde_end)
		return false;
	exec->start = exec->end;
	while (!exec->reason && exec->location == exec->start && reader_left(&exec->reader))
		exec->reason = run_instruction(exec) ? REASON_OK : REASON_BAD_CFI;
	bool is_last = exec->reason || exec->location == exec->start || exec->location > fde_end;
	exec->end = is_last ? fde_end : exec->location;
	return true;
}
