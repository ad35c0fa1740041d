/* SPDX-License-Identifier: MIT */
/* collect.c: a sample's frames → a stack of a profile. */
#include "collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

void collector_deinit(struct collector *collector)
{
	free(collector->frames);
	merged_vec_deinit(&collector->merged);
	memset(collector, 0, sizeof(*collector));
}

static uint32_t python_frame(struct profile *profile, const struct sample_frame *frame)
{
	uint32_t function = profile_function(profile, frame->code->name, frame->code->filename,
					     frame->code->firstlineno, PROFILE_PYTHON);
	return profile_frame(profile, function, frame->line);
}

static uint32_t mark(struct profile *profile, const char *text)
{
	return profile_frame(profile, profile_function(profile, text, NULL, 0, PROFILE_MARKER), 0);
}

static uint32_t cut_mark(struct profile *profile, enum reason end)
{
	char text[64];
	snprintf(text, sizeof(text), "[cut: %s]", reason_name(end));
	return mark(profile, text);
}

static bool is_runtime(const struct subject *subject, const struct module *module)
{
	for (size_t i = 0; i < subject->runtime_count; i++)
		if (subject->runtimes[i].py.module == module)
			return true;
	return false;
}

static uint32_t native_frame_anew(struct collector *collector, struct profile *profile,
				  const struct native_frame *frame, const struct code_place *code)
{
	struct symbolize_place place = { .vaddr = frame->address };
	switch (code->kind) {
	case CODE_MODULE:
		place.image = code->image;
		place.path = code->module ? code->module->path : "[vdso]";
		place.vaddr = frame->address - code->bias;
		place.is_runtime = is_runtime(collector->native->subject, code->module);
		code_place_function(code, frame->address, &place.function);
		if (code->row && (code->row->flags & CFI_ROW_SIGNAL_FRAME))
			place.name = "[signal]";
		break;
	case CODE_GENERATED:
		place.path = "[jit]";
		place.name = code->range->name;
		break;
	case CODE_ANONYMOUS:
		place.path = "[anon]";
		place.vaddr = frame->address - code->bias;
		break;
	case CODE_NONE:
		place.path = "[not code]";
		break;
	}
	return profile_frame(profile, symbolize_function(collector->symbolize, profile, &place), 0);
}

static void refresh_cache(struct collector *collector)
{
	const struct native *native = collector->native;
	uint64_t generation = code_map_generation(native->map);
	if (collector->cache_image == native->image_number &&
	    collector->cache_generation == generation)
		return;
	collector->cache_image = native->image_number;
	collector->cache_generation = generation;
	memset(collector->cache, 0, sizeof(collector->cache));
}

static uint32_t native_frame(struct collector *collector, struct profile *profile,
			     const struct native_frame *frame)
{
	struct collected *cached =
		&collector->cache[hash_mix(frame->address) & (COLLECT_CACHE - 1)];
	if (frame->address && cached->address == frame->address)
		return cached->frame;
	const struct code_place *code = code_map_find(collector->native->map, frame->address);
	cached->frame = native_frame_anew(collector, profile, frame, code);
	cached->address = code->kind == CODE_MODULE ? frame->address : 0;
	return cached->frame;
}

struct lists {
	const struct native *native;
	const struct sample *sample;
};

static bool is_eval(const void *data, size_t native)
{
	const struct lists *lists = data;
	return evalmap_is_eval(&lists->native->evals, lists->sample->native[native].address);
}

static bool is_entry(const void *data, size_t python)
{
	const struct lists *lists = data;
	return lists->sample->frames[python].entry;
}

static bool is_trampoline(const void *data, size_t native)
{
	const struct lists *lists = data;
	const struct code_place *code =
		code_map_find(lists->native->map, lists->sample->native[native].address);
	return merge_is_trampoline_code(code->kind,
					code->kind == CODE_GENERATED ? code->range->name : NULL);
}

static bool is_switch(const void *data, size_t native)
{
	const struct lists *lists = data;
	return merge_is_switch_file(code_place_path(
		code_map_find(lists->native->map, lists->sample->native[native].address)));
}

static bool add(struct collector *collector, size_t *at, uint32_t frame)
{
	if (!vec_reserve_((void **)&collector->frames, &collector->capacity, *at + 1,
			  sizeof(*collector->frames)))
		return false;
	collector->frames[(*at)++] = frame;
	return true;
}

/* Recursion: the frame before is the same. */
static bool is_again(const struct sample *sample, size_t i)
{
	const struct sample_frame *frame = &sample->frames[i];
	return i + 1 < sample->count && frame->code == frame[1].code &&
	       frame->line == frame[1].line;
}

static bool add_python_alone(struct collector *collector, struct profile *profile,
			     const struct sample *sample, size_t *at)
{
	enum reason end = sample->end ? sample->end : sample->native_end;
	if (end && !add(collector, at, cut_mark(profile, end)))
		return false;
	for (size_t i = sample->count; i-- > 0;) {
		uint32_t frame = is_again(sample, i) ? collector->frames[*at - 1]
						     : python_frame(profile, &sample->frames[i]);
		if (!add(collector, at, frame))
			return false;
	}
	return true;
}

static bool add_merged(struct collector *collector, struct profile *profile,
		       const struct sample *sample, size_t *at)
{
	struct lists lists = { collector->native, sample };
	struct merge_input input = {
		.native_count = sample->native_count,
		.python_count = sample->count,
		.native_complete = !sample->native_end,
		.python_cut = sample->end,
		.data = &lists,
		.is_eval = is_eval,
		.is_trampoline = is_trampoline,
		.is_entry = is_entry,
		.is_switch = is_switch,
	};
	refresh_cache(collector);
	enum merge_result result = merge(&input, &collector->merged);
	if (result == MERGE_NO_MEMORY)
		return false;
	collector->mismatches += result == MERGE_MISMATCH;
	enum reason end = sample->end           ? sample->end
			  : result == MERGE_CUT ? REASON_OK
						: sample->native_end;
	if (end && !add(collector, at, cut_mark(profile, end)))
		return false;
	for (size_t i = collector->merged.count; i-- > 0;) {
		const struct merged *item = &collector->merged.items[i];
		uint32_t frame = 0;
		switch (item->kind) {
		case MERGED_NATIVE:
			frame = native_frame(collector, profile, &sample->native[item->index]);
			break;
		case MERGED_PYTHON:
			frame = python_frame(profile, &sample->frames[item->index]);
			break;
		case MERGED_MARK:
			frame = item->index == MERGED_CUT
					? cut_mark(profile, sample->native_end)
					: mark(profile, "[native and Python frames do not fit]");
			break;
		}
		if (!add(collector, at, frame))
			return false;
	}
	return true;
}

enum reason collect_stack(struct collector *collector, struct profile *profile,
			  const struct sample *sample, uint32_t *stack_ret, enum reason *end_ret)
{
	size_t at = 0;
	bool added = sample->native_count ? add_merged(collector, profile, sample, &at)
					  : add_python_alone(collector, profile, sample, &at);
	if (!added)
		return REASON_NO_MEMORY;
	enum reason reason = profile_stack(profile, collector->frames, at, stack_ret);
	if (!reason)
		*end_ret = sample->end ? sample->end : sample->native_end;
	return reason;
}
