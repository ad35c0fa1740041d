/* SPDX-License-Identifier: MIT */
/* resolve.c: frames → functions and lines. */
#include "resolve.h"

#include <string.h>

#include "python/lines.h"

/* A frame whose code object has to be looked at again: not just read, and not that of the frame before. */
static bool needs_validation(const struct sample_frames *stack, size_t i, size_t first)
{
	const struct sample_frame *frame = &stack->items[i];
	return !frame->checked && (i == first || frame->code != frame[-1].code);
}

/* Ranges of all distinct code objects of a sample, read together after the thread was let go. */
static enum reason validate_codes(struct memory_live *live, const struct subject_runtime *runtime,
				  const struct sample_frames *stack)
{
	struct memory_piece pieces[256];
	uint8_t bytes[32768];
	size_t i = 0;
	while (i < stack->count) {
		size_t used = 0, piece_count = 0, first = i;
		for (; i < stack->count; i++) {
			const struct code *code = stack->items[i].code;
			if (!needs_validation(stack, i, first))
				continue;
			if (code->ranges_bytes > sizeof(bytes) - used ||
			    code->range_count > sizeof(pieces) / sizeof(pieces[0]) - piece_count)
				break;
			for (size_t k = 0; k < code->range_count; k++) {
				pieces[piece_count++] = (struct memory_piece){
					.address = code->ranges[k].address,
					.size = code->ranges[k].size,
					.buffer = bytes + used,
				};
				used += code->ranges[k].size;
			}
		}
		if (i == first)
			return REASON_LIMIT;
		memory_live_readv(live, pieces, piece_count);
		/* Bytes that could not be read match nothing. */
		for (size_t k = 0; k < piece_count; k++)
			if (!pieces[k].ok)
				memset(pieces[k].buffer, 0, pieces[k].size);

		size_t offset = 0;
		for (size_t k = first; k < i; k++) {
			const struct code *code = stack->items[k].code;
			if (!needs_validation(stack, k, first))
				continue;
			if (!code_cache_validate(runtime->codes, code, bytes + offset))
				return REASON_CODE_CHANGED;
			offset += code->ranges_bytes;
		}
	}
	return REASON_OK;
}

enum reason resolve_frames(struct memory_live *live, const struct subject_runtime *runtime,
			   const struct py_frames *frames, bool held, struct sample_frames *stack)
{
	stack->count = 0;
	vec_foreach (frame, frames) {
		struct sample_frame *out = sample_frames_append(stack);
		if (!out)
			return REASON_NO_MEMORY;
		enum reason reason =
			code_cache_get(runtime->codes, &live->memory, frame->code, &out->code);
		if (!reason)
			reason = code_line(out->code, frame->lasti, &out->line);
		if (reason)
			return reason;
		if (out->line == LINE_NONE)
			out->line = out->code->firstlineno;
		out->entry = frame->entry;
		out->checked = frame->checked && held;
	}
	return validate_codes(live, runtime, stack);
}
