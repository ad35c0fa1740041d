/* SPDX-License-Identifier: MIT */
/*
 * cfi_entry.h: common information entries (CIE) and frame description entries (FDE) of .eh_frame
 * and .debug_frame.
 *
 * DWARF 5 §6.4.1; for .eh_frame LSB 5.0 §10.6.1 and, for pointer encodings, §10.5.1. All addresses
 * are the image's. Everything is bounded: a decoder gives REASON_BAD_CFI for bytes that contradict
 * themselves, and leaves its output untouched then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "base/reason.h"
#include "unwind/cfi_section.h"

/* Bytes of an entry; the largest seen in 1,200 libraries has some thousand. */
#define CFI_ENTRY_LIMIT (1u << 20)

/* DW_EH_PE_*: low half the format, then what it is relative to, then indirect. */
enum cfi_pointer_encoding {
	CFI_PE_ABSPTR = 0x00,
	CFI_PE_ULEB128 = 0x01,
	CFI_PE_UDATA2 = 0x02,
	CFI_PE_UDATA4 = 0x03,
	CFI_PE_UDATA8 = 0x04,
	CFI_PE_SIGNED = 0x08, /* an absptr with a sign */
	CFI_PE_SLEB128 = 0x09,
	CFI_PE_SDATA2 = 0x0a,
	CFI_PE_SDATA4 = 0x0b,
	CFI_PE_SDATA8 = 0x0c,
	CFI_PE_FORMAT = 0x0f, /* mask */

	CFI_PE_PCREL = 0x10,
	CFI_PE_TEXTREL = 0x20,
	CFI_PE_DATAREL = 0x30,
	CFI_PE_FUNCREL = 0x40,
	CFI_PE_ALIGNED = 0x50,
	CFI_PE_RELATIVE = 0x70, /* mask */

	CFI_PE_INDIRECT = 0x80,
	CFI_PE_OMIT = 0xff,
};

/* What an encoded pointer may be relative to. */
struct cfi_pointer_base {
	uint64_t vaddr; /* of the reader's first byte */
	uint64_t text, data, function;
	unsigned address_size;     /* 4 or 8 */
	const struct image *image; /* where indirect pointers are read; NULL: they fail */
};

/* False for an encoding that is none (CFI_PE_OMIT included) and for missing bytes. */
bool cfi_pointer_read(struct reader *reader, uint8_t encoding, const struct cfi_pointer_base *base,
		      uint64_t *ret);

enum cfi_entry_kind {
	CFI_ENTRY_CIE,
	CFI_ENTRY_FDE,
	CFI_ENTRY_PADDING,    /* a zero length in the middle */
	CFI_ENTRY_TERMINATOR, /* the end of the section */
};

/* One entry as it lies in the section. */
struct cfi_entry {
	enum cfi_entry_kind kind;
	uint64_t offset; /* in the section */
	uint64_t next;
	uint64_t cie_offset; /* of an FDE: its CIE */
	const uint8_t *body; /* what follows the CIE id or CIE pointer; in the window, valid until
				that moves */
	size_t body_size;
	uint64_t body_offset; /* in the section */
};

/* The entry at @offset; at the section's size CFI_ENTRY_TERMINATOR. */
enum reason cfi_entry_read(struct cfi_window *window, uint64_t offset, struct cfi_entry *entry_ret);

struct cfi_cie {
	uint64_t offset;
	uint8_t version;
	uint8_t address_size;
	uint8_t segment_size;
	uint8_t fde_encoding;
	uint8_t return_register;
	bool is_augmented; /* 'z': FDEs have augmentation data too */
	bool is_signal_frame;
	bool is_key_b;
	uint64_t code_align;
	int64_t data_align;
	uint8_t *instructions; /* a copy */
	size_t instructions_size;
	uint64_t instructions_vaddr;
};

enum reason cfi_cie_decode(const struct cfi_section *section, const struct cfi_entry *entry,
			   struct cfi_cie *cie_ret);
/* Accepts a zeroed one. */
void cfi_cie_deinit(struct cfi_cie *cie);

struct cfi_fde {
	uint64_t start; /* vaddr */
	uint64_t size;
	const uint8_t *instructions; /* in the window of the entry */
	size_t instructions_size;
	uint64_t instructions_vaddr;
};

enum reason cfi_fde_decode(const struct cfi_section *section, const struct cfi_entry *entry,
			   const struct cfi_cie *cie, struct cfi_fde *fde_ret);
