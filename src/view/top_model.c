/* SPDX-License-Identifier: MIT */
/* top_model.c: a profile that grows → times of functions and threads. */
#include "view/top_model.h"

#include <stdlib.h>
#include <string.h>

/* Passes that are recent; more than one makes in TOP_RECENT_NS at four a second. */
#define SLICES 64

struct time {
	uint64_t ns; /* by the profile's mode */
	uint64_t wall_ns;
};

/* What is to be added to the times of rows. */
struct weight {
	uint64_t recent_ns;
	uint64_t all_ns;
};

/* What was taken in of a sample of the profile. */
struct taken {
	struct time seen;
	struct time base; /* of it, before the last reset */
	struct time recent;
};

struct delta {
	uint32_t sample;
	struct time time;
};

enum place { PLACE_UNKNOWN, PLACE_OUTERMOST, PLACE_INNER };

/* A stack of the profile. Weights are 0 between two passes. */
struct node {
	struct weight through; /* of all samples that end here or further in */
	struct weight leaf;    /* of those that have only native frames further in */
	enum place place;      /* of the function of its frame among its callers */
};

DEFINE_VEC(struct node_vec, node_vec, struct node)
DEFINE_VEC(struct taken_vec, taken_vec, struct taken)
DEFINE_VEC(struct delta_vec, delta_vec, struct delta)

/* What one pass brought. */
struct slice {
	uint64_t begin_ns, end_ns;
	struct delta_vec deltas;
};

enum phase { PHASE_DONE, PHASE_EXPIRE, PHASE_SCAN, PHASE_AGAIN, PHASE_SWEEP };

struct top_model {
	const struct profile *profile;
	struct top_table table;
	bool settings_changed, reset, failed;

	struct top_threads threads;
	struct taken_vec taken; /* by sample */
	struct node_vec nodes;  /* by stack */
	struct slice slices[SLICES];
	size_t first, count;   /* of the slices; the last one is being filled */
	struct weight counted; /* under these settings */

	enum phase phase;
	bool anew; /* this pass counts everything anew */
	bool gap;  /* what it brings is too old to be recent */
	uint64_t begin_ns, previous_ns;
	size_t cursor, end; /* samples */
	size_t sweep;       /* stacks from 0 up to here have weights to pass on */
	size_t visits;      /* in this step */
};

struct error *top_model_create(struct top_model **model_ret)
{
	struct top_model *model = calloc(1, sizeof(*model));
	if (!model)
		return error_no_memory();
	model->table.settings.process = PROFILE_NONE;
	*model_ret = model;
	return NULL;
}

void top_model_destroy(struct top_model *model)
{
	top_table_deinit(&model->table);
	top_threads_deinit(&model->threads);
	taken_vec_deinit(&model->taken);
	node_vec_deinit(&model->nodes);
	for (size_t i = 0; i < SLICES; i++)
		delta_vec_deinit(&model->slices[i].deltas);
	free(model);
}

void top_model_set_namer(struct top_model *model, const struct top_namer *namer)
{
	model->table.namer = *namer;
}

const struct top_settings *top_model_settings(const struct top_model *model)
{
	return &model->table.settings;
}

void top_model_set(struct top_model *model, const struct top_settings *settings)
{
	model->table.settings = *settings;
	model->settings_changed = true;
}

void top_model_reset(struct top_model *model)
{
	model->reset = true;
}

static bool is_native(const struct profile *profile, uint32_t frame)
{
	uint32_t function = profile->frames.items[frame].function;
	return profile->functions.items[function].kind == PROFILE_NATIVE;
}

/* ---- times of rows ---- */

static struct weight sum(struct weight a, struct weight b)
{
	return (struct weight){ a.recent_ns + b.recent_ns, a.all_ns + b.all_ns };
}

static bool is_nothing(struct weight weight)
{
	return !weight.recent_ns && !weight.all_ns;
}

