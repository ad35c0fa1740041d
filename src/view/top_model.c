/* SPDX-License-Identifier: MIT */
/* top_model.c: a profile that grows → times of functions and threads. */
#include "view/top_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

/* Passes that are recent; more than one makes in TOP_RECENT_NS at four a second. */
#define SLICES 64

/* In the map of frames to rows. */
#define ROW_UNKNOWN 0u
#define ROW_NONE    UINT32_MAX /* the frame has no row */

struct weight {
	uint64_t ns; /* by the profile's mode */
	uint64_t wall_ns;
};

/* What was taken in of a sample of the profile. */
struct taken {
	struct weight seen;
	struct weight base; /* of it, before the last reset */
	struct weight recent;
};

struct delta {
	uint32_t sample;
	struct weight weight;
};

DEFINE_VEC(struct taken_vec, taken_vec, struct taken)
DEFINE_VEC(struct delta_vec, delta_vec, struct delta)
DEFINE_VEC(struct row_map, row_map, uint32_t)

/* What one pass brought. */
struct slice {
	uint64_t begin_ns, end_ns;
	struct delta_vec deltas;
};

enum phase { PHASE_DONE, PHASE_EXPIRE, PHASE_SCAN, PHASE_AGAIN };

struct top_model {
	const struct profile *profile;
	struct top_namer namer;
	struct top_settings settings;
	bool settings_changed, reset, failed;

	struct intern keys; /* of rows: the id is the row */
	struct top_rows rows;
	struct row_map row_of_frame; /* row + 1, ROW_UNKNOWN or ROW_NONE */
	struct top_threads threads;
	struct taken_vec taken; /* by sample */
	struct slice slices[SLICES];
	size_t first, count; /* of the slices; the last one is being filled */
	struct weight recent, all;

	enum phase phase;
	bool anew; /* this pass counts everything anew */
	bool gap;  /* what it brings is too old to be recent */
	uint64_t begin_ns, previous_ns;
	size_t cursor, end; /* samples */
	uint64_t visit;
	size_t walked;
};

struct error *top_model_create(struct top_model **model_ret)
{
	struct top_model *model = calloc(1, sizeof(*model));
	if (!model)
		return error_no_memory();
	model->settings.process = PROFILE_NONE;
	*model_ret = model;
	return NULL;
}

void top_model_destroy(struct top_model *model)
{
	intern_deinit(&model->keys);
	top_rows_deinit(&model->rows);
	row_map_deinit(&model->row_of_frame);
	top_threads_deinit(&model->threads);
	taken_vec_deinit(&model->taken);
	for (size_t i = 0; i < SLICES; i++)
		delta_vec_deinit(&model->slices[i].deltas);
	free(model);
}

void top_model_set_namer(struct top_model *model, const struct top_namer *namer)
{
	model->namer = *namer;
}

const struct top_settings *top_model_settings(const struct top_model *model)
{
	return &model->settings;
}

void top_model_set(struct top_model *model, const struct top_settings *settings)
{
	model->settings = *settings;
	model->settings_changed = true;
}

void top_model_reset(struct top_model *model)
{
	model->reset = true;
}

/* ---- rows ---- */

