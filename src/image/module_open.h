/* SPDX-License-Identifier: MIT */
/*
 * module_open.h: mapping → image of the file that is mapped there, and of no other.
 *
 * A file that was replaced, deleted or is out of reach is read from the target's memory.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "image/image.h"
#include "target/maps.h"
#include "target/memory.h"
#include "target/process.h"

/*
 * The file of @mapping, or what of it is in memory behind @first (NULL if its start is not mapped).
 * *from_memory_ret says which, also on failure. The error is the file's: what happened to it.
 */
struct error *module_open(const struct process *process, struct memory *memory,
			  const struct mapping *mapping, const struct mapping *first,
			  struct image **image_ret, bool *from_memory_ret);
