/* SPDX-License-Identifier: MIT */
/* property.c: GNU properties of a file. Linux Extensions to gABI, "Program Property". */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/reader.h"
#include "image/image_private.h"

/* A file has a handful. */
#define NOTES_LIMIT 4096

static uint64_t padding(uint64_t size, uint64_t align)
{
	return -size & (align - 1);
}

/* type, size and as many bytes, padded to 8 */
static bool find_in_properties(struct reader r, uint32_t type, uint32_t *value_ret)
{
	uint32_t found, size;
	while (reader_u32(&r, &found) && reader_u32(&r, &size)) {
		if (found == type && size == sizeof(*value_ret))
			return reader_u32(&r, value_ret);
		if (!reader_skip(&r, size) || !reader_skip(&r, padding(size, 8)))
			return false;
	}
	return false;
}

static bool find_in_notes(struct reader r, uint32_t type, uint32_t *value_ret)
{
	uint32_t name_size, size, note;
	while (reader_u32(&r, &name_size) && reader_u32(&r, &size) && reader_u32(&r, &note)) {
		const uint8_t *name = reader_bytes(&r, name_size);
		if (!name || !reader_skip(&r, padding(name_size, 4)))
			return false;
		const uint8_t *content = reader_bytes(&r, size);
		if (!content)
			return false;
		bool is_ours =
			note == NT_GNU_PROPERTY_TYPE_0 && name_size == 4 && !memcmp(name, "GNU", 4);
		if (is_ours && find_in_properties(reader_make(content, size), type, value_ret))
			return true;
		if (!reader_skip(&r, padding(size, 4)))
			return false;
	}
	return false;
}

bool image_property(const struct image *image, uint32_t type, uint32_t *value_ret)
{
	for (size_t i = 0; i < image->notes_count; i++) {
		_cleanup_free_ uint8_t *notes = image_read_notes(image, i, NOTES_LIMIT);
		if (notes &&
		    find_in_notes(reader_make(notes, image->notes_size[i]), type, value_ret))
			return true;
	}
	return false;
}
