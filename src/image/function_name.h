/* SPDX-License-Identifier: MIT */
/* function_name.h: the name of the function at an address, as people know it. */
#pragma once

#include <stdint.h>

#include "image/image.h"
#include "image/symbolizer.h"

/*
 * Demangled; "NAME@plt" for a stub that a call of NAME goes through. NULL if there is none, or no memory; the caller frees it.
 * @symbolizer is that of @image.
 */
char *function_name(struct symbolizer *symbolizer, const struct image *image, uint64_t vaddr);
