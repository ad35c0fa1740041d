/* SPDX-License-Identifier: MIT */
/* profile.c: many stacks turned into one profile. */
#include "aggregate/profile.h"

#include <stdlib.h>
#include <string.h>

struct error *profile_create(struct profile **profile_ret)
{
	struct profile *profile = calloc(1, sizeof(*profile));
	if (!profile)
		return error_no_memory();
	profile->stacks_max = PROFILE_STACKS_MAX;
	*profile_ret = profile;
	return NULL;
}

static void facts_deinit(struct profile_facts *facts)
{
	free(facts->tool_version);
	free(facts->tool_argv.bytes);
	free(facts->start_time);
}

void profile_process_deinit(struct profile_process *process)
{
	free(process->name);
	free(process->argv.bytes);
	free(process->executable);
	free(process->python_version);
	free(process->runtime);
	free(process->found_by);
	free(process->layout);
	free(process->thread_source);
}

void profile_destroy(struct profile *profile)
{
	if (!profile)
		return;
	vec_foreach (thread, &profile->threads) {
		free(thread->kernel_name);
		free(thread->python_name);
	}
	vec_foreach (process, &profile->processes)
		profile_process_deinit(process);
	facts_deinit(&profile->facts);
	stats_deinit(&profile->stats);
	intern_deinit(&profile->strings);
	profile_functions_deinit(&profile->functions);
	profile_frames_deinit(&profile->frames);
	profile_stacks_deinit(&profile->stacks);
	profile_processes_deinit(&profile->processes);
	profile_threads_deinit(&profile->threads);
	profile_samples_deinit(&profile->samples);
	idset_deinit(&profile->function_index);
	idset_deinit(&profile->frame_index);
	idset_deinit(&profile->stack_index);
	idset_deinit(&profile->sample_index);
	profile_steps_deinit(&profile->last);
	profile_starts_deinit(&profile->shown);
	free(profile);
}

void profile_fact(char **fact, const char *text)
{
	free(*fact);
	*fact = text ? strdup(text) : NULL;
}

void profile_fact_argv(struct profile_argv *fact, const char *bytes, size_t size)
{
	free(fact->bytes);
	*fact = (struct profile_argv){ 0 };
	if (!bytes)
		return;
	/* One NUL more than asked for, so that a cut last argument ends too. */
	fact->bytes = malloc(size + 1);
	if (!fact->bytes)
		return;
	memcpy(fact->bytes, bytes, size);
	fact->bytes[size] = '\0';
	fact->size = size;
}

static uint64_t function_key(const void *data, uint32_t id)
{
	const struct profile_function *function =
		&((const struct profile *)data)->functions.items[id];
	return idset_pair(function->name, function->file);
}

static uint64_t frame_key(const void *data, uint32_t id)
{
	const struct profile_frame *frame = &((const struct profile *)data)->frames.items[id];
	return idset_pair(frame->function, frame->line);
}

static uint64_t stack_key(const void *data, uint32_t id)
{
	const struct profile_stack *stack = &((const struct profile *)data)->stacks.items[id];
	return idset_pair(stack->parent, stack->frame);
}

static uint64_t sample_key(const void *data, uint32_t id)
{
	const struct profile_sample *sample = &((const struct profile *)data)->samples.items[id];
	return idset_pair(sample->thread, sample->stack);
}

uint32_t profile_function(struct profile *profile, const char *name, const char *file,
			  uint32_t firstlineno, enum profile_kind kind)
{
	uint32_t name_id = intern_add(&profile->strings, name);
	uint32_t file_id = file ? intern_add(&profile->strings, file) : PROFILE_NONE;
	if (name_id == INTERN_NONE || (file && file_id == INTERN_NONE))
		return PROFILE_NONE;

	uint64_t key = idset_pair(name_id, file_id);
	uint32_t head = idset_get(&profile->function_index, key, function_key, profile);
	for (uint32_t id = head; id != PROFILE_NONE; id = profile->functions.items[id].next) {
		const struct profile_function *function = &profile->functions.items[id];
		if (function->firstlineno == firstlineno && function->kind == kind)
			return id;
	}

	uint32_t id = (uint32_t)profile->functions.count;
	struct profile_function *function = profile_functions_append(&profile->functions);
	if (!function)
		return PROFILE_NONE;
	*function = (struct profile_function){
		.name = name_id,
		.file = file_id,
		.firstlineno = firstlineno,
		.kind = kind,
		.next = head,
	};
	if (idset_put(&profile->function_index, id, function_key, profile))
		return id;
	profile->functions.count--;
	return PROFILE_NONE;
}

