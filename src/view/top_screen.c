/* SPDX-License-Identifier: MIT */
/* top_screen.c: the terminal. */
#include "view/top_screen.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static struct error *check_terminal(void)
{
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return NULL;
	return error_create(ERROR_USAGE, "top needs a terminal as its standard input and output");
}

#ifdef HAVE_NCURSES

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <term.h>
#include <termios.h>

#include "view/terminfo.h"

static struct {
	const char *type;
	SCREEN *screen; /* NULL: not open */
	bool colors;
	bool gone;
	/* For a signal handler, which can call no function of ncurses. */
	struct termios modes;
	char leave[256];
	size_t leave_size;
} terminal;

static const int deadly[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGQUIT };

/*
 * A system that describes no terminal at all, not even the most usual one, as a root folder with
 * little in it, gets our description.
 */
static bool is_described(const char *type)
{
	int known = 0;
	terminal.type = type;
	if (setupterm(type, STDOUT_FILENO, &known) == OK)
		return true;
	if (!*type || strcmp(type, "dumb") == 0 || setupterm("xterm", STDOUT_FILENO, &known) == OK)
		return false;
	terminal.type = TERMINFO_NAME;
	setenv("TERMINFO", terminfo_fallback, 1);
	return setupterm(TERMINFO_NAME, STDOUT_FILENO, &known) == OK;
}

struct error *top_screen_check(void)
{
	struct error *err = check_terminal();
	if (err)
		return err;
	const char *type = getenv("TERM");
	if (type && is_described(type))
		return NULL;
	return error_create(ERROR_USAGE,
			    "top does not know how to draw on a terminal of type \"%s\"",
			    type ? type : "");
}

/* ---- when we are killed ---- */

static void on_deadly(int number)
{
	ssize_t written = write(STDOUT_FILENO, terminal.leave, terminal.leave_size);
	(void)written;
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal.modes);
	/* Once more, without us. */
	raise(number);
}

static void keep(const char *capability)
{
	size_t size = capability ? strlen(capability) : 0;
	if (size > sizeof(terminal.leave) - terminal.leave_size)
		return;
	memcpy(terminal.leave + terminal.leave_size, capability ? capability : "", size);
	terminal.leave_size += size;
}

static void prepare_for_death(void)
{
	terminal.leave_size = 0;
	keep(exit_attribute_mode);
	keep(cursor_normal);
	keep(keypad_local);
	keep(exit_ca_mode);
	struct sigaction action = { .sa_handler = on_deadly, .sa_flags = (int)SA_RESETHAND };
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		struct sigaction had;
		/* Someone else's handler, as a sanitizer's, stays. */
		if (!sigaction(deadly[i], NULL, &had) && had.sa_handler == SIG_DFL)
			sigaction(deadly[i], &action, NULL);
	}
}

static void forget_death(void)
{
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		struct sigaction had;
		if (!sigaction(deadly[i], NULL, &had) && had.sa_handler == on_deadly)
			signal(deadly[i], SIG_DFL);
	}
}

/* ---- open and close ---- */

static void choose_colors(void)
{
	const char *no_color = getenv("NO_COLOR");
	terminal.colors = !(no_color && *no_color) && has_colors();
	if (!terminal.colors)
		return;
	start_color();
	use_default_colors();
	init_pair(1, COLOR_CYAN, -1);
	init_pair(2, COLOR_YELLOW, -1);
	init_pair(3, COLOR_GREEN, -1);
}

struct error *top_screen_open(void)
{
	struct error *err = top_screen_check();
	if (err)
		return err;
	setlocale(LC_CTYPE, "");
	tcgetattr(STDIN_FILENO, &terminal.modes);
	terminal.screen = newterm(terminal.type, stdout, stdin);
	if (!terminal.screen)
		return error_create(ERROR_OTHER, "the terminal can not be set up");
	terminal.gone = false;
	set_term(terminal.screen);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	/* Escape alone is a key: it is not waited for the rest of a sequence for long. */
	set_escdelay(25);
	curs_set(0);
	choose_colors();
	prepare_for_death();
	return NULL;
}

