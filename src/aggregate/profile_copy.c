/* SPDX-License-Identifier: MIT */
/* profile_copy.c: what of a profile is not about stacks, for a copy. */
#include "aggregate/profile_copy.h"

#include <stdlib.h>
#include <string.h>

static void copy_facts(const struct profile *old, struct profile *fresh)
{
	const struct profile_facts *from = &old->facts;
	struct profile_facts *to = &fresh->facts;
	to->mode = from->mode;
	profile_fact(&to->tool_version, from->tool_version);
	profile_fact(&to->start_time, from->start_time);
	profile_fact_argv(&to->tool_argv, from->tool_argv.bytes, from->tool_argv.size);
}

static void copy_stats(const struct profile *old, struct profile *fresh)
{
	struct stats *to = &fresh->stats;
	*to = old->stats;
	memset(to->notes, 0, sizeof(to->notes));
	to->note_count = 0;
	for (unsigned i = 0; i < old->stats.note_count; i++)
		stats_note(to, "%s", old->stats.notes[i]);
}

static bool copy_process(const struct profile_process *from, struct profile *fresh, uint32_t parent)
{
	uint32_t id = profile_process(fresh, from->pid, parent);
	if (id == PROFILE_NONE)
		return false;
	struct profile_process *to = &fresh->processes.items[id];
	profile_fact(&to->name, from->name);
	profile_fact(&to->executable, from->executable);
	profile_fact(&to->python_version, from->python_version);
	profile_fact(&to->runtime, from->runtime);
	profile_fact(&to->found_by, from->found_by);
	profile_fact(&to->layout, from->layout);
	profile_fact(&to->thread_source, from->thread_source);
	profile_fact_argv(&to->argv, from->argv.bytes, from->argv.size);
	return true;
}

/* Marks in @used, by number, what has samples. A parent's number is lower than its children's. */
static void mark_used(const struct profile *old, bool *threads, bool *processes)
{
	vec_foreach (sample, &old->samples)
		threads[sample->thread] = true;
	for (size_t i = 0; i < old->threads.count; i++)
		if (threads[i])
			processes[old->threads.items[i].process] = true;
	for (size_t i = old->processes.count; i-- > 0;)
		if (processes[i] && old->processes.items[i].parent != PROFILE_NONE)
			processes[old->processes.items[i].parent] = true;
	/* Nothing was sampled at all: it is still a profile of something. */
	if (!old->samples.count && old->processes.count)
		processes[0] = true;
}

static bool copy_processes(const struct profile *old, struct profile *fresh, const bool *used,
			   uint32_t *ids)
{
	for (size_t i = 0; i < old->processes.count; i++) {
		const struct profile_process *process = &old->processes.items[i];
		if (!used[i])
			continue;
		ids[i] = (uint32_t)fresh->processes.count;
		if (!copy_process(process, fresh,
				  process->parent == PROFILE_NONE ? PROFILE_NONE
								  : ids[process->parent]))
			return false;
	}
	return true;
}

static bool copy_threads(const struct profile *old, struct profile *fresh, const bool *used,
			 const uint32_t *processes, uint32_t *ids)
{
	for (size_t i = 0; i < old->threads.count; i++) {
		const struct profile_thread *thread = &old->threads.items[i];
		ids[i] = PROFILE_NONE;
		if (!used[i])
			continue;
		ids[i] = profile_thread(fresh, processes[thread->process], thread->tid,
					thread->kernel_name);
		if (ids[i] == PROFILE_NONE)
			return false;
		profile_thread_set_python_name(fresh, ids[i], thread->python_name);
	}
	return true;
}

struct error *profile_copy_facts(const struct profile *old, struct profile *fresh,
				 uint32_t **threads_ret)
{
	size_t thread_count = old->threads.count, process_count = old->processes.count;
	_cleanup_free_ bool *threads_used = calloc(thread_count + 1, sizeof(bool));
	_cleanup_free_ bool *processes_used = calloc(process_count + 1, sizeof(bool));
	_cleanup_free_ uint32_t *processes = calloc(process_count + 1, sizeof(uint32_t));
	_cleanup_free_ uint32_t *threads = calloc(thread_count + 1, sizeof(uint32_t));
	if (!threads_used || !processes_used || !processes || !threads)
		return error_no_memory();
	copy_facts(old, fresh);
	copy_stats(old, fresh);
	mark_used(old, threads_used, processes_used);
	if (!copy_processes(old, fresh, processes_used, processes) ||
	    !copy_threads(old, fresh, threads_used, processes, threads))
		return error_no_memory();
	*threads_ret = no_cleanup(threads);
	return NULL;
}
