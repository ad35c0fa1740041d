/* SPDX-License-Identifier: MIT */
/* x86-64 code as bytes: how it gets back to its caller, what a stub refers to, where a jump leads. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "arch/flow.h"

enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12 };

static const struct flow *flow(void)
{
	return flow_by_machine(EM_X86_64);
}

static bool find(const char *code, size_t size, struct flow_exit *exit)
{
	return flow()->exit((const uint8_t *)code, size, exit);
}

#define FIND(code, exit) find(code, sizeof(code) - 1, exit)

/* CPython 3.12's trampoline, from its start, inside it and after its call: sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
static void test_trampoline(void **state)
{
	struct flow_exit exit = { 0 };
	assert_true(FIND("\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3", &exit));
	assert_int_equal(exit.base, RSP);
	assert_int_equal(exit.cfa, 8);
	assert_int_equal(exit.returns, -8);
	assert_int_equal(exit.saved_count, 0);
	assert_true(FIND("\x48\x83\xc4\x08\xc3", &exit));
	assert_int_equal(exit.cfa, 16);
}

/* 3.14's: endbr64; push %rbp; mov %rsp,%rbp; call *%rcx; pop %rbp; ret */
static void test_trampoline_with_a_frame_pointer(void **state)
{
	struct flow_exit exit;
	assert_true(FIND("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\xff\xd1\x5d\xc3", &exit));
	assert_int_equal(exit.cfa, 8);
	assert_int_equal(exit.saved_count, 0);
	assert_true(FIND("\x5d\xc3", &exit));
	assert_int_equal(exit.cfa, 16);
	assert_int_equal(exit.saved_count, 1);
	assert_int_equal(exit.saved[0].reg, RBP);
	assert_int_equal(exit.saved[0].at, -16);
}

/* add $0x88,%rsp; pop %rbx; pop %rbp; pop %r12; ret */
static void test_saved_registers(void **state)
{
	struct flow_exit exit;
	assert_true(FIND("\x48\x81\xc4\x88\x00\x00\x00\x5b\x5d\x41\x5c\xc3", &exit));
	assert_int_equal(exit.cfa, 0x88 + 32);
	assert_int_equal(exit.saved_count, 3);
	assert_int_equal(exit.saved[0].reg, RBX);
	assert_int_equal(exit.saved[0].at, -32);
	assert_int_equal(exit.saved[1].reg, RBP);
	assert_int_equal(exit.saved[1].at, -24);
	assert_int_equal(exit.saved[2].reg, R12);
	assert_int_equal(exit.saved[2].at, -16);
}

/* call; leave; ret: from the frame pointer. */
static void test_leave(void **state)
{
	struct flow_exit exit;
	assert_true(FIND("\xe8\x00\x00\x00\x00\xc9\xc3", &exit));
	assert_int_equal(exit.base, RBP);
	assert_int_equal(exit.cfa, 16);
	assert_int_equal(exit.saved_count, 1);
	assert_int_equal(exit.saved[0].at, -16);
	/* push %rbp; mov %rsp,%rbp; sub $32,%rsp; leave; ret: the frame pointer is not set yet */
	assert_true(FIND("\x55\x48\x89\xe5\x48\x83\xec\x20\xc9\xc3", &exit));
	assert_int_equal(exit.base, RSP);
	assert_int_equal(exit.cfa, 8);
	assert_int_equal(exit.saved_count, 0);
}

/* A stub of the linker, [endbr64] [bnd] jmp *slot(%rip) */
static void test_stub_as_a_way_out(void **state)
{
	struct flow_exit exit = { 0 };
	assert_true(FIND("\xff\x25\xca\x2f\x00\x00", &exit));
	assert_int_equal(exit.base, RSP);
	assert_int_equal(exit.cfa, 8);
	assert_true(FIND("\xf3\x0f\x1e\xfa\xf2\xff\x25\x75\x2f\x00\x00", &exit));
	assert_int_equal(exit.cfa, 8);
	/* push 0x2fe2(%rip); jmp *0x2fe4(%rip): the table's first entry */
	assert_false(FIND("\xff\x35\xe2\x2f\x00\x00\xff\x25\xe4\x2f\x00\x00", &exit));
}

