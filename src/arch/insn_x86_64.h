/* SPDX-License-Identifier: MIT */
/*
 * insn_x86_64.h: one x86-64 instruction from its bytes: its length, its operands' form and the general registers that it writes.
 *
 * Not what it computes. Refused are instructions that are not valid in 64-bit mode, that applications can not run, or that say
 * nothing here (system calls, segment registers, transactions). Encodings: Intel SDM volume 2, chapter 2 and appendix A.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The registers' numbers are the hardware's: the order rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 … */
enum { INSN_RAX, INSN_RCX, INSN_RDX, INSN_RBX, INSN_RSP, INSN_RBP, INSN_RSI, INSN_RDI };

/* Where the opcode stands. */
enum insn_map {
	INSN_ONE_BYTE,
	INSN_0F,
	INSN_0F38,
	INSN_0F3A,
	INSN_VECTOR, /* behind a VEX or EVEX prefix */
};

struct insn {
	uint8_t length;
	uint8_t map; /* enum insn_map */
	uint8_t opcode;
	bool wide;    /* 64-bit operands */
	bool segment; /* memory is addressed by fs or gs */
	bool is_memory;
	bool has_index; /* memory: an index register is part of the address */
	bool has_base; /* memory: rm is part of the address; otherwise it is absolute, or relative to the next instruction */
	uint8_t reg; /* of the ModRM byte, or of the opcode byte; also the opcode's extension (reg & 7) */
	uint8_t rm;      /* the register operand, or memory's base */
	int32_t offset;  /* memory: displacement */
	int64_t operand; /* immediate, or a jump's distance from the next instruction */
	uint16_t
		writes; /* a bit a general register that may have another value afterwards; not those of push, pop, call, ret */
};

/* False if @bytes do not begin with an instruction that is understood. */
bool insn_x86_64_decode(const uint8_t *bytes, size_t size, struct insn *insn_ret);
