/* SPDX-License-Identifier: MIT */
/* calltree.c: who calls whom, and what it weighs. */
#include "aggregate/calltree.h"

#include <stdlib.h>

static uint64_t node_key(const void *data, uint32_t id)
{
	const struct calltree_node *node = &((const struct calltree *)data)->nodes.items[id];
	return idset_pair(node->parent, node->function);
}

/* The node of @function called from @parent, new or old. PROFILE_NONE without memory. */
static uint32_t find_node(struct calltree *tree, uint32_t parent, uint32_t function)
{
	uint32_t id = idset_get(&tree->index, idset_pair(parent, function), node_key, tree);
	if (id != IDSET_NONE)
		return id;
	id = (uint32_t)tree->nodes.count;
	struct calltree_node *node = calltree_nodes_append(&tree->nodes);
	if (!node)
		return PROFILE_NONE;
	*node = (struct calltree_node){
		.parent = parent,
		.function = function,
		.child = PROFILE_NONE,
		.sibling = PROFILE_NONE,
	};
	return idset_put(&tree->index, id, node_key, tree) ? id : PROFILE_NONE;
}

static struct error *add_stacks(struct calltree *tree, const uint32_t *same, uint32_t *nodes)
{
	const struct profile *profile = tree->profile;
	for (size_t i = 0; i < profile->stacks.count; i++) {
		const struct profile_stack *stack = &profile->stacks.items[i];
		uint32_t parent =
			stack->parent == PROFILE_NONE ? PROFILE_NONE : nodes[stack->parent];
		uint32_t function = profile->frames.items[stack->frame].function;
		nodes[i] = find_node(tree, parent, same ? same[function] : function);
		if (nodes[i] == PROFILE_NONE)
			return error_no_memory();
	}
	return NULL;
}

static void add_samples(struct calltree *tree, const uint32_t *nodes, calltree_weigh weigh,
			const void *data)
{
	vec_foreach (sample, &tree->profile->samples) {
		uint64_t weight = weigh(data, sample);
		tree->sum += weight;
		if (sample->stack == PROFILE_NONE)
			tree->no_frames += weight;
		else
			tree->nodes.items[nodes[sample->stack]].own += weight;
	}
	/* Callees come after their callers. */
	for (size_t i = tree->nodes.count; i-- > 0;) {
		struct calltree_node *node = &tree->nodes.items[i];
		node->total += node->own;
		if (node->parent != PROFILE_NONE)
			tree->nodes.items[node->parent].total += node->total;
	}
}

static int compare_nodes(const void *a, const void *b, void *data)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct calltree_node *nodes = data;
	if (nodes[x].total != nodes[y].total)
		return nodes[x].total < nodes[y].total ? -1 : 1;
	return x > y ? -1 : 1;
}

/* Puts the lightest nodes in front of their siblings first, so that the heaviest come to the front. */
static struct error *link_nodes(struct calltree *tree)
{
	size_t count = tree->nodes.count;
	struct calltree_node *nodes = tree->nodes.items;
	tree->outermost = PROFILE_NONE;
	if (!count)
		return NULL;
	_cleanup_free_ uint32_t *order = calloc(count, sizeof(*order));
	if (!order)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), compare_nodes, nodes);
	for (size_t i = 0; i < count; i++) {
		struct calltree_node *node = &nodes[order[i]];
		uint32_t *head = node->parent == PROFILE_NONE ? &tree->outermost
							      : &nodes[node->parent].child;
		node->sibling = *head;
		*head = order[i];
	}
	return NULL;
}

void calltree_walk(const struct calltree *tree, calltree_visit visit, void *data)
{
	const struct calltree_node *nodes = tree->nodes.items;
	uint32_t node = tree->outermost;
	unsigned depth = 0;
	while (node != PROFILE_NONE) {
		if (visit(data, node, depth, true) && nodes[node].child != PROFILE_NONE) {
			node = nodes[node].child;
			depth++;
			continue;
		}
		visit(data, node, depth, false);
		while (nodes[node].sibling == PROFILE_NONE && nodes[node].parent != PROFILE_NONE) {
			node = nodes[node].parent;
			depth--;
			visit(data, node, depth, false);
		}
		node = nodes[node].sibling;
	}
}

struct totals {
	struct calltree *tree;
	uint32_t *open; /* by function: how many of its nodes the walk is in */
};

static bool add_total(void *data, uint32_t id, unsigned depth, bool enter)
{
	struct totals *totals = data;
	const struct calltree_node *node = &totals->tree->nodes.items[id];
	struct calltree_function *function = &totals->tree->functions[node->function];
	if (!enter) {
		totals->open[node->function]--;
		return true;
	}
	if (!totals->open[node->function]++)
		function->total += node->total;
	function->own += node->own;
	return true;
}

static struct error *add_functions(struct calltree *tree)
{
	size_t count = tree->profile->functions.count;
	tree->functions = calloc(count + 1, sizeof(*tree->functions));
	_cleanup_free_ uint32_t *open = calloc(count + 1, sizeof(*open));
	if (!tree->functions || !open)
		return error_no_memory();
	struct totals totals = { tree, open };
	calltree_walk(tree, add_total, &totals);
	return NULL;
}

struct error *calltree_create(const struct profile *profile, const uint32_t *same,
			      calltree_weigh weigh, const void *data, struct calltree **tree_ret)
{
	_cleanup_calltree_ struct calltree *tree = calloc(1, sizeof(*tree));
	_cleanup_free_ uint32_t *nodes = calloc(profile->stacks.count + 1, sizeof(*nodes));
	if (!tree || !nodes)
		return error_no_memory();
	tree->profile = profile;
	struct error *err = add_stacks(tree, same, nodes);
	if (err)
		return err;
	add_samples(tree, nodes, weigh, data);
	err = link_nodes(tree);
	if (!err)
		err = add_functions(tree);
	if (err)
		return err;
	*tree_ret = no_cleanup(tree);
	return NULL;
}

void calltree_destroy(struct calltree *tree)
{
	if (!tree)
		return;
	calltree_nodes_deinit(&tree->nodes);
	free(tree->functions);
	idset_deinit(&tree->index);
	free(tree);
}
