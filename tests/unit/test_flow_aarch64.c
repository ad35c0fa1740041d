/* SPDX-License-Identifier: MIT */
/*
 * aarch64 code as words: how it gets back to its caller, what a stub refers to, where a jump leads. The words are what GNU as makes of
 * the instructions beside them.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "arch/flow.h"

enum { FP = 29, SP = 31 };

static const struct flow *flow(void)
{
	return flow_by_machine(EM_AARCH64);
}

#define WORDS(...) ((const uint32_t[]){ __VA_ARGS__ }), sizeof((const uint32_t[]){ __VA_ARGS__ })

static bool find(const uint32_t *words, size_t size, struct flow_exit *exit)
{
	return flow()->exit((const uint8_t *)words, size, exit);
}

static void assert_saved(const struct flow_exit *exit, unsigned index, unsigned reg, int at)
{
	assert_true(index < exit->saved_count);
	assert_int_equal(exit->saved[index].reg, reg);
	assert_int_equal(exit->saved[index].at, at);
}

/* CPython's trampoline, from its start and after its call. */
static void test_trampoline(void **state)
{
	struct flow_exit exit = { 0 };
	assert_true(find(WORDS(0xa9bf7bfd,  /* stp x29, x30, [sp, #-16]! */
			       0x910003fd,  /* mov x29, sp */
			       0xd63f0060,  /* blr x3 */
			       0xa8c17bfd,  /* ldp x29, x30, [sp], #16 */
			       0xd65f03c0), /* ret */
			 &exit));
	assert_int_equal(exit.base, SP);
	assert_int_equal(exit.cfa, 0);
	assert_true(exit.in_register);
	assert_int_equal(exit.saved_count, 0);

	assert_true(find(WORDS(0xa8c17bfd, 0xd65f03c0), &exit));
	assert_int_equal(exit.cfa, 16);
	assert_false(exit.in_register);
	assert_int_equal(exit.returns, -8);
	assert_int_equal(exit.saved_count, 1);
	assert_saved(&exit, 0, FP, -16);
}

/* The same signed, with bti and with either key, and two registers more. */
static void test_signed_trampolines(void **state)
{
	const uint32_t keys[][2] = {
		{ 0xd503233f, 0xd50323bf }, /* paciasp, autiasp */
		{ 0xd503237f, 0xd50323ff }, /* pacibsp, autibsp */
		{ 0xd503245f, 0xd503201f }, /* bti c, nop */
	};
	for (size_t i = 0; i < 3; i++) {
		const uint32_t code[] = {
			keys[i][0], 0xa9bd7bfd, /* stp x29, x30, [sp, #-48]! */
			0xa90153f3,             /* stp x19, x20, [sp, #16] */
			0x910003fd, 0xd63f0020, /* blr x1 */
			0xa94153f3,             /* ldp x19, x20, [sp, #16] */
			0xa8c37bfd,             /* ldp x29, x30, [sp], #48 */
			keys[i][1], 0xd65f03c0,
		};
		struct flow_exit exit;
		assert_true(find(code, sizeof(code), &exit));
		assert_int_equal(exit.cfa, 0);
		assert_true(exit.in_register);
		assert_int_equal(exit.saved_count, 0);
		assert_true(find(code + 5, sizeof(code) - 20, &exit));
		assert_int_equal(exit.cfa, 48);
		assert_int_equal(exit.returns, -40);
		assert_int_equal(exit.saved_count, 3);
		assert_saved(&exit, 0, 19, -32);
		assert_saved(&exit, 1, 20, -24);
		assert_saved(&exit, 2, FP, -48);
	}
}

