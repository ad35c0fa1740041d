/* SPDX-License-Identifier: MIT */
/* decode.c: the CPUs whose interpreters' code was measured. */
#include "arch/decode.h"

#include <elf.h>

const struct decoder *decoder_by_machine(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return &decoder_x86_64;
	case EM_AARCH64:
		return &decoder_aarch64;
	default:
		return NULL;
	}
}
