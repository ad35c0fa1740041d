/* SPDX-License-Identifier: MIT */
/*
 * calltree.h: a profile's stacks as one tree with weights, by function.
 *
 * Labels are functions of the profile, then its processes, then its threads: a profile of several processes has a node for each below the
 * root, and one for each thread where the options ask for that. Children are in the order of their weights.
 */
#pragma once

#include <stdint.h>

#include "aggregate/profile.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "write/writer.h"

#define CALLTREE_ROOT 0

struct calltree_node {
	uint32_t parent; /* PROFILE_NONE: the root; else lower than the own number */
	uint32_t label;
	uint64_t own;
	uint64_t total;
	uint32_t first; /* heaviest child, PROFILE_NONE: none */
	uint32_t next;  /* next child of the same parent */
};

DEFINE_VEC(struct calltree_nodes, calltree_nodes, struct calltree_node);

struct calltree {
	const struct profile *profile;
	struct calltree_nodes nodes;
};

/* Weights as writer_weight says, with @fallback. @profile must outlive the tree, which is zeroed before. */
struct error *calltree_init(struct calltree *tree, const struct profile *profile,
			    const struct writer_options *options, enum writer_weights fallback);
void calltree_deinit(struct calltree *tree);

/* The function that @label stands for; PROFILE_NONE for a process or a thread. */
uint32_t calltree_function(const struct calltree *tree, uint32_t label);
/* Appends the name of what @label stands for, escaped for a line. */
void calltree_add_name(const struct calltree *tree, uint32_t label, struct strbuf *buf);
