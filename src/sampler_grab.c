/* SPDX-License-Identifier: MIT */
/* sampler_grab.c: a thread state → copies of its Python frames. */
#include "sampler_grab.h"

#include "python/gil.h"

/* No thread is in more interpreters at a time. */
#define SIBLINGS_MAX 64

/*
 * Frames of the thread's states in other interpreters: one that called into a sub-interpreter has frames in both, and the whole
 * stack is the one on top of the other.
 */
static enum reason walk_siblings(struct grab *grab, const struct subject_runtime *runtime)
{
	struct sampler *sampler = grab->sampler;
	struct memory *memory = &sampler->snapshot.blocks.memory;
	unsigned siblings = 0;
	vec_foreach (listed, &runtime->list.tstates) {
		struct py_tstate sibling;
		if (listed->thread_id != sampler->tstate.thread_id ||
		    listed->interp == sampler->tstate.interp ||
		    listed->address == sampler->tstate.address)
			continue;
		/* A state that ended since the lists were read is not looked at, nor its address's next owner. */
		if (frames_read_tstate(memory, &runtime->py.layout, listed->address, &sibling) ||
		    sibling.thread_id != listed->thread_id || sibling.interp != listed->interp)
			continue;
		if (++siblings > SIBLINGS_MAX || grab->frames->count > FRAMES_MAX)
			return REASON_DEPTH_LIMIT;
		enum reason reason =
			frames_walk(memory, &runtime->py.layout, &sibling, grab->frames);
		if (reason)
			return reason;
		sampler->gil = sampler->gil ||
			       (sibling.frame && gil_is_held_by(memory, &runtime->py, &sibling));
	}
	return REASON_OK;
}

/*
 * Where the key does not follow a swap, the thread may run a state that was made since the lists were read: its frames would be
 * missing.
 */
static bool runs_unlisted_state(const struct grab *grab, const struct subject_runtime *runtime)
{
	const struct sampler *sampler = grab->sampler;
	struct memory *memory = &grab->sampler->snapshot.blocks.memory;
	uint64_t current = gil_current(memory, &runtime->py);
	struct py_tstate tstate;
	if (!current || current == sampler->tstate.address ||
	    frames_read_tstate(memory, &runtime->py.layout, current, &tstate) ||
	    tstate.thread_id != sampler->tstate.thread_id)
		return false;
	vec_foreach (listed, &runtime->list.tstates)
		if (listed->address == current && listed->interp == tstate.interp)
			return false;
	return true;
}

static enum reason walk_thread(struct grab *grab, const struct subject_runtime *runtime)
{
	struct sampler *sampler = grab->sampler;
	struct memory *memory = &sampler->snapshot.blocks.memory;
	const struct py_layout *layout = &runtime->py.layout;
	bool others = runtime->list.interps.count > 1;
	sampler->gil = gil_is_held_by(memory, &runtime->py, &sampler->tstate);
	if (!layout->key_follows_swap && runs_unlisted_state(grab, runtime)) {
		sampler->lists_stale = true;
		return REASON_BAD_THREAD_STATE;
	}

	enum reason reason = REASON_OK;
	if (others && !layout->key_follows_swap)
		reason = walk_siblings(grab, runtime);
	if (!reason)
		reason = frames_walk(memory, layout, &sampler->tstate, grab->frames);
	if (!reason && others && layout->key_follows_swap)
		reason = walk_siblings(grab, runtime);
	return reason;
}

/* All that a replay will ask for is touched once through the blocks. */
static enum reason grab_for_capsule(struct grab *grab, const struct subject_runtime *runtime)
{
	const struct py_runtime *py = &runtime->py;
	struct memory *memory = &grab->sampler->snapshot.blocks.memory;
	struct py_layout layout;
	struct error *err =
		py_layout_select(py->version, py->machine, py->debug_build, py->ob_head_extra,
				 memory, py->runtime_address, &layout);
	error_destroy(err);
	if (err)
		return REASON_MEMORY_FAULT;
	uint64_t last = 0;
	vec_foreach (frame, grab->frames) {
		if (frame->code == last)
			continue;
		last = frame->code;
		_cleanup_code_ struct code *code = NULL;
		enum reason reason =
			code_read(memory, &py->layout, py->code_type, frame->code, &code);
		if (reason)
			return reason;
	}
	return REASON_OK;
}

/* Inside the stop: code objects that the cache does not know, or can not be trusted with, are read now. */
static enum reason grab_codes(struct grab *grab, const struct subject_runtime *runtime)
{
	struct sampler *sampler = grab->sampler;
	/* Not through the blocks: these bytes are needed once, and would be planned for again. */
	struct memory *memory = &sampler->subject->live.memory;
	const struct py_frame *last = NULL;
	vec_foreach (frame, grab->frames) {
		if (last && frame->code == last->code) {
			frame->checked = last->checked;
			continue;
		}
		last = frame;
		const struct code *code;
		enum reason reason;
		size_t known = code_cache_count(runtime->codes);
		/* Of a thread that runs on, what is read now is no check of what it was. */
		frame->checked = !sampler->nonblocking &&
				 code_cache_is_volatile(runtime->codes, frame->code);
		if (frame->checked)
			reason = code_cache_get_checked(runtime->codes, memory, frame->code, &code);
		else
			reason = code_cache_get(runtime->codes, memory, frame->code, &code);
		if (reason)
			return reason;
		frame->checked = frame->checked || code_cache_count(runtime->codes) > known;
	}
	return REASON_OK;
}

enum reason grab_stack(void *data, struct snapshot *snapshot)
{
	struct grab *grab = data;
	struct sampler *sampler = grab->sampler;
	if (snapshot->registers.has_thread_pointer)
		grab->sampled->thread_pointer = snapshot->registers.thread_pointer;
	grab->frames->count = 0;
	if (sampler->crosscheck) {
		sampler->native->frames.count = 0;
		sampler->crosscheck_end =
			crosscheck_walk(sampler->crosscheck, snapshot->tid, &snapshot->registers,
					sampler->native->map, &sampler->native->frames, NULL);
	}

	sampler->gil = false;
	sampler->python = false;
	enum reason reason = grab_find_tstate(grab, &sampler->tstate);
	if (reason == REASON_NO_THREAD_STATE && sampler->native)
		return REASON_OK;
	if (reason)
		return reason;
	sampler->python = true;
	const struct subject_runtime *runtime = &sampler->subject->runtimes[grab->sampled->runtime];
	reason = walk_thread(grab, runtime);
	if (reason && reason != REASON_DEPTH_LIMIT)
		return reason;
	enum reason codes = grab_codes(grab, runtime);
	if (!codes && sampler->keep_codes)
		codes = grab_for_capsule(grab, runtime);
	return codes ? codes : reason;
}
