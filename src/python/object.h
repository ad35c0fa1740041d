/* SPDX-License-Identifier: MIT */
/*
 * object.h: what kind of object there is at an address.
 *
 * The built-in types are told by the bits that every type inherits from them, so subclasses count
 * and no address of a type has to be known.
 */
#pragma once

#include "base/reason.h"
#include "python/layout.h"
#include "target/memory.h"

/* Bits of tp_flags, the same in every version that is supported (they are part of the stable ABI).
 */
#define OBJECT_IS_INT     (UINT64_C(1) << 23) /* 2.7 */
#define OBJECT_IS_LONG    (UINT64_C(1) << 24) /* 3.x: int */
#define OBJECT_IS_BYTES   (UINT64_C(1) << 27) /* 2.7: str */
#define OBJECT_IS_UNICODE (UINT64_C(1) << 28) /* 3.x: str */
#define OBJECT_IS_DICT    (UINT64_C(1) << 29)

/* True if the type at @type has all of @flags. */
static inline bool object_type_is(struct memory *memory, const struct py_layout *layout,
				  uint64_t type, uint64_t flags)
{
	uint64_t type_flags;
	return memory_read_u64(memory, type + layout->type_flags, &type_flags) &&
	       (type_flags & flags) == flags;
}
