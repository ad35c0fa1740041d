/* SPDX-License-Identifier: MIT */
/*
 * arch.h: what a CPU is to pysample.
 *
 * One const struct of data and hooks a CPU; all of them are compiled on every host, so that what was recorded on one CPU replays
 * on another. Nothing here makes a system call: the struct says which register sets to fetch, and parses them.
 *
 * To add a CPU: 1. regs_NAME.def, a line a register. 2. arch_NAME.c, the same functions in the same order as arch_x86_64.c.
 * 3. decode_NAME.c, the shapes of the functions that lead to the thread-state key, cut from real interpreters (decode.h). 4. A row
 * in arch.c. 5. The C libraries' rows in python/tsd.c and the layout rows in python/layout/, both measured by the probes in
 * contrib/. 6. configure.ac's list. A CPU of which one of these is missing is refused by name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/decode.h"
#include "arch/flow.h"

/* Room for the register numbers of every CPU here, DWARF numbering. */
#define ARCH_REGISTERS_MAX 33

/* A register's values by DWARF number. What is not known is not zero: its bit in known is clear. */
struct arch_registers {
	uint64_t value[ARCH_REGISTERS_MAX];
	uint64_t known;
	uint64_t code_mask;      /* bits of a return address that are its signature; 0: none are */
	uint64_t thread_pointer; /* raw: fs base, TPIDR_EL0 */
	bool has_thread_pointer;
};

/* The largest register set that any CPU asks for, bytes. */
#define ARCH_REGSET_MAX 512

struct arch_regset {
	unsigned note; /* NT_* of PTRACE_GETREGSET; 0: none needed */
	size_t size;   /* the least that the kernel must return */
};

struct arch {
	const char *name;
	uint16_t elf_machine;
	unsigned pc, sp, fp, return_address; /* DWARF numbers */
	unsigned result;                     /* the same: what a system call returns */
	unsigned
		registers; /* DWARF numbers below it are general registers: the ones a walk carries */
	uint64_t kept;     /* a bit a DWARF number: a callee keeps it */
	/* Where the return address is as long as unwind information says nothing else: bytes from the CFA; 0: in its register. */
	int return_address_at;
	/* What a frame pointer points at, the caller's one and the return address, ends at the CFA; otherwise it is anywhere below. */
	bool fp_is_at_cfa;
	unsigned red_zone;     /* bytes below the stack pointer that a function may use */
	bool negates_ra_state; /* DW_CFA 0x2b to 0x2d say whether the return address is signed */
	uint64_t tag_bits;     /* of an address that the CPU does not look at */
	struct arch_regset general;
	struct arch_regset thread_pointer; /* note 0: it is in the general set */
	/* Which bits of a return address are its signature. The kernel refuses it with EINVAL where there are none; note 0: never. */
	struct arch_regset code_mask;
	struct arch_regset keys;      /* a bit a key that is in use; note 0: there are no keys */
	const char *const *key_names; /* by bit, up to a NULL; NULL without keys */
	/* The GNU property of a file that says what its code was built for, and its bits' names up to a NULL. */
	uint32_t feature_property;
	const char *const *feature_names;

	/* Fills @registers from the two sets as the kernel gave them; @thread may be NULL where the general set has it. */
	void (*parse_registers)(const void *general, const void *thread,
				struct arch_registers *registers);
	/* NULL where code_mask's note is 0. */
	uint64_t (*parse_code_mask)(const void *set);
	/* Name of a register by its DWARF number; NULL from registers on. */
	const char *(*register_name)(unsigned number);
	/*
	 * Where a register of the interrupted code is as long as a signal's trampoline (flow.h) runs: bytes from the stack pointer.
	 * @number is below registers.
	 */
	unsigned (*signal_offset)(unsigned number);
	/* Name of a system call by its number; NULL if it has none. */
	const char *(*syscall_name)(long number);
};

extern const struct arch arch_x86_64;
extern const struct arch arch_aarch64;

/* The CPU this program was built for. */
const struct arch *arch_host(void);
/* The CPU of an ELF file's e_machine; NULL if pysample knows none. */
const struct arch *arch_by_machine(uint16_t elf_machine);
/* A CPU's name for messages, also of those that are not supported ("riscv64", "machine 123"). Static or in a static buffer. */
const char *arch_machine_name(uint16_t elf_machine);

/* Addresses of the kernel's half have their sign's copies where others have tag and signature. */
#define ARCH_KERNEL_BIT (UINT64_C(1) << 55)

/* @address as the CPU sees it when it is followed: without its tag. */
static inline uint64_t arch_untagged(const struct arch *arch, uint64_t address)
{
	return address & ARCH_KERNEL_BIT ? address : address & ~arch->tag_bits;
}

/* @address of code without tag and signature. */
static inline uint64_t arch_code_address(const struct arch *arch,
					 const struct arch_registers *registers, uint64_t address)
{
	return address & ARCH_KERNEL_BIT ? address
					 : address & ~(arch->tag_bits | registers->code_mask);
}

static inline bool arch_register_get(const struct arch_registers *registers, unsigned number,
				     uint64_t *ret)
{
	if (number >= ARCH_REGISTERS_MAX || !(registers->known >> number & 1))
		return false;
	*ret = registers->value[number];
	return true;
}

static inline void arch_register_set(struct arch_registers *registers, unsigned number,
				     uint64_t value)
{
	registers->value[number] = value;
	registers->known |= UINT64_C(1) << number;
}
