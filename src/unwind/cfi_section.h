/* SPDX-License-Identifier: MIT */
/*
 * cfi_section.h: the bytes of one section with unwind information, whole in memory or read piece by
 * piece from an image.
 *
 * A large library has megabytes of it and a profile touches a few hundred bytes: a window of it is
 * read at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image.h"

/* No larger section is looked at: offsets are kept in 32 bits. */
#define CFI_SECTION_LIMIT UINT32_MAX

struct cfi_section {
	uint64_t vaddr;            /* address in the image of its first byte; 0 if it is not loaded
				      (.debug_frame) */
	uint64_t size;             /* 0: there is no such section */
	const uint8_t *data;       /* the caller's, or NULL: read from image */
	const struct image *image; /* NULL: only data; else also for indirect pointers */
	uint64_t text_base;        /* what DW_EH_PE_textrel is relative to; 0 if unknown */
	uint64_t data_base;        /* the same for DW_EH_PE_datarel */
	bool is_debug_frame; /* DWARF 5 §6.4.1's format; else .eh_frame's, LSB 5.0 §10.6.1 */
	/* size is an upper bound (no section headers): a zero length ends the section. Else it is
	 * padding. */
	bool is_terminated;
};

/* A part of a section. A zeroed window over a section is an empty one. */
struct cfi_window {
	const struct cfi_section *section;
	size_t chunk; /* read at least that much at a time; 0: CFI_WINDOW_CHUNK */
	uint8_t *buffer;
	size_t capacity;
	uint64_t start, size; /* what buffer holds */
};

/* Enough for an FDE and its neighbours. */
#define CFI_WINDOW_CHUNK 2048
/* For a pass over the whole section. */
#define CFI_WINDOW_CHUNK_SCAN 65536

void cfi_window_deinit(struct cfi_window *window);

/* The bytes [@offset, @offset + @size) of the section, valid until the next call; NULL outside it
 * or if they are not readable. */
const uint8_t *cfi_window_get(struct cfi_window *window, uint64_t offset, size_t size);
