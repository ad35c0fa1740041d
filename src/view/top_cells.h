/* SPDX-License-Identifier: MIT */
/* top_cells.h: text → the columns of a terminal's line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

/* Characters in a line, those without a width of their own included. */
#define TOP_CELLS_MAX 1024

/*
 * @text made safe for a terminal (text.h) and cut to @columns, as wide characters: a combining one stays with the one before it, a
 * wide one that does not fit is left out, and what was cut has a '~' as its last column, with @tail as its first one instead and the
 * end of the text after it. What the locale can not show is a '?'. Returns the columns that are filled; @cells is terminated.
 */
size_t top_cells(const char *text, size_t columns, bool tail, wchar_t cells[TOP_CELLS_MAX]);
