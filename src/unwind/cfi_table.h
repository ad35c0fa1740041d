/* SPDX-License-Identifier: MIT */
/*
 * cfi_table.h: compiled unwind rules of one image, found by pc.
 *
 * Turns FDEs into rows of the vocabulary (cfi_row.h), a function at a time, when a pc in it is
 * looked up for the first time. Equal rows are kept once. The table owns its rows; a row stays
 * where it is until the table is destroyed. Knows nothing of processes: addresses are the image's.
 * Which images share a table (by build id) is the caller's concern.
 *
 * .eh_frame comes first, .debug_frame serves where it has a gap. The answer for a pc never changes.
 */
#pragma once

#include "base/error.h"
#include "base/reason.h"
#include "unwind/cfi_index.h"
#include "unwind/cfi_row.h"

struct cfi_table;

/* The table of an image. Nothing but some headers is read before the first look-up. @image must
 * outlive the table. */
struct error *cfi_table_create_image(const struct image *image, struct cfi_table **table_ret);

/* The same from sections alone (jitdump, tests): @eh_frame and @debug_frame of size 0 are none,
 * @header may be NULL. */
struct error *cfi_table_create(const struct arch *arch, const struct cfi_section *eh_frame,
			       const struct cfi_section *header,
			       const struct cfi_section *debug_frame, struct cfi_table **table_ret);
void cfi_table_destroy(struct cfi_table *table);
DEFINE_CLEANUP(cfi_table_cleanup, struct cfi_table, cfi_table_destroy)
#define _cleanup_cfi_table_ _cleanup_(cfi_table_cleanup)

/* Adds the .debug_frame of the image's separate debug file, which must outlive the table. To be
 * called before the first look-up. */
void cfi_table_set_debug_image(struct cfi_table *table, const struct image *debug_image);

/*
 * The row in force at @pc, a vaddr. REASON_NO_CFI where no FDE covers it; REASON_BAD_CFI where its
 * instructions are damaged from there on; REASON_LIMIT, REASON_NO_MEMORY. For a return address,
 * pass it less one.
 */
enum reason cfi_table_lookup(struct cfi_table *table, uint64_t pc, const struct cfi_row **row_ret);

/* The same, and the vaddrs [*start_ret, *end_ret) for which the answer, a reason too, is the same.
 * Slower. */
enum reason cfi_table_lookup_range(struct cfi_table *table, uint64_t pc,
				   const struct cfi_row **row_ret, uint64_t *start_ret,
				   uint64_t *end_ret);

/* The bytes of the expression with that number, as a rule or a CFA of this table names it. */
const uint8_t *cfi_table_expression(const struct cfi_table *table, int32_t number,
				    size_t *size_ret);

const struct arch *cfi_table_arch(const struct cfi_table *table);
/* NULL if the image has none. */
struct cfi_index *cfi_table_eh_frame(const struct cfi_table *table);
struct cfi_index *cfi_table_debug_frame(struct cfi_table *table);

struct cfi_table_stats {
	size_t functions;                /* compiled so far */
	size_t gaps;                     /* ranges known to have no FDE */
	size_t bad;                      /* functions with damaged instructions */
	size_t ranges;                   /* ranges of pc with a row of their own */
	size_t rows;                     /* different rows */
	size_t expressions;              /* different expressions */
	size_t bytes;                    /* memory of all that, look-up structures included */
	size_t signal_frames, outermost; /* ranges whose row has that flag */
	size_t cfa[CFI_CFA_KINDS_];      /* ranges by kind of CFA */
	size_t rules[CFI_RULE_KINDS_];   /* rules by kind, a range at a time */
};

void cfi_table_stats(const struct cfi_table *table, struct cfi_table_stats *stats_ret);