/* A call that does not come back is the end of its function; what follows it may be another one. */
static void test_the_next_function(void **state)
{
	struct flow_exit exit = { .cfa = 77 };
	/* call abort; then: ret */
	assert_false(FIND("\xe8\x00\x00\x00\x00\xc3", &exit));
	/* call _Unwind_Resume; then: endbr64; sub $8,%rsp; call; add $8,%rsp; ret */
	assert_false(FIND("\xe8\x00\x00\x00\x00\xf3\x0f\x1e\xfa\x48\x83\xec\x08"
			  "\xe8\x00\x00\x00\x00\x48\x83\xc4\x08\xc3",
			  &exit));
	/* call *%rcx; then: push %rbx; pop %rbx; ret */
	assert_false(FIND("\xff\xd1\x53\x5b\xc3", &exit));
	assert_int_equal(exit.cfa, 77);
	/* Two calls of one function: call; call; pop %rbx; ret */
	assert_true(FIND("\xe8\x00\x00\x00\x00\xe8\x00\x00\x00\x00\x5b\xc3", &exit));
	assert_int_equal(exit.cfa, 16);
}

static void test_what_is_not_understood(void **state)
{
	struct flow_exit exit = { .cfa = 77 };
	assert_false(FIND("\x85\xc0\xc3", &exit));         /* test %eax,%eax */
	assert_false(FIND("\x48\x83\xc4\x08", &exit));     /* no ret */
	assert_false(FIND("\x48\x83\xc4", &exit));         /* cut */
	assert_false(FIND("\x48\x83\xec\x08\xc3", &exit)); /* returns below where it began */
	assert_false(FIND("\x5b\x5b\xc3", &exit));         /* pops a register twice */
	assert_false(FIND("\x5c\xc3", &exit));             /* pop %rsp */
	assert_false(FIND("\x5b\xc9\xc3", &exit));         /* leave after a pop */
	assert_false(FIND("\xff\x10\xc3", &exit));         /* call *(%rax) */
	assert_false(FIND("\x48\x81\xc4\xff\xff\xff\x7f\xc3", &exit));
	assert_false(FIND("", &exit));
	assert_int_equal(exit.cfa, 77);
}

/* ---- the way out of code with jumps ---- */

static bool find_leaf(const char *code, size_t size, size_t at, struct flow_exit *exit)
{
	return flow()->exit_of_leaf((const uint8_t *)code, size, at, exit);
}

#define LEAF(code, at, exit) find_leaf(code, sizeof(code) - 1, at, exit)

static void assert_saved(const struct flow_exit *exit, unsigned i, unsigned reg, int at)
{
	assert_true(i < exit->saved_count);
	assert_int_equal(exit->saved[i].reg, reg);
	assert_int_equal(exit->saved[i].at, at);
}

/*
 * sub $16,%rsp; mov %rbx,8(%rsp); loop: test %rdi,%rdi; je out; add $8,%rsi; movups (%rsi),%xmm4; add (%rsi),%rbx; dec %rdi;
 * jmp loop; out: mov 8(%rsp),%rbx; add $16,%rsp; ret
 */
static const char loop_left_before[] =
	"\x48\x83\xec\x10\x48\x89\x5c\x24\x08\x48\x85\xff\x74\x0f\x48\x83\xc6\x08\x0f\x10\x26"
	"\x48\x03\x1e\x48\xff\xcf\xeb\xec\x48\x8b\x5c\x24\x08\x48\x83\xc4\x10\xc3";

