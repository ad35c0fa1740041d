/* SPDX-License-Identifier: MIT */
/* sampler_unstopped.c: the Python frames of a thread that runs on while it is read. */
#include "sampler_grab.h"

/*
 * How often a sample is tried. A try is a system call of a few microseconds. Of a program that does little but call and return one in
 * two to one in fifty succeeds, by how far apart its frames lie (docs/performance.md).
 */
#define TRIES_MAX 256

/*
 * The innermost frame's instruction changes all the time and is a word of its own. That of a caller does not change until what it
 * called has returned.
 */
static bool same_chain(const struct py_frames *a, const struct py_frames *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct py_frame *x = &a->items[i], *y = &b->items[i];
		if (x->address != y->address || x->code != y->code || x->entry != y->entry ||
		    (i > 0 && x->lasti != y->lasti))
			return false;
	}
	return true;
}

static size_t known_codes(const struct subject *subject)
{
	size_t count = 0;
	for (size_t i = 0; i < subject->runtime_count; i++)
		count += code_cache_count(subject->runtimes[i].codes);
	return count;
}

/*
 * Walks one copy. What the plan lacked was read too late to be compared: it is planned for, and the copy is of no use. The same with
 * code objects that had to be read: only one that was there before the copy and is afterwards (resolve_frames) is the frame's.
 */
static enum reason walk_copy(struct grab *grab, struct py_frames *frames)
{
	struct sampler *sampler = grab->sampler;
	struct snapshot *snapshot = &sampler->snapshot;
	size_t known = known_codes(sampler->subject);
	grab->frames = frames;
	enum reason reason = grab_stack(grab, snapshot);
	blocks_end(&snapshot->blocks);
	if (snapshot->blocks.missed) {
		blocks_learn(&snapshot->blocks, &grab->sampled->plan);
		return REASON_MOVED;
	}
	return known_codes(sampler->subject) == known ? reason : REASON_MOVED;
}

static enum reason try_unstopped(struct grab *grab)
{
	struct sampler *sampler = grab->sampler;
	capture_running(&sampler->capture, grab->thread, &grab->sampled->plan, &sampler->snapshot,
			&sampler->twin);
	enum reason first = walk_copy(grab, &sampler->again);
	if (first == REASON_MOVED)
		return first;
	struct blocks blocks = sampler->snapshot.blocks;
	sampler->snapshot.blocks = sampler->twin;
	sampler->twin = blocks;
	enum reason second = walk_copy(grab, &sampler->frames);
	if (first != second || !same_chain(&sampler->again, &sampler->frames))
		return REASON_MOVED;
	return second;
}

/* What a second look may not find again. */
static bool is_of_a_moment(enum reason reason)
{
	return reason && reason != REASON_DEPTH_LIMIT && reason != REASON_NO_THREAD_STATE;
}

enum reason grab_unstopped(struct grab *grab)
{
	enum reason reason = REASON_MOVED;
	for (int i = 0; i < TRIES_MAX && is_of_a_moment(reason); i++)
		reason = try_unstopped(grab);
	return reason;
}
