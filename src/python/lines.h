/* SPDX-License-Identifier: MIT */
/*
 * lines.h: the line of an instruction, from a code object's line table.
 *
 * Pure decoders of the four table formats that CPython has had. Each gives what PyCode_Addr2Line of
 * that version gives, which is what frame.f_lineno and tracebacks show.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "python/layout.h"

/*
 * The instruction belongs to no line: f_lineno is None there (3.10 on: code that the compiler
 * added). Line 0, which 3.11 on give to a module's first instruction, is no line of the file either
 * and looks the same.
 */
#define LINE_NONE 0

/* The longest table that is decoded, in bytes. A function of 100,000 lines has one of about
 * 500,000. */
#define LINES_TABLE_MAX (1 << 23)

/*
 * The line of the instruction at @lasti_bytes from the start of the code; negative, before the
 * first one, gives @firstlineno. A table that breaks off inside an entry, that ends before
 * @lasti_bytes (3.10 on; older tables have no end) or that leads to a line outside 0 to INT32_MAX
 * is REASON_BAD_LINE_TABLE; one beyond LINES_TABLE_MAX is REASON_LIMIT. The time is linear in
 * @size.
 */
enum reason lines_find(enum py_line_kind kind, const uint8_t *table, size_t size,
		       uint32_t firstlineno, int64_t lasti_bytes, uint32_t *line_ret);
