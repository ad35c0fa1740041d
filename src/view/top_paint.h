/* SPDX-License-Identifier: MIT */
/* top_paint.h: a model and what was chosen → the lines of a screen. Knows nothing of terminals. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/top_cells.h"
#include "view/top_model.h"
#include "view/top_state.h"

/* A screen that is smaller shows only that it is too small. */
#define TOP_COLUMNS_MIN 50
#define TOP_LINES_MIN   10
/* More of a screen is left empty. */
#define TOP_LINES_MAX 500

enum top_style {
	TOP_PLAIN,
	TOP_TITLE,  /* what is looked at */
	TOP_HEAD,   /* the heads of the columns */
	TOP_DIM,    /* of less interest: a line of keys, a row without recent time */
	TOP_NATIVE, /* a native function */
	TOP_STRONG, /* the thread that holds the GIL */
	TOP_ALERT,  /* paused, ended, a message */
};

struct top_line {
	enum top_style style;
	wchar_t cells[TOP_CELLS_MAX];
};

/* A moment of the run from which on its figures are counted. */
struct top_mark {
	uint64_t ns;
	uint64_t samples, complete, lost, ticks, held_ns;
};

struct top_painting {
	const struct profile *profile;
	const struct top_model *model;
	struct top_mark since, now; /* the figures are those in between */
	/* By string id of the profile, as many as file_count: short texts of files. */
	const char *const *files;
	size_t file_count;
	const char *end; /* why the run is over; NULL: it goes on */
};

struct top_canvas {
	size_t columns, lines; /* of the terminal */
	struct top_line *line; /* as many as count, each no wider than columns */
	size_t count, capacity;
	struct top_row_list rows;
	struct top_thread_list threads;
};

void top_canvas_deinit(struct top_canvas *canvas);

struct top_mark top_mark_now(const struct profile *profile, uint64_t now_ns);
/* Fills the canvas; sets page_rows and row_count of @state, and keeps its scroll within them. False without memory. */
bool top_paint(struct top_canvas *canvas, const struct top_painting *painting,
	       struct top_state *state);
