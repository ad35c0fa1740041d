/* SPDX-License-Identifier: MIT */
/*
 * Call frame instructions: given these bytes in an FDE, these rows. The CIE is the usual one of
 * cfi_bytes.h (cfa=rsp+8, rip=[cfa-8]); the function is at 0x4000 and 0x40 bytes long.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cfi_bytes.h"
#include "unwind/cfi_exec.h"
#include "unwind/cfi_table.h"
#include "unwind/cfi_text.h"

#define START 0x4000
#define SIZE  0x40

/* What a CPU with return-address signing is to the engine: registers x0 to x30, sp, pc. */
static const char *aarch64_name(unsigned number)
{
	static const char *const names[] = {
		"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
		"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
		"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",  "pc",
	};
	return number < sizeof(names) / sizeof(*names) ? names[number] : NULL;
}

static const struct arch aarch64 = {
	.name = "aarch64",
	.elf_machine = EM_AARCH64,
	.pc = 32,
	.sp = 31,
	.fp = 29,
	.return_address = 30,
	.registers = 33,
	.kept = UINT64_C(0xfff) << 19,
	.negates_ra_state = true,
	.register_name = aarch64_name,
};

/* The rows of the function, one a line: offset in it, row. The result is static. */
static const char *rows_in(const struct arch *arch, const struct bytes *b)
{
	static struct strbuf text;
	strbuf_reset(&text);
	const struct cfi_section section = section_of(b), none = { 0 };
	_cleanup_cfi_table_ struct cfi_table *table = NULL;
	assert_null(cfi_table_create(arch, &section, NULL, &none, &table));
	uint64_t start, end;
	for (uint64_t pc = START; pc < START + SIZE; pc = end) {
		const struct cfi_row *row;
		enum reason reason = cfi_table_lookup_range(table, pc, &row, &start, &end);
		assert_int_equal(start, pc);
		strbuf_addf(&text, "%x ", (unsigned)(pc - START));
		if (reason)
			strbuf_adds(&text, reason_name(reason));
		else
			cfi_text_row(table, row, &text);
		strbuf_addc(&text, '\n');
	}
	assert_int_equal(end, START + SIZE);
	return text.text;
}

static const char *rows(const uint8_t *instructions, size_t size)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_cie(&b);
	add_fde(&b, cie, START, SIZE, instructions, size);
	return rows_in(&arch_x86_64, &b);
}

#define ROWS(...) rows((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void test_no_instructions(void **state)
{
	assert_string_equal(rows(NULL, 0), "0 cfa=rsp+8 rip=[cfa-8]\n");
}

static void test_prologue_and_epilogue(void **state)
{
	assert_string_equal(ROWS(0x41, 0x0e, 16, 0x86, 2, /* push rbp */
				 0x43, 0x0d, 6,           /* mov rsp, rbp */
				 0x44, 0x83, 3,           /* push rbx */
				 0x60, 0xc3, 0xc6, 0x0c, 7, 8),
			    "0 cfa=rsp+8 rip=[cfa-8]\n"
			    "1 cfa=rsp+16 rbp=[cfa-16] rip=[cfa-8]\n"
			    "4 cfa=rbp+16 rbp=[cfa-16] rip=[cfa-8]\n"
			    "8 cfa=rbp+16 rbx=[cfa-24] rbp=[cfa-16] rip=[cfa-8]\n"
			    "28 cfa=rsp+8 rip=[cfa-8]\n");
}

static void test_all_ways_to_advance(void **state)
{
	assert_string_equal(ROWS(0x41, 0x0e, 16,                          /* advance_loc 1 */
				 0x02, 2, 0x0e, 24,                       /* advance_loc1 */
				 0x03, 3, 0, 0x0e, 32,                    /* advance_loc2 */
				 0x04, 4, 0, 0, 0, 0x0e, 40,              /* advance_loc4 */
				 0x1d, 5, 0, 0, 0, 0, 0, 0, 0, 0x0e, 48), /* advance_loc8 */
			    "0 cfa=rsp+8 rip=[cfa-8]\n"
			    "1 cfa=rsp+16 rip=[cfa-8]\n"
			    "3 cfa=rsp+24 rip=[cfa-8]\n"
			    "6 cfa=rsp+32 rip=[cfa-8]\n"
			    "a cfa=rsp+40 rip=[cfa-8]\n"
			    "f cfa=rsp+48 rip=[cfa-8]\n");
}

