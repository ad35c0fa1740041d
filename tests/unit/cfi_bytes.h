/* SPDX-License-Identifier: MIT */
/*
 * cfi_bytes.h: writes .eh_frame and .debug_frame sections for tests, an entry at a time.
 *
 * The usual CIE is GCC's for x86-64: "zR" with pc-relative 32-bit pointers, cfa=rsp+8, rip=[cfa-8].
 */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "unwind/cfi_section.h"

#define EH_FRAME_VADDR UINT64_C(0x10000)

struct bytes {
	uint8_t data[8192];
	size_t size;
};

static inline void put(struct bytes *b, const void *data, size_t size)
{
	assert(b->size + size <= sizeof(b->data));
	if (size)
		memcpy(b->data + b->size, data, size);
	b->size += size;
}

static inline void put_u8(struct bytes *b, unsigned value)
{
	uint8_t byte = (uint8_t)value;
	put(b, &byte, 1);
}

static inline void put_u16(struct bytes *b, uint16_t value)
{
	put(b, &value, 2);
}

static inline void put_u32(struct bytes *b, uint64_t value)
{
	uint32_t word = (uint32_t)value;
	put(b, &word, 4);
}

static inline void put_u64(struct bytes *b, uint64_t value)
{
	put(b, &value, 8);
}

/* Begins an entry with a 32-bit length; @id is the CIE id or the CIE pointer as it is stored. */
static inline size_t begin_entry(struct bytes *b, uint32_t id)
{
	size_t start = b->size;
	put_u32(b, 0);
	put_u32(b, id);
	return start;
}

/* Pads with DW_CFA_nop and sets the length. */
static inline void end_entry(struct bytes *b, size_t start)
{
	while ((b->size - start) % 4)
		put_u8(b, 0);
	uint32_t length = (uint32_t)(b->size - start - 4);
	memcpy(b->data + start, &length, 4);
}

static inline size_t add_cie_with(struct bytes *b, const char *augmentation,
				  const uint8_t *augmentation_data, size_t augmentation_size,
				  const uint8_t *instructions, size_t size)
{
	size_t start = begin_entry(b, 0);
	put_u8(b, 1);
	put(b, augmentation, strlen(augmentation) + 1);
	put_u8(b, 1);    /* code alignment */
	put_u8(b, 0x78); /* data alignment -8 */
	put_u8(b, 16);   /* return address column */
	if (augmentation[0] == 'z')
		put_u8(b, (unsigned)augmentation_size);
	put(b, augmentation_data, augmentation_size);
	put(b, instructions, size);
	end_entry(b, start);
	return start;
}

static inline size_t add_cie(struct bytes *b)
{
	return add_cie_with(b, "zR", (const uint8_t[]){ 0x1b }, 1,
			    (const uint8_t[]){ 0x0c, 7, 8, 0x90, 1 }, 5);
}

/* An FDE of the usual CIE. */
static inline size_t add_fde(struct bytes *b, size_t cie, uint64_t start_vaddr, uint32_t code_size,
			     const uint8_t *instructions, size_t size)
{
	size_t start = begin_entry(b, (uint32_t)(b->size + 4 - cie));
	put_u32(b, start_vaddr - (EH_FRAME_VADDR + b->size));
	put_u32(b, code_size);
	put_u8(b, 0);
	put(b, instructions, size);
	end_entry(b, start);
	return start;
}

static inline struct cfi_section section_of(const struct bytes *b)
{
	return (struct cfi_section){ .vaddr = EH_FRAME_VADDR, .size = b->size, .data = b->data };
}