static void test_from_the_frame_pointer(void **state)
{
	struct flow_exit exit;
	assert_true(find(WORDS(0x910003bf,  /* mov sp, x29 */
			       0xa94153f3,  /* ldp x19, x20, [sp, #16] */
			       0xf94013f5,  /* ldr x21, [sp, #32] */
			       0x6d4327e8,  /* ldp d8, d9, [sp, #48] */
			       0xa8c47bfd,  /* ldp x29, x30, [sp], #64 */
			       0xd50323ff,  /* autibsp */
			       0xd65f03c0), /* ret */
			 &exit));
	assert_int_equal(exit.base, FP);
	assert_int_equal(exit.cfa, 64);
	assert_int_equal(exit.returns, -56);
	assert_int_equal(exit.saved_count, 4);
	assert_saved(&exit, 2, 21, -32);
	assert_saved(&exit, 3, FP, -64);

	assert_true(find(WORDS(0xd10043bf, /* sub sp, x29, #16 */
			       0xa94053f3, /* ldp x19, x20, [sp] */
			       0x910003bf, 0xa8c27bfd /* ldp x29, x30, [sp], #32 */, 0xd65f03c0),
			 &exit));
	assert_int_equal(exit.cfa, 32);
	assert_saved(&exit, 0, 19, -48);
}

static void test_returns(void **state)
{
	struct flow_exit exit;
	assert_true(find(WORDS(0x914007ff,  /* add sp, sp, #1, lsl #12 */
			       0xa8c47bfd,  /* ldp x29, x30, [sp], #64 */
			       0xd65f0bff), /* retaa */
			 &exit));
	assert_int_equal(exit.cfa, 4096 + 64);
	assert_int_equal(exit.returns, -56);
	assert_true(
		find(WORDS(0xf84107fe /* ldr x30, [sp], #16 */, 0xd65f0fff /* retab */), &exit));
	assert_int_equal(exit.cfa, 16);
	assert_int_equal(exit.returns, -16);
	assert_true(find(WORDS(0xd65f03c0), &exit));
	assert_int_equal(exit.cfa, 0);
	assert_true(exit.in_register);
}

static void test_leaf(void **state)
{
	struct flow_exit exit;
	assert_true(find(WORDS(0xd10083ff,  /* sub sp, sp, #32 */
			       0xf90007f3,  /* str x19, [sp, #8] */
			       0x528000a0,  /* mov w0, #5 */
			       0xf94007f3,  /* ldr x19, [sp, #8] */
			       0x910083ff,  /* add sp, sp, #32 */
			       0xd65f03c0), /* ret */
			 &exit));
	assert_int_equal(exit.cfa, 0);
	assert_int_equal(exit.saved_count, 0);
	/* Vector registers are no matter, what they move of the stack pointer is. */
	assert_true(find(WORDS(0xaa1303e0,  /* mov x0, x19 */
			       0xacc127e8,  /* ldp q8, q9, [sp], #32 */
			       0xfd4007e8,  /* ldr d8, [sp, #8] */
			       0xfc4107e9,  /* ldr d9, [sp], #16 */
			       0xd65f03c0), /* ret */
			 &exit));
	assert_int_equal(exit.cfa, 48);
	assert_int_equal(exit.saved_count, 0);
}

static void test_what_is_not_understood(void **state)
{
	static const uint32_t known[][5] = {
		{ 0xaa0003f3, 0xd65f03c0 }, /* mov x19, x0 */
		{ 0x97fffff2, 0xd65f03c0 }, /* bl: x30 is overwritten */
		{ 0x910003fd, 0xd65f03c0 }, /* mov x29, sp: not restored */
		{ 0xa9407bfd, 0x17ffffed }, /* a jump */
		{ 0xa9407c1d, 0xd65f03c0 }, /* ldp x29, x31, [x0] */
		{ 0xd10043ff, 0xd65f03c0 }, /* returns below where it began */
		{ 0x910023ff, 0xd65f03c0 }, /* a stack pointer that is not aligned */
		{ 0xd10043ff, 0xf94003f3, 0x910043ff,
		  0xd65f03c0 }, /* from below the stack pointer */
		{ 0xd65f0020 }, /* ret x1 */
		{ 0xa9bf7bf4, 0xa8c153fe,
		  0xd65f03c0 }, /* what was stored goes to another register */
		{ 0xf84107f3, 0x910003bf, 0xa8c17bfd, 0xd65f03c0 }, /* from sp, then from x29 */
		{ 0xa9bf7bfd, 0x6d0007e0, 0xa8c17bfd,
		  0xd65f03c0 },                         /* stp d0, d1 over what was stored */
		{ 0xf94003f3, 0xf90003f3, 0xd65f03c0 }, /* stores what it has loaded */
		{ 0xd10043bd, 0xd65f03c0 },             /* sub x29, x29, #16 */
		{ 0xd17fffff, 0xd17fffff, 0xd65f03c0 }, /* far away */
		{ 0xa8c17bfd },                         /* no ret */
		{ 0 },                                  /* udf */
	};
	struct flow_exit exit = { .cfa = 77 };
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_false(find(known[i], sizeof(known[i]), &exit));
	assert_false(find((const uint32_t[]){ 0xd65f03c0 }, 3, &exit));
	assert_int_equal(exit.cfa, 77);
}

