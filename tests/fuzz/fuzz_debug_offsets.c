/* SPDX-License-Identifier: MIT */
/* fuzz_debug_offsets.c: the _Py_DebugOffsets of a process, at address 4096. */
#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "python/layout.h"

#define ADDRESS 4096

struct fuzz_memory {
	struct memory memory;
	const uint8_t *data;
	size_t size;
};

static bool fuzz_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	const struct fuzz_memory *fuzz = (const struct fuzz_memory *)memory;
	if (address < ADDRESS || address - ADDRESS > fuzz->size ||
	    size > fuzz->size - (address - ADDRESS))
		return false;
	memcpy(buffer, fuzz->data + (address - ADDRESS), size);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_memory fuzz = { .memory.read = fuzz_read, .data = data, .size = size };
	py_version version;
	struct py_layout layout;
	if (!py_layout_read_version(&fuzz.memory, ADDRESS, &version))
		return 0;
	error_destroy(
		py_layout_select(version, EM_X86_64, false, 0, &fuzz.memory, ADDRESS, &layout));
	return 0;
}
