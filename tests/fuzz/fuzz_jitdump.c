/* SPDX-License-Identifier: MIT */
/* A jitdump file that grows: the input's second half is appended after a first look. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/jitdump.h"

#define CODE UINT64_C(0x7f9e9efb0000)
/* Any: what it is compared with may be 0 in the file. */
#define MACHINE 62

static void look(struct jitdump *jitdump, uint64_t now_ns)
{
	while (jitdump_update(jitdump, now_ns))
		now_ns += 1000000000;
	for (uint64_t address = CODE; address < CODE + 0x10000; address += 0x70) {
		const struct code_range *range = jitdump_find(jitdump, NULL, address);
		if (!range)
			continue;
		if (address - range->address >= range->size ||
		    strlen(range->name) > CODE_RANGE_NAME_LIMIT)
			abort();
		uint8_t sum = 0;
		for (size_t i = 0; i < range->eh_frame_size; i++)
			sum ^= range->eh_frame[i];
		__asm__ volatile("" ::"r"(sum));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct jitdump *jitdump = NULL;
	if (fd < 0 || write(fd, data, size / 2) != (ssize_t)(size / 2))
		abort();
	struct error *err = jitdump_open_fd(fd, "fuzz", MACHINE, &jitdump);
	error_destroy(err);
	if (!jitdump) {
		close(fd);
		return 0;
	}
	look(jitdump, 0);
	if (pwrite(fd, data + size / 2, size - size / 2, (off_t)(size / 2)) < 0)
		abort();
	look(jitdump, 1000000000);
	jitdump_close(jitdump);
	return 0;
}
