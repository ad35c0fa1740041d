/* SPDX-License-Identifier: MIT */
/* frames.c: a thread state → its chain of Python frames. */
#include "python/frames.h"

#include <string.h>

/* Thread states are read in one piece as long as the fields needed lie within this many bytes. */
#define TSTATE_SPAN_MAX 2048
/* A frame's fixed part: 128 bytes on the widest version, a free-threaded one. */
#define FRAME_SPAN_MAX 512
/* Data-stack chunks are of 16 KiB, or of what one frame needs: FRAMES_MAX frames of half a kilobyte fill as many. */
#define CHUNKS_MAX 128
/* Bytes above the used part of a chunk that are copied along: what the next sample may need. */
#define CHUNK_SLACK 1024

static bool plausible(uint64_t address)
{
	return address >= 4096 && address < UINT64_C(1) << 63 && address % 8 == 0;
}

/* Part of a struct that was copied in one piece. */
struct span {
	uint64_t address; /* of the struct */
	uint32_t start;   /* first offset that is in bytes */
	uint32_t size;
	uint8_t bytes[TSTATE_SPAN_MAX];
};

static uint64_t span_word(const struct span *span, uint32_t offset)
{
	uint64_t value = 0;
	if (offset != PY_ABSENT)
		memcpy(&value, span->bytes + (offset - span->start), sizeof(value));
	return value;
}

/* Reads the struct at @address from its lowest to its highest field of @offsets. */
static enum reason span_read(struct memory *memory, uint64_t address, const uint32_t *offsets,
			     size_t count, uint32_t size_max, struct span *span)
{
	uint32_t low = UINT32_MAX, high = 0;
	for (size_t i = 0; i < count; i++) {
		if (offsets[i] == PY_ABSENT)
			continue;
		low = offsets[i] < low ? offsets[i] : low;
		high = offsets[i] > high ? offsets[i] : high;
	}
	if (low > high || high + 8 - low > size_max)
		return REASON_LIMIT;
	span->address = address;
	span->start = low;
	span->size = high + 8 - low;
	if (!memory_read(memory, address + low, span->bytes, span->size))
		return REASON_MEMORY_FAULT;
	return REASON_OK;
}

enum reason frames_read_tstate(struct memory *memory, const struct py_layout *layout,
			       uint64_t address, struct py_tstate *tstate_ret)
{
	if (!plausible(address))
		return REASON_BAD_THREAD_STATE;
	const uint32_t offsets[] = {
		layout->tstate_next,
		layout->tstate_interp,
		layout->tstate_frame,
		layout->tstate_cframe,
		layout->tstate_current_frame,
		layout->tstate_thread_id,
		layout->tstate_native_thread_id,
		layout->tstate_datastack_chunk,
		layout->tstate_datastack_top,
	};
	struct span span;
	enum reason reason =
		span_read(memory, address, offsets, sizeof(offsets) / sizeof(offsets[0]),
			  TSTATE_SPAN_MAX, &span);
	if (reason)
		return reason;

	struct py_tstate tstate = {
		.address = address,
		.next = span_word(&span, layout->tstate_next),
		.interp = span_word(&span, layout->tstate_interp),
		.thread_id = span_word(&span, layout->tstate_thread_id),
		.native_thread_id = span_word(&span, layout->tstate_native_thread_id),
		.datastack_chunk = span_word(&span, layout->tstate_datastack_chunk),
		.datastack_top = span_word(&span, layout->tstate_datastack_top),
	};
	switch (layout->frame_kind) {
	case PY_FRAME_HEAP:
		tstate.frame = span_word(&span, layout->tstate_frame);
		break;
	case PY_FRAME_CFRAME:
		if (!memory_read_u64(memory,
				     span_word(&span, layout->tstate_cframe) +
					     layout->cframe_current_frame,
				     &tstate.frame))
			return REASON_MEMORY_FAULT;
		break;
	case PY_FRAME_INTERPRETER:
		tstate.frame = span_word(&span, layout->tstate_current_frame);
		break;
	}
	if (!plausible(tstate.interp) || (tstate.frame && !plausible(tstate.frame)))
		return REASON_BAD_THREAD_STATE;
	*tstate_ret = tstate;
	return REASON_OK;
}

static enum reason walk_heap_frame(struct memory *memory, const struct py_layout *layout,
				   uint64_t address, struct py_frame *frame, uint64_t *previous_ret)
{
	const uint32_t offsets[] = { layout->frame_back, layout->frame_code, layout->frame_lasti };
	struct span span;
	enum reason reason = span_read(memory, address, offsets, 3, FRAME_SPAN_MAX, &span);
	if (reason)
		return reason;
	*frame = (struct py_frame){
		.address = address,
		.code = span_word(&span, layout->frame_code),
		.lasti = (int64_t)(int32_t)span_word(&span, layout->frame_lasti) *
			 layout->lasti_scale,
		.entry = true,
	};
	*previous_ret = span_word(&span, layout->frame_back);
	return REASON_OK;
}

