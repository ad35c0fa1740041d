/* SPDX-License-Identifier: MIT */
/* combine.c: several profiles in one. */
#include "aggregate/combine.h"

#include <stdlib.h>

/* What the ids of one profile are in the other. */
struct ids {
	uint32_t *frames;
	uint32_t *stacks;
	uint32_t first_process;
	uint32_t first_thread;
};

static void ids_deinit(struct ids *ids)
{
	free(ids->frames);
	free(ids->stacks);
}

static void copy_argv(struct profile_argv *to, const struct profile_argv *from)
{
	if (from->bytes)
		profile_fact_argv(to, from->bytes, from->size);
}

static void copy_fact(char **to, const char *from)
{
	if (from)
		profile_fact(to, from);
}

static bool append_processes(struct profile *into, const struct profile *from, struct ids *ids)
{
	ids->first_process = (uint32_t)into->processes.count;
	vec_foreach (process, &from->processes) {
		uint32_t parent = process->parent == PROFILE_NONE
					  ? PROFILE_NONE
					  : ids->first_process + process->parent;
		uint32_t id = profile_process(into, process->pid, parent);
		if (id == PROFILE_NONE)
			return false;
		struct profile_process *copy = &into->processes.items[id];
		copy_fact(&copy->name, process->name);
		copy_argv(&copy->argv, &process->argv);
		copy_fact(&copy->executable, process->executable);
		copy_fact(&copy->python_version, process->python_version);
		copy_fact(&copy->runtime, process->runtime);
		copy_fact(&copy->found_by, process->found_by);
		copy_fact(&copy->layout, process->layout);
		copy_fact(&copy->thread_source, process->thread_source);
	}
	return true;
}

static bool append_threads(struct profile *into, const struct profile *from, struct ids *ids)
{
	ids->first_thread = (uint32_t)into->threads.count;
	vec_foreach (thread, &from->threads) {
		uint32_t id = profile_thread(into, ids->first_process + thread->process,
					     thread->tid, thread->kernel_name);
		if (id == PROFILE_NONE)
			return false;
		profile_thread_set_python_name(into, id, thread->python_name);
	}
	return true;
}

/* Where the text of a file that is shown begins, if that was said and is not known there. */
static bool copy_shown(struct profile *into, uint32_t function, const struct profile *from,
		       uint32_t file)
{
	size_t start, known;
	if (function == PROFILE_NONE || file == PROFILE_NONE ||
	    !profile_file_shown(from, file, &start))
		return true;
	uint32_t id = into->functions.items[function].file;
	if (profile_file_shown(into, id, &known) && known <= start)
		return true;
	_cleanup_error_ struct error *err = profile_show_file(into, id, start);
	return !err;
}

static bool append_frames(struct profile *into, const struct profile *from, struct ids *ids)
{
	ids->frames = calloc(from->frames.count + 1, sizeof(*ids->frames));
	if (!ids->frames)
		return false;
	for (size_t i = 0; i < from->frames.count; i++) {
		const struct profile_frame *frame = &from->frames.items[i];
		const struct profile_function *f = &from->functions.items[frame->function];
		const char *file =
			f->file == PROFILE_NONE ? NULL : intern_text(&from->strings, f->file);
		uint32_t function = profile_function(into, intern_text(&from->strings, f->name),
						     file, f->firstlineno, f->kind);
		ids->frames[i] = profile_frame(into, function, frame->line);
		if (ids->frames[i] == PROFILE_NONE || !copy_shown(into, function, from, f->file))
			return false;
	}
	return true;
}

/* Outermost first, as profile_stack wants it. */
static size_t frames_of(const struct profile *from, uint32_t stack, const struct ids *ids,
			uint32_t *frames)
{
	size_t depth = 0;
	for (uint32_t s = stack; s != PROFILE_NONE; s = from->stacks.items[s].parent)
		depth++;
	size_t i = depth;
	for (uint32_t s = stack; s != PROFILE_NONE; s = from->stacks.items[s].parent)
		frames[--i] = ids->frames[from->stacks.items[s].frame];
	return depth;
}

static size_t deepest(const struct profile *from, uint32_t *depths)
{
	size_t most = 0;
	for (size_t i = 0; i < from->stacks.count; i++) {
		uint32_t parent = from->stacks.items[i].parent;
		depths[i] = parent == PROFILE_NONE ? 1 : depths[parent] + 1;
		if (depths[i] > most)
			most = depths[i];
	}
	return most;
}

static enum reason append_samples(struct profile *into, const struct profile *from, struct ids *ids)
{
	ids->stacks = calloc(from->stacks.count + 1, sizeof(*ids->stacks));
	if (!ids->stacks)
		return REASON_NO_MEMORY;
	size_t most = deepest(from, ids->stacks);
	_cleanup_free_ uint32_t *frames = calloc(most + 1, sizeof(*frames));
	if (!frames)
		return REASON_NO_MEMORY;

	vec_foreach (sample, &from->samples) {
		size_t depth = frames_of(from, sample->stack, ids, frames);
		struct profile_sample copy = *sample;
		enum reason reason = profile_stack(into, frames, depth, &copy.stack);
		copy.thread += ids->first_thread;
		if (!reason)
			reason = profile_merge(into, &copy);
		if (reason)
			return reason;
	}
	return REASON_OK;
}

struct error *profile_append(struct profile *into, const struct profile *from)
{
	_cleanup_(ids_deinit) struct ids ids = { 0 };
	if (!append_processes(into, from, &ids) || !append_threads(into, from, &ids) ||
	    !append_frames(into, from, &ids))
		return error_no_memory();
	enum reason reason = append_samples(into, from, &ids);
	if (!reason)
		return NULL;
	return reason == REASON_NO_MEMORY
		       ? error_no_memory()
		       : error_create(ERROR_OTHER, "the profiles have more stacks together than "
						   "one can hold");
}
