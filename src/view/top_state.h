/* SPDX-License-Identifier: MIT */
/* top_state.h: what a person has chosen to see, and how keys change it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/top_list.h"
#include "view/top_model.h"

/* Keys that are no characters. */
enum top_key {
	TOP_KEY_NONE = 0,
	TOP_KEY_BEGIN_ = 0x110000, /* behind the last code point */
	TOP_KEY_UP,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_BACKSPACE,
	TOP_KEY_HELP,   /* F1 */
	TOP_KEY_QUIT,   /* F10 */
	TOP_KEY_REDRAW, /* the terminal has another size */
	TOP_KEY_GONE,   /* there is no terminal any more */
};

enum top_page { TOP_FUNCTIONS, TOP_THREADS, TOP_HELP };

struct top_state {
	enum top_page page;
	enum top_page back; /* from the help */
	enum top_column column;
	size_t scroll;    /* rows above the first one that is shown */
	size_t page_rows; /* set by who paints: rows on a page, */
	size_t row_count; /* and in all */
	char filter[128]; /* UTF-8 */
	bool typing;      /* keys go into the filter */
	char before[128]; /* the filter when that began */
	bool paused;
	bool quit;
	bool ended;      /* the process has ended: the state at its end is shown */
	bool has_native; /* native frames are sampled */
	size_t process_count;
	struct top_settings settings;
	/* Asked for by the last key; who does it clears it. */
	bool settings_changed, reset;
	const char *message; /* about the last key; NULL: none */
};

/* What @key, a code point or enum top_key, does. */
void top_state_key(struct top_state *state, uint32_t key);
/* Keeps the scroll within what there is. */
void top_state_clamp(struct top_state *state);
