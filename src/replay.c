/* SPDX-License-Identifier: MIT */
/* replay.c: works out the stacks in saved capsules. */
#include "replay.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "merge/merge.h"
#include "native_capsule.h"
#include "python/code.h"
#include "python/frames.h"
#include "python/gil.h"
#include "python/layout.h"
#include "python/lines.h"
#include "write/text.h"

/* The frames of a capsule, innermost first, as they come out of the two walks. */
struct replay {
	struct capsule *capsule;
	struct py_runtime runtime;
	struct py_frames python;
	struct native_frames native;
	struct merged_vec merged;
	bool gil;
	enum reason end, native_end;
	enum reason outer_cut; /* with native frames: why the outermost frame of all is missing */
};

static enum reason add_python(struct replay *replay, const struct py_frame *frame,
			      struct strbuf *text)
{
	_cleanup_code_ struct code *code = NULL;
	enum reason reason =
		code_read(&replay->capsule->snapshot.blocks.memory, &replay->runtime.layout,
			  replay->runtime.code_type, frame->code, &code);
	if (reason)
		return reason;
	uint32_t line;
	reason = code_line(code, frame->lasti, &line);
	if (reason)
		return reason;
	text_add_frame(text, code->name, code->filename,
		       line == LINE_NONE ? code->firstlineno : line);
	strbuf_addf(text, "%s\n", frame->entry ? " entry" : "");
	return REASON_OK;
}

static void add_native(const struct replay *replay, const struct native_frame *frame,
		       struct strbuf *text)
{
	const struct capsule_code *code = &replay->capsule->code;
	const struct capsule_function *function = capsule_code_find(code, frame->address);
	if (!function) {
		strbuf_adds(text, "[not recorded]\n");
		return;
	}
	const struct capsule_module *module = &code->modules.items[function->module];
	char offset[32];
	snprintf(offset, sizeof(offset), "+%#" PRIx64, function->start - module->bias);
	text_add_frame(text, function->name ? function->name : offset, module->path, 0);
	strbuf_adds(text, frame->guessed ? " guessed\n" : "\n");
}

static enum reason walk_python(struct replay *replay)
{
	struct capsule *capsule = replay->capsule;
	struct memory *memory = &capsule->snapshot.blocks.memory;
	struct py_tstate tstate;
	enum reason reason = frames_read_tstate(memory, &replay->runtime.layout,
						capsule->python.tstate, &tstate);
	if (reason)
		return reason;
	reason = frames_walk(memory, &replay->runtime.layout, &tstate, &replay->python);
	if (reason && reason != REASON_DEPTH_LIMIT)
		replay->python.count = 0;
	else
		replay->gil = gil_is_held_by(memory, &replay->runtime, &tstate);
	return reason;
}

static bool is_eval(const void *data, size_t native)
{
	const struct replay *replay = data;
	const struct capsule_function *function =
		capsule_code_find(&replay->capsule->code, replay->native.items[native].address);
	return function && function->eval;
}

static bool is_entry(const void *data, size_t python)
{
	const struct replay *replay = data;
	return replay->python.items[python].entry;
}

static bool is_trampoline(const void *data, size_t native)
{
	const struct replay *replay = data;
	const struct capsule_function *function =
		capsule_code_find(&replay->capsule->code, replay->native.items[native].address);
	return function && merge_is_trampoline_code((enum code_kind)function->kind, function->name);
}

static bool is_switch(const void *data, size_t native)
{
	const struct replay *replay = data;
	const struct capsule_code *code = &replay->capsule->code;
	const struct capsule_function *function =
		capsule_code_find(code, replay->native.items[native].address);
	return function && function->module < code->modules.count &&
	       merge_is_switch_file(code->modules.items[function->module].path);
}