/* Whatever the words are: a row can be made of what is found. */
static void test_any_words(void **state)
{
	static const uint32_t usual[] = { 0xd503233f, 0xa9bd7bfd, 0xa90153f3, 0x910003fd,
					  0xd63f0020, 0xa94153f3, 0xa8c37bfd, 0xd50323bf,
					  0xd65f03c0, 0x910003bf };
	uint64_t random = 1;
	unsigned found = 0;
	for (unsigned i = 0; i < 200000; i++) {
		uint32_t code[6];
		struct flow_exit exit;
		for (size_t j = 0; j < 6; j++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
			code[j] = usual[(random >> 33) % 10];
			if (random >> 62 == 0)
				code[j] ^= UINT32_C(1) << (random >> 50) % 32;
		}
		if (!find(code, sizeof(code), &exit))
			continue;
		found++;
		assert_true(exit.base == SP || exit.base == FP);
		assert_true(exit.cfa >= 0 && exit.cfa <= 1 << 24 && exit.cfa % 16 == 0);
		assert_true(exit.saved_count <= FLOW_SAVED_MAX);
		for (unsigned j = 0; j < exit.saved_count; j++)
			assert_true(exit.saved[j].reg >= 19 && exit.saved[j].reg <= FP &&
				    (!j || exit.saved[j].reg > exit.saved[j - 1].reg));
	}
	assert_true(found > 1000);
}

/* ---- stubs ---- */

static const uint32_t stub[] = { 0x90000110,   /* adrp x16, 0x20000 from 0x6c0 */
				 0xf9400611,   /* ldr x17, [x16, #8] */
				 0x91002210,   /* add x16, x16, #8 */
				 0xd61f0220 }; /* br x17 */
/* The page before that of the stub, bti c before it, autia1716 in it. */
static const uint32_t signed_stub[] = { 0xd503245f, 0xf0fffff0, 0xf947fe11,
					0x913fe210, 0xd503219f, 0xd61f0220 };

static bool read_stub(const uint32_t *words, size_t size, uint64_t address, struct flow_stub *ret)
{
	return flow()->stub((const uint8_t *)words, size, address, ret);
}

static void test_stubs(void **state)
{
	struct flow_stub found = { 0 };
	assert_true(read_stub(stub, sizeof(stub), 0x6c0, &found));
	assert_true(found.has_slot);
	assert_int_equal(found.slot, 0x20008);
	assert_int_equal(found.size, 16);
	assert_true(read_stub(signed_stub, sizeof(signed_stub), 0x41ffc, &found));
	/* adrp is in the next page. */
	assert_int_equal(found.slot, 0x41ff8);
	assert_int_equal(found.size, 24);
	assert_true(read_stub(signed_stub, sizeof(signed_stub), 0x41720, &found));
	assert_int_equal(found.slot, 0x40ff8);
	assert_int_equal(flow()->stub_step, 4);
}

/* Only what linking fills in may differ: the page. */
static void test_a_stub_with_one_bit_changed(void **state)
{
	for (unsigned bit = 0; bit < 8 * sizeof(signed_stub); bit++) {
		uint32_t code[6];
		struct flow_stub found = { 0 };
		memcpy(code, signed_stub, sizeof(code));
		code[bit / 32] ^= UINT32_C(1) << bit % 32;
		bool in_page = bit / 32 == 1 && (bit % 32 == 29 || bit % 32 == 30 ||
						 (bit % 32 >= 5 && bit % 32 < 24));
		assert_int_equal(read_stub(code, sizeof(code), 0x41720, &found), in_page);
		if (in_page) {
			assert_int_equal(found.slot & 0xfff, 0xff8);
			assert_int_not_equal(found.slot, 0x40ff8);
		}
	}
	for (size_t size = 0; size < sizeof(stub); size++) {
		struct flow_stub found;
		assert_false(read_stub(stub, size, 0x6c0, &found));
	}
}

