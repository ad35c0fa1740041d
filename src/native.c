/* SPDX-License-Identifier: MIT */
/* native.c: the native side of a subject. */
#include "native.h"

/* Copied the first time, and at most. */
#define STACK_FIRST ((size_t)256 << 10)
#define STACK_MAX   ((size_t)4 << 20)
/* Beyond what was needed lately: what the next sample may have more. */
#define STACK_SLACK ((size_t)4 << 10)

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
			evalmap_add(&native->evals, image, py->bias);
	}
	return NULL;
}

size_t native_stack_bytes(uint64_t need)
{
	if (!need)
		return STACK_FIRST;
	uint64_t bytes = need + need / 2 + STACK_SLACK;
	return bytes < STACK_MAX ? (size_t)bytes : STACK_MAX;
}

enum reason native_walk(struct native *native, struct snapshot *snapshot, uint64_t *need)
{
	uint64_t sp, used = 0;
	native->frames.count = 0;
	enum reason reason = walk(native->map, native->subject->arch, &snapshot->registers,
				  &snapshot->blocks.memory, &native->frames, &used);
	if (!arch_register_get(&snapshot->registers, native->subject->arch->sp, &sp))
		return reason;

	uint64_t copied = snapshot->stack_end > sp ? snapshot->stack_end - sp : 0;
	bool cut = reason == REASON_MEMORY_FAULT || reason == REASON_GAP;
	/* Ended within a frame's length of the copy's end, and more could have been copied. */
	if (cut && copied && copied == native_stack_bytes(*need) && copied < STACK_MAX &&
	    used + STACK_SLACK >= snapshot->stack_end) {
		*need = copied * 2;
		return REASON_STACK_CUT;
	}
	uint64_t now = used > sp && used - sp <= copied ? used - sp : copied;
	*need = now >= *need ? now : *need - (*need - now) / 64;
	return reason;
}
