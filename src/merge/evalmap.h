/* SPDX-License-Identifier: MIT */
/*
 * evalmap.h: is this native frame an evaluation loop.
 *
 * The loop's address range comes from its exported symbol, which stripped interpreters have too; compilers split parts off it
 * (".cold"), and 3.14 may have a function for each instruction (tail calls): those come from .symtab where there is one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "image/image.h"

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
/* Adds the loop of the interpreter in @image, loaded with @bias. False if it has none that can be found, or without memory. */
bool evalmap_add(struct evalmap *map, const struct image *image, uint64_t bias);
/* True if @address (a return address less one) lies in a loop. */
bool evalmap_is_eval(const struct evalmap *map, uint64_t address);