/* An advance by nothing ends no row; two equal rows are one range; what begins behind the end is
 * not there. */
static void test_rows_that_are_none(void **state)
{
	assert_string_equal(ROWS(0x40, 0x0e, 16, 0x41, 0x0e, 16, 0x7f, 0x0e, 24, 0x41, 0x0e, 32),
			    "0 cfa=rsp+16 rip=[cfa-8]\n");
}

/* The FDE's pointers are pc-relative and 32-bit: the operand of set_loc too. */
static void test_set_loc(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_cie(&b);
	size_t fde = begin_entry(&b, (uint32_t)(b.size + 4 - cie));
	put_u32(&b, START - (EH_FRAME_VADDR + b.size));
	put_u32(&b, SIZE);
	put(&b, "\0\x01", 2);
	put_u32(&b, START + 0x10 - (EH_FRAME_VADDR + b.size));
	put(&b, "\x0e\x10", 2);
	size_t second = b.size + 1;
	put_u8(&b, 0x01);
	put_u32(&b, START + 0x20 - (EH_FRAME_VADDR + b.size));
	put(&b, "\x0e\x18", 2);
	end_entry(&b, fde);
	assert_string_equal(rows_in(&arch_x86_64, &b), "0 cfa=rsp+8 rip=[cfa-8]\n"
						       "10 cfa=rsp+16 rip=[cfa-8]\n"
						       "20 cfa=rsp+24 rip=[cfa-8]\n");
	/* Backwards: bad from the row on that it would end. */
	uint32_t back = (uint32_t)(START + 8 - (EH_FRAME_VADDR + second));
	memcpy(b.data + second, &back, 4);
	assert_string_equal(rows_in(&arch_x86_64, &b), "0 cfa=rsp+8 rip=[cfa-8]\n"
						       "10 bad_cfi\n");
}

static void test_offsets_extended_and_signed(void **state)
{
	assert_string_equal(ROWS(0x05, 3, 4,      /* offset_extended rbx 4 */
				 0x11, 12, 0x7d,  /* offset_extended_sf r12 -3 */
				 0x2f, 13, 2,     /* GNU_negative_offset_extended r13 2 */
				 0x14, 14, 2,     /* val_offset r14 2 */
				 0x15, 15, 0x7f), /* val_offset_sf r15 -1 */
			    "0 cfa=rsp+8 rbx=[cfa-32] r12=[cfa+24] r13=[cfa+16] r14=cfa-16 "
			    "r15=cfa+8 rip=[cfa-8]\n");
}

static void test_cfa_definitions(void **state)
{
	assert_string_equal(ROWS(0x12, 6, 0x7e,           /* def_cfa_sf rbp -2 */
				 0x41, 0x13, 0x7d,        /* def_cfa_offset_sf -3 */
				 0x41, 0x0d, 7,           /* def_cfa_register rsp */
				 0x41, 0x0c, 10, 0x80, 1, /* def_cfa r10 128 */
				 0x41, 0x0f, 2, 0x76, 0x78 /* def_cfa_expression breg6 -8 */),
			    "0 cfa=rbp+16 rip=[cfa-8]\n"
			    "1 cfa=rbp+24 rip=[cfa-8]\n"
			    "2 cfa=rsp+24 rip=[cfa-8]\n"
			    "3 cfa=r10+128 rip=[cfa-8]\n"
			    "4 cfa=rbp-8 rip=[cfa-8]\n");
}

static void test_undefined_same_register(void **state)
{
	assert_string_equal(ROWS(0x07, 3,                 /* undefined rbx */
				 0x08, 6,                 /* same_value rbp: the default */
				 0x07, 0,                 /* undefined rax: the default */
				 0x08, 1,                 /* same_value rdx */
				 0x09, 12, 8,             /* register r12 in r8 */
				 0x09, 13, 17,            /* register r13 in xmm0 */
				 0x14, 7, 0,              /* val_offset rsp 0: the default */
				 0x86, 2, 0x41, 0x08, 7), /* offset rbp, then same_value rsp */
			    "0 cfa=rsp+8 rdx=same rbx=? rbp=[cfa-16] r12=r8 r13=? rip=[cfa-8]\n"
			    "1 cfa=rsp+8 rdx=same rbx=? rbp=[cfa-16] rsp=same r12=r8 r13=? "
			    "rip=[cfa-8]\n");
}