void top_screen_close(void)
{
	if (!terminal.screen)
		return;
	forget_death();
	/* Output that Ctrl-S holds up would hold us up too. Only a stop of our own can be undone, and that undoes both. */
	tcflow(STDOUT_FILENO, TCOOFF);
	tcflow(STDOUT_FILENO, TCOON);
	endwin();
	delscreen(terminal.screen);
	terminal.screen = NULL;
}

/* ---- keys ---- */

static uint32_t function_key(wint_t key)
{
	switch (key) {
	case KEY_UP:
		return TOP_KEY_UP;
	case KEY_DOWN:
		return TOP_KEY_DOWN;
	case KEY_LEFT:
		return TOP_KEY_LEFT;
	case KEY_RIGHT:
		return TOP_KEY_RIGHT;
	case KEY_PPAGE:
		return TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return TOP_KEY_PAGE_DOWN;
	case KEY_HOME:
		return TOP_KEY_HOME;
	case KEY_END:
		return TOP_KEY_END;
	case KEY_BACKSPACE:
		return TOP_KEY_BACKSPACE;
	case KEY_F(1):
		return TOP_KEY_HELP;
	case KEY_F(10):
		return TOP_KEY_QUIT;
	}
	/* A new size, and keys that mean nothing here. */
	return TOP_KEY_REDRAW;
}

uint32_t top_screen_key(void)
{
	if (!terminal.screen)
		return TOP_KEY_GONE;
	wint_t key;
	switch (get_wch(&key)) {
	case OK:
		return (uint32_t)key;
	case KEY_CODE_YES:
		return function_key(key);
	}
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	return poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR)) ? TOP_KEY_GONE
									       : TOP_KEY_NONE;
}

/* ---- drawing ---- */

void top_screen_size(size_t *columns_ret, size_t *lines_ret)
{
	*columns_ret = terminal.screen && COLS > 0 ? (size_t)COLS : 0;
	*lines_ret = terminal.screen && LINES > 0 ? (size_t)LINES : 0;
}

bool top_screen_is_ready(void)
{
	struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };
	return poll(&output, 1, 0) > 0 && (output.revents & POLLOUT);
}

static attr_t attributes_of(enum top_style style)
{
	static const attr_t plain[] = {
		[TOP_TITLE] = A_BOLD,  [TOP_HEAD] = A_REVERSE,           [TOP_DIM] = A_DIM,
		[TOP_STRONG] = A_BOLD, [TOP_ALERT] = A_BOLD | A_REVERSE, [TOP_NATIVE] = A_NORMAL,
	};
	attr_t attributes = plain[style];
	if (!terminal.colors)
		return attributes;
	if (style == TOP_NATIVE)
		return (attr_t)COLOR_PAIR(1);
	if (style == TOP_ALERT)
		return (attr_t)(A_BOLD | COLOR_PAIR(2));
	if (style == TOP_STRONG)
		return (attr_t)(A_BOLD | COLOR_PAIR(3));
	return attributes;
}

void top_screen_show(const struct top_canvas *canvas)
{
	if (!terminal.screen)
		return;
	erase();
	for (size_t i = 0; i < canvas->count && i < (size_t)LINES; i++) {
		const struct top_line *line = &canvas->line[i];
		attr_t attributes = attributes_of(line->style);
		attrset((int)attributes);
		mvaddwstr((int)i, 0, line->cells);
		/* The heads are a bar over the whole width. */
		if (line->style == TOP_HEAD)
			mvchgat((int)i, 0, -1, attributes, 0, NULL);
	}
	attrset(A_NORMAL);
	refresh();
}

#else

struct error *top_screen_check(void)
{
	struct error *err = check_terminal();
	return err ? err
		   : error_create(ERROR_USAGE,
				  "top is not in this pysample: it was built without ncurses");
}

struct error *top_screen_open(void)
{
	return top_screen_check();
}

void top_screen_close(void)
{
}

uint32_t top_screen_key(void)
{
	return TOP_KEY_GONE;
}

void top_screen_size(size_t *columns_ret, size_t *lines_ret)
{
	*columns_ret = *lines_ret = 0;
}

bool top_screen_is_ready(void)
{
	return false;
}

void top_screen_show(const struct top_canvas *canvas)
{
}

#endif