static void test_leaf_with_the_exit_before(void **state)
{
	struct flow_exit exit = { 0 };
	assert_true(LEAF(loop_left_before, 18, &exit)); /* movups */
	assert_int_equal(exit.base, RSP);
	assert_int_equal(exit.cfa, 24);
	assert_int_equal(exit.returns, -8);
	assert_int_equal(exit.saved_count, 1);
	assert_saved(&exit, 0, RBX, -16);
	/* At its start nothing is saved yet, and what will be is not to be looked for. */
	assert_true(LEAF(loop_left_before, 0, &exit));
	assert_int_equal(exit.cfa, 8);
	assert_int_equal(exit.saved_count, 0);
	assert_true(LEAF(loop_left_before, 4, &exit));
	assert_int_equal(exit.cfa, 24);
	assert_int_equal(exit.saved_count, 0);
	assert_true(LEAF(loop_left_before, sizeof(loop_left_before) - 2, &exit));
	assert_int_equal(exit.cfa, 8);
}

/*
 * OpenBLAS's ztrmm kernels: sub $0x20,%rsp; mov %rbx,(%rsp); mov %rbp,8(%rsp); mov %r15,0x18(%rsp); mov %rsp,%rbx;
 * sub $0x2080,%rsp; and $-4096,%rsp; loop: mov 0x18(%rsp),%r15; vfmadd231pd (%rdi),%ymm4,%ymm12; add %r15,%rbp; sub $1,%rdx;
 * jg loop; mov %rbx,%rsp; mov (%rsp),%rbx; mov 8(%rsp),%rbp; mov 0x18(%rsp),%r15; vzeroupper; add $0x20,%rsp; ret
 */
static const char aligned_stack[] =
	"\x48\x83\xec\x20\x48\x89\x1c\x24\x48\x89\x6c\x24\x08\x4c\x89\x7c\x24\x18\x48\x89\xe3"
	"\x48\x81\xec\x80\x20\x00\x00\x48\x81\xe4\x00\xf0\xff\xff\x4c\x8b\x7c\x24\x18"
	"\xc4\x62\xdd\xb8\x27\x4c\x01\xfd\x48\x83\xea\x01\x7f\xed\x48\x89\xdc\x48\x8b\x1c\x24"
	"\x48\x8b\x6c\x24\x08\x4c\x8b\x7c\x24\x18\xc5\xf8\x77\x48\x83\xc4\x20\xc3";

static void test_leaf_with_an_aligned_stack(void **state)
{
	struct flow_exit exit = { 0 };
	assert_true(LEAF(aligned_stack, 40, &exit)); /* vfmadd231pd */
	assert_int_equal(exit.base, RBX);
	assert_int_equal(exit.cfa, 40);
	assert_int_equal(exit.saved_count, 3);
	assert_saved(&exit, 0, RBX, -40);
	assert_saved(&exit, 1, RBP, -32);
	assert_saved(&exit, 2, 15, -16);
	assert_true(LEAF(aligned_stack, 0, &exit));
	assert_int_equal(exit.base, RSP);
	assert_int_equal(exit.cfa, 8);
	assert_int_equal(exit.saved_count, 0);
}

static void test_leaf_with_a_frame_pointer(void **state)
{
	struct flow_exit exit = { 0 };
	/* loop: dec %ecx; jne loop; lea -8(%rbp),%rsp; pop %r12; pop %rbp; ret */
	assert_true(LEAF("\xff\xc9\x75\xfc\x48\x8d\x65\xf8\x41\x5c\x5d\xc3", 0, &exit));
	assert_int_equal(exit.base, RBP);
	assert_int_equal(exit.cfa, 16);
	assert_int_equal(exit.saved_count, 2);
	assert_saved(&exit, 0, RBP, -16);
	assert_saved(&exit, 1, R12, -24);
	/* loop: sub %rax,%rsp; dec %ecx; jne loop; leave; ret */
	assert_true(LEAF("\x48\x29\xc4\xff\xc9\x75\xf9\xc9\xc3", 0, &exit));
	assert_int_equal(exit.base, RBP);
	assert_int_equal(exit.cfa, 16);
	assert_int_equal(exit.saved_count, 1);
}

