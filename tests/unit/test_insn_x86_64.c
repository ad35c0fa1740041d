/* SPDX-License-Identifier: MIT */
/* Instructions as bytes: their length and the general registers that they write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "arch/insn_x86_64.h"

#define BIT(reg) (1u << (reg))

static const struct known {
	const char *bytes;
	uint8_t length;
	unsigned writes;
} known[] = {
	{ "\x0f\x10\x26", 3, 0 },                     /* movups (%rsi),%xmm4 */
	{ "\xc4\x62\xdd\xb8\x27", 5, 0 },             /* vfmadd231pd (%rdi),%ymm4,%ymm12 */
	{ "\x62\xa1\xfd\x48\x28\x64\xc8\xff", 8, 0 }, /* vmovapd -0x40(%rax,%r9,8),%zmm20 */
	{ "\x49\xbb\x88\x77\x66\x55\x44\x33\x22\x11", 10,
	  BIT(11) },                                          /* mov $0x1122334455667788,%r11 */
	{ "\xf7\xc1\x44\x33\x22\x11", 6, 0 },                 /* test $0x11223344,%ecx */
	{ "\x88\xe1", 2, BIT(INSN_RCX) },                     /* mov %ah,%cl */
	{ "\x88\xcc", 2, BIT(INSN_RAX) },                     /* mov %cl,%ah */
	{ "\x40\x88\xcc", 3, BIT(INSN_RSP) },                 /* mov %cl,%spl */
	{ "\x48\x0f\x4d\xe2", 4, BIT(INSN_RSP) },             /* cmovge %rdx,%rsp */
	{ "\xc5\x7d\x50\xe4", 4, BIT(12) },                   /* vmovmskpd %ymm4,%r12d */
	{ "\xc5\xec\x41\xe1", 4, 0 },                         /* kandw %k1,%k2,%k4 */
	{ "\xc5\xf8\x93\xe4", 4, BIT(INSN_RSP) },             /* kmovw %k4,%esp */
	{ "\x49\x0f\xcc", 3, BIT(12) },                       /* bswap %r12 */
	{ "\x48\x8d\x54\x04\x10", 5, BIT(INSN_RDX) },         /* lea 0x10(%rsp,%rax),%rdx */
	{ "\x48\x83\x44\x24\x48\x08", 6, 0 },                 /* addq $8,0x48(%rsp) */
	{ "\xdb\x6c\x24\x48", 4, 0 },                         /* fldt 0x48(%rsp) */
	{ "\x66\x81\x3f\x34\x12", 5, 0 },                     /* cmpw $0x1234,(%rdi) */
	{ "\x48\x69\xf7\x34\x12\x00\x00", 7, BIT(INSN_RSI) }, /* imul $0x1234,%rdi,%rsi */
	{ "\xc4\xc3\xf9\x16\xce\x01", 6, BIT(14) },           /* vpextrq $1,%xmm1,%r14 */
	{ "\x66\x0f\x7e\xdc", 4, BIT(INSN_RSP) },             /* movd %xmm3,%esp */
	{ "\xf3\x0f\x7e\xdc", 4, 0 },                         /* movq %xmm4,%xmm3 */
	{ "\xf3\x48\x0f\x1e\xcb", 5, BIT(INSN_RBX) },         /* rdsspq %rbx */
	{ "\x0f\x1e\xfb", 3, 0 },                             /* nop %ebx */
	{ "\xc4\xe2\xf1\xe6\x1f", 5, BIT(INSN_RBX) },         /* cmpbexadd %rcx,%rbx,(%rdi) */
	{ "\x49\xf7\xe4", 3,
	  BIT(INSN_RAX) | BIT(INSN_RDX) | BIT(12) }, /* mul %r12: one too many does no harm */
};

