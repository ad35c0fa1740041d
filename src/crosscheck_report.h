/* SPDX-License-Identifier: MIT */
/*
 * crosscheck_report.h: where two walks differ, grouped, and the text about it.
 *
 * Differences are the same if they are of one kind and begin at the same pc of the same module.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "native.h"
#include "unwind/agreement.h"
#include "unwind/crosscheck.h"

/* Two walks over one stack. */
struct crosscheck_pair {
	bool they_know; /* libunwind has unwind information for the frame before the first that differs */
	const struct native_frames *ours;
	const struct native_frames *theirs;
	const struct crosscheck_places *places; /* of theirs */
	enum reason our_end, their_end;
};

struct finding {
	enum agreement_kind kind;
	uint64_t pc,
		vaddr; /* in the process and in the module, of the frame whose rule is in question */
	char *module;
	char *text; /* everything about the first of them, some lines */
	uint64_t count;
};

DEFINE_VEC(struct findings, findings_vec, struct finding)

struct crosscheck_counts {
	uint64_t stops, equal; /* stacks that are the same in both from end to end */
	uint64_t frames, agreed;
	uint64_t fp_compared, fp_agreed; /* frame pointers, of frames that are the same */
	uint64_t our_complete, their_complete;
	uint64_t both_end; /* the same frames, but not down to the outermost one */
	uint64_t kinds[AGREEMENT_KINDS_];
	uint64_t our_ends[REASON_COUNT_]; /* how our walks ended */
	/* Stacks that differ from a frame on for which one of the two found no unwind information: a guess is no opinion. */
	uint64_t our_guesses, their_guesses,
		guessed_frames; /* the frames are not among those compared */
	uint64_t not_held, cut; /* attempts that gave no stack to compare */
};

struct crosscheck_report {
	struct crosscheck_counts counts;
	struct findings findings;
};

void crosscheck_report_deinit(struct crosscheck_report *report);
/* Counts @pair and describes what is new in it. False without memory. */
bool crosscheck_report_add(struct crosscheck_report *report, struct native *native,
			   const struct crosscheck_pair *pair);
/* Of a hundred frames, how many are the same; 0 without any. */
double crosscheck_report_percent(const struct crosscheck_report *report);
void crosscheck_report_print(const struct crosscheck_report *report, struct strbuf *text);
