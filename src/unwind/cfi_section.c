/* SPDX-License-Identifier: MIT */
/* cfi_section.c: windows over a section. */
#include "unwind/cfi_section.h"

#include <stdlib.h>

void cfi_window_deinit(struct cfi_window *window)
{
	free(window->buffer);
	window->buffer = NULL;
	window->capacity = 0;
	window->start = window->size = 0;
}

static bool fill(struct cfi_window *window, uint64_t offset, size_t size)
{
	const struct cfi_section *section = window->section;
	window->size = 0;
	if (size > window->capacity) {
		uint8_t *buffer = realloc(window->buffer, size);
		if (!buffer)
			return false;
		window->buffer = buffer;
		window->capacity = size;
	}
	if (!image_read(section->image, section->vaddr + offset, window->buffer, size))
		return false;
	window->start = offset;
	window->size = size;
	return true;
}

const uint8_t *cfi_window_get(struct cfi_window *window, uint64_t offset, size_t size)
{
	const struct cfi_section *section = window->section;
	if (offset > section->size || size > section->size - offset)
		return NULL;
	if (section->data)
		return section->data + offset;
	if (offset >= window->start && offset - window->start <= window->size &&
	    size <= window->size - (offset - window->start))
		return window->buffer + (offset - window->start);
	if (!section->image)
		return NULL;

	size_t chunk = window->chunk ? window->chunk : CFI_WINDOW_CHUNK;
	if (chunk > section->size - offset)
		chunk = section->size - offset;
	/* The end of a truncated file may be nearer than the end of the section. */
	if ((chunk > size && fill(window, offset, chunk)) || fill(window, offset, size))
		return window->buffer;
	return NULL;
}
