/* SPDX-License-Identifier: MIT */
/*
 * calltree.h: who calls whom, and what it weighs.
 *
 * The stacks of a profile with the lines left out: a node is a function in one place of the tree. Its own weight is that of the
 * samples which end there, its total weight that of all which go through it. A function that is in a stack more than once counts
 * there once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "aggregate/profile.h"
#include "base/error.h"
#include "base/idset.h"
#include "base/vec.h"

struct calltree_node {
	uint32_t parent; /* PROFILE_NONE: outermost; always lower than the own number */
	uint32_t function;
	uint32_t child;   /* the heaviest one; PROFILE_NONE: none */
	uint32_t sibling; /* the next one of the same caller, not heavier; PROFILE_NONE: none */
	uint64_t own;
	uint64_t total;
};

struct calltree_function {
	uint64_t own;
	uint64_t total;
};

DEFINE_VEC(struct calltree_nodes, calltree_nodes, struct calltree_node);

struct calltree {
	const struct profile *profile;
	struct calltree_nodes nodes;
	uint32_t outermost;                  /* the heaviest one; PROFILE_NONE: there are none */
	uint64_t sum;                        /* of all samples */
	uint64_t no_frames;                  /* of that, samples without a stack */
	struct calltree_function *functions; /* by function id of the profile */
	struct idset index;                  /* nodes by parent and function */
};

/* What a sample weighs; 0 leaves it out. */
typedef uint64_t (*calltree_weigh)(const void *data, const struct profile_sample *sample);

/*
 * @profile must outlive the tree. @same: for each function of the profile the one that it is to be taken for, or NULL: each is
 * itself.
 */
struct error *calltree_create(const struct profile *profile, const uint32_t *same,
			      calltree_weigh weigh, const void *data, struct calltree **tree_ret);
void calltree_destroy(struct calltree *tree);
DEFINE_CLEANUP(calltree_cleanup, struct calltree, calltree_destroy)
#define _cleanup_calltree_ _cleanup_(calltree_cleanup)

/* Called on the way down into a node and, with @enter false, on the way out. False on the way in: not into its callees. */
typedef bool (*calltree_visit)(void *data, uint32_t node, unsigned depth, bool enter);
/* Goes through all nodes, callers before their callees, heavier ones first. */
void calltree_walk(const struct calltree *tree, calltree_visit visit, void *data);
