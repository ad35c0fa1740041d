/* SPDX-License-Identifier: MIT */
/* A perf map that grows: the input's second half is appended after a first look. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/perfmap.h"

static void look(struct perfmap *perfmap, uint64_t now_ns)
{
	while (perfmap_update(perfmap, now_ns))
		now_ns += 1000000000;
	for (uint64_t address = 0; address < 0x10000; address += 0x70) {
		const struct code_range *range = perfmap_find(perfmap, NULL, address);
		if (range &&
		    (address - range->address >= range->size || !*range->name ||
		     strchr(range->name, '\n') || strlen(range->name) > CODE_RANGE_NAME_LIMIT))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct perfmap *perfmap = NULL;
	if (fd < 0 || write(fd, data, size / 2) != (ssize_t)(size / 2) ||
	    perfmap_open_fd(fd, &perfmap))
		abort();
	look(perfmap, 0);
	if (pwrite(fd, data + size / 2, size - size / 2, (off_t)(size / 2)) < 0)
		abort();
	look(perfmap, 1000000000);
	perfmap_close(perfmap);
	return 0;
}
