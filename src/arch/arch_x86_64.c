/* SPDX-License-Identifier: MIT */
/* arch_x86_64.c: x86-64. */
#include "arch/arch.h"

#include <elf.h>
#include <string.h>

/* struct user_regs_struct: 27 words, fs_base the 22nd. */
#define GENERAL_SIZE   216
#define FS_BASE_OFFSET 168

static const struct {
	uint8_t number;
	uint8_t offset;
} registers_at[] = {
#define REGISTER(name, number_, offset_, kept, signal) { number_, offset_ },
#include "arch/regs_x86_64.def"
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
	memcpy(&registers->thread_pointer, bytes + FS_BASE_OFFSET,
	       sizeof(registers->thread_pointer));
	registers->has_thread_pointer = true;
}

static const char *register_name(unsigned number)
{
	static const char *const names[] = {
#define REGISTER(name, number_, offset_, kept, signal) [number_] = #name,
#include "arch/regs_x86_64.def"
#undef REGISTER
	};
	return number < REGISTERS ? names[number] : NULL;
}

static unsigned signal_offset(unsigned number)
{
	static const uint16_t offsets[] = {
#define REGISTER(name, number_, offset_, kept, signal) [number_] = signal,
#include "arch/regs_x86_64.def"
#undef REGISTER
	};
	return offsets[number];
}

static const char *syscall_name(long number)
{
	static const char *const names[] = {
#define SYSCALL(number_, name) [number_] = #name,
#include "arch/syscalls_x86_64.def"
#undef SYSCALL
	};
	if (number < 0 || (size_t)number >= sizeof(names) / sizeof(names[0]))
		return NULL;
	return names[number];
}

enum {
	KEPT = 0
#define REGISTER(name, number_, offset_, kept, signal) | (kept) << (number_)
#include "arch/regs_x86_64.def"
#undef REGISTER
};

/* GNU_PROPERTY_X86_FEATURE_1_AND */
#define FEATURE_PROPERTY 0xc0000002
static const char *const feature_names[] = { "IBT", "SHSTK", NULL };

const struct arch arch_x86_64 = {
	.name = "x86-64",
	.elf_machine = EM_X86_64,
	.pc = 16,
	.sp = 7,
	.fp = 6,
	.return_address = 16,
	.result = 0,
	.registers = REGISTERS,
	.kept = KEPT,
	.return_address_at = -8,
	.fp_is_at_cfa = true,
	.red_zone = 128,
	.feature_property = FEATURE_PROPERTY,
	.feature_names = feature_names,
	.general = { .note = NT_PRSTATUS, .size = GENERAL_SIZE },
	.parse_registers = parse_registers,
	.register_name = register_name,
	.signal_offset = signal_offset,
	.syscall_name = syscall_name,
};