/* test %edi,%edi; je 1f; push %rbx; mov %rdi,%rbx; pop %rbx; ret; 1: xor %eax,%eax; ret */
static void test_leaf_with_two_returns(void **state)
{
	struct flow_exit exit = { 0 };
	assert_true(LEAF("\x85\xff\x74\x06\x53\x48\x89\xfb\x5b\xc3\x31\xc0\xc3", 0, &exit));
	assert_int_equal(exit.base, RSP);
	assert_int_equal(exit.cfa, 8);
	assert_int_equal(exit.saved_count, 0);
}

/* Ways that lead to different places, or that are not known: test %edi,%edi; je 1f; … */
static void test_leaf_that_is_refused(void **state)
{
	struct flow_exit exit = { .cfa = 77 };
	/* add $8,%rsp; 1: ret */
	assert_false(LEAF("\x85\xff\x74\x04\x48\x83\xc4\x08\xc3", 0, &exit));
	/* add $8,%rsp; ret; 1: ret */
	assert_false(LEAF("\x85\xff\x74\x05\x48\x83\xc4\x08\xc3\xc3", 0, &exit));
	/* mov 8(%rsp),%rbx; 1: add $16,%rsp; ret */
	assert_false(LEAF("\x85\xff\x74\x05\x48\x8b\x5c\x24\x08\x48\x83\xc4\x10\xc3", 0, &exit));
	/* mov 8(%rsp),%rbx; jmp 2f; 1: mov (%rsp),%rbx; 2: add $16,%rsp; ret */
	assert_false(LEAF(
		"\x85\xff\x74\x07\x48\x8b\x5c\x24\x08\xeb\x04\x48\x8b\x1c\x24\x48\x83\xc4\x10\xc3",
		0, &exit));
	/* xor %ebx,%ebx; 1: ret */
	assert_false(LEAF("\x85\xff\x74\x02\x31\xdb\xc3", 0, &exit));
	/* call 1f; 1: ret */
	assert_false(LEAF("\x85\xff\x74\x05\xe8\x00\x00\x00\x00\xc3", 0, &exit));
	/* jmp *%rax; 1: ret */
	assert_false(LEAF("\x85\xff\x74\x02\xff\xe0\xc3", 0, &exit));
	/* 1: sub $8,%rsp; ret */
	assert_false(LEAF("\x85\xff\x74\x00\x48\x83\xec\x08\xc3", 0, &exit));
	/* 1: and $-64,%rsp; ret */
	assert_false(LEAF("\x85\xff\x74\x00\x48\x83\xe4\xc0\xc3", 0, &exit));
	/* 1: pop %rbx; leave; ret: one by the stack pointer, the other by the frame pointer */
	assert_false(LEAF("\x85\xff\x74\x00\x5b\xc9\xc3", 0, &exit));
	/* The same word was stored to on one way, or on both: sub $8,%rsp; [mov %rbx,(%rsp);] test; je 1f; mov %rbx or %rcx,(%rsp); */
	/* 1: mov (%rsp),%rbx; add $8,%rsp; ret */
	assert_false(LEAF("\x48\x83\xec\x08\x85\xff\x74\x04\x48\x89\x1c\x24\x48\x8b\x1c\x24\x48\x83"
			  "\xc4\x08\xc3",
			  0, &exit));
	assert_false(LEAF(
		"\x48\x83\xec\x08\x48\x89\x1c\x24\x85\xff\x74\x04\x48\x89\x0c\x24\x48\x8b\x1c\x24"
		"\x48\x83\xc4\x08\xc3",
		0, &exit));
	/* ret; 1: ud2 */
	assert_false(LEAF("\x85\xff\x74\x01\xc3\x0f\x0b", 0, &exit));
	/* Out of the code: je .+200; ret and je .-200; ret */
	assert_false(LEAF("\x85\xff\x0f\x84\xc2\x00\x00\x00\xc3", 0, &exit));
	assert_false(LEAF("\x85\xff\x0f\x84\x32\xff\xff\xff\xc3", 0, &exit));
	/* loop: inc %rax; jmp loop */
	assert_false(LEAF("\x48\xff\xc0\xeb\xfb", 0, &exit));
	assert_false(LEAF("\xc3", 1, &exit));
	assert_int_equal(exit.cfa, 77);
}

