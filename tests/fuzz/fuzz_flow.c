/* SPDX-License-Identifier: MIT */
/* fuzz_flow.c: machine code of the process: how it gets back to its caller. Two bytes say where in the code that follows. */
#include <elf.h>
#include <stdint.h>

#include "arch/flow.h"

static void check(const struct flow_exit *exit)
{
	if (exit->base >= 16 || exit->saved_count > FLOW_SAVED_MAX)
		__builtin_trap();
	for (unsigned i = 0; i < exit->saved_count; i++)
		if (exit->saved[i].reg >= 16 || (i && exit->saved[i].reg <= exit->saved[i - 1].reg))
			__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct flow *flow = flow_by_machine(EM_X86_64);
	struct flow_exit exit = { 0 };
	struct flow_stub stub;
	uint64_t target;
	if (!flow)
		__builtin_trap();
	if (size < 2)
		return 0;
	size_t at = data[0] | (size_t)data[1] << 8;
	data += 2;
	size -= 2;
	if (flow->exit_of_leaf(data, size, at, &exit))
		check(&exit);
	if (at > size)
		return 0;
	if (flow->exit(data + at, size - at, &exit))
		check(&exit);
	flow->stub(data + at, size - at, 0x401000, &stub);
	flow->jump(data + at, size - at, 0x401000, &target);
	return 0;
}
