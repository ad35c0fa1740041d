/* SPDX-License-Identifier: MIT */
/* gecko.h: the format "gecko" of docs/formats.md. */
#pragma once

#include "write/writer.h"

extern const struct writer gecko_writer;
