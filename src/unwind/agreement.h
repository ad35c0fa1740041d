/* SPDX-License-Identifier: MIT */
/*
 * agreement.h: how far two walks over one stack agree.
 *
 * A frame is the same in both if its pc and its stack pointer are. Where one of the walks went astray and found back, the frames
 * outside of that are the same again: they are aligned from the outer end. Of frames that are the same, the frame pointer register is
 * compared too, where both walks know it: a wrong one is the next frame's wrong caller.
 */
#pragma once

#include <stddef.h>

#include "unwind/walk.h"

enum agreement_kind {
	AGREEMENT_FULL,
	AGREEMENT_PC,          /* the caller is at another pc */
	AGREEMENT_SP,          /* the caller is at the same pc, its stack pointer is another one */
	AGREEMENT_FIRST_ENDS,  /* the first walk has no more frames, the second has */
	AGREEMENT_SECOND_ENDS, /* the other way round */
	AGREEMENT_FP, /* all of that is the same, but not the frame pointer of some frame */
	AGREEMENT_KINDS_
};

struct agreement {
	enum agreement_kind kind;
	size_t compared; /* frames of the longer walk */
	size_t agreed;   /* of these, those that are the same in both */
	size_t at; /* the innermost frame that is not the same in both; its callee's rule is in question */
	size_t fp_compared, fp_agreed; /* of the same frames at the inner end */
	size_t fp_at; /* the innermost with another frame pointer, if there is one */
};

struct agreement agreement_of(const struct native_frames *first,
			      const struct native_frames *second);
