/* SPDX-License-Identifier: MIT */
/* cfi_image.c: .eh_frame by program or section headers, .debug_frame by section headers. */
#include "unwind/cfi_image.h"

#include "unwind/cfi_entry.h"

/* Version and three encodings. */
#define HEADER_FIXED_SIZE 4
#define POINTER_SIZE_MAX  8

static uint64_t section_vaddr(const struct image *image, const char *name)
{
	struct image_section section;
	return image_section(image, name, &section) ? section.vaddr : 0;
}

/* .eh_frame's vaddr as .eh_frame_hdr has it. */
static bool read_header_pointer(const struct cfi_section *header, uint64_t *vaddr_ret)
{
	uint8_t bytes[HEADER_FIXED_SIZE + POINTER_SIZE_MAX] = { 0 };
	size_t size = header->size < sizeof(bytes) ? header->size : sizeof(bytes);
	if (size < HEADER_FIXED_SIZE || !image_read(header->image, header->vaddr, bytes, size))
		return false;
	struct reader r = reader_make(bytes, size);
	const struct cfi_pointer_base base = { .vaddr = header->vaddr,
					       .data = header->vaddr,
					       .address_size = 8 };
	return reader_skip(&r, HEADER_FIXED_SIZE) &&
	       cfi_pointer_read(&r, bytes[1], &base, vaddr_ret);
}

/* Bytes from @vaddr to the end of its segment's file part. */
static uint64_t bytes_left(const struct image *image, uint64_t vaddr)
{
	size_t count;
	const struct image_segment *segments = image_segments(image, &count);
	for (size_t i = 0; i < count; i++)
		if (vaddr >= segments[i].vaddr && vaddr - segments[i].vaddr < segments[i].file_size)
			return segments[i].file_size - (vaddr - segments[i].vaddr);
	return 0;
}

static bool from_program_headers(const struct image *image, struct cfi_section *eh_frame,
				 struct cfi_section *header)
{
	struct cfi_section found = { .image = image };
	if (!image_eh_frame_hdr(image, &found.vaddr, &found.size) ||
	    !read_header_pointer(&found, &eh_frame->vaddr))
		return false;
	eh_frame->size = bytes_left(image, eh_frame->vaddr);
	eh_frame->is_terminated = true;
	if (!eh_frame->size)
		return false;
	*header = found;
	return true;
}

bool cfi_image_eh_frame(const struct image *image, struct cfi_section *eh_frame_ret,
			struct cfi_section *header_ret)
{
	struct cfi_section eh_frame = { .image = image }, header = { 0 };
	bool is_found = from_program_headers(image, &eh_frame, &header);
	struct image_section section;
	if (image_section(image, ".eh_frame", &section) && section.has_bits && section.size &&
	    (!is_found || section.vaddr == eh_frame.vaddr)) {
		eh_frame.vaddr = section.vaddr;
		eh_frame.size = section.size;
		eh_frame.is_terminated = false;
		is_found = true;
	}
	if (!is_found)
		return false;
	eh_frame.text_base = section_vaddr(image, ".text");
	eh_frame.data_base = section_vaddr(image, ".got");
	*eh_frame_ret = eh_frame;
	*header_ret = header;
	return true;
}

bool cfi_image_debug_frame(const struct image *image, struct cfi_section *section_ret)
{
	struct cfi_section section = { .image = image, .is_debug_frame = true };
	size_t size;
	if (!image_section_data(image, ".debug_frame", &section.data, &size) || !size)
		return false;
	section.size = size;
	*section_ret = section;
	return true;
}
