/* SPDX-License-Identifier: MIT */
/*
 * DWARF expressions: the shapes that become rules, what only looks like them, and the stack
 * machine. A shape and the machine give the same value for the same bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "unwind/cfi_expr.h"

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* Memory whose word at an address is that address times 3; nothing is readable from FAULT on. */
#define FAULT UINT64_C(0xffff000000000000)

static bool read_triple(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	uint64_t value = address * 3;
	if (address >= FAULT)
		return false;
	assert_true(size <= sizeof(value));
	memcpy(buffer, &value, size);
	return true;
}

static struct memory memory = { .read = read_triple };

/* rsp is 0x7000, rbp 0x8000, rip 0x401b, r10 0xa000; the others are not known. */
static struct arch_registers registers(void)
{
	struct arch_registers r = { 0 };
	arch_register_set(&r, 7, 0x7000);
	arch_register_set(&r, 6, 0x8000);
	arch_register_set(&r, 16, 0x401b);
	arch_register_set(&r, 10, 0xa000);
	return r;
}

/* Of a copy that ends where the expression ends: a read past it is an error of AddressSanitizer. */
static enum reason evaluate(const uint8_t *expression, size_t size, bool has_cfa, uint64_t *ret)
{
	struct arch_registers r = registers();
	const struct cfi_expr_input input = {
		.registers = &r,
		.registers_count = arch_x86_64.registers,
		.memory = &memory,
		.bias = 0x10000,
		.has_cfa = has_cfa,
		.cfa = 0x9000,
	};
	uint8_t *copy = malloc(size + !size);
	assert_non_null(copy);
	if (size)
		memcpy(copy, expression, size);
	enum reason reason = cfi_expr_evaluate(copy, size, &input, ret);
	free(copy);
	return reason;
}

/* ---- shapes ---- */

/* What a row's CFA is, computed as the comments of cfi_row.h say. */
static uint64_t row_cfa(const struct cfi_row *row)
{
	struct arch_registers r = registers();
	uint64_t base = r.value[row->cfa_register] + (uint64_t)(int64_t)row->cfa_offset;
	switch (row->cfa_kind) {
	case CFI_CFA_DEREF:
		return base * 3 + (uint64_t)(int64_t)row->cfa_bias;
	case CFI_CFA_PLT:
		return base + ((r.value[16] & 15) >= (uint64_t)row->cfa_bias ? 8 : 0);
	default:
		return base;
	}
}

static void check_cfa(const uint8_t *expression, size_t size, enum cfi_cfa_kind kind, unsigned reg,
		      int32_t offset, int32_t bias)
{
	struct cfi_row row = { 0 };
	assert_true(cfi_expr_match_cfa(&arch_x86_64, expression, size, &row));
	assert_int_equal(row.cfa_kind, kind);
	assert_int_equal(row.cfa_register, reg);
	assert_int_equal(row.cfa_offset, offset);
	assert_int_equal(row.cfa_bias, bias);
	uint64_t value;
	assert_int_equal(evaluate(expression, size, false, &value), REASON_OK);
	assert_int_equal(value, row_cfa(&row));
}

static void test_cfa_shapes(void **state)
{
	check_cfa(BYTES(0x77, 16), CFI_CFA_REGISTER, 7, 16, 0);
	/* GCC's realigned stack: *(rbp - 8); *(r10), the same by bregx. */
	check_cfa(BYTES(0x76, 0x78, 0x06), CFI_CFA_DEREF, 6, -8, 0);
	check_cfa(BYTES(0x92, 10, 0, 0x06), CFI_CFA_DEREF, 10, 0, 0);
	/* OpenSSL's *(rsp + 152) + 8, glibc's *(rsp + 160). */
	check_cfa(BYTES(0x77, 0x98, 1, 0x06, 0x23, 8), CFI_CFA_DEREF, 7, 152, 8);
	check_cfa(BYTES(0x77, 0xa0, 1, 0x06), CFI_CFA_DEREF, 7, 160, 0);
	/* .plt of ld.bfd (11) and with BND or IBT (10); rip & 15 is 11 here. */
	check_cfa(BYTES(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22), CFI_CFA_PLT, 7,
		  8, 11);
	check_cfa(BYTES(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22), CFI_CFA_PLT, 7,
		  8, 10);
	check_cfa(BYTES(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3c, 0x2a, 0x33, 0x24, 0x22), CFI_CFA_PLT, 7,
		  8, 12);
}

struct near_miss {
	uint8_t bytes[12];
	size_t size;
};

