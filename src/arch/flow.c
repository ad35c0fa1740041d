/* SPDX-License-Identifier: MIT */
/* flow.c: the CPUs whose code is read. */
#include "arch/flow.h"

#include <elf.h>

const struct flow *flow_by_machine(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return &flow_x86_64;
	case EM_AARCH64:
		return &flow_aarch64;
	default:
		return NULL;
	}
}
