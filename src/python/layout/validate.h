/* SPDX-License-Identifier: MIT */
/* validate.h: every field of a layout is checked once, so that walkers may use it unchecked.
 * Private to python/layout/. */
#pragma once

#include "python/layout.h"

/*
 * ERROR_CORRUPT naming the first field of @layout that is not aligned, not inside the reported size
 * of its struct, or beyond the limits of layout.h. Absent fields are not looked at.
 */
struct error *py_layout_validate(const struct py_layout *layout);
