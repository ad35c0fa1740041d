/* SPDX-License-Identifier: MIT */
/*
 * flow.h: where machine code goes next, read from its bytes.
 *
 * For code that no unwind information covers, for stubs of the linker, and for parts that a compiler has set apart from a function.
 * Only forms that mean one thing are understood; whatever else is met ends the reading with false. Pure: no system calls, any host.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that a straight way out may take. */
#define FLOW_EXIT_BYTES 64
/* Bytes before and after a place in which a way out with jumps may lie: the largest kernels of OpenBLAS have 28,076. */
#define FLOW_LEAF_BYTES 32768
#define FLOW_SAVED_MAX  12
/* The longest stub, the longest end of a signal. */
#define FLOW_STUB_BYTES   24
#define FLOW_SIGNAL_BYTES 9

/* How the code at a place gets back to its caller. */
struct flow_exit {
	unsigned
		base; /* DWARF number: a register at that place, mostly the stack pointer or the frame pointer */
	int32_t cfa;      /* the caller's stack pointer = base + cfa */
	bool in_register; /* the return address is in its register now; otherwise: */
	int32_t returns;  /* it is at the caller's stack pointer + returns */
	unsigned saved_count;
	struct {
		uint8_t reg; /* DWARF number */
		int32_t at;  /* its value for the caller is at the caller's stack pointer + at */
	} saved[FLOW_SAVED_MAX]; /* ascending by reg */
};

/* What a stub of a procedure linkage table refers to. */
struct flow_stub {
	bool has_slot; /* it jumps to what the word at slot says */
	uint64_t slot;
	uint32_t number; /* otherwise: it asks for the relocation of that number in .rela.plt */
	uint32_t size;   /* bytes of code */
};

struct flow {
	/*
	 * Reads from @code on until the return, through moves of the stack pointer and calls, which are taken to come back. A jump to
	 * what a word says is a stub's, and taken for the return. False at the first instruction that is anything else.
	 */
	bool (*exit)(const uint8_t *code, size_t size, struct flow_exit *exit_ret);
	/*
	 * The way out from @code + @at where there are jumps, backward ones too, but no calls: every way that the code can take from
	 * there leads to the same stack pointer and the same registers of the caller. False where one is not understood, leaves the
	 * code or says something else. NULL: not for this CPU.
	 */
	bool (*exit_of_leaf)(const uint8_t *code, size_t size, size_t at,
			     struct flow_exit *exit_ret);
	/* A stub begins with @code, at @address: FLOW_STUB_BYTES, or fewer at a section's end. */
	bool (*stub)(const uint8_t *code, size_t size, uint64_t address,
		     struct flow_stub *stub_ret);
	/*
	 * The way out from @code + @at, in a stub or in the one that all others of a table lead to. NULL: exit reads them.
	 */
	bool (*exit_of_stub)(const uint8_t *code, size_t size, size_t at,
			     struct flow_exit *exit_ret);
	unsigned stub_step; /* stubs begin at multiples of it */
	/*
	 * The direct jump, with or without a condition, whose bytes begin at @code, which is at @address. The bytes before are not
	 * known: what looks like a jump may be part of another instruction.
	 */
	bool (*jump)(const uint8_t *code, size_t size, uint64_t address, uint64_t *target_ret);
	/*
	 * Bytes of @code if it is what a signal handler returns to and that ends with the system call rt_sigreturn; 0 if it is anything
	 * else. The stack pointer is the same in all of it.
	 */
	size_t (*signal_return)(const uint8_t *code, size_t size);
};

extern const struct flow flow_x86_64;
extern const struct flow flow_aarch64;

/* NULL for an ELF file's e_machine whose code is not read. */
const struct flow *flow_by_machine(uint16_t machine);