/* Each is a shape that ends earlier or later, has another operand or another operation in it. */
static const struct near_miss cfa_misses[] = {
	{ { 0 }, 0 },
	{ { 0x06 }, 1 },
	{ { 0x77 }, 1 },                         /* its operand is missing */
	{ { 0x77, 8, 0x06, 0x06 }, 4 },          /* one deref more */
	{ { 0x77, 8, 0x06, 0x23 }, 4 },          /* plus_uconst without its operand */
	{ { 0x77, 8, 0x06, 0x23, 8, 0x06 }, 6 }, /* one more after the bias */
	{ { 0x77, 8, 0x06, 0x23, 8, 0x23, 8 }, 7 },
	{ { 0x77, 8, 0x06, 0x96 }, 4 },    /* even a nop */
	{ { 0x77, 8, 0x23, 8, 0x06 }, 5 }, /* *(rsp + 8 + 8): not a shape */
	{ { 0x77, 8, 0x94, 8 }, 4 },       /* deref_size 8 */
	{ { 0x71, 8, 0x92 }, 3 },
	{ { 0x92, 17, 0, 0x06 }, 4 },                     /* a register that no walk carries */
	{ { 0x92, 0x80, 2, 0, 0x06 }, 5 },                /* number 256, of which 0 would be left */
	{ { 0x77, 0x80, 0x80, 0x80, 0x80, 8, 0x06 }, 7 }, /* an offset of 2^31 */
	{ { 0x77, 8, 0x06, 0x23, 0x80, 0x80, 0x80, 0x80, 8 }, 9 },
	/* .plt's */
	{ { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24 }, 10 }, /* ends before plus */
	{ { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x22 }, 12 },
	{ { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x32, 0x24, 0x22 }, 11 }, /* shl 2 */
	{ { 0x77, 8, 0x80, 0, 0x3e, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 }, 11 }, /* & 14 */
	{ { 0x77, 8, 0x80, 1, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 }, 11 }, /* rip + 1 */
	{ { 0x76, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 }, 11 }, /* from rbp */
	{ { 0x77, 8, 0x7f, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 }, 11 }, /* of r15 */
	{ { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2b, 0x33, 0x24, 0x22 }, 11 }, /* gt */
	{ { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x25, 0x22 }, 11 }, /* shr */
	{ { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x1c }, 11 }, /* minus */
};

static void test_what_is_no_cfa_shape(void **state)
{
	for (size_t i = 0; i < sizeof(cfa_misses) / sizeof(*cfa_misses); i++) {
		struct cfi_row row, untouched;
		memset(&row, 0x55, sizeof(row));
		untouched = row;
		assert_false(cfi_expr_match_cfa(&arch_x86_64, cfa_misses[i].bytes,
						cfa_misses[i].size, &row));
		assert_memory_equal(&row, &untouched, sizeof(row));
	}
}

static void check_rule(const uint8_t *expression, size_t size, bool is_value,
		       enum cfi_rule_kind kind, unsigned base, int32_t offset, uint64_t value)
{
	struct cfi_rule rule = { 0 };
	assert_true(cfi_expr_match_rule(&arch_x86_64, expression, size, is_value, &rule));
	assert_int_equal(rule.kind, kind);
	assert_int_equal(rule.base, base);
	assert_int_equal(rule.offset, offset);
	/* @value: of the expression; a register at it is in memory there. */
	uint64_t evaluated;
	assert_int_equal(evaluate(expression, size, true, &evaluated), REASON_OK);
	assert_int_equal(evaluated, value);
}

static void test_register_shapes(void **state)
{
	/* rbp saved at rbp; another at rbp - 16. */
	check_rule(BYTES(0x76, 0), false, CFI_RULE_AT_REGISTER, 6, 0, 0x8000);
	check_rule(BYTES(0x76, 0x70), false, CFI_RULE_AT_REGISTER, 6, -16, 0x7ff0);
	check_rule(BYTES(0x13, 0x77, 0x28), false, CFI_RULE_AT_REGISTER, 7, 40, 0x7028);
	check_rule(BYTES(0x23, 16), false, CFI_RULE_AT_CFA, 0, 16, 0x9010);
	check_rule(BYTES(0x76, 8), true, CFI_RULE_REGISTER, 6, 8, 0x8008);
	check_rule(BYTES(0x13, 0x76, 8), true, CFI_RULE_REGISTER, 6, 8, 0x8008);
	check_rule(BYTES(0x23, 16), true, CFI_RULE_CFA, 0, 16, 0x9010);
	check_rule(BYTES(0x76, 8, 0x06), true, CFI_RULE_AT_REGISTER, 6, 8, 0x8008 * 3);
}

