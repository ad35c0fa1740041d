/* SPDX-License-Identifier: MIT */
/* top_cells.c: text → the columns of a terminal's line. */
#include "view/top_cells.h"

#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "write/text.h"

/* As many of them as a terminal's cell holds; the others are dropped. */
#define COMBINING_MAX 4

/* The code point at *@at, which is in UTF-8, and moves on. */
static wchar_t decode(const char **at)
{
	const unsigned char *p = (const unsigned char *)*at;
	int more = p[0] < 0x80 ? 0 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
	uint32_t codepoint = more ? p[0] & (0x3fu >> more) : p[0];
	for (int i = 1; i <= more; i++)
		codepoint = codepoint << 6 | (p[i] & 0x3fu);
	*at += 1 + more;
	return (wchar_t)codepoint;
}

/* Characters that change the direction or the joining of others have no place in a table. */
static bool is_layout(wchar_t c)
{
	return c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xe0000 && c <= 0xe0fff);
}

/* Its width, and in *@c what can be shown for it. */
static size_t width_of(wchar_t *c)
{
	int width = is_layout(*c) ? -1 : wcwidth(*c);
	if (width >= 0)
		return (size_t)width;
	*c = L'?';
	return 1;
}

static size_t width_of_text(const char *text)
{
	size_t columns = 0;
	while (*text) {
		wchar_t c = decode(&text);
		columns += width_of(&c);
	}
	return columns;
}

/* Appends what of @text fits into @columns. */
static size_t add(const char *text, size_t columns, wchar_t *cells, size_t *count)
{
	size_t filled = 0;
	unsigned combining = 0;
	while (*text && *count < TOP_CELLS_MAX - 2) {
		wchar_t c = decode(&text);
		size_t width = width_of(&c);
		if (filled + width > columns)
			break;
		combining = width ? 0 : combining + 1;
		/* At the beginning there is nothing that it could stay with. */
		if (combining > COMBINING_MAX || (!width && !filled))
			continue;
		cells[(*count)++] = c;
		filled += width;
	}
	return filled;
}

/* The end of @text that is no wider than @columns. */
static const char *end_of(const char *text, size_t columns)
{
	size_t width = width_of_text(text);
	while (width > columns) {
		wchar_t c = decode(&text);
		width -= width_of(&c);
	}
	return text;
}

size_t top_cells(const char *text, size_t columns, bool tail, wchar_t cells[TOP_CELLS_MAX])
{
	_cleanup_strbuf_ struct strbuf safe = { 0 };
	size_t count = 0, filled = 0;
	text_escape(&safe, text, TEXT_LINE, NULL);
	const char *shown = safe.failed || !safe.text ? "" : safe.text;
	if (columns > TOP_CELLS_MAX / 2)
		columns = TOP_CELLS_MAX / 2;
	if (!columns) {
		/* Nothing fits. */
	} else if (width_of_text(shown) <= columns) {
		filled = add(shown, columns, cells, &count);
	} else if (tail) {
		cells[count++] = L'~';
		filled = 1 + add(end_of(shown, columns - 1), columns - 1, cells, &count);
	} else {
		filled = add(shown, columns - 1, cells, &count);
		cells[count++] = L'~';
		filled++;
	}
	cells[count] = L'\0';
	return filled;
}