struct error *profile_show_file(struct profile *profile, uint32_t file, size_t start)
{
	while (profile->shown.count <= file)
		if (!profile_starts_append(&profile->shown))
			return error_no_memory();
	/* So that 0 is: nothing was said. */
	profile->shown.items[file] = (uint32_t)start + 1;
	return NULL;
}

bool profile_file_shown(const struct profile *profile, uint32_t file, size_t *start_ret)
{
	if (file >= profile->shown.count || !profile->shown.items[file])
		return false;
	*start_ret = profile->shown.items[file] - 1;
	return true;
}

uint32_t profile_frame(struct profile *profile, uint32_t function, uint32_t line)
{
	if (function == PROFILE_NONE)
		return PROFILE_NONE;
	uint64_t key = idset_pair(function, line);
	uint32_t id = idset_get(&profile->frame_index, key, frame_key, profile);
	if (id != PROFILE_NONE)
		return id;

	id = (uint32_t)profile->frames.count;
	struct profile_frame *frame = profile_frames_append(&profile->frames);
	if (!frame)
		return PROFILE_NONE;
	*frame = (struct profile_frame){ function, line };
	if (idset_put(&profile->frame_index, id, frame_key, profile))
		return id;
	profile->frames.count--;
	return PROFILE_NONE;
}

uint32_t profile_process(struct profile *profile, pid_t pid, uint32_t parent)
{
	uint32_t id = (uint32_t)profile->processes.count;
	struct profile_process *process = profile_processes_append(&profile->processes);
	if (!process)
		return PROFILE_NONE;
	*process = (struct profile_process){ .pid = pid, .parent = parent };
	return id;
}

const char *profile_process_name(const struct profile *profile, uint32_t process)
{
	const struct profile_process *p = &profile->processes.items[process];
	if (p->name)
		return p->name;
	if (!p->executable)
		return "?";
	const char *slash = strrchr(p->executable, '/');
	return slash && slash[1] ? slash + 1 : p->executable;
}

uint32_t profile_thread(struct profile *profile, uint32_t process, pid_t tid,
			const char *kernel_name)
{
	if (process == PROFILE_NONE)
		return PROFILE_NONE;
	uint32_t id = (uint32_t)profile->threads.count;
	struct profile_thread *thread = profile_threads_append(&profile->threads);
	if (!thread)
		return PROFILE_NONE;
	*thread = (struct profile_thread){ .process = process, .tid = tid };
	profile_thread_set_kernel_name(profile, id, kernel_name);
	return id;
}

static void thread_name_set(char **name, const char *text)
{
	if (!text || (*name && !strcmp(*name, text)))
		return;
	char *copy = strdup(text);
	if (!copy)
		return;
	free(*name);
	*name = copy;
}

void profile_thread_set_kernel_name(struct profile *profile, uint32_t thread, const char *name)
{
	if (thread != PROFILE_NONE)
		thread_name_set(&profile->threads.items[thread].kernel_name, name);
}

void profile_thread_set_python_name(struct profile *profile, uint32_t thread, const char *name)
{
	if (thread != PROFILE_NONE)
		thread_name_set(&profile->threads.items[thread].python_name, name);
}

const char *profile_thread_name(const struct profile *profile, uint32_t thread)
{
	const struct profile_thread *t = &profile->threads.items[thread];
	if (t->python_name)
		return t->python_name;
	return t->kernel_name ? t->kernel_name : "?";
}

uint32_t profile_stack_child(struct profile *profile, uint32_t parent, uint32_t frame)
{
	uint64_t key = idset_pair(parent, frame);
	uint32_t id = idset_get(&profile->stack_index, key, stack_key, profile);
	if (id != PROFILE_NONE)
		return id;

	id = (uint32_t)profile->stacks.count;
	struct profile_stack *stack =
		id < profile->stacks_max ? profile_stacks_append(&profile->stacks) : NULL;
	if (!stack)
		return PROFILE_NONE;
	*stack = (struct profile_stack){ parent, frame };
	if (idset_put(&profile->stack_index, id, stack_key, profile))
		return id;
	profile->stacks.count--;
	return PROFILE_NONE;
}

/* How many of the frames are those that the last stack began with; @stack_ret is the stack down to there. */
static size_t last_in_common(const struct profile *profile, const uint32_t *frames, size_t count,
			     uint32_t *stack_ret)
{
	size_t common = 0;
	while (common < count && common < profile->last.count &&
	       profile->last.items[common].frame == frames[common])
		common++;
	*stack_ret = common ? profile->last.items[common - 1].stack : PROFILE_NONE;
	return common;
}

