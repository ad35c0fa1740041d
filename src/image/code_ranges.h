/* SPDX-License-Identifier: MIT */
/*
 * code_ranges.h: names for ranges of addresses, where a newer range replaces older ones.
 *
 * Added in any order, looked up after an update. A range that overlaps a newer one is dropped as a
 * whole: its code is gone. Bounded: beyond the limits nothing more is added.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "target/maps.h"

#define CODE_RANGE_LIMIT      500000
#define CODE_RANGE_NAME_LIMIT 4096

struct code_range {
	uint64_t address;
	uint64_t size; /* not 0 */
	char *name;    /* hostile bytes without NUL; longer names are cut */
	/* .eh_frame bytes for this range and the address that they are to be decoded at; NULL
	 * without. */
	const uint8_t *eh_frame;
	size_t eh_frame_size;
	uint64_t eh_frame_address;
	uint64_t sequence; /* of its addition */
};

DEFINE_VEC(struct code_range_vec, code_range_vec, struct code_range)

/* A zeroed one is empty. */
struct code_ranges {
	struct code_range_vec sorted;
	struct code_range_vec added; /* since the last update */
	uint64_t sequence;
	size_t name_bytes;
};

void code_ranges_deinit(struct code_ranges *ranges);

/*
 * @range->name need not end in NUL: @name_length says how long it is. Name and sequence are set
 * here. False, and nothing happens, at a limit, without memory, or for an empty or overflowing
 * range.
 */
bool code_ranges_add(struct code_ranges *ranges, const struct code_range *range, const char *name,
		     size_t name_length);
/* Makes what was added visible. False without memory: it is then as before. */
bool code_ranges_update(struct code_ranges *ranges);
/*
 * Moves the range that starts at @old_address, its unwind information with it; it counts as added
 * now. Includes an update, and costs as much. False if there is no such range.
 */
bool code_ranges_move(struct code_ranges *ranges, uint64_t old_address, uint64_t new_address);
/*
 * The range that holds @address, NULL if there is none, or if not all of it is generated code in @maps
 * (NULL: not checked). Valid until the next update.
 */
const struct code_range *code_ranges_find(const struct code_ranges *ranges, const struct maps *maps,
					  uint64_t address);

/* True if @maps has [@address, @address + @size) executable and without a file behind it. */
bool code_is_generated(const struct maps *maps, uint64_t address, uint64_t size);
