/* SPDX-License-Identifier: MIT */
/* svg.h: a flame graph as a picture, for pages that take no more than that. */
#pragma once

#include "write/writer.h"

extern const struct writer svg_writer;