static void test_what_is_no_register_shape(void **state)
{
	static const struct near_miss misses[] = {
		{ { 0 }, 0 },             /* the CFA itself */
		{ { 0x76, 0, 0x06 }, 3 }, /* at *(rbp): one dereference more than a rule has */
		{ { 0x76, 0, 0x76, 0 }, 4 },
		{ { 0x13, 0x13, 0x76, 0 }, 4 },
		{ { 0x76, 0, 0x13 }, 3 },
		{ { 0x13, 0x76 }, 2 },
		{ { 0x23, 8, 0x23, 8 }, 4 },
		{ { 0x06 }, 1 },
		{ { 0x38, 0x1c, 0x0d, 0xe0, 0xff, 0xff, 0xff, 0x1a }, 8 },
	};
	for (size_t i = 0; i < sizeof(misses) / sizeof(*misses); i++) {
		struct cfi_rule rule = { .reg = 6, .kind = 0x55, .base = 0x55, .offset = 0x55 };
		assert_false(cfi_expr_match_rule(&arch_x86_64, misses[i].bytes, misses[i].size,
						 false, &rule));
		assert_int_equal(rule.kind, 0x55);
		assert_int_equal(rule.offset, 0x55);
	}
}

/* ---- the stack machine ---- */

struct evaluation {
	const char *name;
	uint8_t bytes[14];
	size_t size;
	enum reason reason;
	uint64_t value;
};

