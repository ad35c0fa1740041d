/* SPDX-License-Identifier: MIT */
/* vdso.h: the library that the kernel maps into every process, read from memory. */
#pragma once

#include "base/error.h"
#include "image/image.h"
#include "target/maps.h"
#include "target/memory.h"

/* The mapping of the code, NULL if the process has none. */
const struct mapping *vdso_mapping(const struct maps *maps);
/* A copy, with sections and symbols; its bias is mapping->start less the vaddr of its first
 * segment. */
struct error *vdso_open(struct memory *memory, const struct mapping *mapping,
			struct image **image_ret);
