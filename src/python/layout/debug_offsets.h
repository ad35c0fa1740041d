/* SPDX-License-Identifier: MIT */
/*
 * debug_offsets.h: the table of its own layout that CPython 3.13 and later keep at the start of
 * _PyRuntime. Private to python/layout/.
 */
#pragma once

#include "python/layout/table.h"
#include "target/memory.h"

/* sizeof of the largest known table */
#define DEBUG_OFFSETS_MAX 1024
/* char cookie[8]; uint64_t version (PY_VERSION_HEX); uint64_t free_threaded; then the members of
 * the shape. */
#define DEBUG_OFFSETS_HEAD_SIZE 24

struct debug_offsets {
	bool free_threaded;
	const struct py_debug_shape *shape;
	uint64_t values[PY_DEBUG_COUNT]; /* as read; 0 for what the shape does not have */
};

/* Version and kind of build only; false if the bytes are not the head of such a table. */
bool debug_offsets_parse_head(const uint8_t head[DEBUG_OFFSETS_HEAD_SIZE], py_version *version_ret,
			      bool *free_threaded_ret);

/*
 * Reads the table at @address, which must be that of @version (3.13 or later): by the shape of its
 * minor version, by the newest known shape if it is newer than all. Members that are tied to each
 * other are compared, which a table of another shape does not pass.
 */
struct error *debug_offsets_read(py_version version, struct memory *memory, uint64_t address,
				 struct debug_offsets *offsets_ret);

/*
 * Puts the answers of @offsets over those of @layout, which has a row's values. ERROR_CORRUPT
 * naming the field for a number that is no offset; py_layout_validate is still to be called.
 */
struct error *debug_offsets_apply(const struct debug_offsets *offsets, struct py_layout *layout);
