/* SPDX-License-Identifier: MIT */
/* sampler_tstate.c: a thread → its Python thread state. */
#include "sampler_grab.h"

/* A thread that is no Python one is looked for in the lists at least once in this many rounds. */
#define LISTS_PAUSE_MAX 127

void grab_read_lists(struct sampler *sampler)
{
	if (!sampler->lists_read && subject_read_lists(sampler->subject))
		sampler->lists_stale = false;
	sampler->lists_read = true;
}

struct tsd_thread grab_tsd_thread(const struct thread *thread, const struct sampled *sampled)
{
	return (struct tsd_thread){
		.pointer = sampled->thread_pointer,
		.tid = (uint32_t)thread->inner_tid,
	};
}

/* The thread id that the kernel gave the owner of @tstate; 0 if it can not be told. */
static uint32_t tid_of_tstate(struct subject *subject, const struct py_tstate *tstate)
{
	if (tstate->native_thread_id)
		return (uint32_t)tstate->native_thread_id;
	uint32_t tid;
	if (!subject->has_tsd_layout || !tstate->thread_id ||
	    !memory_read_u32(&subject->live.memory, tstate->thread_id + subject->tsd.tid, &tid))
		return 0;
	return tid;
}

/* The state of @thread in the interpreter's own lists; NULL if it has none there. */
static const struct py_tstate *find_in_lists(struct sampler *sampler, const struct thread *thread,
					     const struct sampled *sampled, size_t *runtime_ret)
{
	struct subject *subject = sampler->subject;
	for (size_t i = 0; i < subject->runtime_count; i++) {
		vec_foreach (tstate, &subject->runtimes[i].list.tstates) {
			bool same =
				sampled->thread_pointer && subject->has_tsd_layout
					? tstate->thread_id == sampled->thread_pointer -
								       subject->tsd.pthread_below
					: tid_of_tstate(subject, tstate) ==
						  (uint32_t)thread->inner_tid;
			if (same) {
				*runtime_ret = i;
				return tstate;
			}
		}
	}
	return NULL;
}

void grab_learn_thread_pointer(struct sampler *sampler, struct thread *thread,
			       struct sampled *sampled)
{
	struct subject *subject = sampler->subject;
	if (sampled->thread_pointer)
		return;
	if (sampled->lists_wait) {
		sampled->lists_wait--;
		return;
	}
	grab_read_lists(sampler);
	size_t runtime;
	const struct py_tstate *tstate = find_in_lists(sampler, thread, sampled, &runtime);
	if (!tstate || !tstate->thread_id) {
		sampled->lists_pause = sampled->lists_pause < LISTS_PAUSE_MAX
					       ? 2 * sampled->lists_pause + 1
					       : LISTS_PAUSE_MAX;
		sampled->lists_wait = sampled->lists_pause;
		return;
	}
	sampled->runtime = runtime;
	if (!subject->has_tsd_layout)
		return;
	sampled->thread_pointer = tstate->thread_id + subject->tsd.pthread_below;
}

/* The thread state of @grab's thread in runtime @number by TSD; 0 with REASON_NO_THREAD_STATE if it has none. */
static enum reason read_by_source(struct grab *grab, size_t number, uint64_t *tstate_ret)
{
	struct subject_runtime *runtime = &grab->sampler->subject->runtimes[number];
	struct sampled *sampled = grab->sampled;
	struct memory *memory = &grab->sampler->snapshot.blocks.memory;
	if (!runtime->has_source || !sampled->thread_pointer)
		return REASON_NO_THREAD_STATE;

	uint64_t slot = number == sampled->runtime ? sampled->slot : 0;
	if (!slot) {
		struct tsd_thread thread = grab_tsd_thread(grab->thread, sampled);
		enum reason reason =
			tstate_source_address(&runtime->source, memory, &thread, &slot);
		if (reason)
			return reason;
	}
	uint64_t tstate;
	if (!memory_read_u64(memory, slot, &tstate))
		return REASON_MEMORY_FAULT;
	if (!tstate)
		return REASON_NO_THREAD_STATE;
	sampled->runtime = number;
	sampled->slot = slot;
	*tstate_ret = tstate;
	return REASON_OK;
}

static bool is_known_interp(const struct subject_runtime *runtime, uint64_t interp)
{
	vec_foreach (known, &runtime->list.interps)
		if (*known == interp)
			return true;
	return false;
}

enum reason grab_find_tstate(struct grab *grab, struct py_tstate *tstate_ret)
{
	struct sampler *sampler = grab->sampler;
	struct subject *subject = sampler->subject;
	struct memory *memory = &sampler->snapshot.blocks.memory;
	enum reason reason = REASON_NO_THREAD_STATE;
	uint64_t address = 0;
	for (size_t i = 0; i < subject->runtime_count && !address; i++) {
		size_t number = (grab->sampled->runtime + i) % subject->runtime_count;
		enum reason found = read_by_source(grab, number, &address);
		if (found != REASON_NO_THREAD_STATE)
			reason = found;
	}
	if (!address && reason == REASON_NO_THREAD_STATE) {
		size_t number;
		const struct py_tstate *listed =
			find_in_lists(sampler, grab->thread, grab->sampled, &number);
		if (!listed || subject->runtimes[number].has_source)
			return reason;
		grab->sampled->runtime = number;
		address = listed->address;
	}
	if (!address)
		return reason;

	struct subject_runtime *runtime = &subject->runtimes[grab->sampled->runtime];
	reason = frames_read_tstate(memory, &runtime->py.layout, address, tstate_ret);
	if (reason)
		return reason;
	if (!is_known_interp(runtime, tstate_ret->interp)) {
		sampler->lists_stale = true;
		return REASON_BAD_THREAD_STATE;
	}
	return REASON_OK;
}
