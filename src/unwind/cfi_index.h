/* SPDX-License-Identifier: MIT */
/*
 * cfi_index.h: which FDE of a section covers a pc.
 *
 * .eh_frame_hdr's sorted table (LSB 5.0 §10.6.2) is searched where it lies, a few reads a look-up.
 * Nothing in it is believed: the FDE that it names must cover the pc. As soon as it contradicts
 * itself or the FDEs it is set aside for an index of our own, made by one pass over the section; so
 * it is where there is no such table, and for .debug_frame.
 */
#pragma once

#include "base/error.h"
#include "unwind/cfi_entry.h"

struct cfi_index;

/* Both are copied, what they refer to must outlive the index. @header may be NULL; nothing is read
 * before the first look-up. */
struct error *cfi_index_create(const struct cfi_section *section, const struct cfi_section *header,
			       struct cfi_index **index_ret);
void cfi_index_destroy(struct cfi_index *index);
DEFINE_CLEANUP(cfi_index_cleanup, struct cfi_index, cfi_index_destroy)
#define _cleanup_cfi_index_ _cleanup_(cfi_index_cleanup)

const struct cfi_section *cfi_index_section(const struct cfi_index *index);

/* One FDE, or the lack of one, for all vaddrs in [start, end). */
struct cfi_found {
	uint64_t start, end;
	uint64_t fde_offset; /* in the section */
};

/*
 * The FDE for @pc. Where two overlap, the one that starts last; of two that start together, the
 * first in the section. With REASON_NO_CFI *@found_ret is the gap; it is untouched for other
 * reasons (REASON_NO_MEMORY).
 */
enum reason cfi_index_find(struct cfi_index *index, uint64_t pc, struct cfi_found *found_ret);

/* Decodes an FDE and its CIE. Both are valid until the next call with this index; the CIE as long
 * as the index is. */
enum reason cfi_index_fde(struct cfi_index *index, uint64_t fde_offset,
			  const struct cfi_cie **cie_ret, struct cfi_fde *fde_ret);

/* A piece of the index of our own: [start, start + size), disjoint and ascending. */
struct cfi_piece {
	uint64_t start;
	uint32_t size;
	uint32_t fde_offset;
};

/* All FDEs of the section, by one pass over it at the first call. Owned by the index. */
enum reason cfi_index_pieces(struct cfi_index *index, const struct cfi_piece **pieces_ret,
			     size_t *count_ret);

/* Whether a .eh_frame_hdr was given and had to be set aside. */
bool cfi_index_header_is_damaged(const struct cfi_index *index);
