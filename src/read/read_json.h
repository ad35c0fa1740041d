/* SPDX-License-Identifier: MIT */
/* read_json.h: the format "json" of docs/formats.md → profile. */
#pragma once

#include <stddef.h>

#include "aggregate/profile.h"
#include "base/error.h"

/* As read_bytes. */
struct error *read_json(const char *text, size_t size, struct profile *profile);