/* Rules for vector registers and flags are read past. */
static void test_registers_that_no_walk_carries(void **state)
{
	assert_string_equal(ROWS(0x05, 17, 9, 0xb1, 2, 0x07, 0xc9, 1, 0x06, 17, 0x16, 49, 1, 0x30,
				 0x83, 2),
			    "0 cfa=rsp+8 rbx=[cfa-16] rip=[cfa-8]\n");
	/* As the CFA's register they make the row useless. */
	assert_string_equal(ROWS(0x41, 0x0d, 17), "0 cfa=rsp+8 rip=[cfa-8]\n1 bad_cfi\n");
}

static void test_outermost(void **state)
{
	assert_string_equal(ROWS(0x07, 16), "0 cfa=rsp+8 outermost\n");
}

static void test_restore(void **state)
{
	assert_string_equal(ROWS(0x83, 2, 0x90, 3, 0x41, 0xc3, 0xd0, 0x41, 0x83, 4, 0x06, 3),
			    "0 cfa=rsp+8 rbx=[cfa-16] rip=[cfa-24]\n"
			    "1 cfa=rsp+8 rip=[cfa-8]\n");
}

/* To what the CIE says, not to nothing; and the stack pointer's rule, where it is not the default. */
static void test_restore_to_the_cie(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_cie_with(&b, "zR", (const uint8_t[]){ 0x1b }, 1,
				  (const uint8_t[]){ 0x0c, 7, 8, 0x83, 5, 0x14, 7, 1 }, 8);
	add_fde(&b, cie, START, SIZE, (const uint8_t[]){ 0x83, 2, 0x41, 0xc3 }, 4);
	assert_string_equal(rows_in(&arch_x86_64, &b),
			    "0 cfa=rsp+8 rbx=[cfa-16] rsp=cfa-8 rip=[cfa-8]\n"
			    "1 cfa=rsp+8 rbx=[cfa-40] rsp=cfa-8 rip=[cfa-8]\n");
}

static void test_remember_and_restore_state(void **state)
{
	assert_string_equal(ROWS(0x0a, 0x0e, 16, 0x83, 2, 0x41, 0x0a, 0x0e, 24, 0x41, 0x0b, 0x41,
				 0x0b),
			    "0 cfa=rsp+16 rbx=[cfa-16] rip=[cfa-8]\n"
			    "1 cfa=rsp+24 rbx=[cfa-16] rip=[cfa-8]\n"
			    "2 cfa=rsp+16 rbx=[cfa-16] rip=[cfa-8]\n"
			    "3 cfa=rsp+8 rip=[cfa-8]\n");
	assert_string_equal(ROWS(0x41, 0x0b), "0 cfa=rsp+8 rip=[cfa-8]\n1 bad_cfi\n");
}

static void test_remember_depth(void **state)
{
	uint8_t instructions[2 + CFI_REMEMBER_LIMIT + 1];
	memset(instructions, 0x0a, sizeof(instructions));
	instructions[0] = 0x41;
	assert_string_equal(rows(instructions, 1 + CFI_REMEMBER_LIMIT),
			    "0 cfa=rsp+8 rip=[cfa-8]\n");
	assert_string_equal(rows(instructions, 2 + CFI_REMEMBER_LIMIT),
			    "0 cfa=rsp+8 rip=[cfa-8]\n1 bad_cfi\n");
}

static void test_gnu_args_size(void **state)
{
	assert_string_equal(ROWS(0x2e, 0x80, 1, 0x83, 2), "0 cfa=rsp+8 rbx=[cfa-16] rip=[cfa-8]\n");
}

static void test_expressions_of_no_known_shape(void **state)
{
	assert_string_equal(ROWS(0x0f, 3, 0x77, 8, 0x20, /* not *(…): CFA = ~(rsp+8) */
				 0x10, 3, 2, 0x06, 0x06, /* rbx at **cfa */
				 0x16, 12, 1, 0x20,      /* r12 is ~cfa */
				 0x16, 13, 1, 0x20),
			    "0 cfa=expr(77 08 20) rbx=[expr(06 06)] r12=expr(20) r13=expr(20) "
			    "rip=[cfa-8]\n");
}

