/* SPDX-License-Identifier: MIT */
/*
 * top.c: a live view of what a process is doing, on a terminal.
 *
 * The recording's looks drive it: keys → what is chosen, a few times a second a pass of the model over the profile, and then the
 * screen. Passes go on over several looks where there is much to count, so that no look takes longer than about a millisecond.
 */
#include "top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "session.h"
#include "view/top_model.h"
#include "view/top_paint.h"
#include "view/top_screen.h"
#include "view/top_state.h"

#define REDRAW_NS (250 * NS_PER_MS)
/* Between two times that short texts are found for the files. */
#define FILES_NS NS_PER_S
/* Keys that one look takes: a pasted text must not hold up the samples. */
#define KEYS_MAX 64

struct top {
	const struct options *options;
	struct top_model *model;
	struct top_state state;
	struct top_canvas canvas;
	struct top_mark since, now;
	const struct symbolize *symbolize;
	const char **files; /* by string id of the profile */
	size_t file_count, function_count;
	uint64_t files_ns; /* when they may be found again */
	uint64_t pass_ns;  /* when the next pass is due */
	bool in_pass;
	bool dirty; /* the screen does not show what it should */
};

static bool name_function(void *data, uint32_t function, char room[32], const char **name_ret)
{
	const struct top *top = data;
	struct symbolize_label label;
	if (!top->symbolize || !symbolize_label(top->symbolize, function, &label))
		return true;
	if (label.is_glue && top->options->native_mode != SYMBOLIZE_FULL)
		return false;
	snprintf(room, 32, "+%#" PRIx64, label.vaddr);
	*name_ret = label.name ? label.name : room;
	return true;
}

static struct error *begin(void *data, const struct session_moment *moment)
{
	struct top *top = data;
	const struct options *options = top->options;
	top->symbolize = moment->recording->symbolize;
	top->since = top->now = top_mark_now(moment->recording->profile, moment->now_ns);
	top->state.has_native = options->native;
	top->state.settings = (struct top_settings){
		.idle = options->count_idle,
		.native = options->native,
		.native_leaf = options->native_mode == SYMBOLIZE_LEAF,
		.process = PROFILE_NONE,
	};
	top_model_set(top->model, &top->state.settings);
	top_model_set_namer(top->model, &(struct top_namer){ name_function, top });
	return top_screen_open();
}

/* ---- the picture ---- */

static void find_files(struct top *top, const struct session_moment *moment)
{
	const struct profile *profile = moment->recording->profile;
	if (profile->functions.count == top->function_count || moment->now_ns < top->files_ns)
		return;
	struct writer_options writing = { .full_paths = top->options->writing.full_paths,
					  .paths = moment->paths };
	const char **files = NULL;
	top->files_ns = moment->now_ns + FILES_NS;
	_cleanup_error_ struct error *err = writer_files(profile, &writing, &files);
	if (err)
		return;
	free(top->files);
	top->files = files;
	top->file_count = profile->strings.count;
	top->function_count = profile->functions.count;
}

static bool paint(struct top *top, const struct session_moment *moment)
{
	struct top_painting painting = {
		.profile = moment->recording->profile,
		.model = top->model,
		.since = top->since,
		.now = top->now,
		.files = top->files,
		.file_count = top->file_count,
		.end = moment->over ? "the process has ended; q ends pysample" : NULL,
	};
	/* A terminal that takes nothing at the moment is drawn on later. */
	if (!top_screen_is_ready())
		return true;
	top_screen_size(&top->canvas.columns, &top->canvas.lines);
	if (!top_paint(&top->canvas, &painting, &top->state))
		return false;
	top_screen_show(&top->canvas);
	top->dirty = false;
	return true;
}

static void take_keys(struct top *top)
{
	struct top_state *state = &top->state;
	uint32_t key;
	for (int i = 0; i < KEYS_MAX && (key = top_screen_key()) != TOP_KEY_NONE; i++) {
		top_state_key(state, key);
		top->dirty = true;
		if (state->quit)
			return;
	}
}

/* ---- the numbers ---- */

static void begin_pass(struct top *top, const struct session_moment *moment)
{
	const struct profile *profile = moment->recording->profile;
	struct top_state *state = &top->state;
	if (state->settings_changed)
		top_model_set(top->model, &state->settings);
	if (state->reset) {
		top_model_reset(top->model);
		top->since = top->now;
	}
	state->settings_changed = state->reset = false;
	state->process_count = profile->processes.count;
	top->in_pass = true;
	/* What stands still is counted anew where that is asked for, and nothing more is taken in. */
	if (state->paused) {
		top_model_again(top->model);
		return;
	}
	if (top->symbolize)
		vec_foreach (member, moment->members)
			member_name_frames(*member);
	uint64_t run_ns = moment->recording->start_ns + profile->stats.duration_ns;
	top->now = top_mark_now(profile, moment->over ? run_ns : moment->now_ns);
	top->pass_ns = moment->now_ns + REDRAW_NS;
	top_model_begin(top->model, profile, top->now.ns);
}

static bool is_due(const struct top *top, const struct session_moment *moment)
{
	const struct top_state *state = &top->state;
	if (state->settings_changed || state->reset)
		return true;
	return !state->paused && !moment->over && moment->now_ns >= top->pass_ns;
}

static bool look(void *data, const struct session_moment *moment)
{
	struct top *top = data;
	take_keys(top);
	if (top->state.quit)
		return false;
	if (moment->over && !top->state.ended) {
		/* What came in since the last pass. */
		top->state.ended = true;
		top->state.paused = false;
		begin_pass(top, moment);
	} else if (!top->in_pass && is_due(top, moment)) {
		begin_pass(top, moment);
	}
	if (top->in_pass && top_model_step(top->model)) {
		top->in_pass = false;
		top->dirty = true;
		find_files(top, moment);
	}
	if (top_model_failed(top->model))
		return false;
	return top->in_pass || !top->dirty || paint(top, moment);
}

static void end(void *data)
{
	top_screen_close();
}

int top_run(const struct options *options)
{
	struct top top = { .options = options };
	_cleanup_error_ struct error *err = top_screen_check();
	if (!err)
		err = top_model_create(&top.model);
	if (err) {
		fprintf(stderr, "pysample: %s\n", err->message);
		return err->code == ERROR_USAGE ? 2 : 1;
	}
	struct session_view view = { begin, look, end, &top };
	int status = session_show(options, &view);
	if (top_model_failed(top.model)) {
		fputs("pysample: out of memory\n", stderr);
		status = 1;
	}
	top_model_destroy(top.model);
	top_canvas_deinit(&top.canvas);
	free(top.files);
	return status;
}