/* What a row is made from; false: the frame has none. */
static bool describe(const struct top_model *model, const struct profile_frame *frame,
		     char room[32], struct top_row *row)
{
	const struct profile *profile = model->profile;
	const struct profile_function *function = &profile->functions.items[frame->function];
	*row = (struct top_row){
		.name = intern_text(&profile->strings, function->name),
		.file = function->file,
		.line = model->settings.by_line ? frame->line : function->firstlineno,
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
	if (!model->settings.native)
		return false;
	return !model->namer.name ||
	       model->namer.name(model->namer.data, frame->function, room, &row->name);
}

static uint32_t make_row(struct top_model *model, const struct profile_frame *frame)
{
	char room[32];
	struct top_row row;
	if (!describe(model, frame, room, &row))
		return ROW_NONE;
	_cleanup_strbuf_ struct strbuf key = { 0 };
	/* Functions of one name in one file differ by where they begin. */
	uint32_t begin = model->profile->functions.items[frame->function].firstlineno;
	strbuf_addf(&key, "%u %u %u %d ", row.file, begin, row.line, row.kind);
	size_t start = key.length;
	strbuf_adds(&key, row.name);
	if (key.failed)
		return ROW_NONE;
	uint32_t id = intern_add(&model->keys, key.text);
	if (id == INTERN_NONE)
		return ROW_NONE;
	if (id == model->rows.count) {
		struct top_row *slot = top_rows_append(&model->rows);
		if (!slot)
			return ROW_NONE;
		*slot = row;
		slot->name = intern_text(&model->keys, id) + start;
	}
	return id < model->rows.count ? id + 1 : ROW_NONE;
}

static uint32_t row_of(const struct top_model *model, uint32_t frame)
{
	return frame < model->row_of_frame.count ? model->row_of_frame.items[frame] : ROW_UNKNOWN;
}

/* The frames up to now have a place in the map. */
static bool reserve_map(struct top_model *model)
{
	size_t need = model->profile->frames.count, had = model->row_of_frame.count;
	if (need <= had)
		return true;
	if (!row_map_reserve(&model->row_of_frame, need))
		return false;
	memset(model->row_of_frame.items + had, 0,
	       (need - had) * sizeof(*model->row_of_frame.items));
	model->row_of_frame.count = need;
	return true;
}

static struct top_row *find_row(struct top_model *model, uint32_t frame)
{
	uint32_t *place = &model->row_of_frame.items[frame];
	if (*place == ROW_UNKNOWN)
		*place = make_row(model, &model->profile->frames.items[frame]);
	return *place == ROW_NONE ? NULL : &model->rows.items[*place - 1];
}

static bool is_native(const struct profile *profile, uint32_t frame)
{
	uint32_t function = profile->frames.items[frame].function;
	return profile->functions.items[function].kind == PROFILE_NATIVE;
}

/* Adds (or with a wrapped-around number takes away) times of a stack. */
static void add_stack(struct top_model *model, uint32_t stack, uint64_t recent_ns, uint64_t all_ns)
{
	const struct profile *profile = model->profile;
	bool innermost = true, below_python = true;
	model->visit++;
	for (uint32_t at = stack; at != PROFILE_NONE; at = profile->stacks.items[at].parent) {
		uint32_t frame = profile->stacks.items[at].frame;
		model->walked++;
		if (!is_native(profile, frame))
			below_python = false;
		else if (model->settings.native_leaf && !below_python)
			continue;
		struct top_row *row = find_row(model, frame);
		if (!row)
			continue;
		if (innermost) {
			row->recent.own_ns += recent_ns;
			row->all.own_ns += all_ns;
		}
		innermost = false;
		/* Recursion: a function is in a stack once. */
		if (row->visit == model->visit)
			continue;
		row->visit = model->visit;
		row->recent.total_ns += recent_ns;
		row->all.total_ns += all_ns;
	}
}

static void add_activity(struct top_activity *activity, unsigned flags, uint64_t wall_ns)
{
	if (flags & PROFILE_IDLE)
		activity->idle_ns += wall_ns;
	else
		activity->running_ns += wall_ns;
	if (flags & PROFILE_GIL)
		activity->gil_ns += wall_ns;
}

static bool counts(const struct top_model *model, const struct profile_sample *sample)
{
	if ((sample->flags & PROFILE_IDLE) && !model->settings.idle)
		return false;
	return model->settings.process == PROFILE_NONE ||
	       model->profile->threads.items[sample->thread].process == model->settings.process;
}

static void add_sample(struct top_model *model, const struct profile_sample *sample,
		       struct weight recent, struct weight all)
{
	struct top_thread *thread = &model->threads.items[sample->thread];
	add_activity(&thread->recent, sample->flags, recent.wall_ns);
	add_activity(&thread->all, sample->flags, all.wall_ns);
	model->walked++;
	if (!counts(model, sample))
		return;
	model->recent.ns += recent.ns;
	model->all.ns += all.ns;
	if (recent.ns || all.ns)
		add_stack(model, sample->stack, recent.ns, all.ns);
}

/* ---- passes ---- */

static struct weight difference(struct weight a, struct weight b)
{
	return (struct weight){ a.ns - b.ns, a.wall_ns - b.wall_ns };
}

static struct weight sum(struct weight a, struct weight b)
{
	return (struct weight){ a.ns + b.ns, a.wall_ns + b.wall_ns };
}

static bool reserve(struct top_model *model)
{
	const struct profile *profile = model->profile;
	while (model->taken.count < profile->samples.count)
		if (!taken_vec_append(&model->taken))
			return false;
	while (model->threads.count < profile->threads.count) {
		struct top_thread *thread = top_threads_append(&model->threads);
		if (!thread)
			return false;
		thread->stack = PROFILE_NONE;
	}
	return reserve_map(model);
}

static void clear_counts(struct top_model *model)
{
	model->recent = model->all = (struct weight){ 0 };
	vec_foreach (row, &model->rows)
		row->recent = row->all = (struct top_times){ 0 };
	vec_foreach (thread, &model->threads)
		thread->recent = thread->all = (struct top_activity){ 0 };
}

/* Other settings can make other rows. */
static void clear_rows(struct top_model *model)
{
	intern_deinit(&model->keys);
	model->keys = (struct intern){ 0 };
	model->rows.count = 0;
	model->row_of_frame.count = 0;
}

static void open_slice(struct top_model *model)
{
	struct slice *slice = &model->slices[(model->first + model->count) % SLICES];
	model->count++;
	slice->begin_ns = model->previous_ns;
	slice->end_ns = model->begin_ns;
	slice->deltas.count = 0;
}

/* What the next pass does besides taking in what is new. */
static void prepare(struct top_model *model)
{
	model->anew = model->phase != PHASE_DONE || model->settings_changed || model->reset;
	if (model->settings_changed)
		clear_rows(model);
	if (model->reset)
		vec_foreach (taken, &model->taken)
			taken->base = taken->seen;
	model->settings_changed = model->reset = false;
	if (model->anew)
		clear_counts(model);
	if (!reserve(model))
		model->failed = true;
	model->cursor = 0;
}

void top_model_begin(struct top_model *model, const struct profile *profile, uint64_t now_ns)
{
	model->profile = profile;
	model->previous_ns = model->begin_ns ? model->begin_ns : now_ns;
	model->begin_ns = now_ns;
	model->gap = now_ns - model->previous_ns > TOP_RECENT_NS;
	prepare(model);
	model->end = profile->samples.count;
	model->phase = PHASE_EXPIRE;
}

void top_model_again(struct top_model *model)
{
	if (!model->profile)
		return;
	prepare(model);
	/* Those of the last pass; what is new in them is left for the next one. */
	model->phase = PHASE_AGAIN;
}

static bool is_full(const struct top_model *model)
{
	return model->walked >= TOP_STEP_FRAMES;
}

/* Takes what is not recent any more away. True when there is no more of it. */
static bool expire(struct top_model *model)
{
	while (model->count) {
		struct slice *slice = &model->slices[model->first];
		if (model->count < SLICES && slice->end_ns + TOP_RECENT_NS > model->begin_ns)
			return true;
		while (slice->deltas.count) {
			if (is_full(model))
				return false;
			struct delta delta = slice->deltas.items[--slice->deltas.count];
			struct weight *recent = &model->taken.items[delta.sample].recent;
			*recent = difference(*recent, delta.weight);
			model->walked++;
			if (!model->anew)
				add_sample(model, &model->profile->samples.items[delta.sample],
					   difference((struct weight){ 0 }, delta.weight),
					   (struct weight){ 0 });
		}
		model->first = (model->first + 1) % SLICES;
		model->count--;
	}
	return true;
}

/* What a thread was found doing for the longest time in this pass. */
static void note_stack(struct top_model *model, const struct profile_sample *sample,
		       uint64_t wall_ns)
{
	struct top_thread *thread = &model->threads.items[sample->thread];
	if (thread->seen_ns == model->begin_ns && wall_ns <= thread->stack_ns)
		return;
	thread->seen_ns = model->begin_ns;
	thread->stack_ns = wall_ns;
	thread->stack = sample->stack;
	thread->flags = sample->flags;
}

static void take_in(struct top_model *model, uint32_t id)
{
	const struct profile_sample *sample = &model->profile->samples.items[id];
	struct taken *taken = &model->taken.items[id];
	struct weight now = { profile_weight_ns(model->profile, sample), sample->wall_ns };
	struct weight fresh = difference(now, taken->seen), recent = { 0 };
	bool changed = fresh.ns || fresh.wall_ns;
	if (changed && !model->gap) {
		struct slice *slice = &model->slices[(model->first + model->count - 1) % SLICES];
		struct delta *delta = delta_vec_append(&slice->deltas);
		if (!delta) {
			model->failed = true;
			return;
		}
		*delta = (struct delta){ id, fresh };
		recent = fresh;
	}
	taken->seen = now;
	taken->recent = sum(taken->recent, recent);
	if (changed)
		note_stack(model, sample, fresh.wall_ns);
	if (model->anew)
		add_sample(model, sample, taken->recent, difference(taken->seen, taken->base));
	else if (changed)
		add_sample(model, sample, recent, fresh);
}

static void count_again(struct top_model *model, uint32_t id)
{
	const struct taken *taken = &model->taken.items[id];
	if (model->anew)
		add_sample(model, &model->profile->samples.items[id], taken->recent,
			   difference(taken->seen, taken->base));
}

bool top_model_step(struct top_model *model)
{
	model->walked = 0;
	if (model->phase == PHASE_EXPIRE) {
		if (!expire(model))
			return false;
		open_slice(model);
		model->phase = PHASE_SCAN;
	}
	if (model->phase == PHASE_DONE)
		return true;
	/* Samples without news count too: there may be millions. */
	for (; model->cursor < model->end && !is_full(model) && !model->failed; model->cursor++) {
		if (model->phase == PHASE_AGAIN)
			count_again(model, (uint32_t)model->cursor);
		else
			take_in(model, (uint32_t)model->cursor);
		model->walked += model->cursor % 16 == 0;
	}
	if (model->cursor < model->end && !model->failed)
		return false;
	model->phase = PHASE_DONE;
	return true;
}

bool top_model_failed(const struct top_model *model)
{
	return model->failed;
}

/* ---- what came out ---- */

uint64_t top_model_recent_ns(const struct top_model *model)
{
	return model->recent.ns;
}

uint64_t top_model_all_ns(const struct top_model *model)
{
	return model->all.ns;
}

uint64_t top_model_window_ns(const struct top_model *model)
{
	return model->count ? model->begin_ns - model->slices[model->first].begin_ns : 0;
}

const struct top_rows *top_model_rows(const struct top_model *model)
{
	return &model->rows;
}

const struct top_threads *top_model_threads(const struct top_model *model)
{
	return &model->threads;
}

const struct profile *top_model_profile(const struct top_model *model)
{
	return model->profile;
}

const struct top_row *top_model_leaf(const struct top_model *model, uint32_t stack)
{
	const struct profile *profile = model->profile;
	if (!profile || stack == PROFILE_NONE || stack >= profile->stacks.count)
		return NULL;
	for (uint32_t at = stack; at != PROFILE_NONE; at = profile->stacks.items[at].parent) {
		uint32_t row = row_of(model, profile->stacks.items[at].frame);
		if (row != ROW_UNKNOWN && row != ROW_NONE)
			return &model->rows.items[row - 1];
	}
	return NULL;
}