static void test_expressions_of_known_shape(void **state)
{
	/* GCC's realigned frame. */
	assert_string_equal(ROWS(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0),
			    "0 cfa=[rbp-8] rbp=[rbp] rip=[cfa-8]\n");
	/* OpenSSL's: cfa = *(rsp + 152) + 8. */
	assert_string_equal(ROWS(0x0f, 6, 0x77, 0x98, 1, 0x06, 0x23, 8),
			    "0 cfa=[rsp+152]+8 rip=[cfa-8]\n");
	/* .plt */
	assert_string_equal(ROWS(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
				 0x22),
			    "0 cfa=rsp+8+(pc%16>=11?8:0) rip=[cfa-8]\n");
}

static void test_bad_instructions(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t size;
	} cases[] = {
		{ { 0x17 }, 1 }, /* no such instruction */
		{ { 0x2d }, 1 }, /* aarch64's and SPARC's */
		{ { 0x2c }, 1 },
		{ { 0x2b, 1, 0 }, 3 },
		{ { 0x3f }, 1 },
		{ { 0x83 }, 1 },             /* operands that are not there; padding is none */
		{ { 0x0f, 0x7f, 0x30 }, 3 }, /* an expression longer than the entry */
		{ { 0x12, 7, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f }, 12 },
		{ { 0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1 }, 11 },
		{ { 0x0e, 0x80, 0x80, 0x80, 0x80, 0x08 }, 6 }, /* 2^31: more than a row can say */
		{ { 0x83, 0x80, 0x80, 0x80, 0x80, 0x08 }, 6 },
		{ { 0x04, 0xff, 0xff }, 3 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		/* No padding may follow, it could pass for an operand. */
		uint8_t instructions[3 * 4 + 4] = { 0x41 };
		size_t size = 1 + cases[i].size, nops = (7 - size % 4) % 4;
		memset(instructions, 0, sizeof(instructions));
		instructions[nops] = 0x41;
		memcpy(instructions + nops + 1, cases[i].bytes, cases[i].size);
		const char *text = rows(instructions, nops + size);
		assert_string_equal(text, "0 cfa=rsp+8 rip=[cfa-8]\n1 bad_cfi\n");
	}
}

/* In a CIE there is nothing to restore and nowhere to advance from. */
static void test_bad_cie_instructions(void **state)
{
	static const uint8_t instructions[] = { 0xc3, 0x41, 0x01, 0x06, 0x3f };
	for (size_t i = 0; i < sizeof(instructions); i++) {
		struct bytes b = { .size = 0 };
		size_t cie =
			add_cie_with(&b, "zR", (const uint8_t[]){ 0x1b }, 1, &instructions[i], 1);
		add_fde(&b, cie, START, SIZE, (const uint8_t[]){ 0x41, 0x0e, 16 }, 3);
		assert_string_equal(rows_in(&arch_x86_64, &b), "0 bad_cfi\n");
	}
}

static void test_signal_frame(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_cie_with(&b, "zRS", (const uint8_t[]){ 0x1b }, 1, NULL, 0);
	/* glibc's __restore_rt: CFA and registers in the context that the kernel left on the stack.
	 */
	add_fde(&b, cie, START, SIZE,
		(const uint8_t[]){ 0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 8, 2,    0x77, 0x28, 0x10,
				   7,    3, 0x77, 0xa0, 1, 0x10, 16,   3, 0x77, 0xa8, 1 },
		23);
	assert_string_equal(rows_in(&arch_x86_64, &b),
			    "0 cfa=[rsp+160] rsp=[rsp+160] r8=[rsp+40] rip=[rsp+168] signal\n");
}

/* A CIE that says nothing of the return address: the psABI does. */
static void test_unspecified_return_address(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_cie_with(&b, "zR", (const uint8_t[]){ 0x1b }, 1,
				  (const uint8_t[]){ 0x0c, 7, 8 }, 3);
	add_fde(&b, cie, START, SIZE, NULL, 0);
	assert_string_equal(rows_in(&arch_x86_64, &b), "0 cfa=rsp+8 rip=[cfa-8]\n");
	/* A column that is no register of the CPU. */
	b.data[14] = 17;
	assert_string_equal(rows_in(&arch_x86_64, &b), "0 bad_cfi\n");
}

