/* SPDX-License-Identifier: MIT */
/* json.h: the format "json" of docs/formats.md. */
#pragma once

#include "write/writer.h"

extern const struct writer json_writer;
