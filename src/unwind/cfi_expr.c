/* SPDX-License-Identifier: MIT */
/* cfi_expr.c: known shapes, and the stack machine for all others. */
#include "unwind/cfi_expr.h"

#include <string.h>

#include "base/reader.h"

/* DWARF 5 §7.7.1, table 7.9. */
enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
	OP_CALL_FRAME_CFA = 0x9c,
};

/* ---- known shapes ---- */

/* What a shape is made of: an operation, operands apart. A base register of any number is OP_BREG0,
 * a literal OP_LIT0. */
struct token {
	uint8_t op;
	uint8_t reg;
	int64_t value;
};

#define TOKENS_MAX 8

static bool read_token(struct reader *r, const struct arch *arch, struct token *token)
{
	uint8_t op;
	uint64_t number;
	*token = (struct token){ 0 };
	if (!reader_u8(r, &op))
		return false;
	token->op = op;
	if (op >= OP_LIT0 && op <= OP_LIT31) {
		token->op = OP_LIT0;
		token->value = op - OP_LIT0;
		return true;
	}
	if (op >= OP_BREG0 && op <= OP_BREG31) {
		token->op = OP_BREG0;
		token->reg = op - OP_BREG0;
		return token->reg < arch->registers && reader_sleb128(r, &token->value);
	}
	switch (op) {
	case OP_BREGX:
		if (!reader_uleb128(r, &number) || number >= arch->registers)
			return false;
		token->op = OP_BREG0;
		token->reg = (uint8_t)number;
		return reader_sleb128(r, &token->value);
	case OP_PLUS_UCONST:
		if (!reader_uleb128(r, &number) || number > INT32_MAX)
			return false;
		token->value = (int64_t)number;
		return true;
	default:
		return true; /* an operation with operands is in no shape: what follows does not
				matter */
	}
}

/* The tokens of the whole expression; 0 for one that is longer than every shape. */
static size_t read_tokens(const struct arch *arch, const uint8_t *expression, size_t size,
			  struct token tokens[TOKENS_MAX])
{
	struct reader r = reader_make(expression, size);
	size_t count = 0;
	while (reader_left(&r)) {
		if (count == TOKENS_MAX || !read_token(&r, arch, &tokens[count]))
			return 0;
		count++;
	}
	return count;
}