enum reason profile_stack(struct profile *profile, const uint32_t *frames, size_t count,
			  uint32_t *stack_ret)
{
	uint32_t stack;
	size_t common = last_in_common(profile, frames, count, &stack);
	profile->last.count = common;
	for (size_t i = common; i < count; i++) {
		if (frames[i] == PROFILE_NONE)
			return REASON_NO_MEMORY;
		stack = profile_stack_child(profile, stack, frames[i]);
		if (stack == PROFILE_NONE)
			return profile->stacks.count >= profile->stacks_max ? REASON_LIMIT
									    : REASON_NO_MEMORY;
		struct profile_step *last = profile_steps_append(&profile->last);
		if (!last)
			return REASON_NO_MEMORY;
		*last = (struct profile_step){ frames[i], stack };
	}
	*stack_ret = stack;
	return REASON_OK;
}

/* The sample of @thread with @stack in this state, new or old; NULL without memory. */
static struct profile_sample *sample_find(struct profile *profile, uint32_t thread, uint32_t stack,
					  enum reason end, unsigned flags)
{
	uint64_t key = idset_pair(thread, stack);
	uint32_t head = idset_get(&profile->sample_index, key, sample_key, profile);
	for (uint32_t id = head; id != PROFILE_NONE; id = profile->samples.items[id].next) {
		struct profile_sample *sample = &profile->samples.items[id];
		if (sample->end == end && sample->flags == flags)
			return sample;
	}

	uint32_t id = (uint32_t)profile->samples.count;
	struct profile_sample *sample = profile_samples_append(&profile->samples);
	if (!sample)
		return NULL;
	*sample = (struct profile_sample){
		.thread = thread,
		.stack = stack,
		.flags = (uint16_t)flags,
		.end = (uint16_t)end,
		.next = head,
	};
	if (idset_put(&profile->sample_index, id, sample_key, profile))
		return sample;
	profile->samples.count--;
	return NULL;
}

enum reason profile_count(struct profile *profile, uint32_t thread, uint32_t stack, enum reason end,
			  unsigned flags, uint64_t wall_ns, uint64_t cpu_ns)
{
	struct profile_sample *sample =
		thread == PROFILE_NONE ? NULL : sample_find(profile, thread, stack, end, flags);
	if (!sample) {
		stats_loss(&profile->stats, REASON_NO_MEMORY);
		return REASON_NO_MEMORY;
	}
	sample->count++;
	sample->wall_ns += wall_ns;
	sample->cpu_ns += cpu_ns;
	stats_sample(&profile->stats, end);
	return REASON_OK;
}

enum reason profile_merge(struct profile *profile, const struct profile_sample *sample)
{
	struct profile_sample *own =
		sample_find(profile, sample->thread, sample->stack, sample->end, sample->flags);
	if (!own)
		return REASON_NO_MEMORY;
	own->count += sample->count;
	own->wall_ns += sample->wall_ns;
	own->cpu_ns += sample->cpu_ns;
	return REASON_OK;
}

enum reason profile_add(struct profile *profile, uint32_t thread, const uint32_t *frames,
			size_t count, enum reason end, unsigned flags, uint64_t wall_ns,
			uint64_t cpu_ns)
{
	uint32_t stack;
	enum reason reason = profile_stack(profile, frames, count, &stack);
	if (reason != REASON_OK) {
		stats_loss(&profile->stats, reason);
		return reason;
	}
	return profile_count(profile, thread, stack, end, flags, wall_ns, cpu_ns);
}

uint64_t profile_weight_ns(const struct profile *profile, const struct profile_sample *sample)
{
	switch (profile->facts.mode) {
	case PROFILE_CPU:
		return sample->cpu_ns;
	case PROFILE_OFFCPU:
		return sample->wall_ns > sample->cpu_ns ? sample->wall_ns - sample->cpu_ns : 0;
	case PROFILE_WALL:
	case PROFILE_GIL_ONLY:
		break;
	}
	return sample->wall_ns;
}

const char *profile_kind_name(enum profile_kind kind)
{
	static const char *const names[] = {
		[PROFILE_PYTHON] = "python",
		[PROFILE_NATIVE] = "native",
		[PROFILE_MARKER] = "marker",
	};
	return names[kind];
}

const char *profile_mode_name(enum profile_mode mode)
{
	static const char *const names[] = {
		[PROFILE_WALL] = "wall",
		[PROFILE_CPU] = "cpu",
		[PROFILE_OFFCPU] = "offcpu",
		[PROFILE_GIL_ONLY] = "gil",
	};
	return names[mode];
}