/* Without a CFA on the stack. */
static const struct evaluation evaluations[] = {
	{ "addr", { 0x03, 1, 0, 0, 0, 0, 0, 0, 0 }, 9, REASON_OK, 0x10001 },
	{ "deref", { 0x77, 8, 0x06 }, 3, REASON_OK, 0x7008 * 3 },
	{ "deref_size 1", { 0x77, 8, 0x94, 1 }, 4, REASON_OK, 0x18 },
	{ "deref_size 2", { 0x76, 8, 0x94, 2 }, 4, REASON_OK, 0x8018 },
	{ "deref_size 4", { 0x76, 8, 0x94, 4 }, 4, REASON_OK, 0x18018 },
	{ "deref_size 8", { 0x76, 8, 0x94, 8 }, 4, REASON_OK, 0x18018 },
	{ "deref_size 3", { 0x76, 8, 0x94, 3 }, 4, REASON_BAD_CFI, 0 },
	{ "deref_size 9", { 0x76, 8, 0x94, 9 }, 4, REASON_BAD_CFI, 0 },
	{ "deref, fault", { 0x31, 0x1f, 0x06 }, 3, REASON_MEMORY_FAULT, 0 },
	{ "const1u", { 0x08, 0xff }, 2, REASON_OK, 0xff },
	{ "const1s", { 0x09, 0xff }, 2, REASON_OK, UINT64_MAX },
	{ "const2u", { 0x0a, 0xfe, 0xff }, 3, REASON_OK, 0xfffe },
	{ "const2s", { 0x0b, 0xfe, 0xff }, 3, REASON_OK, (uint64_t)-2 },
	{ "const4u", { 0x0c, 0xfe, 0xff, 0xff, 0xff }, 5, REASON_OK, 0xfffffffe },
	{ "const4s", { 0x0d, 0xfe, 0xff, 0xff, 0xff }, 5, REASON_OK, (uint64_t)-2 },
	{ "const8u", { 0x0e, 1, 2, 3, 4, 5, 6, 7, 8 }, 9, REASON_OK, 0x0807060504030201 },
	{ "const8s", { 0x0f, 1, 2, 3, 4, 5, 6, 7, 8 }, 9, REASON_OK, 0x0807060504030201 },
	{ "constu", { 0x10, 0xe5, 0x8e, 0x26 }, 4, REASON_OK, 624485 },
	{ "consts", { 0x11, 0x7f }, 2, REASON_OK, UINT64_MAX },
	{ "const1u cut", { 0x08 }, 1, REASON_BAD_CFI, 0 },
	{ "dup", { 0x35, 0x12, 0x1e }, 3, REASON_OK, 25 },
	{ "drop", { 0x35, 0x36, 0x13 }, 3, REASON_OK, 5 },
	{ "over", { 0x35, 0x36, 0x14 }, 3, REASON_OK, 5 },
	{ "pick 2", { 0x31, 0x32, 0x33, 0x15, 2 }, 5, REASON_OK, 1 },
	{ "pick 3", { 0x31, 0x32, 0x33, 0x15, 3 }, 5, REASON_BAD_CFI, 0 },
	{ "swap", { 0x35, 0x36, 0x16, 0x1c }, 4, REASON_OK, 1 },
	/* 1 2 3 (top) becomes 3 1 2: the top becomes the third. */
	{ "rot, top", { 0x31, 0x32, 0x33, 0x17 }, 4, REASON_OK, 2 },
	{ "rot, second", { 0x31, 0x32, 0x33, 0x17, 0x13 }, 5, REASON_OK, 1 },
	{ "rot, third", { 0x31, 0x32, 0x33, 0x17, 0x13, 0x13 }, 6, REASON_OK, 3 },
	{ "rot of two", { 0x31, 0x32, 0x17 }, 3, REASON_BAD_CFI, 0 },
	{ "abs", { 0x09, 0xfb, 0x19 }, 3, REASON_OK, 5 },
	{ "and", { 0x3c, 0x3a, 0x1a }, 3, REASON_OK, 8 },
	{ "div", { 0x09, 0xf9, 0x32, 0x1b }, 4, REASON_OK, (uint64_t)-3 },
	{ "div by 0", { 0x31, 0x30, 0x1b }, 3, REASON_BAD_CFI, 0 },
	{ "div, overflow", { 0x31, 0x08, 63, 0x24, 0x09, 0xff, 0x1b }, 7, REASON_BAD_CFI, 0 },
	{ "minus", { 0x35, 0x36, 0x1c }, 3, REASON_OK, UINT64_MAX },
	{ "mod", { 0x37, 0x34, 0x1d }, 3, REASON_OK, 3 },
	{ "mod by 0", { 0x37, 0x30, 0x1d }, 3, REASON_BAD_CFI, 0 },
	{ "mul", { 0x37, 0x34, 0x1e }, 3, REASON_OK, 28 },
	{ "neg", { 0x35, 0x1f }, 2, REASON_OK, (uint64_t)-5 },
	{ "not", { 0x35, 0x20 }, 2, REASON_OK, ~UINT64_C(5) },
	{ "or", { 0x3c, 0x33, 0x21 }, 3, REASON_OK, 15 },
	{ "plus", { 0x3c, 0x33, 0x22 }, 3, REASON_OK, 15 },
	{ "plus_uconst", { 0x77, 0, 0x23, 0x80, 1 }, 5, REASON_OK, 0x7080 },
	{ "shl", { 0x31, 0x34, 0x24 }, 3, REASON_OK, 16 },
	{ "shl 64", { 0x31, 0x08, 64, 0x24 }, 4, REASON_OK, 0 },
	{ "shr", { 0x09, 0xf0, 0x08, 60, 0x25 }, 5, REASON_OK, 15 },
	{ "shr 64", { 0x31, 0x08, 64, 0x25 }, 4, REASON_OK, 0 },
	{ "shra", { 0x09, 0xf0, 0x32, 0x26 }, 4, REASON_OK, (uint64_t)-4 },
	{ "shra 64", { 0x09, 0xf0, 0x08, 64, 0x26 }, 5, REASON_OK, UINT64_MAX },
	{ "xor", { 0x3c, 0x3a, 0x27 }, 3, REASON_OK, 6 },
	{ "eq", { 0x35, 0x35, 0x29 }, 3, REASON_OK, 1 },
	{ "ge", { 0x35, 0x35, 0x2a }, 3, REASON_OK, 1 },
	{ "ge, signed", { 0x09, 0xff, 0x31, 0x2a }, 4, REASON_OK, 0 },
	{ "gt", { 0x35, 0x35, 0x2b }, 3, REASON_OK, 0 },
	{ "le", { 0x35, 0x35, 0x2c }, 3, REASON_OK, 1 },
	{ "lt, signed", { 0x09, 0xff, 0x31, 0x2d }, 4, REASON_OK, 1 },
	{ "ne", { 0x35, 0x36, 0x2e }, 3, REASON_OK, 1 },
	{ "skip", { 0x35, 0x2f, 1, 0, 0x36 }, 5, REASON_OK, 5 },
	{ "skip to the end", { 0x35, 0x2f, 0, 0 }, 4, REASON_OK, 5 },
	{ "skip past the end", { 0x35, 0x2f, 1, 0 }, 4, REASON_BAD_CFI, 0 },
	{ "skip before the start", { 0x35, 0x2f, 0xfb, 0xff }, 4, REASON_BAD_CFI, 0 },
	{ "skip for ever", { 0x2f, 0xfd, 0xff }, 3, REASON_LIMIT, 0 },
	{ "bra taken", { 0x35, 0x31, 0x28, 1, 0, 0x36 }, 6, REASON_OK, 5 },
	{ "bra not taken", { 0x35, 0x30, 0x28, 1, 0, 0x36 }, 6, REASON_OK, 6 },
	/* 5 down to 0, counting in the value below. */
	{ "loop",
	  { 0x30, 0x35, 0x16, 0x23, 2, 0x16, 0x31, 0x1c, 0x12, 0x28, 0xf6, 0xff, 0x13 },
	  13,
	  REASON_OK,
	  10 },
	{ "lit31", { 0x4f }, 1, REASON_OK, 31 },
	{ "breg7", { 0x77, 0x78 }, 2, REASON_OK, 0x6ff8 },
	{ "bregx", { 0x92, 6, 8 }, 3, REASON_OK, 0x8008 },
	{ "breg, unknown", { 0x73, 0 }, 2, REASON_UNKNOWN_REGISTER, 0 },
	{ "bregx, none", { 0x92, 17, 0 }, 3, REASON_BAD_CFI, 0 },
	{ "nop", { 0x35, 0x96 }, 2, REASON_OK, 5 },
	{ "call_frame_cfa without one", { 0x9c }, 1, REASON_BAD_CFI, 0 },
	{ "nothing", { 0 }, 0, REASON_BAD_CFI, 0 },
	{ "reg7 is a place, no value", { 0x57 }, 1, REASON_BAD_CFI, 0 },
	{ "fbreg", { 0x91, 0 }, 2, REASON_BAD_CFI, 0 },
	{ "stack_value", { 0x35, 0x9f }, 2, REASON_BAD_CFI, 0 },
	{ "0", { 0x35, 0x00 }, 2, REASON_BAD_CFI, 0 },
	{ "plus of one", { 0x35, 0x22 }, 2, REASON_BAD_CFI, 0 },
	{ "drop of none", { 0x13 }, 1, REASON_BAD_CFI, 0 },
};

