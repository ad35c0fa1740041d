/* SPDX-License-Identifier: MIT */
/* collect.c: a sample's frames → a stack of a profile. */
#include "collect.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"

void collector_deinit(struct collector *collector)
{
	free(collector->frames);
	*collector = (struct collector){ 0 };
}

static uint32_t add_frame(struct profile *profile, const struct sample_frame *frame)
{
	uint32_t function = profile_function(profile, frame->code->name, frame->code->filename,
					     frame->code->firstlineno, PROFILE_PYTHON);
	return profile_frame(profile, function, frame->line);
}

static uint32_t cut_mark(struct profile *profile, enum reason end)
{
	char text[64];
	snprintf(text, sizeof(text), "[cut: %s]", reason_name(end));
	return profile_frame(profile, profile_function(profile, text, NULL, 0, PROFILE_MARKER), 0);
}

enum reason collect_stack(struct collector *collector, struct profile *profile,
			  const struct sample *sample, uint32_t *stack_ret)
{
	size_t count = sample->count + (sample->end != REASON_OK), at = 0;
	if (!vec_reserve_((void **)&collector->frames, &collector->capacity, count,
			  sizeof(*collector->frames)))
		return REASON_NO_MEMORY;
	if (sample->end)
		collector->frames[at++] = cut_mark(profile, sample->end);
	for (size_t i = sample->count; i-- > 0; at++) {
		const struct sample_frame *frame = &sample->frames[i];
		/* Recursion: the frame before is the same. */
		bool again = i + 1 < sample->count && frame->code == frame[1].code &&
			     frame->line == frame[1].line;
		collector->frames[at] =
			again ? collector->frames[at - 1] : add_frame(profile, frame);
	}
	return profile_stack(profile, collector->frames, count, stack_ret);
}
