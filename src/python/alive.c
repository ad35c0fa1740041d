/* SPDX-License-Identifier: MIT */
/* alive.c: links that lead back, and types that are types. */
#include "python/alive.h"

#include <string.h>

#include "python/frames.h"

/* Interpreters of a runtime and threads of an interpreter: beyond any real number, to end cycles.
 */
#define INTERP_LIMIT 4096
#define TSTATE_LIMIT 100000
/* Thread states whose frames are tried for a code object. */
#define FRAME_ATTEMPTS 64

bool alive_is_type_type(struct memory *memory, uint64_t address, uint32_t type_offset)
{
	uint64_t type;
	return memory_read_u64(memory, address + type_offset, &type) && type == address;
}

bool alive_has_type(struct memory *memory, const struct py_layout *layout, uint64_t object,
		    uint64_t type)
{
	uint64_t found;
	return memory_read_u64(memory, object + layout->object_type, &found) && found == type;
}

/* True if @type is the type "code" of the metatype *@type_type_ret. tp_name follows the
 * PyVarObject. */
static bool is_code_type(struct memory *memory, const struct py_layout *layout, uint64_t type,
			 uint64_t *type_type_ret)
{
	uint64_t type_type, name;
	char text[5];
	if (!memory_read_u64(memory, type + layout->object_type, &type_type) ||
	    !alive_is_type_type(memory, type_type, layout->object_type) ||
	    !memory_read_u64(memory, type + layout->type_name, &name) ||
	    !memory_read(memory, name, text, sizeof(text)) || memcmp(text, "code", 5))
		return false;
	*type_type_ret = type_type;
	return true;
}

/*
 * Adds the thread states of @interp to *count; false if one of them is none of its. A list that
 * leads back into itself is seen by a mark that follows at doubling distances (Brent).
 */
static bool count_tstates(struct memory *memory, const struct py_layout *layout, uint64_t interp,
			  size_t *count)
{
	uint64_t tstate, owner, mark = 0;
	if (!memory_read_u64(memory, interp + layout->interp_threads_head, &tstate))
		return false;
	for (size_t i = 1, move = 1; tstate && tstate != mark && *count < TSTATE_LIMIT; i++) {
		if (!memory_read_u64(memory, tstate + layout->tstate_interp, &owner) ||
		    owner != interp)
			return false;
		if (i == move) {
			mark = tstate;
			move *= 2;
		}
		if (!memory_read_u64(memory, tstate + layout->tstate_next, &tstate))
			return false;
		++*count;
	}
	return !tstate;
}

bool alive_count(struct memory *memory, const struct py_layout *layout, uint64_t interp,
		 size_t *tstates_ret, uint64_t *main_ret)
{
	size_t tstates = 0;
	uint64_t last = 0;
	for (size_t i = 0; interp && i < INTERP_LIMIT; i++) {
		last = interp;
		if (!count_tstates(memory, layout, interp, &tstates) ||
		    !memory_read_u64(memory, interp + layout->interp_next, &interp))
			return false;
	}
	if (interp || !tstates)
		return false;
	*tstates_ret = tstates;
	*main_ret = last;
	return true;
}

bool alive_find_code_type(struct memory *memory, const struct py_layout *layout, uint64_t interp,
			  uint64_t *code_type_ret, uint64_t *type_type_ret)
{
	uint64_t address;
	bool found = false;
	if (!memory_read_u64(memory, interp + layout->interp_threads_head, &address))
		return false;
	struct py_frames frames = { 0 };
	for (size_t i = 0; address && i < FRAME_ATTEMPTS && !found; i++) {
		struct py_tstate tstate;
		uint64_t type;
		if (frames_read_tstate(memory, layout, address, &tstate))
			break;
		frames.count = 0;
		if (!frames_walk(memory, layout, &tstate, &frames) && frames.count &&
		    memory_read_u64(memory, frames.items[0].code + layout->object_type, &type) &&
		    is_code_type(memory, layout, type, type_type_ret)) {
			*code_type_ret = type;
			found = true;
		}
		address = tstate.next;
	}
	py_frames_vec_deinit(&frames);
	return found;
}
