/* SPDX-License-Identifier: MIT */
/* read_collapsed.h: collapsed stacks, ours or others' → profile. */
#pragma once

#include <stddef.h>

#include "aggregate/profile.h"
#include "base/error.h"
#include "read/read.h"

/* As read_bytes. */
struct error *read_collapsed(const char *text, size_t size, const struct read_options *options,
			     struct profile *profile);
