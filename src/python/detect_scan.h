/* SPDX-License-Identifier: MIT */
/*
 * detect_scan.h: traces that a CPython runtime leaves in a module's data, for modules without
 * symbols.
 *
 * The searches are bounded in bytes and read in chunks; what is not readable is skipped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "image/modules.h"
#include "python/layout.h"
#include "target/memory.h"

#define PY_VERSION_TEXT_MAX 32

/* The length of the PY_VERSION ("3.13.0rc2") at the front of @text, 0 if there is none. */
size_t scan_parse_version(const char *text, size_t size, py_version *version_ret);

/*
 * The text that Py_GetVersion() has put together in the module's writable data ("3.9.18 (main, …)
 * [GCC …]"), if the PY_VERSION text at its front is also a string of its own in the module's
 * read-only data. False if there is none, or several that differ.
 */
bool scan_version_text(struct memory *memory, const struct module *module, py_version *version_ret,
		       char text_ret[PY_VERSION_TEXT_MAX]);

/* The _PyRuntime of 3.13 and later in the module's writable data, by its _Py_DebugOffsets. */
bool scan_debug_offsets(struct memory *memory, const struct module *module, uint64_t *address_ret,
			py_version *version_ret);

/*
 * The address of the pointer to the first interpreter in the module's writable data, by structure:
 * interpreter → thread state → the same interpreter, and for 3.7–3.12 the thread-specific-storage
 * key of the runtime around it. False unless exactly one place fits.
 */
bool scan_interp_head(struct memory *memory, const struct module *module, const struct maps *maps,
		      const struct py_layout *layout, uint64_t *address_ret);
