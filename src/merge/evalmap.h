/* SPDX-License-Identifier: MIT */
/*
 * evalmap.h: is this native frame an evaluation loop.
 *
 * The loop begins at an exported symbol, which stripped interpreters have too, and reaches as far as its unwind information does.
 * Compilers set parts of it apart, most of it even (Debian's 3.14: 1 KiB at the symbol, 80 KiB elsewhere). A part has unwind
 * information of its own that begins in the middle of a frame; it is found by the jumps that lead to it from the loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "image/image.h"
#include "unwind/cfi_table.h"

struct eval_range {
	uint64_t start;
	uint64_t end;
};

DEFINE_VEC(struct eval_ranges, eval_ranges, struct eval_range)

/* A zeroed one knows no loop. */
struct evalmap {
	struct eval_ranges ranges;
};

void evalmap_deinit(struct evalmap *map);
/*
 * Adds the loop of the interpreter in @image, loaded with @bias, whose rules are in @table (NULL: it has none). False if it has no
 * loop that can be found, or without memory.
 */
bool evalmap_add(struct evalmap *map, const struct image *image, uint64_t bias,
		 struct cfi_table *table);
/* True if @address (a return address less one) lies in a loop. */
bool evalmap_is_eval(const struct evalmap *map, uint64_t address);
