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
		cmocka_unit_test(test_what_is_not_understood),
		cmocka_unit_test(test_stubs),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_signal_return),
		cmocka_unit_test(test_other_machines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
