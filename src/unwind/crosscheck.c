/* SPDX-License-Identifier: MIT */
/* crosscheck.c: a second opinion on the stack of a held thread: libunwind's. */
#include "unwind/crosscheck.h"

#ifdef HAVE_LIBUNWIND

#include <libunwind-ptrace.h>
#include <stdlib.h>

struct crosscheck {
	const struct arch *arch;
	unw_addr_space_t space; /* with the accessors below */
	unw_addr_space_t plain; /* with libunwind-ptrace's, for what it asks of itself */
};

/* The thread that libunwind is asked about. */
struct question {
	const struct crosscheck *crosscheck;
	void *upt; /* libunwind-ptrace's */
	const struct arch_registers *registers;
	struct code_map *map;
};

/*
 * libunwind up to 1.8.1 ends at the first signed return address. So it never sees one: a word that is an address of code but for its
 * signature is given without it. Whether it is one is all that comes from us.
 */
static unw_word_t without_signature(const struct question *question, unw_word_t word)
{
	uint64_t mask = question->registers->code_mask;
	if (!(word & mask) || word & ARCH_KERNEL_BIT ||
	    !code_map_is_code(question->map, word & ~mask))
		return word;
	return word & ~mask;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need,
			  void *arg)
{
	const struct question *question = arg;
	return _UPT_find_proc_info(question->crosscheck->plain, ip, info, need, question->upt);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
	const struct question *question = arg;
	_UPT_put_unwind_info(question->crosscheck->plain, info, question->upt);
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address_ret, void *arg)
{
	const struct question *question = arg;
	return _UPT_get_dyn_info_list_addr(question->crosscheck->plain, address_ret, question->upt);
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *word, int is_write,
		      void *arg)
{
	const struct question *question = arg;
	if (is_write)
		return -UNW_EINVAL;
	int status = _UPT_access_mem(question->crosscheck->plain, address, word, 0, question->upt);
	if (!status)
		*word = without_signature(question, *word);
	return status;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *word, int is_write,
		      void *arg)
{
	const struct question *question = arg;
	if (is_write)
		return -UNW_EINVAL;
	int status = _UPT_access_reg(question->crosscheck->plain, number, word, 0, question->upt);
	if (!status)
		*word = without_signature(question, *word);
	return status;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value,
			int is_write, void *arg)
{
	const struct question *question = arg;
	if (is_write)
		return -UNW_EINVAL;
	return _UPT_access_fpreg(question->crosscheck->plain, number, value, 0, question->upt);
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg)
{
	return -UNW_EINVAL;
}

/*
 * The library may be newer than its headers here, with the same soname and larger structures: from 1.6 to 1.8 on aarch64
 * unw_accessors_t went from 64 bytes to 88 (three functions more, read by unw_create_addr_space), unw_proc_info_t from 64 to 72 and
 * unw_save_loc_t from 16 to 24 (both are cleared whole). So each has room; new fields came last, and new functions are to be null.
 */
union accessors {
	unw_accessors_t known;
	char room[512];
};

union cursor {
	unw_cursor_t known;
	char room[2 * sizeof(unw_cursor_t)];
};

union save_loc {
	unw_save_loc_t known;
	char room[256];
};

union proc_info {
	unw_proc_info_t known;
	char room[512];
};

static union accessors plain_accessors = {
	.known = {
		.find_proc_info = _UPT_find_proc_info,
		.put_unwind_info = _UPT_put_unwind_info,
		.get_dyn_info_list_addr = _UPT_get_dyn_info_list_addr,
		.access_mem = _UPT_access_mem,
		.access_reg = _UPT_access_reg,
		.access_fpreg = _UPT_access_fpreg,
		.resume = _UPT_resume,
	},
};

static union accessors accessors = {
	.known = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
	},
};

struct error *crosscheck_create(const struct arch *arch, struct crosscheck **crosscheck_ret)
{
	_cleanup_free_ struct crosscheck *crosscheck = calloc(1, sizeof(*crosscheck));
	if (!crosscheck)
		return error_no_memory();
	crosscheck->arch = arch;
	crosscheck->plain = unw_create_addr_space(&plain_accessors.known, 0);
	if (!crosscheck->plain)
		return error_no_memory();
	crosscheck->space = unw_create_addr_space(&accessors.known, 0);
	if (!crosscheck->space) {
		unw_destroy_addr_space(crosscheck->plain);
		return error_no_memory();
	}
	/* Without it each frame costs a reading of the maps and a mapping of the file. */
	unw_set_caching_policy(crosscheck->space, UNW_CACHE_GLOBAL);
	*crosscheck_ret = no_cleanup(crosscheck);
	return NULL;
}