/*
 * Frames lie in chunks, callers below callees:
 *
 *	chunk → previous | size | top | frame frame frame … | free
 *
 * The used part of the chunk that holds @address, up to and including that frame, is announced in one piece. A frame in none of
 * the chunks from *@chunk on belongs to a generator or to a C stack and is read by itself.
 */
static void prefetch_chunk(struct memory *memory, const struct py_layout *layout, uint64_t *chunk,
			   uint64_t address)
{
	uint64_t at = *chunk;
	for (unsigned i = 0; at && i < CHUNKS_MAX; i++) {
		uint64_t header[3];
		/* previous and size are the first two words; all versions so far have a third before the data. */
		if (layout->chunk_data > sizeof(header) || layout->chunk_data < 8 ||
		    !plausible(at) || !memory_read(memory, at, header, layout->chunk_data))
			return;
		uint64_t size = header[layout->chunk_size / 8];
		if (address >= at && address - at < size) {
			uint64_t used = address - at + layout->iframe_size;
			used = (used + CHUNK_SLACK - 1) / CHUNK_SLACK * CHUNK_SLACK;
			memory_prefetch(memory, at, used < size ? used : size);
			*chunk = at;
			return;
		}
		at = header[layout->chunk_previous / 8];
	}
}

struct iframe {
	uint64_t previous;
	uint64_t executable;
	uint64_t instr;
	uint8_t owner;
	uint8_t is_entry;
};

static enum reason read_iframe(struct memory *memory, const struct py_layout *layout,
			       uint64_t address, struct iframe *frame)
{
	uint8_t bytes[FRAME_SPAN_MAX];
	if (layout->iframe_size > sizeof(bytes))
		return REASON_LIMIT;
	if (!memory_read(memory, address, bytes, layout->iframe_size))
		return REASON_MEMORY_FAULT;
	memcpy(&frame->previous, bytes + layout->iframe_previous, 8);
	memcpy(&frame->executable, bytes + layout->iframe_executable, 8);
	memcpy(&frame->instr, bytes + layout->iframe_instr, 8);
	frame->owner = bytes[layout->iframe_owner];
	frame->is_entry = layout->iframe_is_entry == PY_ABSENT ? 0 : bytes[layout->iframe_is_entry];
	frame->executable &= ~layout->executable_tag_mask;
	return REASON_OK;
}

/* A frame that only marks where C called the evaluation loop. */
static bool is_shim(const struct py_layout *layout, const struct iframe *frame)
{
	return frame->owner == layout->owner_cstack || frame->owner == layout->owner_interpreter;
}

/* Appends @frame; a shim instead marks the frame before it as the outermost of its evaluation loop.
 */
static enum reason add_iframe(const struct py_layout *layout, uint64_t address,
			      const struct iframe *frame, size_t first, struct py_frames *frames)
{
	if (is_shim(layout, frame)) {
		if (frames->count > first)
			frames->items[frames->count - 1].entry = true;
		return REASON_OK;
	}
	struct py_frame *added = py_frames_vec_append(frames);
	if (!added)
		return REASON_NO_MEMORY;
	*added = (struct py_frame){
		.address = address,
		.code = frame->executable,
		.lasti = (int64_t)(frame->instr - (frame->executable + layout->code_instructions)),
		.entry = frame->is_entry,
	};
	return REASON_OK;
}

static enum reason add_heap_frame(const struct py_frame *frame, struct py_frames *frames)
{
	struct py_frame *added = py_frames_vec_append(frames);
	if (!added)
		return REASON_NO_MEMORY;
	*added = *frame;
	return REASON_OK;
}

enum reason frames_walk(struct memory *memory, const struct py_layout *layout,
			const struct py_tstate *tstate, struct py_frames *frames)
{
	uint64_t address = tstate->frame, chunk = tstate->datastack_chunk;
	uint64_t seen = 0; /* Brent: an address met earlier, renewed at powers of two */
	size_t first = frames->count, steps = 0;
	while (address) {
		if (!plausible(address))
			return REASON_TORN_CHAIN;
		if (address == seen)
			return REASON_CYCLE;
		if (frames->count - first >= FRAMES_MAX || steps >= 2 * FRAMES_MAX)
			return REASON_DEPTH_LIMIT;
		if ((steps & (steps - 1)) == 0)
			seen = address;
		steps++;

		enum reason reason;
		uint64_t previous;
		if (layout->frame_kind == PY_FRAME_HEAP) {
			struct py_frame frame;
			reason = walk_heap_frame(memory, layout, address, &frame, &previous);
			if (!reason)
				reason = add_heap_frame(&frame, frames);
		} else {
			struct iframe frame;
			prefetch_chunk(memory, layout, &chunk, address);
			reason = read_iframe(memory, layout, address, &frame);
			previous = frame.previous;
			if (!reason)
				reason = add_iframe(layout, address, &frame, first, frames);
		}
		if (reason)
			return reason;
		address = previous;
	}
	return REASON_OK;
}
