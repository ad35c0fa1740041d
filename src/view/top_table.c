/* SPDX-License-Identifier: MIT */
/* top_table.c: the rows of a live view, and which frame of a profile belongs to which row. */
#include "view/top_table.h"

#include <string.h>

#include "base/strbuf.h"

/* In the map of frames to rows; otherwise the row + 1. */
#define ROW_UNKNOWN 0u
#define ROW_NONE    UINT32_MAX /* the frame has no row */

/* What a row is made from; false: the frame has none. */
static bool describe(const struct top_table *table, const struct profile *profile,
		     const struct profile_frame *frame, char room[32], struct top_row *row)
{
	const struct profile_function *function = &profile->functions.items[frame->function];
	*row = (struct top_row){
		.name = intern_text(&profile->strings, function->name),
		.file = function->file,
		.line = table->settings.by_line ? frame->line : function->firstlineno,
		.kind = function->kind,
	};
	switch (function->kind) {
	case PROFILE_PYTHON:
		return true;
	case PROFILE_MARKER:
		return false;
	case PROFILE_NATIVE:
		break;
	}
	if (!table->settings.native)
		return false;
	return !table->namer.name ||
	       table->namer.name(table->namer.data, frame->function, room, &row->name);
}

static uint32_t make_row(struct top_table *table, const struct profile *profile,
			 const struct profile_frame *frame)
{
	char room[32];
	struct top_row row;
	if (!describe(table, profile, frame, room, &row))
		return ROW_NONE;
	_cleanup_strbuf_ struct strbuf key = { 0 };
	/* Functions of one name in one file differ by where they begin. */
	uint32_t begin = profile->functions.items[frame->function].firstlineno;
	strbuf_addf(&key, "%u %u %u %d ", row.file, begin, row.line, row.kind);
	size_t start = key.length;
	strbuf_adds(&key, row.name);
	if (key.failed)
		return ROW_NONE;
	uint32_t id = intern_add(&table->keys, key.text);
	if (id == INTERN_NONE)
		return ROW_NONE;
	if (id == table->rows.count) {
		struct top_row *slot = top_rows_append(&table->rows);
		if (!slot)
			return ROW_NONE;
		*slot = row;
		slot->name = intern_text(&table->keys, id) + start;
	}
	return id < table->rows.count ? id + 1 : ROW_NONE;
}

bool top_table_reserve(struct top_table *table, const struct profile *profile)
{
	size_t need = profile->frames.count, had = table->row_of_frame.count;
	if (need <= had)
		return true;
	/* Each frame makes one row at most: rows that are pointed to do not move when others are made. */
	if (!top_rows_reserve(&table->rows, need) ||
	    !top_row_map_reserve(&table->row_of_frame, need))
		return false;
	memset(table->row_of_frame.items + had, 0,
	       (need - had) * sizeof(*table->row_of_frame.items));
	table->row_of_frame.count = need;
	return true;
}

struct top_row *top_table_row(struct top_table *table, const struct profile *profile,
			      uint32_t frame)
{
	uint32_t *place = &table->row_of_frame.items[frame];
	if (*place == ROW_UNKNOWN)
		*place = make_row(table, profile, &profile->frames.items[frame]);
	return *place == ROW_NONE ? NULL : &table->rows.items[*place - 1];
}

const struct top_row *top_table_known_row(const struct top_table *table, uint32_t frame)
{
	uint32_t place =
		frame < table->row_of_frame.count ? table->row_of_frame.items[frame] : ROW_UNKNOWN;
	return place == ROW_UNKNOWN || place == ROW_NONE ? NULL : &table->rows.items[place - 1];
}

void top_table_clear(struct top_table *table)
{
	intern_deinit(&table->keys);
	table->rows.count = 0;
	table->row_of_frame.count = 0;
}

void top_table_deinit(struct top_table *table)
{
	intern_deinit(&table->keys);
	top_rows_deinit(&table->rows);
	top_row_map_deinit(&table->row_of_frame);
}
