/* SPDX-License-Identifier: MIT */
/* replay.c: works out the stacks in saved capsules. */
#include "replay.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "python/code.h"
#include "python/frames.h"
#include "python/gil.h"
#include "python/layout.h"
#include "python/lines.h"
#include "write/text.h"

static enum reason add_frame(const struct py_layout *layout, uint64_t code_type,
			     struct memory *memory, const struct py_frame *frame,
			     struct strbuf *text)
{
	_cleanup_code_ struct code *code = NULL;
	enum reason reason = code_read(memory, layout, code_type, frame->code, &code);
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

static enum reason add_stack(const struct py_runtime *runtime, struct capsule *capsule,
			     struct py_frames *frames, struct strbuf *text)
{
	struct memory *memory = &capsule->snapshot.blocks.memory;
	struct py_tstate tstate;
	enum reason reason =
		frames_read_tstate(memory, &runtime->layout, capsule->python.tstate, &tstate);
	if (reason)
		return reason;
	enum reason end = frames_walk(memory, &runtime->layout, &tstate, frames);
	if (end && end != REASON_DEPTH_LIMIT)
		return end;
	for (size_t i = frames->count; i-- > 0;) {
		reason = add_frame(&runtime->layout, runtime->code_type, memory, &frames->items[i],
				   text);
		if (reason)
			return reason;
	}
	if (gil_is_held_by(memory, runtime, &tstate))
		strbuf_adds(text, "holds the GIL\n");
	return end;
}

struct error *replay_capsule(struct capsule *capsule, struct strbuf *text)
{
	const struct capsule_python *python = &capsule->python;
	struct py_runtime runtime = {
		.machine = capsule->machine,
		.version = (py_version)python->version,
		.runtime_address = python->runtime_address,
		.code_type = python->code_type,
		.current_address = python->current_address,
		.ob_head_extra = (uint32_t)python->ob_head_extra,
		.debug_build = python->debug_build,
	};
	struct error *err =
		py_layout_select(runtime.version, capsule->machine, runtime.debug_build,
				 runtime.ob_head_extra, &capsule->snapshot.blocks.memory,
				 runtime.runtime_address, &runtime.layout);
	if (err)
		return err;
	struct py_frames frames = { 0 };
	enum reason reason = add_stack(&runtime, capsule, &frames, text);
	py_frames_vec_deinit(&frames);
	strbuf_addf(text, "%s\n", reason_text(reason));
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
