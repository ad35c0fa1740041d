/* SPDX-License-Identifier: MIT */
/* top_screen.h: the terminal. The only file that knows ncurses; without that it says so. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "view/top_paint.h"

/* ERROR_USAGE if there is no terminal to draw on, or no ncurses. */
struct error *top_screen_check(void);
/*
 * Takes the terminal over. It is given back by top_screen_close, and also when a signal kills us that the program does not handle.
 * One screen at a time.
 */
struct error *top_screen_open(void);
/* Gives the terminal back; does nothing when no screen is open. */
void top_screen_close(void);
/* The next key that waits, a code point or enum top_key; TOP_KEY_NONE: none waits. */
uint32_t top_screen_key(void);
/* The size, for the next painting. */
void top_screen_size(size_t *columns_ret, size_t *lines_ret);
/* True if the terminal takes output: one that is held up by Ctrl-S or a slow line is not waited for. */
bool top_screen_is_ready(void);
void top_screen_show(const struct top_canvas *canvas);
