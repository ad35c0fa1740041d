/* SPDX-License-Identifier: MIT */
/* lineheat.c: what lines of Python sources weigh, and which functions they call. */
#include "write/lineheat.h"

#include <stdlib.h>

#include "base/idset.h"

struct builder {
	const struct profile *profile;
	struct lineheat *heat;
	struct idset cell_index, call_index;
	uint32_t *file_of; /* by string id: the index of a file + 1 */
	uint32_t *cell_of; /* by frame of the profile; PROFILE_NONE: not a line of Python */
};

static void builder_deinit(struct builder *b)
{
	idset_deinit(&b->cell_index);
	idset_deinit(&b->call_index);
	free(b->file_of);
	free(b->cell_of);
}

static uint64_t cell_key(const void *data, uint32_t id)
{
	const struct lineheat_cell *cell = &((const struct lineheat *)data)->cells.items[id];
	return idset_pair(cell->file, cell->line);
}

static uint64_t call_key(const void *data, uint32_t id)
{
	const struct lineheat_call *call = &((const struct lineheat *)data)->calls.items[id];
	return idset_pair(call->cell, call->function);
}

/* The index of the file that a string is, new or old; PROFILE_NONE without memory. */
static uint32_t get_file(struct builder *b, uint32_t string)
{
	if (b->file_of[string])
		return b->file_of[string] - 1;
	struct lineheat_file *file = lineheat_files_append(&b->heat->files);
	if (!file)
		return PROFILE_NONE;
	file->file = string;
	b->file_of[string] = (uint32_t)b->heat->files.count;
	return b->file_of[string] - 1;
}

/* The cell of a line, new or old; PROFILE_NONE without memory. */
static uint32_t get_cell(struct builder *b, uint32_t file, uint32_t line)
{
	struct lineheat *heat = b->heat;
	if (file == PROFILE_NONE)
		return PROFILE_NONE;
	uint32_t id = idset_get(&b->cell_index, idset_pair(file, line), cell_key, heat);
	if (id != IDSET_NONE)
		return id;
	id = (uint32_t)heat->cells.count;
	struct lineheat_cell *cell = lineheat_cells_append(&heat->cells);
	if (!cell)
		return PROFILE_NONE;
	cell->file = file;
	cell->line = line;
	return idset_put(&b->cell_index, id, cell_key, heat) ? id : PROFILE_NONE;
}

static struct error *find_cells(struct builder *b, bool no_line)
{
	const struct profile *profile = b->profile;
	b->cell_of = calloc(profile->frames.count + 1, sizeof(*b->cell_of));
	b->file_of = calloc(profile->strings.count + 1, sizeof(*b->file_of));
	if (!b->cell_of || !b->file_of)
		return error_no_memory();
	for (size_t i = 0; i < profile->frames.count; i++) {
		const struct profile_frame *frame = &profile->frames.items[i];
		const struct profile_function *function =
			&profile->functions.items[frame->function];
		b->cell_of[i] = PROFILE_NONE;
		if (function->kind != PROFILE_PYTHON || function->file == PROFILE_NONE)
			continue;
		b->cell_of[i] = get_cell(b, get_file(b, function->file),
					 no_line ? function->firstlineno : frame->line);
		if (b->cell_of[i] == PROFILE_NONE)
			return error_no_memory();
	}
	return NULL;
}

static void add_weight(struct lineheat_weight *to, const struct lineheat_weight *weight)
{
	to->count += weight->count;
	to->ns += weight->ns;
}

static void add_once(struct lineheat_weight *to, uint32_t *seen, uint32_t stamp,
		     const struct lineheat_weight *weight)
{
	if (*seen != stamp)
		add_weight(to, weight);
	*seen = stamp;
}

/* False without memory. */
static bool add_call(struct builder *b, uint32_t cell, uint32_t function, uint32_t stamp,
		     const struct lineheat_weight *weight)
{
	struct lineheat *heat = b->heat;
	uint32_t id = idset_get(&b->call_index, idset_pair(cell, function), call_key, heat);
	if (id == IDSET_NONE) {
		id = (uint32_t)heat->calls.count;
		struct lineheat_call *call = lineheat_calls_append(&heat->calls);
		if (!call)
			return false;
		call->cell = cell;
		call->function = function;
		if (!idset_put(&b->call_index, id, call_key, heat))
			return false;
	}
	struct lineheat_call *call = &heat->calls.items[id];
	add_once(&call->weight, &call->seen, stamp, weight);
	return true;
}

