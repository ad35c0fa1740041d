/* SPDX-License-Identifier: MIT */
/*
 * stubs.h: names for stubs of a procedure linkage table, which have no symbols of their own.
 *
 * A stub jumps to what a word of the global offset table says; the relocation of that word names the function.
 */
#pragma once

#include <stdint.h>

#include "image/image.h"

/* What a stub calls: by name, or, within the image, by the address of the function that chooses (an indirect function). */
struct stub {
	const char *name; /* owned by the image; NULL: see chooser */
	uint64_t chooser;
};

/* False if @vaddr lies in no stub that is understood. Reads all relocations: for few addresses. */
bool stub_find(const struct image *image, uint64_t vaddr, struct stub *stub_ret);
