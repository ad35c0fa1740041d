/* SPDX-License-Identifier: MIT */
/* top_paint.c: a model and what was chosen → the lines of a screen. */
#include "view/top_paint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"

/* Lines above the rows and below them. */
#define LINES_ABOVE 6
#define LINES_BELOW 1
/* A file is shown in what is left of a line if that is so wide. */
#define FILE_COLUMNS_MIN 12

void top_canvas_deinit(struct top_canvas *canvas)
{
	free(canvas->line);
	top_row_list_deinit(&canvas->rows);
	top_thread_list_deinit(&canvas->threads);
	*canvas = (struct top_canvas){ 0 };
}

struct top_mark top_mark_now(const struct profile *profile, uint64_t now_ns)
{
	const struct stats *stats = &profile->stats;
	return (struct top_mark){
		.ns = now_ns,
		.samples = stats->samples,
		.complete = stats->complete,
		.lost = stats_lost(stats),
		.ticks = stats->ticks,
		.held_ns = stats->hold_ns.sum,
	};
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The first and the last sample of a window stand for some time outside of it. */
static double capped(uint64_t part, uint64_t whole)
{
	return part < whole ? percent(part, whole) : whole ? 100.0 : 0;
}

static void put(struct top_canvas *canvas, enum top_style style, const char *text)
{
	if (canvas->count == canvas->lines || canvas->count == TOP_LINES_MAX)
		return;
	struct top_line *line = &canvas->line[canvas->count++];
	line->style = style;
	top_cells(text, canvas->columns, false, line->cells);
}

static void put_buf(struct top_canvas *canvas, enum top_style style, const struct strbuf *buf)
{
	put(canvas, style, buf->failed || !buf->text ? "" : buf->text);
}

/* ---- above the rows ---- */

static void add_argv(struct strbuf *buf, const struct profile_argv *argv)
{
	for (size_t at = 0; at < argv->size; at += strlen(argv->bytes + at) + 1) {
		strbuf_addc(buf, ' ');
		strbuf_adds(buf, argv->bytes + at);
	}
}

static void put_title(struct top_canvas *canvas, const struct top_painting *painting,
		      const struct top_state *state)
{
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	const struct profile *profile = painting->profile;
	uint32_t chosen = state->settings.process;
	size_t count = profile->processes.count;
	strbuf_adds(&buf, "pysample top: ");
	if (count > 1 && chosen == PROFILE_NONE) {
		strbuf_addf(&buf, "%zu processes, the first is ", count);
		chosen = 0;
	} else if (count > 1) {
		strbuf_addf(&buf, "process %u of %zu, ", chosen + 1, count);
	}
	if (chosen == PROFILE_NONE)
		chosen = 0;
	if (chosen < count) {
		const struct profile_process *process = &profile->processes.items[chosen];
		strbuf_addf(&buf, "%d", (int)process->pid);
		if (process->python_version)
			strbuf_addf(&buf, ", Python %s", process->python_version);
		strbuf_adds(&buf, ":");
		add_argv(&buf, &process->argv);
	}
	put_buf(canvas, TOP_TITLE, &buf);
}

static void put_run(struct top_canvas *canvas, const struct top_painting *painting,
		    const struct top_state *state)
{
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	const struct stats *stats = &painting->profile->stats;
	const struct top_mark *since = &painting->since, now = painting->now;
	uint64_t elapsed_ns = now.ns - since->ns;
	uint64_t samples = now.samples - since->samples, lost = now.lost - since->lost;
	double elapsed = (double)elapsed_ns / 1e9;
	strbuf_addf(&buf, "%s %.1f s  %.1f",
		    painting->end   ? "ENDED"
		    : state->paused ? "PAUSED"
				    : "running",
		    elapsed, elapsed_ns ? (double)(now.ticks - since->ticks) / elapsed : 0);
	if (stats->interval_ns)
		strbuf_addf(&buf, " of %.1f", 1e9 / (double)stats->interval_ns);
	strbuf_addf(&buf, " Hz  %" PRIu64 " samples  %" PRIu64 " lost (%.1f %%)", samples, lost,
		    percent(lost, samples + lost));
	/* Rounded down: 100.0 is said only of all. */
	uint64_t attempts = samples + lost, complete = now.complete - since->complete;
	uint64_t permille = attempts ? complete * 1000 / attempts : 0;
	strbuf_addf(&buf, "  complete %" PRIu64 ".%" PRIu64 " %%  held %.2f %%", permille / 10,
		    permille % 10, percent(now.held_ns - since->held_ns, elapsed_ns));
	put_buf(canvas, state->paused ? TOP_ALERT : TOP_PLAIN, &buf);
}

static void put_threads_line(struct top_canvas *canvas, const struct top_painting *painting,
			     const struct top_state *state)
{
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	const struct top_threads *threads = top_model_threads(painting->model);
	uint64_t window_ns = top_model_window_ns(painting->model), running_ns = 0, gil_ns = 0;
	size_t count = 0, processes = painting->profile->processes.count;
	vec_foreach (thread, threads) {
		uint32_t id = (uint32_t)(thread - threads->items);
		uint32_t process = painting->profile->threads.items[id].process;
		if (state->settings.process != PROFILE_NONE && process != state->settings.process)
			continue;
		running_ns += thread->recent.running_ns;
		gil_ns += thread->recent.gil_ns;
		count += thread->recent.running_ns || thread->recent.idle_ns;
	}
	strbuf_addf(&buf, "%zu threads, %.2f of them running, GIL held %.0f %% of the last %.1f s",
		    count, (double)count / 100 * capped(running_ns, count * window_ns),
		    (double)processes * capped(gil_ns, processes * window_ns),
		    (double)window_ns / 1e9);
	put_buf(canvas, TOP_PLAIN, &buf);
}

static void put_choice(struct top_canvas *canvas, const struct top_painting *painting,
		       const struct top_state *state, size_t matches)
{
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	if (state->typing) {
		strbuf_addf(&buf, "filter: %s_", state->filter);
		put_buf(canvas, TOP_ALERT, &buf);
		return;
	}
	if (state->message || painting->end) {
		put(canvas, TOP_ALERT, state->message ? state->message : painting->end);
		return;
	}
	strbuf_addf(&buf, "by %s, %s, %s", state->settings.by_line ? "line" : "function",
		    state->settings.native ? "native frames too" : "Python frames",
		    state->settings.idle ? "idle threads too" : "running threads");
	if (state->filter[0])
		strbuf_addf(&buf, "; filter: %s (%zu)", state->filter, matches);
	put_buf(canvas, TOP_DIM, &buf);
}

/* ---- functions ---- */

static const char *file_of(const struct top_painting *painting, const struct top_row *row)
{
	if (row->file == PROFILE_NONE)
		return NULL;
	if (row->file < painting->file_count && painting->files[row->file])
		return painting->files[row->file];
	return intern_text(&painting->profile->strings, row->file);
}

/* "(FILE:LINE)", nothing without a file. */
static void add_place(struct strbuf *buf, const struct top_painting *painting,
		      const struct top_row *row)
{
	const char *file = file_of(painting, row);
	if (!file)
		return;
	strbuf_addf(buf, "(%s", file);
	if (row->line)
		strbuf_addf(buf, ":%u", row->line);
	strbuf_addc(buf, ')');
}

static enum top_style style_of(const struct top_row *row)
{
	if (!row->recent.total_ns)
		return TOP_DIM;
	return row->kind == PROFILE_NATIVE ? TOP_NATIVE : TOP_PLAIN;
}

/* Appends @text to the line in at most @columns; those that are filled. */
static size_t append(struct top_line *line, const char *text, size_t columns, bool tail)
{
	wchar_t cells[TOP_CELLS_MAX];
	size_t filled = top_cells(text, columns, tail, cells);
	size_t length = wcslen(line->cells), room = TOP_CELLS_MAX - 1 - length;
	wcsncat(line->cells, cells, room);
	return filled;
}

static void put_row(struct top_canvas *canvas, const struct top_painting *painting,
		    const struct top_row *row)
{
	const struct top_model *model = painting->model;
	uint64_t recent_ns = top_model_recent_ns(model), all_ns = top_model_all_ns(model);
	char numbers[96];
	int filled =
		snprintf(numbers, sizeof(numbers), "%6.1f  %6.1f    %6.1f  %6.1f  %8.2fs  ",
			 percent(row->recent.own_ns, recent_ns),
			 percent(row->recent.total_ns, recent_ns), percent(row->all.own_ns, all_ns),
			 percent(row->all.total_ns, all_ns), (double)row->all.own_ns / 1e9);
	size_t before = canvas->count;
	put(canvas, style_of(row), numbers);
	if (canvas->count == before || (size_t)filled >= canvas->columns)
		return;
	struct top_line *line = &canvas->line[before];
	size_t left = canvas->columns - (size_t)filled;
	left -= append(line, row->name, left, false);
	_cleanup_strbuf_ struct strbuf place = { 0 };
	add_place(&place, painting, row);
	if (!place.text || place.failed || left < FILE_COLUMNS_MIN + 1)
		return;
	append(line, " ", 1, false);
	append(line, place.text, left - 1, true);
}

static void put_function_heads(struct top_canvas *canvas, const struct top_painting *painting,
			       const struct top_state *state)
{
	static const char *const heads[TOP_COLUMNS] = { "own %", "total %", "own %", "total %" };
	char text[128];
	snprintf(text, sizeof(text), "   last %.0f s          since %s",
		 (double)TOP_RECENT_NS / 1e9, painting->since.samples ? "the reset" : "the start");
	put(canvas, TOP_DIM, text);
	char marked[TOP_COLUMNS][10];
	for (size_t i = 0; i < TOP_COLUMNS; i++)
		snprintf(marked[i], sizeof(marked[i]), "%s%s", i == state->column ? ">" : "",
			 heads[i]);
	snprintf(text, sizeof(text), "%6s %7s    %6s %7s  %9s  function", marked[0], marked[1],
		 marked[2], marked[3], "own time");
	put(canvas, TOP_HEAD, text);
}

static void put_functions(struct top_canvas *canvas, const struct top_painting *painting,
			  struct top_state *state)
{
	put_function_heads(canvas, painting, state);
	for (size_t i = 0; i < state->page_rows && state->scroll + i < canvas->rows.count; i++)
		put_row(canvas, painting, canvas->rows.items[state->scroll + i]);
}

/* ---- threads ---- */

static const char *state_of(const struct top_thread *times)
{
	if (times->flags & PROFILE_GIL)
		return times->flags & PROFILE_IDLE ? "idle, GIL" : "GIL";
	return times->flags & PROFILE_IDLE ? "idle" : "running";
}

static void put_thread(struct top_canvas *canvas, const struct top_painting *painting, uint32_t id)
{
	const struct profile *profile = painting->profile;
	const struct profile_thread *thread = &profile->threads.items[id];
	const struct top_thread *times = &top_model_threads(painting->model)->items[id];
	uint64_t window_ns = top_model_window_ns(painting->model);
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	if (profile->processes.count > 1)
		strbuf_addf(&buf, "%8d", (int)profile->processes.items[thread->process].pid);
	strbuf_addf(&buf, "%8d  %-9s %6.1f  %6.1f  %6.1f  %8.2fs  ", (int)thread->tid,
		    state_of(times), capped(times->recent.running_ns, window_ns),
		    capped(times->recent.gil_ns, window_ns),
		    capped(times->recent.idle_ns, window_ns), (double)times->all.running_ns / 1e9);
	strbuf_adds(&buf, profile_thread_name(profile, id));
	const struct top_row *row = top_model_leaf(painting->model, times->stack);
	if (row) {
		strbuf_addf(&buf, "  in %s ", row->name);
		add_place(&buf, painting, row);
	}
	put_buf(canvas, times->flags & PROFILE_GIL ? TOP_STRONG : TOP_PLAIN, &buf);
}

static void put_threads(struct top_canvas *canvas, const struct top_painting *painting,
			struct top_state *state)
{
	char text[128];
	bool several = painting->profile->processes.count > 1;
	snprintf(text, sizeof(text), "%s%20slast %.0f s", several ? "        " : "", "",
		 (double)TOP_RECENT_NS / 1e9);
	put(canvas, TOP_DIM, text);
	snprintf(text, sizeof(text), "%s%8s  %-9s %6s  %6s  %6s  %9s  name and function",
		 several ? " process" : "", "thread", "state", "run %", "GIL %", "idle %",
		 "run time");
	put(canvas, TOP_HEAD, text);
	for (size_t i = 0; i < state->page_rows && state->scroll + i < canvas->threads.count; i++)
		put_thread(canvas, painting, canvas->threads.items[state->scroll + i]);
}

/* ---- the page ---- */

static const char *const help[] = {
	"q, F10, Ctrl-C   end",
	"1 2 3 4, < >     sort by this column",
	"/                filter by a part of the name or file; Enter keeps it, Esc drops it",
	"space, p         pause: the picture stands still, sampling goes on",
	"r                reset: count from now on",
	"l                group by line or by function",
	"n                native frames (started with --native)",
	"i                count idle threads too",
	"t, Tab           threads or functions",
	"P                the next process, or all of them",
	"arrows, j k, PgUp PgDn, Home End   move",
	"?, h, F1         this page",
	"",
	"own: it was the innermost function; total: it was on the stack.",
	"Shares are of the time of all threads that count. run, GIL and idle are of the wall time.",
	"GIL: the thread held the global interpreter lock.",
};

#define HELP_LINES (sizeof(help) / sizeof(help[0]))

static void put_help(struct top_canvas *canvas, const struct top_state *state)
{
	put(canvas, TOP_HEAD, "Keys (any key goes back)");
	for (size_t i = 0; i <= state->page_rows && state->scroll + i < HELP_LINES; i++)
		put(canvas, TOP_PLAIN, help[state->scroll + i]);
}

static void put_too_small(struct top_canvas *canvas)
{
	char text[96];
	snprintf(text, sizeof(text), "too small: %ux%u is needed; q ends", TOP_COLUMNS_MIN,
		 TOP_LINES_MIN);
	put(canvas, TOP_ALERT, text);
}

static bool list(struct top_canvas *canvas, const struct top_painting *painting,
		 struct top_state *state, size_t *matches_ret)
{
	switch (state->page) {
	case TOP_FUNCTIONS:
		if (!top_list_rows(painting->model, state->column, state->filter, &canvas->rows,
				   matches_ret))
			return false;
		state->row_count = canvas->rows.count;
		return true;
	case TOP_THREADS:
		if (!top_list_threads(painting->model, state->filter, &canvas->threads))
			return false;
		*matches_ret = state->row_count = canvas->threads.count;
		return true;
	case TOP_HELP:
		break;
	}
	*matches_ret = 0;
	state->row_count = HELP_LINES;
	return true;
}

bool top_paint(struct top_canvas *canvas, const struct top_painting *painting,
	       struct top_state *state)
{
	canvas->count = 0;
	size_t lines = canvas->lines < TOP_LINES_MAX ? canvas->lines : TOP_LINES_MAX;
	if (!vec_reserve_((void **)&canvas->line, &canvas->capacity, lines + 1,
			  sizeof(*canvas->line)))
		return false;
	if (canvas->columns < TOP_COLUMNS_MIN || lines < TOP_LINES_MIN) {
		put_too_small(canvas);
		return true;
	}

	size_t matches;
	state->page_rows = lines - LINES_ABOVE - LINES_BELOW;
	if (!list(canvas, painting, state, &matches))
		return false;
	top_state_clamp(state);
	put_title(canvas, painting, state);
	put_run(canvas, painting, state);
	put_threads_line(canvas, painting, state);
	put_choice(canvas, painting, state, matches);
	switch (state->page) {
	case TOP_FUNCTIONS:
		put_functions(canvas, painting, state);
		break;
	case TOP_THREADS:
		put_threads(canvas, painting, state);
		break;
	case TOP_HELP:
		put_help(canvas, state);
		break;
	}
	while (canvas->count < lines - LINES_BELOW)
		put(canvas, TOP_PLAIN, "");
	put(canvas, TOP_DIM,
	    "q end  ? help  1-4 sort  / filter  space pause  r reset  l lines  i idle  n native  t "
	    "threads");
	return true;
}