/* Where there are no native frames, the Python ones are all. */
static bool merge_frames(struct replay *replay)
{
	struct merge_input input = {
		.native_count = replay->native.count,
		.python_count = replay->python.count,
		.native_complete = replay->native_end == REASON_OK,
		.data = replay,
		.python_cut = replay->end != REASON_OK,
		.is_eval = is_eval,
		.is_entry = is_entry,
		.is_trampoline = is_trampoline,
		.is_switch = is_switch,
	};
	if (replay->native.count) {
		enum merge_result result = merge(&input, &replay->merged);
		replay->outer_cut = replay->end           ? replay->end
				    : result == MERGE_CUT ? REASON_OK
							  : replay->native_end;
		return result != MERGE_NO_MEMORY;
	}
	for (size_t i = 0; i < replay->python.count; i++) {
		struct merged *item = merged_vec_append(&replay->merged);
		if (!item)
			return false;
		*item = (struct merged){ MERGED_PYTHON, i };
	}
	return true;
}

static void add_mark(const struct replay *replay, size_t which, struct strbuf *text)
{
	if (which == MERGED_CUT)
		strbuf_addf(text, "[cut: %s]\n", reason_name(replay->native_end));
	else
		strbuf_adds(text, "[native and Python frames do not fit]\n");
}

static enum reason add_stack(struct replay *replay, struct strbuf *text)
{
	if (!merge_frames(replay))
		return REASON_NO_MEMORY;
	if (replay->outer_cut)
		strbuf_addf(text, "[cut: %s]\n", reason_name(replay->outer_cut));
	for (size_t i = replay->merged.count; i-- > 0;) {
		const struct merged *item = &replay->merged.items[i];
		enum reason reason = REASON_OK;
		switch (item->kind) {
		case MERGED_NATIVE:
			add_native(replay, &replay->native.items[item->index], text);
			break;
		case MERGED_PYTHON:
			reason = add_python(replay, &replay->python.items[item->index], text);
			break;
		case MERGED_MARK:
			add_mark(replay, item->index, text);
			break;
		}
		if (reason)
			return reason;
	}
	if (replay->gil)
		strbuf_adds(text, "holds the GIL\n");
	return replay->end ? replay->end : replay->native_end;
}

static struct error *select_layout(struct replay *replay)
{
	const struct capsule *capsule = replay->capsule;
	const struct capsule_python *python = &capsule->python;
	struct py_runtime *runtime = &replay->runtime;
	*runtime = (struct py_runtime){
		.machine = capsule->machine,
		.version = (py_version)python->version,
		.runtime_address = python->runtime_address,
		.code_type = python->code_type,
		.current_address = python->current_address,
		.ob_head_extra = (uint32_t)python->ob_head_extra,
		.debug_build = python->debug_build,
	};
	return py_layout_select(runtime->version, capsule->machine, runtime->debug_build,
				runtime->ob_head_extra, &replay->capsule->snapshot.blocks.memory,
				runtime->runtime_address, &runtime->layout);
}

static struct error *walk_all(struct replay *replay)
{
	struct capsule *capsule = replay->capsule;
	struct error *err = NULL;
	if (capsule->has_python) {
		err = select_layout(replay);
		if (err)
			return err;
		replay->end = walk_python(replay);
	}
	if (capsule->has_code)
		err = native_capsule_walk(capsule, &replay->native, &replay->native_end);
	return err;
}

struct error *replay_capsule(struct capsule *capsule, struct strbuf *text)
{
	struct replay replay = { .capsule = capsule };
	struct error *err = walk_all(&replay);
	if (!err) {
		enum reason end = add_stack(&replay, text);
		strbuf_addf(text, "%s\n", reason_text(end));
	}
	py_frames_vec_deinit(&replay.python);
	native_frames_vec_deinit(&replay.native);
	merged_vec_deinit(&replay.merged);
	if (err)
		return err;
	return text->failed ? error_no_memory() : NULL;
}

static struct error *replay_file(const char *path)
{
	_cleanup_capsule_ struct capsule capsule;
	capsule_init(&capsule);
	struct error *err = capsule_load(path, &capsule);
	if (err)
		return err;
	_cleanup_strbuf_ struct strbuf text = { 0 };
	err = replay_capsule(&capsule, &text);
	if (err)
		return error_prefix(err, "%s", path);
	fputs(text.text, stdout);
	return NULL;
}

int replay_run(const struct options *options)
{
	int status = 0;
	for (char **file = options->files; *file; file++) {
		_cleanup_error_ struct error *err = replay_file(*file);
		if (err) {
			fprintf(stderr, "pysample: %s\n", err->message);
			status = 1;
		}
	}
	return status;
}
