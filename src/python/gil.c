/* SPDX-License-Identifier: MIT */
/* gil.c: which thread holds the global interpreter lock. */
#include "python/gil.h"

/* interp->ceval.gil → { last_holder, locked, … }; a sub-interpreter may share the main one's or
 * have its own. */
static bool holds_of_interp(struct memory *memory, const struct py_layout *layout,
			    const struct py_tstate *tstate)
{
	uint64_t gil, holder;
	uint32_t locked, enabled = 1;
	if (layout->interp_gil == PY_ABSENT ||
	    !memory_read_u64(memory, tstate->interp + layout->interp_gil, &gil) || !gil)
		return false;
	if (layout->free_threaded && layout->gil_enabled != PY_ABSENT &&
	    !memory_read_u32(memory, gil + layout->gil_enabled, &enabled))
		return false;
	return enabled && memory_read_u64(memory, gil + layout->gil_last_holder, &holder) &&
	       memory_read_u32(memory, gil + layout->gil_locked, &locked) && locked == 1 &&
	       holder == tstate->address;
}

uint64_t gil_current(struct memory *memory, const struct py_runtime *runtime)
{
	const struct py_layout *layout = &runtime->layout;
	uint64_t address = 0, current;
	switch (layout->gil_kind) {
	case PY_GIL_CURRENT_SYMBOL:
		address = runtime->current_address;
		break;
	case PY_GIL_CURRENT_RUNTIME:
		address = runtime->runtime_address + layout->runtime_tstate_current;
		break;
	case PY_GIL_INTERPRETER:
		break;
	}
	return address && memory_read_u64(memory, address, &current) ? current : 0;
}

bool gil_is_held_by(struct memory *memory, const struct py_runtime *runtime,
		    const struct py_tstate *tstate)
{
	if (runtime->layout.gil_kind == PY_GIL_INTERPRETER)
		return holds_of_interp(memory, &runtime->layout, tstate);
	return gil_current(memory, runtime) == tstate->address;
}