/* The stub that binds the others, and two of them as in .plt: from any instruction the way out is the register for the return address. */
static void test_the_way_out_of_a_stub(void **state)
{
	static const uint32_t
		table[] = {
			0xd503245f, 0xa9bf7bf0, 0xf0fffff0, 0xf947fe11, 0x913fe210,
			0xd61f0220, 0xd503201f, 0xd503245f, 0xf0fffff0, 0xf947fe11,
			0x913fe210, 0xd503219f, 0xd61f0220,             /* signed_stub */
			0x90000110, 0xf9400611, 0x91002210, 0xd61f0220, /* stub */
		};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct flow_exit exit = { .cfa = -1 };
		bool in_stub = (i >= 2 && i <= 5) || i >= 7;
		assert_int_equal(flow()->exit_of_stub((const uint8_t *)table, sizeof(table), i * 4,
						      &exit),
				 in_stub);
		if (!in_stub)
			continue;
		assert_int_equal(exit.base, SP);
		assert_int_equal(exit.cfa, i <= 5 ? 16 : 0);
		assert_true(exit.in_register);
		assert_int_equal(exit.saved_count, 0);
	}
}

/* ---- jumps ---- */

static void test_jumps(void **state)
{
	static const struct {
		uint32_t word;
		int64_t distance;
	} known[] = {
		{ 0x14000040, 0x100 },      /* b */
		{ 0x16000000, -0x8000000 }, /* b */
		{ 0x54ffffe0, -4 },         /* b.eq */
		{ 0x34000203, 0x40 },       /* cbz w3 */
		{ 0xb5800003, -0x100000 },  /* cbnz x3 */
		{ 0x361c0001, -0x8000 },    /* tbz w1, #3 */
		{ 0xb7fbffe1, 0x7ffc },     /* tbnz x1, #63 */
	};
	uint64_t target = 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const uint8_t *code = (const uint8_t *)&known[i].word;
		assert_true(flow()->jump(code, 4, 0x40000000, &target));
		assert_int_equal(target, 0x40000000 + known[i].distance);
		assert_false(flow()->jump(code, 3, 0x40000000, &target));
		assert_false(flow()->jump(code, 4, 0x40000002, &target));
	}
	/* bl, br x3, ret, adrp */
	static const uint32_t others[] = { 0x94000001, 0xd61f0060, 0xd65f03c0, 0x90000110 };
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(flow()->jump((const uint8_t *)&others[i], 4, 0x40000000, &target));
}

/* mov x8, #139; svc #0 */
static void test_signal_return(void **state)
{
	uint32_t code[] = { 0xd2801168, 0xd4000001, 0 };
	assert_int_equal(flow()->signal_return((uint8_t *)code, sizeof(code)), 8);
	assert_int_equal(flow()->signal_return((uint8_t *)code, 7), 0);
	for (unsigned bit = 0; bit < 64; bit++) {
		code[bit / 32] ^= UINT32_C(1) << bit % 32;
		assert_int_equal(flow()->signal_return((uint8_t *)code, 8), 0);
		code[bit / 32] ^= UINT32_C(1) << bit % 32;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trampoline),
		cmocka_unit_test(test_signed_trampolines),
		cmocka_unit_test(test_from_the_frame_pointer),
		cmocka_unit_test(test_returns),
		cmocka_unit_test(test_leaf),
		cmocka_unit_test(test_what_is_not_understood),
		cmocka_unit_test(test_any_words),
		cmocka_unit_test(test_stubs),
		cmocka_unit_test(test_a_stub_with_one_bit_changed),
		cmocka_unit_test(test_the_way_out_of_a_stub),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_signal_return),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
