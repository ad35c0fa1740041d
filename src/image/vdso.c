/* SPDX-License-Identifier: MIT */
/* vdso.c: all of the mapping is a whole ELF file. */
#include "image/vdso.h"

#include <stdlib.h>
#include <string.h>

/* It has two pages, with pages of 64 KiB too. */
#define VDSO_LIMIT (UINT64_C(1) << 20)

const struct mapping *vdso_mapping(const struct maps *maps)
{
	vec_foreach (mapping, maps) {
		if (!mapping->inode && mapping->exec && !strcmp(mapping->path, "[vdso]"))
			return mapping;
	}
	return NULL;
}

struct error *vdso_open(struct memory *memory, const struct mapping *mapping,
			struct image **image_ret)
{
	uint64_t size = mapping->end - mapping->start;
	if (size > VDSO_LIMIT)
		return error_create(ERROR_CORRUPT, "the mapping %s is too large", mapping->path);
	_cleanup_free_ uint8_t *data = malloc(size);
	if (!data)
		return error_no_memory();
	if (!memory_read(memory, mapping->start, data, size))
		return error_create(ERROR_FAULT, "the mapping %s is not readable", mapping->path);
	return image_open_bytes(data, size, mapping->path, image_ret);
}
