/* SPDX-License-Identifier: MIT */
/* speedscope.h: the format "speedscope" of docs/formats.md. */
#pragma once

#include "write/writer.h"

extern const struct writer speedscope_writer;
