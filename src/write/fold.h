/* SPDX-License-Identifier: MIT */
/*
 * fold.h: a profile's stacks seen through labels.
 *
 * A format that shows less than a frame holds (no line, say) makes different stacks equal. The
 * caller gives each frame a label; fold merges the stacks that have the same labels, and adds up
 * weights by group (a thread, say) and merged stack.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregate/profile.h"
#include "base/error.h"
#include "base/idset.h"
#include "base/vec.h"

struct fold_node {
	uint32_t parent; /* PROFILE_NONE: outermost */
	uint32_t label;
};

struct fold_line {
	uint32_t group;
	uint32_t node; /* PROFILE_NONE: the stack without frames */
	uint64_t weight;
};

DEFINE_VEC(struct fold_nodes, fold_nodes, struct fold_node);
DEFINE_VEC(struct fold_lines, fold_lines, struct fold_line);

struct fold {
	const struct profile *profile;
	uint32_t *labels; /* by frame id of the profile */
	/* Both empty where no two frames have the same label: then nodes are the profile's stacks as they are. */
	uint32_t *node_of_stack; /* by stack id of the profile */
	struct fold_nodes nodes;
	struct fold_lines lines;
	struct idset line_index; /* by group and node */
	uint32_t *path;
	size_t path_capacity;
};

/* Merges the stacks of @profile; which must outlive the fold; @labels has a label for each of its frames. */
struct error *fold_create(const struct profile *profile, const uint32_t *labels,
			  struct fold **fold_ret);
void fold_destroy(struct fold *fold);
DEFINE_CLEANUP(fold_cleanup, struct fold, fold_destroy)
#define _cleanup_fold_ _cleanup_(fold_cleanup)

/* Adds @weight to a stack of the profile in @group. A weight of 0 adds nothing, not even a line. */
struct error *fold_add(struct fold *fold, uint32_t group, uint32_t stack, uint64_t weight);
/* Sorts lines by group, then the heaviest first, then as they were added. */
void fold_sort(struct fold *fold);
/* The labels of @node, outermost first, valid until the next call. NULL without memory. */
const uint32_t *fold_path(struct fold *fold, uint32_t node, size_t *count_ret);
/* The label of @node, which becomes its parent's: PROFILE_NONE after the outermost. A parent's number is lower than its children's. */
uint32_t fold_step(const struct fold *fold, uint32_t *node);
/* All nodes are lower than this. */
size_t fold_node_count(const struct fold *fold);