void crosscheck_destroy(struct crosscheck *crosscheck)
{
	unw_destroy_addr_space(crosscheck->space);
	unw_destroy_addr_space(crosscheck->plain);
	free(crosscheck);
}

void crosscheck_forget(struct crosscheck *crosscheck)
{
	unw_flush_cache(crosscheck->space, 0, 0);
	unw_flush_cache(crosscheck->plain, 0, 0);
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
	union save_loc place;
	if (unw_get_save_loc(cursor, (int)number, &place.known) ||
	    place.known.type != UNW_SLT_MEMORY)
		return 0;
	return place.known.u.addr;
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
	unw_word_t fp;
	frame->has_fp = !unw_get_reg(cursor, (unw_regnum_t)crosscheck->arch->fp, &fp);
	if (frame->has_fp)
		frame->fp = fp;
	if (!places)
		return REASON_OK;
	struct crosscheck_place *place = crosscheck_places_vec_append(places);
	if (!place)
		return REASON_NO_MEMORY;
	place->pc_at = saved_at(cursor, crosscheck->arch->return_address);
	place->fp_at = saved_at(cursor, crosscheck->arch->fp);
	return REASON_OK;
}

/*
 * On aarch64 libunwind 1.8 ends, with a pc of 0, where it comes to a frame whose frame pointer is 0: the outermost one, which it does
 * not give. Where that frame's pc is it has found all the same.
 */
static enum reason add_outermost(struct question *question, unw_cursor_t *cursor,
				 struct native_frames *frames, struct crosscheck_places *places)
{
	const struct arch *arch = question->crosscheck->arch;
	const struct native_frame last = frames->items[frames->count - 1];
	uint64_t pc_at = saved_at(cursor, arch->return_address);
	unw_word_t ip, pc, sp;
	if (arch->return_address == arch->pc || !pc_at || unw_get_reg(cursor, UNW_REG_IP, &ip) ||
	    ip || access_mem(NULL, pc_at, &pc, 0, question) ||
	    unw_get_reg(cursor, UNW_REG_SP, &sp) || !pc || pc == last.pc || sp <= last.sp)
		return REASON_OK;
	struct native_frame *frame = native_frames_vec_append(frames);
	struct crosscheck_place *place = places ? crosscheck_places_vec_append(places) : NULL;
	if (!frame || (places && !place))
		return REASON_NO_MEMORY;
	*frame = (struct native_frame){ .pc = pc, .address = pc - 1, .sp = sp };
	if (place)
		*place = (struct crosscheck_place){ .pc_at = pc_at };
	return REASON_OK;
}

static enum reason walk_with(const struct crosscheck *crosscheck, struct question *question,
			     struct native_frames *frames, struct crosscheck_places *places)
{
	union cursor cursor;
	int status = unw_init_remote(&cursor.known, crosscheck->space, question);
	if (status)
		return reason_of(status);
	size_t first = frames->count;
	bool is_return = false, end = false;
	do {
		if (frames->count - first >= WALK_FRAMES_MAX)
			return REASON_DEPTH_LIMIT;
		enum reason reason =
			add_frame(crosscheck, &cursor.known, is_return, frames, places, &end);
		if (reason || end)
			return reason;
		is_return = unw_is_signal_frame(&cursor.known) <= 0;
		status = unw_step(&cursor.known);
	} while (status > 0);
	enum reason reason = status ? reason_of(status) : REASON_OK;
	if (!reason)
		reason = add_outermost(question, &cursor.known, frames, places);
	frames->items[first].signal = false;
	return reason;
}

enum reason crosscheck_walk(struct crosscheck *crosscheck, pid_t tid,
			    const struct arch_registers *registers, struct code_map *map,
			    struct native_frames *frames, struct crosscheck_places *places)
{
	struct question question = {
		.crosscheck = crosscheck,
		.upt = _UPT_create(tid),
		.registers = registers,
		.map = map,
	};
	if (!question.upt)
		return REASON_NO_MEMORY;
	enum reason reason = walk_with(crosscheck, &question, frames, places);
	_UPT_destroy(question.upt);
	return reason;
}

bool crosscheck_knows(const struct crosscheck *crosscheck, pid_t tid, uint64_t address)
{
	union proc_info info = { 0 };
	void *upt = _UPT_create(tid);
	if (!upt)
		return false;
	/* Only whether there is any: what it would give besides could not be given back. */
	bool found = !_UPT_find_proc_info(crosscheck->plain, address, &info.known, 0, upt);
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

enum reason crosscheck_walk(struct crosscheck *crosscheck, pid_t tid,
			    const struct arch_registers *registers, struct code_map *map,
			    struct native_frames *frames, struct crosscheck_places *places)
{
	return REASON_NO_CFI;
}

bool crosscheck_knows(const struct crosscheck *crosscheck, pid_t tid, uint64_t address)
{
	return false;
}

#endif
