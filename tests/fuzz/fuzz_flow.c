/* SPDX-License-Identifier: MIT */
/* fuzz_flow.c: machine code of the process: how it gets back to its caller. Two bytes say where in the code that follows. */
#include <elf.h>
#include <stdint.h>

#include "arch/flow.h"

/* DWARF numbers below @registers. */
static void check(const struct flow_exit *exit, unsigned registers)
{
	if (exit->base >= registers || exit->saved_count > FLOW_SAVED_MAX)
		__builtin_trap();
	for (unsigned i = 0; i < exit->saved_count; i++)
		if (exit->saved[i].reg >= registers ||
		    (i && exit->saved[i].reg <= exit->saved[i - 1].reg))
			__builtin_trap();
}

/* Where the code does not go back and forth. */
static void read_straight(const struct flow *flow, unsigned registers, const uint8_t *code,
			  size_t size)
{
	struct flow_exit exit = { 0 };
	struct flow_stub stub;
	uint64_t target;
	if (flow->exit(code, size, &exit))
		check(&exit, registers);
	flow->stub(code, size, 0x401000, &stub);
	flow->jump(code, size, 0x401000, &target);
	flow->signal_return(code, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct flow *flow = flow_by_machine(EM_X86_64);
	const struct flow *aarch64 = flow_by_machine(EM_AARCH64);
	struct flow_exit exit = { 0 };
	if (!flow || !aarch64)
		__builtin_trap();
	if (size < 2)
		return 0;
	size_t at = data[0] | (size_t)data[1] << 8;
	data += 2;
	size -= 2;
	if (flow->exit_of_leaf(data, size, at, &exit))
		check(&exit, 16);
	if (at > size)
		return 0;
	read_straight(flow, 16, data + at, size - at);
	read_straight(aarch64, 32, data + at, size - at);
	if (aarch64->exit_of_stub(data, size, at, &exit))
		check(&exit, 32);
	return 0;
}