/* The row that has the own time of @stack: that of its innermost frame that has one. Frames of Python have. */
static struct top_row *own_row(struct top_model *model, uint32_t stack)
{
	const struct profile *profile = model->profile;
	for (uint32_t at = stack; at != PROFILE_NONE; at = profile->stacks.items[at].parent) {
		model->visits++;
		struct top_row *row =
			top_table_row(&model->table, profile, profile->stacks.items[at].frame);
		if (row)
			return row;
	}
	return NULL;
}

/* Adds (with wrapped-around numbers: takes away) what counts for @stack; the rest of it is done by the sweep. */
static void add_stack(struct top_model *model, uint32_t stack, struct weight weight)
{
	struct top_row *row = own_row(model, stack);
	if (!row)
		return;
	row->recent.own_ns += weight.recent_ns;
	row->all.own_ns += weight.all_ns;
	struct node *node = &model->nodes.items[stack];
	node->through = sum(node->through, weight);
	node->leaf = sum(node->leaf, weight);
	if (stack >= model->sweep)
		model->sweep = (size_t)stack + 1;
}

/*
 * Recursion: a function counts once for a stack, at its outermost place. With native_leaf a run of native frames is looked at by
 * itself, since only the innermost run counts.
 */
static bool find_outermost(struct top_model *model, uint32_t stack, const struct top_row *row)
{
	const struct profile *profile = model->profile;
	bool run = model->table.settings.native_leaf && row->kind == PROFILE_NATIVE;
	uint32_t at = profile->stacks.items[stack].parent;
	for (; at != PROFILE_NONE; at = profile->stacks.items[at].parent) {
		uint32_t frame = profile->stacks.items[at].frame;
		model->visits++;
		if (run && !is_native(profile, frame))
			return true;
		if (top_table_row(&model->table, model->profile, frame) == row)
			return false;
	}
	return true;
}

static bool is_outermost(struct top_model *model, uint32_t stack, const struct top_row *row)
{
	struct node *node = &model->nodes.items[stack];
	if (node->place == PLACE_UNKNOWN)
		node->place = find_outermost(model, stack, row) ? PLACE_OUTERMOST : PLACE_INNER;
	return node->place == PLACE_OUTERMOST;
}

/* What came to a stack goes to its row, and on to the stack of its caller. */
static void pass_on(struct top_model *model, uint32_t stack)
{
	const struct profile_stack *place = &model->profile->stacks.items[stack];
	struct node *node = &model->nodes.items[stack];
	bool native = is_native(model->profile, place->frame);
	struct weight weight =
		model->table.settings.native_leaf && native ? node->leaf : node->through;
	struct top_row *row = is_nothing(weight)
				      ? NULL
				      : top_table_row(&model->table, model->profile, place->frame);
	if (row && is_outermost(model, stack, row)) {
		row->recent.total_ns += weight.recent_ns;
		row->all.total_ns += weight.all_ns;
	}
	if (place->parent != PROFILE_NONE) {
		struct node *parent = &model->nodes.items[place->parent];
		parent->through = sum(parent->through, node->through);
		if (native)
			parent->leaf = sum(parent->leaf, node->leaf);
	}
	node->through = node->leaf = (struct weight){ 0 };
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
	if ((sample->flags & PROFILE_IDLE) && !model->table.settings.idle)
		return false;
	return model->table.settings.process == PROFILE_NONE ||
	       model->profile->threads.items[sample->thread].process ==
		       model->table.settings.process;
}

static void add_sample(struct top_model *model, const struct profile_sample *sample,
		       struct time recent, struct time all)
{
	struct top_thread *thread = &model->threads.items[sample->thread];
	struct weight weight = { recent.ns, all.ns };
	add_activity(&thread->recent, sample->flags, recent.wall_ns);
	add_activity(&thread->all, sample->flags, all.wall_ns);
	model->visits++;
	if (!counts(model, sample))
		return;
	model->counted = sum(model->counted, weight);
	if (!is_nothing(weight) && sample->stack != PROFILE_NONE)
		add_stack(model, sample->stack, weight);
}

/* ---- passes ---- */

static struct time difference(struct time a, struct time b)
{
	return (struct time){ a.ns - b.ns, a.wall_ns - b.wall_ns };
}