/* What is saved by one register and restored by another: until it is saved there is nothing to be restored. */
static void test_leaf_before_it_saves(void **state)
{
	/* push %rbp; mov %rsp,%rbp; push %rbx; loop: dec %ecx; jne loop; mov -8(%rbp),%rbx; leave; ret */
	static const char framed[] = "\x55\x48\x89\xe5\x53\xff\xc9\x75\xfc\x48\x8b\x5d\xf8\xc9\xc3";
	struct flow_exit exit = { .cfa = 77 };
	assert_false(LEAF(framed, 4, &exit));
	/* The same behind an alignment: and $-32,%rsp; push %rbx … */
	assert_false(
		LEAF("\x48\x83\xe4\xe0\x53\xff\xc9\x75\xfc\x48\x8b\x5d\xf8\xc9\xc3", 0, &exit));
	/* mov %rbx,-8(%rax); loop: …; mov -8(%rax),%rbx; lea (%rax),%rsp; ret: by way of the store's register it is known */
	assert_true(
		LEAF("\x48\x89\x58\xf8\xff\xc9\x75\xfc\x48\x8b\x58\xf8\x48\x8d\x20\xc3", 0, &exit));
	assert_int_equal(exit.base, 0);
	assert_int_equal(exit.saved_count, 0);
	/* Saved on one way only: test %edi,%edi; je 1f; push %rbx; 1: mov -8(%rbp),%rbx; leave; ret */
	exit.cfa = 77;
	assert_false(LEAF("\x85\xff\x74\x01\x53\x48\x8b\x5d\xf8\xc9\xc3", 0, &exit));
	assert_int_equal(exit.cfa, 77);
	/* Behind the push it is saved. */
	assert_true(LEAF(framed, 5, &exit));
	assert_int_equal(exit.base, RBP);
	assert_int_equal(exit.saved_count, 2);
	assert_saved(&exit, 0, RBX, -24);
}

/* mov %rsp,(%rdi); loop: dec %ecx; jne loop; mov %rsi,%rsp; ret: what it returns to has not called it. */
static void test_leaf_that_changes_the_stack(void **state)
{
	struct flow_exit exit = { .cfa = 77 };
	assert_false(LEAF("\x48\x89\x27\xff\xc9\x75\xfc\x48\x89\xf4\xc3", 0, &exit));
	assert_int_equal(exit.cfa, 77);
}

/* A jump table of 300 conditional jumps: there is a limit. */
static void test_leaf_with_too_many_jumps(void **state)
{
	char code[300 * 2 + 1 + 127];
	struct flow_exit exit;
	memset(code, '\xc3', sizeof(code));
	for (size_t i = 0; i < 300; i++)
		memcpy(code + 2 * i, "\x74\x7f", 2);
	assert_false(find_leaf(code, sizeof(code), 0, &exit));
	assert_true(find_leaf(code, sizeof(code), 300, &exit));
}

