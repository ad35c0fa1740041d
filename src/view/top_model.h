/* SPDX-License-Identifier: MIT */
/*
 * top_model.h: a profile that grows → times of functions and threads, of the last seconds and since the start.
 *
 * The model takes in what was added to the profile since the last time, in passes that are cut into short steps: between two ticks
 * there is no time to walk a hundred thousand stacks. What it keeps grows with the distinct samples of the profile, not with time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregate/profile.h"
#include "base/error.h"
#include "base/vec.h"
#include "view/top_table.h"

/* How far back "recent" reaches. */
#define TOP_RECENT_NS (UINT64_C(5) * 1000 * 1000 * 1000)
/* Samples and stacks that a step visits: about a millisecond. */
#define TOP_STEP_VISITS 20000

/* Wall time of a thread by what it was seen doing. */
struct top_activity {
	uint64_t running_ns;
	uint64_t idle_ns;
	uint64_t gil_ns; /* running or idle, and holding the GIL */
};

struct top_thread {
	struct top_activity recent, all;
	uint32_t stack;    /* how it was lately found: PROFILE_NONE without frames, */
	unsigned flags;    /* enum profile_flags */
	uint64_t stack_ns; /* private: for how long, */
	uint64_t seen_ns;  /* and the begin of that pass: the last one that found it */
};

DEFINE_VEC(struct top_threads, top_threads, struct top_thread)

struct top_model;

struct error *top_model_create(struct top_model **model_ret);
void top_model_destroy(struct top_model *model);
DEFINE_CLEANUP(top_model_cleanup, struct top_model, top_model_destroy)
#define _cleanup_top_model_ _cleanup_(top_model_cleanup)

void top_model_set_namer(struct top_model *model, const struct top_namer *namer);
const struct top_settings *top_model_settings(const struct top_model *model);
/* Takes effect with the next pass, which counts everything anew. */
void top_model_set(struct top_model *model, const struct top_settings *settings);
/* "Since the start" begins now, with what has been taken in so far. Takes effect with the next pass. */
void top_model_reset(struct top_model *model);

/*
 * Begins a pass that takes in what @profile has at @now_ns. It must be the same profile each time, but it may have grown. What came
 * in after a longer gap than TOP_RECENT_NS is not recent.
 */
void top_model_begin(struct top_model *model, const struct profile *profile, uint64_t now_ns);
/* The same, to count again what was taken in so far, as after a change of settings. */
void top_model_again(struct top_model *model);
/* Goes on with the pass. True at its end: the rows are whole, and stay so until the next pass begins. */
bool top_model_step(struct top_model *model);
/* True if something could not be kept: the numbers are wrong from then on. */
bool top_model_failed(const struct top_model *model);

/* All that was counted under these settings: shares are shares of it. */
uint64_t top_model_recent_ns(const struct top_model *model);
uint64_t top_model_all_ns(const struct top_model *model);
/* The time before the pass that "recent" stands for. */
uint64_t top_model_window_ns(const struct top_model *model);
/* Rows in the order in which they were first seen, some without time. */
const struct top_rows *top_model_rows(const struct top_model *model);
/* By thread of the profile; there may be fewer. */
const struct top_threads *top_model_threads(const struct top_model *model);
/* The profile of the last pass; NULL before the first one. */
const struct profile *top_model_profile(const struct top_model *model);
/* The row of the innermost frame of @stack that has one; NULL: none. */
const struct top_row *top_model_leaf(const struct top_model *model, uint32_t stack);
