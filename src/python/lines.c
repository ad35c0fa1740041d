/* SPDX-License-Identifier: MIT */
/* lines.c: the line of an instruction, from a code object's line table. */
#include "python/lines.h"

#include <stdbool.h>

#include "base/reader.h"

/* 3.10: a line increment that says "no line". */
#define TABLE_NO_LINE INT8_MIN

/*
 * 3.11 on. An entry is a byte 1CCCCLLL (code, length in code units − 1) and a payload of bytes
 * below 0x80. Codes 0–9 have two column bytes or one and stay on the line; the others are here.
 */
#define LOCATION_START    0x80
#define LOCATION_UNIT     2  /* sizeof(_Py_CODEUNIT) */
#define LOCATION_ONE_LINE 10 /* 10–12: the line increment is the code − 10 */
#define LOCATION_NO_COL   13 /* a signed varint: the line increment */
#define LOCATION_LONG     14 /* the same, then the end line and both columns */
#define LOCATION_NONE     15 /* no line */

static enum reason line_return(int64_t line, uint32_t *line_ret)
{
	if (line < 0 || line > INT32_MAX)
		return REASON_BAD_LINE_TABLE;
	*line_ret = (uint32_t)line;
	return REASON_OK;
}

/* Pairs (address increment, line increment): a line holds until the first pair that leads past the
 * instruction. */
static enum reason find_lnotab(struct reader *table, bool is_signed, int64_t line, int64_t lasti,
			       uint32_t *line_ret)
{
	int64_t address = 0;
	uint8_t address_step, line_step;
	while (reader_left(table)) {
		if (!reader_u8(table, &address_step))
			return REASON_BAD_LINE_TABLE;
		address += address_step;
		if (address > lasti)
			break;
		if (!reader_u8(table, &line_step))
			return REASON_BAD_LINE_TABLE;
		line += is_signed ? (int8_t)line_step : line_step;
	}
	return line_return(line, line_ret);
}

/* Pairs (bytes, line increment): the increment comes first, then the bytes of that line. */
static enum reason find_table(struct reader *table, int64_t line, int64_t lasti, uint32_t *line_ret)
{
	int64_t end = 0;
	uint8_t size;
	int8_t line_step;
	while (reader_u8(table, &size) && reader_i8(table, &line_step)) {
		if (line_step != TABLE_NO_LINE)
			line += line_step;
		end += size;
		if (end > lasti)
			return line_return(line_step == TABLE_NO_LINE ? LINE_NONE : line, line_ret);
	}
	return REASON_BAD_LINE_TABLE;
}

/* Six bits a byte, the lowest first, 0x40 meaning that more follow; the lowest bit of the number is
 * its sign. */
static bool read_svarint(struct reader *table, int64_t *ret)
{
	uint64_t value = 0;
	uint8_t byte;
	for (unsigned shift = 0; shift < 36; shift += 6) {
		if (!reader_u8(table, &byte) || byte & LOCATION_START)
			return false;
		value |= (uint64_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40)) {
			int64_t magnitude = (int64_t)(value >> 1);
			*ret = value & 1 ? -magnitude : magnitude;
			return true;
		}
	}
	return false;
}

/* Columns are of no interest: the next entry is where bit 7 is set again. */
static void skip_payload(struct reader *table)
{
	while (table->pos < table->end && !(*table->pos & LOCATION_START))
		table->pos++;
}

static enum reason find_location(struct reader *table, int64_t line, int64_t lasti,
				 uint32_t *line_ret)
{
	int64_t end = 0;
	uint8_t start;
	while (reader_u8(table, &start)) {
		if (!(start & LOCATION_START))
			return REASON_BAD_LINE_TABLE;
		unsigned code = start >> 3 & 15;
		int64_t line_step = 0;
		if (code == LOCATION_NO_COL || code == LOCATION_LONG) {
			if (!read_svarint(table, &line_step))
				return REASON_BAD_LINE_TABLE;
		} else if (code >= LOCATION_ONE_LINE && code < LOCATION_NO_COL) {
			line_step = code - LOCATION_ONE_LINE;
		}
		line += line_step;
		end += ((start & 7) + 1) * LOCATION_UNIT;
		if (end > lasti)
			return line_return(code == LOCATION_NONE ? LINE_NONE : line, line_ret);
		skip_payload(table);
	}
	return REASON_BAD_LINE_TABLE;
}

enum reason lines_find(enum py_line_kind kind, const uint8_t *table, size_t size,
		       uint32_t firstlineno, int64_t lasti_bytes, uint32_t *line_ret)
{
	if (size > LINES_TABLE_MAX)
		return REASON_LIMIT;
	if (lasti_bytes < 0)
		return line_return(firstlineno, line_ret);

	struct reader reader = reader_make(table, size);
	switch (kind) {
	case PY_LINES_LNOTAB_UNSIGNED:
		return find_lnotab(&reader, false, firstlineno, lasti_bytes, line_ret);
	case PY_LINES_LNOTAB:
		return find_lnotab(&reader, true, firstlineno, lasti_bytes, line_ret);
	case PY_LINES_TABLE:
		return find_table(&reader, firstlineno, lasti_bytes, line_ret);
	case PY_LINES_LOCATIONS:
		return find_location(&reader, firstlineno, lasti_bytes, line_ret);
	}
	return REASON_BAD_LINE_TABLE;
}
