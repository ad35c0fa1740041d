/* SPDX-License-Identifier: MIT */
/* threadlist.c: the interpreters of a runtime and their thread states. */
#include "python/threadlist.h"

void threadlist_deinit(struct threadlist *list)
{
	interp_vec_deinit(&list->interps);
	tstate_vec_deinit(&list->tstates);
}

static enum reason read_threads(struct memory *memory, const struct py_layout *layout,
				uint64_t interp, struct threadlist *list)
{
	uint64_t address;
	if (!memory_read_u64(memory, interp + layout->interp_threads_head, &address))
		return REASON_MEMORY_FAULT;
	while (address) {
		if (list->tstates.count >= THREADLIST_THREADS_MAX)
			return REASON_CYCLE;
		struct py_tstate tstate;
		enum reason reason = frames_read_tstate(memory, layout, address, &tstate);
		if (reason)
			return reason;
		if (tstate.interp != interp)
			return REASON_BAD_THREAD_STATE;
		struct py_tstate *added = tstate_vec_append(&list->tstates);
		if (!added)
			return REASON_NO_MEMORY;
		*added = tstate;
		address = tstate.next;
	}
	return REASON_OK;
}

static enum reason read_interps(struct memory *memory, const struct py_runtime *runtime,
				struct threadlist *list)
{
	const struct py_layout *layout = &runtime->layout;
	uint64_t interp = detect_first_interp(memory, runtime);
	while (interp) {
		if (list->interps.count >= THREADLIST_INTERPS_MAX)
			return REASON_CYCLE;
		uint64_t *added = interp_vec_append(&list->interps);
		if (!added)
			return REASON_NO_MEMORY;
		*added = interp;
		enum reason reason = read_threads(memory, layout, interp, list);
		if (reason)
			return reason;
		if (!memory_read_u64(memory, interp + layout->interp_next, &interp))
			return REASON_MEMORY_FAULT;
	}
	return REASON_OK;
}

enum reason threadlist_read(struct memory *memory, const struct py_runtime *runtime,
			    struct threadlist *list)
{
	struct threadlist fresh = { 0 };
	enum reason reason = read_interps(memory, runtime, &fresh);
	if (reason) {
		threadlist_deinit(&fresh);
		return reason;
	}
	threadlist_deinit(list);
	*list = fresh;
	return REASON_OK;
}
