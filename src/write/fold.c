/* SPDX-License-Identifier: MIT */
/* fold.c: a profile's stacks seen through labels. */
#include "write/fold.h"

#include <stdlib.h>

static uint64_t key_of(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* The node of @label under @parent, new or old; PROFILE_NONE without memory. */
static uint32_t fold_child(struct fold *fold, struct hash *index, uint32_t parent, uint32_t label)
{
	uint64_t key = key_of(parent, label);
	uint32_t id = (uint32_t)(uintptr_t)hash_get(index, key) - 1;
	if (id != PROFILE_NONE)
		return id;
	id = (uint32_t)fold->nodes.count;
	if (!fold_nodes_reserve(&fold->nodes, (size_t)id + 1) ||
	    !hash_set(index, key, (void *)((uintptr_t)id + 1)))
		return PROFILE_NONE;
	*fold_nodes_append(&fold->nodes) = (struct fold_node){ parent, label };
	return id;
}

/* Parents come before their children, so one pass meets only merged parents. */
static bool fold_merge(struct fold *fold, const struct profile *profile, const uint32_t *labels)
{
	struct hash index = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < profile->stacks.count; i++) {
		const struct profile_stack *stack = &profile->stacks.items[i];
		uint32_t parent = stack->parent == PROFILE_NONE
					  ? PROFILE_NONE
					  : fold->node_of_stack[stack->parent];
		uint32_t node = fold_child(fold, &index, parent, labels[stack->frame]);
		fold->node_of_stack[i] = node;
		ok = node != PROFILE_NONE;
	}
	hash_deinit(&index);
	return ok;
}

/* Frames of the deepest stack. */
static bool fold_reserve_path(struct fold *fold)
{
	size_t count = fold->nodes.count;
	_cleanup_free_ uint32_t *depths = calloc(count + 1, sizeof(*depths));
	if (!depths)
		return false;
	uint32_t deepest = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t parent = fold->nodes.items[i].parent;
		depths[i] = parent == PROFILE_NONE ? 1 : depths[parent] + 1;
		if (depths[i] > deepest)
			deepest = depths[i];
	}
	fold->path = calloc((size_t)deepest + 1, sizeof(*fold->path));
	return fold->path;
}

struct error *fold_create(const struct profile *profile, const uint32_t *labels,
			  struct fold **fold_ret)
{
	_cleanup_fold_ struct fold *fold = calloc(1, sizeof(*fold));
	if (!fold)
		return error_no_memory();
	fold->node_of_stack = calloc(profile->stacks.count + 1, sizeof(*fold->node_of_stack));
	if (!fold->node_of_stack || !fold_merge(fold, profile, labels) || !fold_reserve_path(fold))
		return error_no_memory();
	*fold_ret = no_cleanup(fold);
	return NULL;
}

void fold_destroy(struct fold *fold)
{
	if (!fold)
		return;
	free(fold->node_of_stack);
	free(fold->path);
	fold_nodes_deinit(&fold->nodes);
	fold_lines_deinit(&fold->lines);
	hash_deinit(&fold->line_index);
	free(fold);
}

struct error *fold_add(struct fold *fold, uint32_t group, uint32_t stack, uint64_t weight)
{
	if (!weight)
		return NULL;
	uint32_t node = stack == PROFILE_NONE ? PROFILE_NONE : fold->node_of_stack[stack];
	uint64_t key = key_of(group, node);
	uintptr_t known = (uintptr_t)hash_get(&fold->line_index, key);
	if (known) {
		fold->lines.items[known - 1].weight += weight;
		return NULL;
	}

	size_t count = fold->lines.count;
	if (!fold_lines_reserve(&fold->lines, count + 1) ||
	    !hash_set(&fold->line_index, key, (void *)(count + 1)))
		return error_no_memory();
	*fold_lines_append(&fold->lines) = (struct fold_line){ group, node, weight };
	return NULL;
}

static int compare_lines(const void *a, const void *b)
{
	const struct fold_line *x = a, *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	/* Unique in a group, and in the order in which stacks were first seen. */
	return x->node < y->node ? -1 : 1;
}

void fold_sort(struct fold *fold)
{
	if (fold->lines.count)
		qsort(fold->lines.items, fold->lines.count, sizeof(*fold->lines.items),
		      compare_lines);
	/* Line numbers are no longer what the index says. */
	hash_deinit(&fold->line_index);
}

const uint32_t *fold_path(struct fold *fold, uint32_t node, size_t *count_ret)
{
	size_t count = 0;
	for (uint32_t n = node; n != PROFILE_NONE; n = fold->nodes.items[n].parent)
		count++;
	size_t i = count;
	for (uint32_t n = node; n != PROFILE_NONE; n = fold->nodes.items[n].parent)
		fold->path[--i] = fold->nodes.items[n].label;
	*count_ret = count;
	return fold->path;
}
