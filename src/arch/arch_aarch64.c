/* SPDX-License-Identifier: MIT */
/* arch_aarch64.c: aarch64. */
#include "arch/arch.h"

#include <elf.h>
#include <string.h>

/* struct user_pt_regs: x0 to x30, sp, pc, pstate. */
#define GENERAL_SIZE 272
/* TPIDR_EL0; newer kernels append TPIDR2_EL0. */
#define THREAD_SIZE 8
/* struct user_pac_mask: of data, of instructions. */
#define CODE_MASK_SIZE   16
#define CODE_MASK_OFFSET 8
#define KEYS_SIZE        8

/* Not in the elf.h of every host. */
#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif
#ifndef NT_ARM_PAC_MASK
#define NT_ARM_PAC_MASK 0x406
#endif
#ifndef NT_ARM_PAC_ENABLED_KEYS
#define NT_ARM_PAC_ENABLED_KEYS 0x40a
#endif

static const struct {
	uint8_t number;
	uint16_t offset;
} registers_at[] = {
#define REGISTER(name, number_, offset_, kept, signal) { number_, offset_ },
#include "arch/regs_aarch64.def"
#undef REGISTER
};

enum { REGISTERS = sizeof(registers_at) / sizeof(registers_at[0]) };

static void parse_registers(const void *general, const void *thread,
			    struct arch_registers *registers)
{
	*registers = (struct arch_registers){ 0 };
	const uint8_t *bytes = general;
	for (size_t i = 0; i < REGISTERS; i++) {
		uint64_t value;
		memcpy(&value, bytes + registers_at[i].offset, sizeof(value));
		arch_register_set(registers, registers_at[i].number, value);
	}
	if (!thread)
		return;
	memcpy(&registers->thread_pointer, thread, sizeof(registers->thread_pointer));
	registers->has_thread_pointer = true;
}

static uint64_t parse_code_mask(const void *set)
{
	uint64_t mask;
	memcpy(&mask, (const uint8_t *)set + CODE_MASK_OFFSET, sizeof(mask));
	return mask;
}

static const char *register_name(unsigned number)
{
	static const char *const names[] = {
#define REGISTER(name, number_, offset_, kept, signal) [number_] = #name,
#include "arch/regs_aarch64.def"
#undef REGISTER
	};
	return number < REGISTERS ? names[number] : NULL;
}

static unsigned signal_offset(unsigned number)
{
	static const uint16_t offsets[] = {
#define REGISTER(name, number_, offset_, kept, signal) [number_] = signal,
#include "arch/regs_aarch64.def"
#undef REGISTER
	};
	return offsets[number];
}

static const char *syscall_name(long number)
{
	static const char *const names[] = {
#define SYSCALL(number_, name) [number_] = #name,
#include "arch/syscalls_aarch64.def"
#undef SYSCALL
	};
	if (number < 0 || (size_t)number >= sizeof(names) / sizeof(names[0]))
		return NULL;
	return names[number];
}

static const uint64_t kept_registers = 0
#define REGISTER(name, number_, offset_, kept, signal) | (uint64_t)(kept) << (number_)
#include "arch/regs_aarch64.def"
#undef REGISTER
	;

/* Bits of the set, as prctl(PR_PAC_SET_ENABLED_KEYS) has them. */
static const char *const key_names[] = { "IA", "IB", "DA", "DB", NULL };

/* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
#define FEATURE_PROPERTY 0xc0000000
static const char *const feature_names[] = { "BTI", "PAC", "GCS", NULL };

const struct arch arch_aarch64 = {
	.name = "aarch64",
	.elf_machine = EM_AARCH64,
	.pc = 32,
	.sp = 31,
	.fp = 29,
	.return_address = 30,
	.result = 0,
	.registers = REGISTERS,
	.kept = kept_registers,
	.return_address_at = 0,
	.fp_is_at_cfa = false,
	.red_zone = 0,
	.negates_ra_state = true,
	.tag_bits = UINT64_C(0xff) << 56,
	.general = { .note = NT_PRSTATUS, .size = GENERAL_SIZE },
	.thread_pointer = { .note = NT_ARM_TLS, .size = THREAD_SIZE },
	.code_mask = { .note = NT_ARM_PAC_MASK, .size = CODE_MASK_SIZE },
	.keys = { .note = NT_ARM_PAC_ENABLED_KEYS, .size = KEYS_SIZE },
	.key_names = key_names,
	.feature_property = FEATURE_PROPERTY,
	.feature_names = feature_names,
	.parse_registers = parse_registers,
	.parse_code_mask = parse_code_mask,
	.register_name = register_name,
	.signal_offset = signal_offset,
	.syscall_name = syscall_name,
};
