/* SPDX-License-Identifier: MIT */
/* An ELF image: headers, sections, symbols by name and by address, embedded symbols. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/demangle.h"
#include "image/symbolizer.h"

static void look_at_names(const struct image *image)
{
	struct image_symbol symbol;
	struct image_section section;
	const uint8_t *data;
	size_t size;
	static const char *const sections[] = { ".debug_frame", ".gnu_debuglink", ".text",
						".eh_frame" };
	image_symbol(image, "public", &symbol);
	image_symbol(image, "hidden", &symbol);
	image_build_id(image, &size);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		image_section(image, sections[i], &section);
		if (!image_section_data(image, sections[i], &data, &size))
			continue;
		uint8_t sum = 0;
		for (size_t j = 0; j < size; j++)
			sum ^= data[j];
		__asm__ volatile("" ::"r"(sum));
	}
}

static void look_at_addresses(const struct image *image)
{
	struct symbolizer *symbolizer = NULL;
	size_t count;
	const struct image_segment *segments = image_segments(image, &count);
	if (symbolizer_create(image, "fuzz", NULL, &symbolizer))
		abort();
	for (size_t i = 0; i < count && i < 8; i++) {
		for (uint64_t offset = 0; offset < 0x400; offset += 8) {
			struct function function;
			uint64_t vaddr = segments[i].vaddr + offset;
			if (!symbolizer_find(symbolizer, vaddr, &function))
				continue;
			if (!*function.name || vaddr - function.vaddr >= function.size)
				abort();
			free(demangle(function.name));
			free(function.name);
		}
	}
	symbolizer_destroy(symbolizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image *image = NULL;
	struct error *err = image_open_bytes(data, size, "fuzz", &image);
	error_destroy(err);
	if (!image)
		return 0;
	look_at_names(image);
	look_at_addresses(image);
	image_close(image);
	return 0;
}
