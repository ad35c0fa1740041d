/* SPDX-License-Identifier: MIT */
/* collapsed.h: the format "collapsed" of docs/formats.md. */
#pragma once

#include "write/writer.h"

extern const struct writer collapsed_writer;
