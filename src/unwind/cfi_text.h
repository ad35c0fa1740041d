/* SPDX-License-Identifier: MIT */
/* cfi_text.h: a row as text, for tests, cross-checks and people. */
#pragma once

#include "base/strbuf.h"
#include "unwind/cfi_table.h"

/*
 * Appends the row as one line without its end, for example
 *	cfa=rsp+16 rbp=[cfa-16] rip=[cfa-8]
 * [x] is the word in memory at x, expr(…) an expression's value by its bytes. Flags (signal, outermost, signed, signed-b) come last.
 */
void cfi_text_row(const struct cfi_table *table, const struct cfi_row *row, struct strbuf *text);
