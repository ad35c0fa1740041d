/* SPDX-License-Identifier: MIT */
/* native.c: the native side of a subject. */
#include "native.h"

#include "base/clock.h"

/* Copied the first time. */
#define STACK_FIRST ((size_t)256 << 10)
/* At most: the usual limit of a stack. OpenBLAS's factorization calls itself, with 528 KB for each call. */
#define STACK_MAX ((size_t)8 << 20)
/* Beyond what was needed lately: what the next sample may have more; at most half of it. */
#define STACK_SLACK     ((size_t)4 << 10)
#define STACK_SLACK_MAX ((size_t)256 << 10)
/* Of a stack that was left for another. */
#define OTHER_STACK ((size_t)64 << 10)
/* The least time between two readings of the maps because of an address that they do not have. */
#define MAPS_AGAIN_NS (20 * NS_PER_MS)

void native_init(struct native *native, struct subject *subject)
{
	*native = (struct native){ .subject = subject };
}

static void clear(struct native *native)
{
	if (native->map)
		code_map_destroy(native->map);
	native->map = NULL;
	evalmap_deinit(&native->evals);
	native->eval_runtimes = 0;
}

void native_deinit(struct native *native)
{
	clear(native);
	native_frames_vec_deinit(&native->frames);
}

struct debuginfo_places native_places(const struct process *process, const char *const *dirs,
				      size_t dir_count, struct rootfs *root_ret)
{
	root_ret->fd = -1;
	error_destroy(rootfs_open(process, root_ret));
	return (struct debuginfo_places){
		.root_fd = root_ret->fd,
		.dirs = dirs,
		.dir_count = dir_count,
	};
}

struct error *native_refresh(struct native *native, uint64_t now_ns)
{
	struct subject *subject = native->subject;
	if (native->map && native->image_number != subject->image_number)
		clear(native);
	native->image_number = subject->image_number;
	if (!native->map) {
		struct error *err = modules_update(subject->modules);
		if (!err)
			err = code_map_create(subject->modules, subject->process,
					      &subject->live.memory, subject->arch, &native->map);
		if (err)
			return err;
	}
	code_map_refresh(native->map, now_ns);
	for (; native->eval_runtimes < subject->runtime_count; native->eval_runtimes++) {
		const struct py_runtime *py = &subject->runtimes[native->eval_runtimes].py;
		struct image *image = module_image(subject->modules, py->module);
		if (image)
			evalmap_add(&native->evals, image, py->bias,
				    code_map_table(native->map, py->module));
	}
	return NULL;
}

size_t native_stack_bytes(uint64_t need)
{
	if (!need)
		return STACK_FIRST;
	uint64_t more = need / 2 < STACK_SLACK_MAX ? need / 2 : STACK_SLACK_MAX;
	uint64_t bytes = need + more + STACK_SLACK;
	return bytes < STACK_MAX ? (size_t)bytes : STACK_MAX;
}

/* What is copied of a stack that the thread left for a signal handler's. */
static struct memory_range other_stack(const struct native *native, uint64_t address)
{
	const struct mapping *mapping = maps_find(modules_maps(native->subject->modules), address);
	if (!mapping || !mapping->read || !mapping->write)
		return (struct memory_range){ 0 };
	uint64_t left = mapping->end - address;
	return (struct memory_range){ address, left < OTHER_STACK ? left : OTHER_STACK };
}

/* Sees to it that @fault can be read the next time. False if that is not to be. */
static bool find_missing(struct native *native, const struct snapshot *snapshot, uint64_t fault,
			 uint64_t sp, uint64_t *need)
{
	uint64_t copied = snapshot->stack_end - sp;
	/* A word may lie across the end of the copy. */
	bool above = fault + 8 > snapshot->stack_end && fault < snapshot->stack_end + STACK_MAX;
	if (above && copied == native_stack_bytes(*need) && copied < STACK_MAX) {
		*need = fault - sp > copied * 2 ? fault - sp : copied * 2;
		return true;
	}
	if (fault + 8 > sp && fault < snapshot->stack_end)
		return false;
	native->missing = other_stack(native, fault);
	return native->missing.size > 0;
}

static enum reason walk_once(struct native *native, struct snapshot *snapshot, struct walk_end *end)
{
	native->frames.count = 0;
	return walk_noting(native->map, native->subject->arch, &snapshot->registers,
			   &snapshot->blocks.memory, &native->frames, end);
}

/* True if the maps are newer now: code that they did not have may have been mapped since they were read. */
static bool read_maps_again(struct native *native)
{
	uint64_t now_ns = clock_now_ns();
	if (now_ns - native->maps_ns < MAPS_AGAIN_NS)
		return false;
	native->maps_ns = now_ns;
	_cleanup_error_ struct error *err = modules_update(native->subject->modules);
	if (err)
		return false;
	code_map_refresh(native->map, now_ns);
	return true;
}

enum reason native_walk(struct native *native, struct snapshot *snapshot, uint64_t *need)
{
	struct walk_end end;
	uint64_t sp;
	native->missing = (struct memory_range){ 0 };
	enum reason reason = walk_once(native, snapshot, &end);
	if (end.no_code && read_maps_again(native))
		reason = walk_once(native, snapshot, &end);
	native->lost = end.no_code;
	if (!arch_register_get(&snapshot->registers, native->subject->arch->sp, &sp) ||
	    snapshot->stack_end < sp)
		return reason;
	if (reason && end.fault && find_missing(native, snapshot, end.fault, sp, need))
		return REASON_STACK_CUT;

	uint64_t copied = snapshot->stack_end - sp;
	uint64_t now = end.used > sp && end.used - sp <= copied ? end.used - sp : copied;
	*need = now >= *need ? now : *need - (*need - now) / 64;
	return reason;
}
