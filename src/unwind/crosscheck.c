/* SPDX-License-Identifier: MIT */
/* crosscheck.c: a second opinion on the stack of a held thread: libunwind's. */
#include "unwind/crosscheck.h"

#ifdef HAVE_LIBUNWIND

#include <libunwind-ptrace.h>
#include <stdlib.h>

struct crosscheck {
	const struct arch *arch;
	unw_addr_space_t space;
};

struct error *crosscheck_create(const struct arch *arch, struct crosscheck **crosscheck_ret)
{
	_cleanup_free_ struct crosscheck *crosscheck = calloc(1, sizeof(*crosscheck));
	if (!crosscheck)
		return error_no_memory();
	crosscheck->arch = arch;
	crosscheck->space = unw_create_addr_space(&_UPT_accessors, 0);
	if (!crosscheck->space)
		return error_no_memory();
	/* Without it each frame costs a reading of the maps and a mapping of the file. */
	unw_set_caching_policy(crosscheck->space, UNW_CACHE_GLOBAL);
	*crosscheck_ret = no_cleanup(crosscheck);
	return NULL;
}

void crosscheck_destroy(struct crosscheck *crosscheck)
{
	unw_destroy_addr_space(crosscheck->space);
	free(crosscheck);
}

void crosscheck_forget(struct crosscheck *crosscheck)
{
	unw_flush_cache(crosscheck->space, 0, 0);
}

static enum reason reason_of(int error)
{
	switch (-error) {
	case UNW_ENOMEM:
		return REASON_NO_MEMORY;
	case UNW_ENOINFO:
		return REASON_NO_CFI;
	case UNW_EBADFRAME:
		return REASON_BAD_CFA;
	case UNW_EINVALIDIP:
		return REASON_NO_CODE;
	default:
		return REASON_BAD_CFI;
	}
}

/* libunwind numbers the general registers as DWARF does, on every CPU of arch/. */
static uint64_t saved_at(unw_cursor_t *cursor, unsigned number)
{
	unw_save_loc_t place;
	if (unw_get_save_loc(cursor, (int)number, &place) || place.type != UNW_SLT_MEMORY)
		return 0;
	return place.u.addr;
}

static enum reason add_frame(const struct crosscheck *crosscheck, unw_cursor_t *cursor,
			     bool is_return, struct native_frames *frames,
			     struct crosscheck_places *places, bool *end_ret)
{
	unw_word_t pc, sp;
	if (unw_get_reg(cursor, UNW_REG_IP, &pc) || unw_get_reg(cursor, UNW_REG_SP, &sp))
		return REASON_REGISTERS;
	if (!pc) {
		*end_ret = true;
		return REASON_OK;
	}
	struct native_frame *frame = native_frames_vec_append(frames);
	if (!frame)
		return REASON_NO_MEMORY;
	*frame = (struct native_frame){
		.pc = pc,
		.address = is_return ? pc - 1 : pc,
		.sp = sp,
		.signal = !is_return,
	};
	if (!places)
		return REASON_OK;
	struct crosscheck_place *place = crosscheck_places_vec_append(places);
	if (!place)
		return REASON_NO_MEMORY;
	place->pc_at = saved_at(cursor, crosscheck->arch->pc);
	place->fp_at = saved_at(cursor, crosscheck->arch->fp);
	return REASON_OK;
}

static enum reason walk_with(const struct crosscheck *crosscheck, void *upt,
			     struct native_frames *frames, struct crosscheck_places *places)
{
	unw_cursor_t cursor;
	int status = unw_init_remote(&cursor, crosscheck->space, upt);
	if (status)
		return reason_of(status);
	size_t first = frames->count;
	bool is_return = false, end = false;
	do {
		if (frames->count - first >= WALK_FRAMES_MAX)
			return REASON_DEPTH_LIMIT;
		enum reason reason =
			add_frame(crosscheck, &cursor, is_return, frames, places, &end);
		if (reason || end)
			return reason;
		is_return = unw_is_signal_frame(&cursor) <= 0;
		status = unw_step(&cursor);
	} while (status > 0);
	frames->items[first].signal = false;
	return status ? reason_of(status) : REASON_OK;
}

enum reason crosscheck_walk(struct crosscheck *crosscheck, pid_t tid, struct native_frames *frames,
			    struct crosscheck_places *places)
{
	void *upt = _UPT_create(tid);
	if (!upt)
		return REASON_NO_MEMORY;
	enum reason reason = walk_with(crosscheck, upt, frames, places);
	_UPT_destroy(upt);
	return reason;
}

bool crosscheck_knows(const struct crosscheck *crosscheck, pid_t tid, uint64_t address)
{
	unw_proc_info_t info = { 0 };
	void *upt = _UPT_create(tid);
	if (!upt)
		return false;
	/* Only whether there is any: what it would give besides could not be given back. */
	bool found = !_UPT_find_proc_info(crosscheck->space, address, &info, 0, upt);
	_UPT_destroy(upt);
	return found;
}

#else

struct error *crosscheck_create(const struct arch *arch, struct crosscheck **crosscheck_ret)
{
	return error_create(ERROR_UNSUPPORTED,
			    "this pysample was built without libunwind: install libunwind-dev "
			    "and configure again");
}

void crosscheck_destroy(struct crosscheck *crosscheck)
{
}

void crosscheck_forget(struct crosscheck *crosscheck)
{
}

enum reason crosscheck_walk(struct crosscheck *crosscheck, pid_t tid, struct native_frames *frames,
			    struct crosscheck_places *places)
{
	return REASON_NO_CFI;
}

bool crosscheck_knows(const struct crosscheck *crosscheck, pid_t tid, uint64_t address)
{
	return false;
}

#endif
