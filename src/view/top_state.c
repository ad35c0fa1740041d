/* SPDX-License-Identifier: MIT */
/* top_state.c: what a person has chosen to see, and how keys change it. */
#include "view/top_state.h"

#include <string.h>

#define KEY_ESCAPE  0x1b
#define KEY_CTRL_C  0x03
#define KEY_CTRL_H  0x08
#define KEY_CTRL_U  0x15
#define KEY_NEWLINE 0x0a
#define KEY_RETURN  0x0d
#define KEY_DELETE  0x7f

void top_state_clamp(struct top_state *state)
{
	size_t most = state->row_count > state->page_rows ? state->row_count - state->page_rows : 0;
	if (state->scroll > most)
		state->scroll = most;
}

static void scroll_by(struct top_state *state, size_t rows, bool up)
{
	if (up)
		state->scroll = state->scroll > rows ? state->scroll - rows : 0;
	else
		state->scroll += rows;
	top_state_clamp(state);
}

/* ---- the filter ---- */

static void add_to_filter(struct top_state *state, uint32_t c)
{
	char utf8[4];
	size_t size = 0;
	if (c < 0x80) {
		utf8[size++] = (char)c;
	} else if (c < 0x800) {
		utf8[size++] = (char)(0xc0 | c >> 6);
		utf8[size++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		utf8[size++] = (char)(0xe0 | c >> 12);
		utf8[size++] = (char)(0x80 | (c >> 6 & 0x3f));
		utf8[size++] = (char)(0x80 | (c & 0x3f));
	} else {
		utf8[size++] = (char)(0xf0 | c >> 18);
		utf8[size++] = (char)(0x80 | (c >> 12 & 0x3f));
		utf8[size++] = (char)(0x80 | (c >> 6 & 0x3f));
		utf8[size++] = (char)(0x80 | (c & 0x3f));
	}
	size_t length = strlen(state->filter);
	if (length + size >= sizeof(state->filter))
		return;
	memcpy(state->filter + length, utf8, size);
	state->filter[length + size] = '\0';
}

static void drop_last(char *text)
{
	size_t length = strlen(text);
	while (length && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
		length--;
	text[length ? length - 1 : 0] = '\0';
}

static void type(struct top_state *state, uint32_t key)
{
	switch (key) {
	case KEY_NEWLINE:
	case KEY_RETURN:
		state->typing = false;
		return;
	case KEY_ESCAPE:
		memcpy(state->filter, state->before, sizeof(state->filter));
		state->typing = false;
		break;
	case KEY_CTRL_U:
		state->filter[0] = '\0';
		break;
	case TOP_KEY_BACKSPACE:
	case KEY_CTRL_H:
	case KEY_DELETE:
		drop_last(state->filter);
		break;
	default:
		if (key < 0x20 || (key >= 0x7f && key < 0xa0) || key >= TOP_KEY_BEGIN_)
			return;
		add_to_filter(state, key);
		break;
	}
	state->scroll = 0;
}

/* ---- commands ---- */

static void turn_to(struct top_state *state, enum top_page page)
{
	state->page = page;
	state->scroll = 0;
}

static void sort_by(struct top_state *state, enum top_column column)
{
	state->column = column;
	if (state->page == TOP_FUNCTIONS)
		state->scroll = 0;
}

static void next_process(struct top_state *state)
{
	uint32_t *process = &state->settings.process;
	if (state->process_count < 2) {
		state->message = "there is one process only";
		return;
	}
	*process = *process == PROFILE_NONE ? 0 : *process + 1;
	if (*process >= state->process_count)
		*process = PROFILE_NONE;
	state->settings_changed = true;
	state->scroll = 0;
}

static void toggle(struct top_state *state, bool *setting)
{
	*setting = !*setting;
	state->settings_changed = true;
}

static bool move(struct top_state *state, uint32_t key)
{
	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		scroll_by(state, 1, true);
		return true;
	case TOP_KEY_DOWN:
	case 'j':
		scroll_by(state, 1, false);
		return true;
	case TOP_KEY_PAGE_UP:
		scroll_by(state, state->page_rows, true);
		return true;
	case TOP_KEY_PAGE_DOWN:
		scroll_by(state, state->page_rows, false);
		return true;
	case TOP_KEY_HOME:
	case 'g':
		state->scroll = 0;
		return true;
	case TOP_KEY_END:
	case 'G':
		state->scroll = state->row_count;
		top_state_clamp(state);
		return true;
	case TOP_KEY_LEFT:
	case '<':
		if (state->column)
			sort_by(state, state->column - 1);
		return true;
	case TOP_KEY_RIGHT:
	case '>':
		if (state->column + 1 < TOP_COLUMNS)
			sort_by(state, state->column + 1);
		return true;
	}
	return false;
}

static void command(struct top_state *state, uint32_t key)
{
	switch (key) {
	case 'q':
	case KEY_CTRL_C:
	case TOP_KEY_QUIT:
	case TOP_KEY_GONE:
		state->quit = true;
		break;
	case '1':
	case '2':
	case '3':
	case '4':
		sort_by(state, (enum top_column)(key - '1'));
		break;
	case '/':
	case '\\':
		memcpy(state->before, state->filter, sizeof(state->before));
		state->typing = true;
		break;
	case KEY_ESCAPE:
		state->filter[0] = '\0';
		state->scroll = 0;
		break;
	case ' ':
	case 'p':
	case 'Z':
		if (state->ended)
			state->message = "the process has ended";
		else
			state->paused = !state->paused;
		break;
	case 'r':
		state->reset = true;
		break;
	case 'l':
		toggle(state, &state->settings.by_line);
		break;
	case 'i':
		toggle(state, &state->settings.idle);
		break;
	case 'n':
		if (state->has_native)
			toggle(state, &state->settings.native);
		else
			state->message = "native frames are not sampled: start with --native";
		break;
	case 'P':
		next_process(state);
		break;
	case 't':
	case 'H':
	case '\t':
		turn_to(state, state->page == TOP_THREADS ? TOP_FUNCTIONS : TOP_THREADS);
		break;
	}
}

void top_state_key(struct top_state *state, uint32_t key)
{
	state->message = NULL;
	if (key == TOP_KEY_GONE || key == KEY_CTRL_C) {
		state->quit = true;
		return;
	}
	if (state->typing) {
		type(state, key);
		return;
	}
	if (key == '?' || key == 'h' || key == TOP_KEY_HELP) {
		if (state->page != TOP_HELP)
			state->back = state->page;
		turn_to(state, state->page == TOP_HELP ? state->back : TOP_HELP);
		return;
	}
	if (move(state, key))
		return;
	/* Any other key ends the help, and does nothing else. */
	if (state->page == TOP_HELP && key != 'q' && key != TOP_KEY_QUIT) {
		if (key != TOP_KEY_REDRAW)
			turn_to(state, state->back);
		return;
	}
	command(state, key);
}