static bool has_shape(const struct token *tokens, size_t count, const uint8_t *shape,
		      size_t shape_count)
{
	if (count != shape_count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (tokens[i].op != shape[i])
			return false;
	return true;
}

#define HAS_SHAPE(tokens, count, ...)                                                              \
	has_shape(tokens, count, (const uint8_t[]){ __VA_ARGS__ },                                 \
		  sizeof((const uint8_t[]){ __VA_ARGS__ }))

static bool fits_32(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

/* breg SP a; breg PC 0; lit15; and; lit n; ge; lit3; shl; plus is nine tokens: the last one is
 * apart. */
static bool is_plt(const struct arch *arch, const struct token *t, size_t count)
{
	return HAS_SHAPE(t, count, OP_BREG0, OP_BREG0, OP_LIT0, OP_AND, OP_LIT0, OP_GE, OP_LIT0,
			 OP_SHL) &&
	       t[0].reg == arch->sp && t[1].reg == arch->pc && t[1].value == 0 &&
	       t[2].value == 15 && t[6].value == 3 && fits_32(t[0].value);
}

static bool match_plt(const struct arch *arch, const uint8_t *expression, size_t size,
		      struct cfi_row *row)
{
	struct token t[TOKENS_MAX];
	if (!size || expression[size - 1] != OP_PLUS ||
	    !is_plt(arch, t, read_tokens(arch, expression, size - 1, t)))
		return false;
	row->cfa_kind = CFI_CFA_PLT;
	row->cfa_register = t[0].reg;
	row->cfa_offset = (int32_t)t[0].value;
	row->cfa_bias = (int32_t)t[4].value;
	return true;
}

bool cfi_expr_match_cfa(const struct arch *arch, const uint8_t *expression, size_t size,
			struct cfi_row *row)
{
	if (match_plt(arch, expression, size, row))
		return true;

	struct token t[TOKENS_MAX];
	size_t count = read_tokens(arch, expression, size, t);
	if (!count || t[0].op != OP_BREG0 || !fits_32(t[0].value))
		return false;
	int64_t bias = 0;
	enum cfi_cfa_kind kind;
	if (HAS_SHAPE(t, count, OP_BREG0)) {
		kind = CFI_CFA_REGISTER;
	} else if (HAS_SHAPE(t, count, OP_BREG0, OP_DEREF)) {
		kind = CFI_CFA_DEREF;
	} else if (HAS_SHAPE(t, count, OP_BREG0, OP_DEREF, OP_PLUS_UCONST)) {
		kind = CFI_CFA_DEREF;
		bias = t[2].value;
	} else {
		return false;
	}
	row->cfa_kind = kind;
	row->cfa_register = t[0].reg;
	row->cfa_offset = (int32_t)t[0].value;
	row->cfa_bias = (int32_t)bias;
	return true;
}

static void set_rule(struct cfi_rule *rule, enum cfi_rule_kind kind, uint8_t base, int64_t offset)
{
	rule->kind = (uint8_t)kind;
	rule->base = base;
	rule->offset = (int32_t)offset;
}

bool cfi_expr_match_rule(const struct arch *arch, const uint8_t *expression, size_t size,
			 bool is_value, struct cfi_rule *rule)
{
	struct token t[TOKENS_MAX];
	size_t count = read_tokens(arch, expression, size, t);
	for (size_t i = 0; i < count; i++)
		if (!fits_32(t[i].value))
			return false;

	/* The CFA is on the stack at the start; what begins with a register or drops it makes no
	 * use of it. */
	if (HAS_SHAPE(t, count, OP_PLUS_UCONST))
		set_rule(rule, is_value ? CFI_RULE_CFA : CFI_RULE_AT_CFA, 0, t[0].value);
	else if (HAS_SHAPE(t, count, OP_BREG0))
		set_rule(rule, is_value ? CFI_RULE_REGISTER : CFI_RULE_AT_REGISTER, t[0].reg,
			 t[0].value);
	else if (HAS_SHAPE(t, count, OP_DROP, OP_BREG0))
		set_rule(rule, is_value ? CFI_RULE_REGISTER : CFI_RULE_AT_REGISTER, t[1].reg,
			 t[1].value);
	else if (is_value && HAS_SHAPE(t, count, OP_BREG0, OP_DEREF))
		set_rule(rule, CFI_RULE_AT_REGISTER, t[0].reg, t[0].value);
	else
		return false;
	return true;
}

/* ---- the stack machine ---- */

struct machine {
	const struct cfi_expr_input *input;
	struct reader reader;
	uint64_t stack[CFI_EXPR_STACK_LIMIT];
	unsigned depth;
};

static enum reason push(struct machine *m, uint64_t value)
{
	if (m->depth == CFI_EXPR_STACK_LIMIT)
		return REASON_BAD_CFI;
	m->stack[m->depth++] = value;
	return REASON_OK;
}

static bool pop(struct machine *m, uint64_t *ret)
{
	if (!m->depth)
		return false;
	*ret = m->stack[--m->depth];
	return true;
}

static enum reason push_register(struct machine *m, uint64_t number)
{
	int64_t offset;
	uint64_t value;
	if (!reader_sleb128(&m->reader, &offset) || number >= m->input->registers_count)
		return REASON_BAD_CFI;
	if (!arch_register_get(m->input->registers, (unsigned)number, &value))
		return REASON_UNKNOWN_REGISTER;
	return push(m, value + (uint64_t)offset);
}

static enum reason push_registerx(struct machine *m)
{
	uint64_t number;
	return reader_uleb128(&m->reader, &number) ? push_register(m, number) : REASON_BAD_CFI;
}

static enum reason push_constant(struct machine *m, unsigned size, bool is_signed)
{
	const uint8_t *bytes = reader_bytes(&m->reader, size);
	if (!bytes)
		return REASON_BAD_CFI;
	uint64_t value = 0;
	memcpy(&value, bytes, size);
	unsigned unused_bits = 64 - 8 * size;
	if (is_signed)
		value = (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
	return push(m, value);
}

static enum reason push_address(struct machine *m)
{
	uint64_t vaddr;
	return reader_u64(&m->reader, &vaddr) ? push(m, vaddr + m->input->bias) : REASON_BAD_CFI;
}

static enum reason push_uleb128(struct machine *m)
{
	uint64_t value;
	return reader_uleb128(&m->reader, &value) ? push(m, value) : REASON_BAD_CFI;
}

static enum reason push_sleb128(struct machine *m)
{
	int64_t value;
	return reader_sleb128(&m->reader, &value) ? push(m, (uint64_t)value) : REASON_BAD_CFI;
}

static enum reason push_cfa(struct machine *m)
{
	return m->input->has_cfa ? push(m, m->input->cfa) : REASON_BAD_CFI;
}

static enum reason dereference(struct machine *m, unsigned size)
{
	uint64_t address, value = 0;
	if ((size != 1 && size != 2 && size != 4 && size != 8) || !pop(m, &address))
		return REASON_BAD_CFI;
	if (!memory_read(m->input->memory, address, &value, size))
		return REASON_MEMORY_FAULT;
	return push(m, value);
}

static enum reason dereference_size(struct machine *m)
{
	uint8_t size;
	return reader_u8(&m->reader, &size) ? dereference(m, size) : REASON_BAD_CFI;
}

/* Pushes the value that is @index below the top. */
static enum reason pick(struct machine *m, unsigned index)
{
	return index < m->depth ? push(m, m->stack[m->depth - 1 - index]) : REASON_BAD_CFI;
}

static enum reason pick_operand(struct machine *m)
{
	uint8_t index;
	return reader_u8(&m->reader, &index) ? pick(m, index) : REASON_BAD_CFI;
}

static enum reason drop(struct machine *m)
{
	uint64_t ignored;
	return pop(m, &ignored) ? REASON_OK : REASON_BAD_CFI;
}

/* Moves the top below the @count - 1 values under it. */
static enum reason rotate(struct machine *m, unsigned count)
{
	if (m->depth < count)
		return REASON_BAD_CFI;
	uint64_t *first = &m->stack[m->depth - count];
	uint64_t top = first[count - 1];
	memmove(first + 1, first, (count - 1) * sizeof(*first));
	first[0] = top;
	return REASON_OK;
}

static enum reason unary(struct machine *m, uint8_t op)
{
	uint64_t value, operand;
	if (!pop(m, &value))
		return REASON_BAD_CFI;
	switch (op) {
	case OP_ABS:
		return push(m, (int64_t)value < 0 ? -value : value);
	case OP_NEG:
		return push(m, -value);
	case OP_NOT:
		return push(m, ~value);
	case OP_PLUS_UCONST:
		return reader_uleb128(&m->reader, &operand) ? push(m, value + operand)
							    : REASON_BAD_CFI;
	default:
		return REASON_BAD_CFI;
	}
}

static uint64_t shift_arithmetic(uint64_t value, uint64_t count)
{
	return (uint64_t)((int64_t)value >> (count < 64 ? count : 63));
}

/* Comparisons and div are signed, mod is not: DWARF 5 §2.5.1.4 and GDB's reading of it. */
static enum reason binary(struct machine *m, uint8_t op)
{
	uint64_t b, a;
	if (!pop(m, &b) || !pop(m, &a))
		return REASON_BAD_CFI;
	int64_t signed_a = (int64_t)a, signed_b = (int64_t)b;
	switch (op) {
	case OP_AND:
		return push(m, a & b);
	case OP_OR:
		return push(m, a | b);
	case OP_XOR:
		return push(m, a ^ b);
	case OP_PLUS:
		return push(m, a + b);
	case OP_MINUS:
		return push(m, a - b);
	case OP_MUL:
		return push(m, a * b);
	case OP_DIV:
		if (!b || (signed_a == INT64_MIN && signed_b == -1))
			return REASON_BAD_CFI;
		return push(m, (uint64_t)(signed_a / signed_b));
	case OP_MOD:
		return b ? push(m, a % b) : REASON_BAD_CFI;
	case OP_SHL:
		return push(m, b < 64 ? a << b : 0);
	case OP_SHR:
		return push(m, b < 64 ? a >> b : 0);
	case OP_SHRA:
		return push(m, shift_arithmetic(a, b));
	case OP_EQ:
		return push(m, a == b);
	case OP_NE:
		return push(m, a != b);
	case OP_GE:
		return push(m, signed_a >= signed_b);
	case OP_GT:
		return push(m, signed_a > signed_b);
	case OP_LE:
		return push(m, signed_a <= signed_b);
	case OP_LT:
		return push(m, signed_a < signed_b);
	default:
		return REASON_BAD_CFI;
	}
}

/* Both ends of the expression are allowed as a target. */
static enum reason jump(struct machine *m, bool is_conditional)
{
	uint16_t operand;
	uint64_t condition = 1;
	if (!reader_u16(&m->reader, &operand) || (is_conditional && !pop(m, &condition)))
		return REASON_BAD_CFI;
	if (!condition)
		return REASON_OK;
	int64_t target = (int64_t)reader_offset(&m->reader) + (int16_t)operand;
	if (target < 0 || target > m->reader.end - m->reader.start)
		return REASON_BAD_CFI;
	m->reader.pos = m->reader.start + target;
	return REASON_OK;
}

static enum reason step(struct machine *m)
{
	uint8_t op;
	if (!reader_u8(&m->reader, &op))
		return REASON_BAD_CFI;
	if (op >= OP_LIT0 && op <= OP_LIT31)
		return push(m, op - OP_LIT0);
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_register(m, op - OP_BREG0);
	switch (op) {
	case OP_ADDR:
		return push_address(m);
	case OP_DEREF:
		return dereference(m, 8);
	case OP_DEREF_SIZE:
		return dereference_size(m);
	case OP_CONST1U:
	case OP_CONST1S:
		return push_constant(m, 1, op == OP_CONST1S);
	case OP_CONST2U:
	case OP_CONST2S:
		return push_constant(m, 2, op == OP_CONST2S);
	case OP_CONST4U:
	case OP_CONST4S:
		return push_constant(m, 4, op == OP_CONST4S);
	case OP_CONST8U:
	case OP_CONST8S:
		return push_constant(m, 8, false);
	case OP_CONSTU:
		return push_uleb128(m);
	case OP_CONSTS:
		return push_sleb128(m);
	case OP_BREGX:
		return push_registerx(m);
	case OP_DUP:
		return pick(m, 0);
	case OP_OVER:
		return pick(m, 1);
	case OP_PICK:
		return pick_operand(m);
	case OP_DROP:
		return drop(m);
	case OP_SWAP:
		return rotate(m, 2);
	case OP_ROT:
		return rotate(m, 3);
	case OP_ABS:
	case OP_NEG:
	case OP_NOT:
	case OP_PLUS_UCONST:
		return unary(m, op);
	case OP_SKIP:
		return jump(m, false);
	case OP_BRA:
		return jump(m, true);
	case OP_NOP:
		return REASON_OK;
	case OP_CALL_FRAME_CFA:
		return push_cfa(m);
	default:
		return binary(m, op);
	}
}

enum reason cfi_expr_evaluate(const uint8_t *expression, size_t size,
			      const struct cfi_expr_input *input, uint64_t *ret)
{
	struct machine m;
	m.input = input;
	m.reader = reader_make(expression, size);
	m.depth = 0;
	enum reason reason = input->has_cfa ? push(&m, input->cfa) : REASON_OK;
	for (unsigned steps = 0; !reason && reader_left(&m.reader); steps++) {
		if (steps == CFI_EXPR_STEP_LIMIT)
			return REASON_LIMIT;
		reason = step(&m);
	}
	if (reason)
		return reason;
	return pop(&m, ret) ? REASON_OK : REASON_BAD_CFI;
}