/* From the innermost frame outwards. False without memory. */
static bool add_sample(struct builder *b, const struct profile_sample *sample, uint32_t stamp)
{
	const struct profile *profile = b->profile;
	const struct lineheat_weight weight = {
		.count = sample->count,
		.ns = profile_weight_ns(profile, sample),
	};
	add_weight(&b->heat->all, &weight);
	uint32_t callee = PROFILE_NONE;
	for (uint32_t stack = sample->stack; stack != PROFILE_NONE;
	     stack = profile->stacks.items[stack].parent) {
		uint32_t frame = profile->stacks.items[stack].frame;
		uint32_t id = b->cell_of[frame];
		if (id == PROFILE_NONE)
			continue;
		struct lineheat_cell *cell = &b->heat->cells.items[id];
		struct lineheat_file *file = &b->heat->files.items[cell->file];
		if (callee == PROFILE_NONE) {
			add_weight(&cell->own, &weight);
			add_weight(&file->own, &weight);
		} else if (!add_call(b, id, callee, stamp, &weight)) {
			return false;
		}
		add_once(&cell->total, &cell->seen, stamp, &weight);
		add_once(&file->total, &file->seen, stamp, &weight);
		callee = profile->frames.items[frame].function;
	}
	return true;
}

static int compare_cells(const void *a, const void *b, void *data)
{
	const struct lineheat_cell *cells = data;
	const struct lineheat_cell *x = &cells[*(const uint32_t *)a],
				   *y = &cells[*(const uint32_t *)b];
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int compare_calls(const void *a, const void *b)
{
	const struct lineheat_call *x = a, *y = b;
	if (x->cell != y->cell)
		return x->cell < y->cell ? -1 : 1;
	if (x->weight.ns != y->weight.ns)
		return x->weight.ns > y->weight.ns ? -1 : 1;
	return x->function < y->function ? -1 : 1;
}

/* Puts cells in order, and calls by the cells' new places. */
static struct error *sort_all(struct lineheat *heat)
{
	size_t count = heat->cells.count;
	_cleanup_free_ uint32_t *order = calloc(count + 1, sizeof(*order));
	_cleanup_free_ uint32_t *place = calloc(count + 1, sizeof(*place));
	_cleanup_free_ struct lineheat_cell *sorted = calloc(count + 1, sizeof(*sorted));
	if (!order || !place || !sorted)
		return error_no_memory();
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_cells, heat->cells.items);
	for (uint32_t i = 0; i < count; i++) {
		sorted[i] = heat->cells.items[order[i]];
		place[order[i]] = i;
	}
	free(heat->cells.items);
	heat->cells.items = no_cleanup(sorted);
	heat->cells.capacity = count + 1;
	vec_foreach (call, &heat->calls)
		call->cell = place[call->cell];
	if (heat->calls.count)
		qsort(heat->calls.items, heat->calls.count, sizeof(*heat->calls.items),
		      compare_calls);
	return NULL;
}

struct error *lineheat_create(const struct profile *profile, bool no_line,
			      struct lineheat **heat_ret)
{
	_cleanup_lineheat_ struct lineheat *heat = calloc(1, sizeof(*heat));
	if (!heat)
		return error_no_memory();
	_cleanup_(builder_deinit) struct builder b = { .profile = profile, .heat = heat };
	struct error *err = find_cells(&b, no_line);
	if (err)
		return err;
	for (uint32_t i = 0; i < profile->samples.count; i++)
		if (!add_sample(&b, &profile->samples.items[i], i + 1))
			return error_no_memory();
	err = sort_all(heat);
	if (err)
		return err;
	*heat_ret = no_cleanup(heat);
	return NULL;
}

void lineheat_destroy(struct lineheat *heat)
{
	if (!heat)
		return;
	lineheat_files_deinit(&heat->files);
	lineheat_cells_deinit(&heat->cells);
	lineheat_calls_deinit(&heat->calls);
	free(heat);
}
