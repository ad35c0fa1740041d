/* SPDX-License-Identifier: MIT */
/* memory_pages.c: memory that is read page by page. */
#include "target/memory_pages.h"

#include <stdlib.h>
#include <string.h>

/* No page begins there. */
#define NO_PAGE 1

/* The page at @address; NULL if not all of it can be read. */
static const uint8_t *page_at(struct memory_pages *pages, uint64_t address)
{
	size_t slot = (size_t)(address / MEMORY_PAGE_SIZE % MEMORY_PAGE_SLOTS);
	if (pages->addresses[slot] == address)
		return pages->bytes[slot];
	pages->addresses[slot] = NO_PAGE;
	if (!memory_read(pages->below, address, pages->bytes[slot], MEMORY_PAGE_SIZE))
		return NULL;
	pages->addresses[slot] = address;
	return pages->bytes[slot];
}

static bool pages_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct memory_pages *pages = (struct memory_pages *)memory;
	if (!pages->bytes || size > MEMORY_PAGE_SIZE || address > UINT64_MAX - size)
		return memory_read(pages->below, address, buffer, size);
	for (uint8_t *out = buffer; size;) {
		uint64_t offset = address % MEMORY_PAGE_SIZE;
		size_t part = (size_t)(MEMORY_PAGE_SIZE - offset);
		part = part < size ? part : size;
		const uint8_t *page = page_at(pages, address - offset);
		if (!page)
			return memory_read(pages->below, address, out, size);
		memcpy(out, page + offset, part);
		out += part;
		address += part;
		size -= part;
	}
	return true;
}

void memory_pages_init(struct memory_pages *pages, struct memory *below)
{
	*pages = (struct memory_pages){ .memory.read = pages_read, .below = below };
	pages->bytes = malloc(MEMORY_PAGE_SLOTS * sizeof(*pages->bytes));
	for (size_t i = 0; i < MEMORY_PAGE_SLOTS; i++)
		pages->addresses[i] = NO_PAGE;
}

void memory_pages_deinit(struct memory_pages *pages)
{
	free(pages->bytes);
}
