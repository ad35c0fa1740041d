/* SPDX-License-Identifier: MIT */
/* arch.c: the CPUs that pysample knows. */
#include "arch/arch.h"

#include <elf.h>
#include <stdio.h>

static const struct arch *const arches[] = { &arch_x86_64, &arch_aarch64 };

const struct arch *arch_host(void)
{
#if defined(__x86_64__)
	return &arch_x86_64;
#elif defined(__aarch64__) && defined(__AARCH64EL__)
	return &arch_aarch64;
#else
#error "pysample has not been measured on this CPU: see arch.h"
#endif
}

const struct arch *arch_by_machine(uint16_t elf_machine)
{
	for (size_t i = 0; i < sizeof(arches) / sizeof(arches[0]); i++)
		if (arches[i]->elf_machine == elf_machine)
			return arches[i];
	return NULL;
}

const char *arch_machine_name(uint16_t elf_machine)
{
	static char number[16];
	switch (elf_machine) {
	case EM_X86_64:
		return "x86-64";
	case EM_AARCH64:
		return "aarch64";
	case EM_386:
		return "386";
	case EM_ARM:
		return "arm";
	case EM_RISCV:
		return "riscv";
	case EM_PPC64:
		return "ppc64";
	case EM_S390:
		return "s390x";
	case EM_LOONGARCH:
		return "loongarch";
	case EM_MIPS:
		return "mips";
	default:
		snprintf(number, sizeof(number), "machine %u", elf_machine);
		return number;
	}
}
