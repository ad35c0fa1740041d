/* SPDX-License-Identifier: MIT */
/* top_table.h: the rows of a live view, and which frame of a profile belongs to which row. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregate/profile.h"
#include "base/intern.h"
#include "base/vec.h"

struct top_times {
	uint64_t own_ns;
	uint64_t total_ns;
};

/* A function, or with by_line a line of one. */
struct top_row {
	const char *name;
	uint32_t file; /* string id of the profile; PROFILE_NONE: none */
	uint32_t line; /* of the function's beginning, with by_line that of the row; 0: unknown */
	enum profile_kind kind;
	struct top_times recent, all;
};

DEFINE_VEC(struct top_rows, top_rows, struct top_row)
DEFINE_VEC(struct top_row_map, top_row_map, uint32_t)

struct top_settings {
	bool by_line;
	bool idle;   /* times of sleeping threads count for functions too */
	bool native; /* rows for native frames; without them their time is that of their callers */
	bool native_leaf; /* only for those called by the innermost Python frame */
	uint32_t process; /* only its functions; PROFILE_NONE: those of all */
};

/* Names of native functions, which a profile in the making does not have. */
struct top_namer {
	/* False: no row is made for the function. @room holds a name that has to be put together. */
	bool (*name)(void *data, uint32_t function, char room[32], const char **name_ret);
	void *data;
};

/* A zeroed table is an empty one, without native rows. */
struct top_table {
	struct top_settings settings;
	struct top_namer namer;
	struct top_rows rows;
	struct intern keys;              /* of rows: the id is the row */
	struct top_row_map row_of_frame; /* private */
};

void top_table_deinit(struct top_table *table);
/* Drops all rows: other settings make other ones. */
void top_table_clear(struct top_table *table);
/* To be called before frames that @profile has got since are asked for; false without memory. */
bool top_table_reserve(struct top_table *table, const struct profile *profile);
/* The row of @frame, new or old, valid until the table is cleared or reserves; NULL: it has none, and will have none. */
struct top_row *top_table_row(struct top_table *table, const struct profile *profile,
			      uint32_t frame);
/* The same, but none is made. */
const struct top_row *top_table_known_row(const struct top_table *table, uint32_t frame);
