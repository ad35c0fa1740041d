/* SPDX-License-Identifier: MIT */
/* agreement.c: how far two walks over one stack agree. */
#include "unwind/agreement.h"

static bool is_same(const struct native_frame *a, const struct native_frame *b)
{
	return a->pc == b->pc && a->sp == b->sp;
}

static size_t common_inner(const struct native_frames *a, const struct native_frames *b)
{
	size_t n = 0;
	while (n < a->count && n < b->count && is_same(&a->items[n], &b->items[n]))
		n++;
	return n;
}

/* Not counting the @inner innermost frames of either. */
static size_t common_outer(const struct native_frames *a, const struct native_frames *b,
			   size_t inner)
{
	size_t n = 0;
	while (n < a->count - inner && n < b->count - inner &&
	       is_same(&a->items[a->count - 1 - n], &b->items[b->count - 1 - n]))
		n++;
	return n;
}

static void compare_fp(const struct native_frames *a, const struct native_frames *b, size_t inner,
		       struct agreement *agreement)
{
	for (size_t i = 0; i < inner; i++) {
		if (!a->items[i].has_fp || !b->items[i].has_fp)
			continue;
		bool same = a->items[i].fp == b->items[i].fp;
		if (!same && agreement->fp_compared == agreement->fp_agreed)
			agreement->fp_at = i;
		agreement->fp_compared++;
		agreement->fp_agreed += same;
	}
}

static enum agreement_kind kind_at(const struct native_frames *a, const struct native_frames *b,
				   size_t at)
{
	if (at >= a->count && at >= b->count)
		return AGREEMENT_FULL;
	if (at >= a->count)
		return AGREEMENT_FIRST_ENDS;
	if (at >= b->count)
		return AGREEMENT_SECOND_ENDS;
	return a->items[at].pc == b->items[at].pc ? AGREEMENT_SP : AGREEMENT_PC;
}

struct agreement agreement_of(const struct native_frames *first, const struct native_frames *second)
{
	size_t inner = common_inner(first, second);
	struct agreement agreement = {
		.kind = kind_at(first, second, inner),
		.compared = first->count > second->count ? first->count : second->count,
		.agreed = inner + common_outer(first, second, inner),
		.at = inner,
	};
	compare_fp(first, second, inner, &agreement);
	return agreement;
}
