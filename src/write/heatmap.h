/* SPDX-License-Identifier: MIT */
/* heatmap.h: the format "heatmap" of docs/formats.md. */
#pragma once

#include "write/writer.h"

extern const struct writer heatmap_writer;