static void test_stubs(void **state)
{
	struct flow_stub stub;
	const struct {
		const char *code;
		bool has_slot;
		uint64_t slot;
		uint32_t number;
	} known[] = {
		/* jmp *0x2fca(%rip) */
		{ "\xff\x25\xca\x2f\x00\x00\x68\x00\x00\x00\x00\xe9\xe0\xff\xff\xff", true,
		  0x1030 + 6 + 0x2fca, 0 },
		/* endbr64; bnd jmp *0x2f75(%rip) */
		{ "\xf3\x0f\x1e\xfa\xf2\xff\x25\x75\x2f\x00\x00\x0f\x1f\x44\x00\x00", true,
		  0x1030 + 11 + 0x2f75, 0 },
		/* endbr64; jmp *-0x10(%rip) */
		{ "\xf3\x0f\x1e\xfa\xff\x25\xf0\xff\xff\xff\x66\x0f\x1f\x44\x00\x00", true,
		  0x1030 + 10 - 0x10, 0 },
		/* endbr64; push $5; bnd jmp */
		{ "\xf3\x0f\x1e\xfa\x68\x05\x00\x00\x00\xf2\xe9\xe1\xff\xff\xff\x90", false, 0, 5 },
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_true(flow()->stub((const uint8_t *)known[i].code, 16, 0x1030, &stub));
		assert_int_equal(stub.has_slot, known[i].has_slot);
		assert_int_equal(stub.slot, known[i].slot);
		assert_int_equal(stub.number, known[i].number);
		assert_int_equal(stub.size, 16);
	}
	/* The table's own first entry: push 0x2fe2(%rip) */
	assert_false(flow()->stub(
		(const uint8_t *)"\xff\x35\xe2\x2f\x00\x00\xff\x25\xe4\x2f\x00\x00\x0f\x1f\x40\x00",
		16, 0x1020, &stub));
	assert_false(flow()->stub((const uint8_t *)"\xff\x25\x01\x00", 4, 0x1020, &stub));
}

static void test_jumps(void **state)
{
	uint64_t target = 0;
	assert_true(flow()->jump((const uint8_t *)"\xe9\x10\x00\x00\x00", 5, 0x1000, &target));
	assert_int_equal(target, 0x1015);
	assert_true(flow()->jump((const uint8_t *)"\x0f\x84\xf0\xff\xff\xff", 6, 0x1000, &target));
	assert_int_equal(target, 0xff6);
	assert_false(flow()->jump((const uint8_t *)"\xe8\x10\x00\x00\x00", 5, 0x1000, &target));
	assert_false(flow()->jump((const uint8_t *)"\x0f\x1f\x00\x00\x00\x00", 6, 0x1000, &target));
	assert_false(flow()->jump((const uint8_t *)"\xe9\x10\x00\x00", 4, 0x1000, &target));
	assert_false(flow()->jump((const uint8_t *)"\x0f\x84\x10\x00\x00", 5, 0x1000, &target));
}

/* mov $15,%rax; syscall */
static void test_signal_return(void **state)
{
	uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0x90 };
	assert_int_equal(flow()->signal_return(code, sizeof(code)), 9);
	assert_int_equal(flow()->signal_return(code, 8), 0);
	code[3] = 14;
	assert_int_equal(flow()->signal_return(code, sizeof(code)), 0);
}

static void test_other_machines(void **state)
{
	assert_null(flow_by_machine(EM_RISCV));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trampoline),
		cmocka_unit_test(test_trampoline_with_a_frame_pointer),
		cmocka_unit_test(test_saved_registers),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_the_next_function),
		cmocka_unit_test(test_what_is_not_understood),
		cmocka_unit_test(test_stub_as_a_way_out),
		cmocka_unit_test(test_leaf_with_the_exit_before),
		cmocka_unit_test(test_leaf_with_an_aligned_stack),
		cmocka_unit_test(test_leaf_with_a_frame_pointer),
		cmocka_unit_test(test_leaf_with_two_returns),
		cmocka_unit_test(test_leaf_before_it_saves),
		cmocka_unit_test(test_leaf_that_changes_the_stack),
		cmocka_unit_test(test_leaf_that_is_refused),
		cmocka_unit_test(test_leaf_with_too_many_jumps),
		cmocka_unit_test(test_stubs),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_signal_return),
		cmocka_unit_test(test_other_machines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