static struct time total(struct time a, struct time b)
{
	return (struct time){ a.ns + b.ns, a.wall_ns + b.wall_ns };
}

static bool reserve(struct top_model *model)
{
	const struct profile *profile = model->profile;
	while (model->taken.count < profile->samples.count)
		if (!taken_vec_append(&model->taken))
			return false;
	while (model->nodes.count < profile->stacks.count)
		if (!node_vec_append(&model->nodes))
			return false;
	while (model->threads.count < profile->threads.count) {
		struct top_thread *thread = top_threads_append(&model->threads);
		if (!thread)
			return false;
		thread->stack = PROFILE_NONE;
	}
	return top_table_reserve(&model->table, profile);
}

static void clear_counts(struct top_model *model)
{
	model->counted = (struct weight){ 0 };
	vec_foreach (row, &model->table.rows)
		row->recent = row->all = (struct top_times){ 0 };
	vec_foreach (thread, &model->threads)
		thread->recent = thread->all = (struct top_activity){ 0 };
	/* Where a pass was broken off there are some. */
	vec_foreach (node, &model->nodes)
		node->through = node->leaf = (struct weight){ 0 };
}

/* Other settings can make other rows. */
static void clear_rows(struct top_model *model)
{
	top_table_clear(&model->table);
	vec_foreach (node, &model->nodes)
		node->place = PLACE_UNKNOWN;
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
	model->cursor = model->sweep = 0;
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
	return model->visits >= TOP_STEP_VISITS;
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
			struct time *recent = &model->taken.items[delta.sample].recent;
			*recent = difference(*recent, delta.time);
			model->visits++;
			if (!model->anew)
				add_sample(model, &model->profile->samples.items[delta.sample],
					   difference((struct time){ 0 }, delta.time),
					   (struct time){ 0 });
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
	struct time now = { profile_weight_ns(model->profile, sample), sample->wall_ns };
	struct time fresh = difference(now, taken->seen), recent = { 0 };
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
	taken->recent = total(taken->recent, recent);
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

/* True at the end. Samples without news count as visits too: there may be millions. */
static bool scan(struct top_model *model)
{
	for (; model->cursor < model->end && !is_full(model); model->cursor++) {
		if (model->phase == PHASE_AGAIN)
			count_again(model, (uint32_t)model->cursor);
		else
			take_in(model, (uint32_t)model->cursor);
		model->visits += model->cursor % 16 == 0;
	}
	return model->cursor == model->end;
}

/* True at the end. Callers have lower numbers than what they call. */
static bool sweep(struct top_model *model)
{
	for (; model->sweep && !is_full(model); model->sweep--) {
		const struct node *node = &model->nodes.items[model->sweep - 1];
		model->visits += model->sweep % 16 == 0;
		if (is_nothing(node->through) && is_nothing(node->leaf))
			continue;
		model->visits++;
		pass_on(model, (uint32_t)(model->sweep - 1));
	}
	return !model->sweep;
}

bool top_model_step(struct top_model *model)
{
	model->visits = 0;
	if (model->failed)
		model->phase = PHASE_DONE;
	if (model->phase == PHASE_EXPIRE) {
		if (!expire(model))
			return false;
		open_slice(model);
		model->phase = PHASE_SCAN;
	}
	if (model->phase == PHASE_SCAN || model->phase == PHASE_AGAIN) {
		if (!scan(model))
			return false;
		model->phase = PHASE_SWEEP;
	}
	if (model->phase == PHASE_SWEEP && !sweep(model))
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
	return model->counted.recent_ns;
}

uint64_t top_model_all_ns(const struct top_model *model)
{
	return model->counted.all_ns;
}

uint64_t top_model_window_ns(const struct top_model *model)
{
	return model->count ? model->begin_ns - model->slices[model->first].begin_ns : 0;
}

const struct top_rows *top_model_rows(const struct top_model *model)
{
	return &model->table.rows;
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
		const struct top_row *row =
			top_table_known_row(&model->table, profile->stacks.items[at].frame);
		if (row)
			return row;
	}
	return NULL;
}