/* ---- aarch64 ---- */

/* A CIE of aarch64: code alignment 4, return address in x30, cfa=sp. */
static size_t add_aarch64_cie(struct bytes *b, const char *augmentation)
{
	size_t start = add_cie_with(b, augmentation, (const uint8_t[]){ 0x1b }, 1,
				    (const uint8_t[]){ 0x0c, 31, 0 }, 3);
	size_t fields = 9 + strlen(augmentation) + 1;
	b->data[start + fields] = 4;
	b->data[start + fields + 2] = 30;
	return start;
}

/* CPython's trampoline with pac-ret: signed after the first instruction, until it is authenticated
 * before ret. */
static const uint8_t signing[] = {
	0x41, 0x2d,                         /* paciasp */
	0x41, 0x0e, 16,   0x9d, 2, 0x9e, 1, /* stp x29, x30, [sp, -16]! */
	0x43, 0xde, 0xdd, 0x0e, 0,          /* ldp x29, x30, [sp], 16 */
	0x41, 0x2d,                         /* autiasp */
};

static void test_aarch64_return_address_signing(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_aarch64_cie(&b, "zR");
	add_fde(&b, cie, START, SIZE, signing, sizeof(signing));
	assert_string_equal(rows_in(&aarch64, &b), "0 cfa=sp\n"
						   "4 cfa=sp signed\n"
						   "8 cfa=sp+16 x29=[cfa-16] x30=[cfa-8] signed\n"
						   "14 cfa=sp signed\n"
						   "18 cfa=sp\n");
}

static void test_aarch64_key_b(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_aarch64_cie(&b, "zRB");
	add_fde(&b, cie, START, SIZE, (const uint8_t[]){ 0x41, 0x2c, 0x0a, 0x41, 0x2c, 0x41, 0x0b },
		7);
	/* Restoring the state restores the signing too. */
	assert_string_equal(rows_in(&aarch64, &b), "0 cfa=sp\n"
						   "4 cfa=sp signed-b\n"
						   "8 cfa=sp\n"
						   "c cfa=sp signed-b\n");
}

static void test_aarch64_set_ra_state(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_aarch64_cie(&b, "zR");
	add_fde(&b, cie, START, SIZE,
		(const uint8_t[]){ 0x41, 0x2b, 1, 0, 0x41, 0x2b, 0, 0x7c, 0x41, 0x2b, 2, 8, 0x41,
				   0x2b, 3, 0 },
		16);
	assert_string_equal(rows_in(&aarch64, &b), "0 cfa=sp\n"
						   "4 cfa=sp signed\n"
						   "8 cfa=sp\n"
						   "c cfa=sp signed\n"
						   "10 bad_cfi\n");
}

static void test_aarch64_outermost(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_aarch64_cie(&b, "zR");
	add_fde(&b, cie, START, SIZE, (const uint8_t[]){ 0x07, 30 }, 2);
	assert_string_equal(rows_in(&aarch64, &b), "0 cfa=sp x30=? outermost\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_instructions),
		cmocka_unit_test(test_prologue_and_epilogue),
		cmocka_unit_test(test_all_ways_to_advance),
		cmocka_unit_test(test_rows_that_are_none),
		cmocka_unit_test(test_set_loc),
		cmocka_unit_test(test_offsets_extended_and_signed),
		cmocka_unit_test(test_cfa_definitions),
		cmocka_unit_test(test_undefined_same_register),
		cmocka_unit_test(test_registers_that_no_walk_carries),
		cmocka_unit_test(test_outermost),
		cmocka_unit_test(test_restore),
		cmocka_unit_test(test_restore_to_the_cie),
		cmocka_unit_test(test_remember_and_restore_state),
		cmocka_unit_test(test_remember_depth),
		cmocka_unit_test(test_gnu_args_size),
		cmocka_unit_test(test_expressions_of_no_known_shape),
		cmocka_unit_test(test_expressions_of_known_shape),
		cmocka_unit_test(test_bad_instructions),
		cmocka_unit_test(test_bad_cie_instructions),
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_unspecified_return_address),
		cmocka_unit_test(test_aarch64_return_address_signing),
		cmocka_unit_test(test_aarch64_key_b),
		cmocka_unit_test(test_aarch64_set_ra_state),
		cmocka_unit_test(test_aarch64_outermost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
