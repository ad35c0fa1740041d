/* SPDX-License-Identifier: MIT */
/*
 * symbolizer.h: from an address in an image to the name of the function there.
 *
 * Asks, each read at first need only: .symtab; .symtab of the separate debug file; .dynsym; .symtab
 * inside .gnu_debugdata. The first table with a symbol whose size covers the address names it;
 * where none has one, the nearest symbol without size does. Meant for the end of a run: a table
 * takes 12 bytes a function, so resolve the addresses of one image, then destroy its symbolizer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/debuginfo.h"
#include "image/functions.h"
#include "image/image.h"

struct symbolizer;

/*
 * @image, and what @places points to, must outlive it. @path is that of the image in the target's
 * root. @places NULL: no separate debug files.
 */
struct error *symbolizer_create(const struct image *image, const char *path,
				const struct debuginfo_places *places,
				struct symbolizer **symbolizer_ret);
void symbolizer_destroy(struct symbolizer *symbolizer);
DEFINE_CLEANUP(symbolizer_cleanup, struct symbolizer, symbolizer_destroy)
#define _cleanup_symbolizer_ _cleanup_(symbolizer_cleanup)

/* Reads now what can be read from the process only, before that ends. */
void symbolizer_prepare(struct symbolizer *symbolizer);

/* False where no symbol reaches to @vaddr. The name is as in the file (demangle.h) and hostile. */
bool symbolizer_find(struct symbolizer *symbolizer, uint64_t vaddr, struct function *function_ret);