static void test_operations(void **state)
{
	for (size_t i = 0; i < sizeof(evaluations) / sizeof(*evaluations); i++) {
		const struct evaluation *e = &evaluations[i];
		uint64_t value = 0x5555;
		enum reason reason = evaluate(e->bytes, e->size, false, &value);
		if (reason != e->reason || (!reason && value != e->value))
			fail_msg("%s: %s, %#llx", e->name, reason_name(reason),
				 (unsigned long long)value);
		if (reason)
			assert_int_equal(value, 0x5555);
	}
}

static void test_cfa_on_the_stack(void **state)
{
	uint64_t value;
	assert_int_equal(evaluate(NULL, 0, true, &value), REASON_OK);
	assert_int_equal(value, 0x9000);
	/* ((cfa - 8) & -32) - 16: where clang finds what it saved in a realigned frame without a
	 * frame pointer. */
	assert_int_equal(evaluate(BYTES(0x38, 0x1c, 0x0d, 0xe0, 0xff, 0xff, 0xff, 0x1a, 0x0d, 0xf0,
					0xff, 0xff, 0xff, 0x22),
				  true, &value),
			 REASON_OK);
	assert_int_equal(value, 0x8fd0);
	assert_int_equal(evaluate(BYTES(0x9c, 0x1c), true, &value), REASON_OK);
	assert_int_equal(value, 0);
}

static void test_stack_limit(void **state)
{
	uint8_t literals[CFI_EXPR_STACK_LIMIT + 1];
	memset(literals, 0x37, sizeof(literals));
	uint64_t value;
	assert_int_equal(evaluate(literals, CFI_EXPR_STACK_LIMIT, false, &value), REASON_OK);
	assert_int_equal(value, 7);
	assert_int_equal(evaluate(literals, sizeof(literals), false, &value), REASON_BAD_CFI);
}

static void test_step_limit(void **state)
{
	uint8_t nops[CFI_EXPR_STEP_LIMIT + 1];
	memset(nops, 0x96, sizeof(nops));
	nops[0] = 0x37;
	uint64_t value;
	assert_int_equal(evaluate(nops, CFI_EXPR_STEP_LIMIT, false, &value), REASON_OK);
	assert_int_equal(evaluate(nops, sizeof(nops), false, &value), REASON_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cfa_shapes),
		cmocka_unit_test(test_what_is_no_cfa_shape),
		cmocka_unit_test(test_register_shapes),
		cmocka_unit_test(test_what_is_no_register_shape),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_cfa_on_the_stack),
		cmocka_unit_test(test_stack_limit),
		cmocka_unit_test(test_step_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