static void test_lengths_and_targets(void **state)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct insn insn = { 0 };
		uint8_t bytes[32] = { 0 };
		memcpy(bytes, known[i].bytes, known[i].length);
		assert_true(insn_x86_64_decode(bytes, sizeof(bytes), &insn));
		assert_int_equal(insn.length, known[i].length);
		assert_int_equal(insn.writes, known[i].writes);
		/* The same with nothing behind it, and not with one byte less. */
		assert_true(insn_x86_64_decode(bytes, known[i].length, &insn));
		assert_false(insn_x86_64_decode(bytes, known[i].length - 1u, &insn));
	}
	/* mulx %rax,%rsp,%rcx */
	struct insn insn;
	assert_true(insn_x86_64_decode((const uint8_t *)"\xc4\xe2\xdb\xf6\xc8", 5, &insn));
	assert_true(insn.writes & BIT(INSN_RSP));
	/* xchg %rsp,%rax */
	assert_true(insn_x86_64_decode((const uint8_t *)"\x48\x94", 2, &insn));
	assert_true(insn.writes & BIT(INSN_RSP));
}

static void test_addresses(void **state)
{
	struct insn insn;
	/* mov %fs:0x28,%rax */
	assert_true(insn_x86_64_decode((const uint8_t *)"\x64\x48\x8b\x04\x25\x28\x00\x00\x00", 9,
				       &insn));
	assert_true(insn.is_memory && insn.segment && !insn.has_base && !insn.has_index);
	assert_int_equal(insn.offset, 0x28);
	/* mov 0x10(%rip),%rax */
	assert_true(insn_x86_64_decode((const uint8_t *)"\x48\x8b\x05\x10\x00\x00\x00", 7, &insn));
	assert_true(insn.is_memory && insn.wide && !insn.has_base && !insn.has_index);
	/* lea 0x10(%rsp,%rax),%rdx */
	assert_true(insn_x86_64_decode((const uint8_t *)"\x48\x8d\x54\x04\x10", 5, &insn));
	assert_true(insn.has_base && insn.has_index);
	assert_int_equal(insn.rm, INSN_RSP);
	/* mov -8(%r12),%rbp */
	assert_true(insn_x86_64_decode((const uint8_t *)"\x49\x8b\x6c\x24\xf8", 5, &insn));
	assert_true(insn.has_base && !insn.has_index);
	assert_int_equal(insn.rm, 12);
	assert_int_equal(insn.reg, INSN_RBP);
	assert_int_equal(insn.offset, -8);
}

static void test_distances(void **state)
{
	struct insn insn;
	assert_true(insn_x86_64_decode((const uint8_t *)"\x7e\x9a", 2, &insn));
	assert_int_equal(insn.operand, -102);
	assert_true(insn_x86_64_decode((const uint8_t *)"\x0f\x8f\xe2\x03\x00\x00", 6, &insn));
	assert_int_equal(insn.operand, 0x3e2);
}

static void test_what_is_refused(void **state)
{
	static const char *const refused[] = {
		"\x0f\x05",             /* syscall */
		"\xf4",                 /* hlt */
		"\xcc",                 /* int3 */
		"\x0f\x0b",             /* ud2 */
		"\x06",                 /* push %es, of 32 bits */
		"\x8e\xd8",             /* mov %eax,%ds */
		"\xc7\xf8\x01",         /* xbegin */
		"\xf3\x48\x0f\xae\xd0", /* wrfsbase %rax */
		"\x66\x54",             /* push %sp */
		"\x66\xff\x34\x24",     /* pushw (%rsp) */
		"\x67\x8b\x00",         /* mov (%eax),%eax */
		"\xff\xf8",             /* no member of its group */
		"\x48\x48\x01\xc0",     /* REX twice */
	};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct insn insn;
		uint8_t bytes[16] = { 0 };
		strcpy((char *)bytes, refused[i]);
		assert_false(insn_x86_64_decode(bytes, sizeof(bytes), &insn));
	}
	/* Too long: 15 prefixes */
	struct insn insn;
	uint8_t bytes[32];
	memset(bytes, 0x2e, sizeof(bytes));
	assert_false(insn_x86_64_decode(bytes, sizeof(bytes), &insn));
	assert_false(insn_x86_64_decode(bytes, 0, &insn));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths_and_targets),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_what_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
