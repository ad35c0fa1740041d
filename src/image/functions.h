/* SPDX-License-Identifier: MIT */
/*
 * functions.h: the functions of one symbol table, sorted by address.
 *
 * A table keeps 12 bytes a symbol and no names: those are read when an address is asked for. The
 * rule that decides between several symbols at one address does not depend on the order of the
 * file:
 *   - the innermost symbol whose size covers the address; without one the nearest symbol before it
 *     that has no size, which reaches to the next symbol or to the end of its section;
 *   - at the same start a function before a symbol without type, global and weak before local;
 *   - then the name with fewer leading underscores, the shorter one, the first in byte order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/image.h"

/* C++ names of some kilobytes are real. Longer ones are cut. */
#define FUNCTION_NAME_LIMIT 16384

struct functions;

enum functions_table {
	FUNCTIONS_SYMTAB, /* .symtab, found by section headers */
	FUNCTIONS_DYNSYM, /* .dynsym, found by section headers or PT_DYNAMIC */
};

/* Addresses of code: vaddrs of the mapped image, which a debug file of it shares. */
struct functions_span {
	uint64_t start;
	uint64_t end;
};

struct function {
	char *name; /* as in the file, without a version ("@@…"); the caller frees it */
	uint64_t vaddr;
	uint64_t size; /* as far as it reaches, where the file gives no size */
	bool has_size; /* the file gives it */
};

/* From the first to the last executable segment; false if there is none. */
bool functions_span(const struct image *image, struct functions_span *span_ret);

/*
 * Reads all of the table. @image must outlive the result. Of an image from memory the names are
 * read at once, since the process may be gone when they are asked for. NULL, and no error, if there
 * is no such table or no function within @span in it.
 */
struct error *functions_load(const struct image *image, enum functions_table which,
			     const struct functions_span *span, struct functions **functions_ret);
void functions_destroy(struct functions *functions);
DEFINE_CLEANUP(functions_cleanup, struct functions, functions_destroy)
#define _cleanup_functions_ _cleanup_(functions_cleanup)

size_t functions_count(const struct functions *functions);
/* False where no symbol reaches to @vaddr, its name is unreadable, or memory is short. */
bool functions_find(const struct functions *functions, uint64_t vaddr,
		    struct function *function_ret);
