/* SPDX-License-Identifier: MIT */
/*
 * alive.h: whether an address leads to the living structures of an interpreter, or only to bytes.
 *
 * The target runs meanwhile: a false may be a list that changed just then, so ask again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/layout.h"
#include "target/memory.h"

/*
 * A type's own type is itself for PyType_Type only; the place of ob_type, @type_offset, tells
 * whether Py_TRACE_REFS put two pointers before ob_refcnt (up to 3.12; later versions say where it
 * is).
 */
bool alive_is_type_type(struct memory *memory, uint64_t address, uint32_t type_offset);
/* True if the type of @object is @type. */
bool alive_has_type(struct memory *memory, const struct py_layout *layout, uint64_t object,
		    uint64_t type);

/*
 * The thread states, at least one, of all interpreters of the list from @interp on, and the last of
 * these: the main one. False if a link does not lead back, or the lists do not end.
 */
bool alive_count(struct memory *memory, const struct py_layout *layout, uint64_t interp,
		 size_t *tstates_ret, uint64_t *main_ret);

/*
 * The code object's type and its metatype, by way of the frames of @interp's threads, which may run
 * meanwhile: what is read is believed only when it is a type of that name. False if no thread has a
 * frame.
 */
bool alive_find_code_type(struct memory *memory, const struct py_layout *layout, uint64_t interp,
			  uint64_t *code_type_ret, uint64_t *type_type_ret);
