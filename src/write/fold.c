/* SPDX-License-Identifier: MIT */
/* fold.c: a profile's stacks seen through labels. */
#include "write/fold.h"

#include <stdlib.h>
#include <string.h>

static uint64_t node_key(const void *data, uint32_t id)
{
	const struct fold_node *node = &((const struct fold *)data)->nodes.items[id];
	return idset_pair(node->parent, node->label);
}

static uint64_t line_key(const void *data, uint32_t id)
{
	const struct fold_line *line = &((const struct fold *)data)->lines.items[id];
	return idset_pair(line->group, line->node);
}

/* The node of @label under @parent, new or old; PROFILE_NONE without memory. */
static uint32_t fold_child(struct fold *fold, struct idset *index, uint32_t parent, uint32_t label)
{
	uint32_t id = idset_get(index, idset_pair(parent, label), node_key, fold);
	if (id != IDSET_NONE)
		return id;
	id = (uint32_t)fold->nodes.count;
	struct fold_node *node = fold_nodes_append(&fold->nodes);
	if (!node)
		return PROFILE_NONE;
	*node = (struct fold_node){ parent, label };
	return idset_put(index, id, node_key, fold) ? id : PROFILE_NONE;
}

/* Parents come before their children, so one pass meets only merged parents. */
static bool fold_merge(struct fold *fold)
{
	const struct profile *profile = fold->profile;
	fold->node_of_stack = calloc(profile->stacks.count + 1, sizeof(*fold->node_of_stack));
	if (!fold->node_of_stack)
		return false;
	struct idset index = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < profile->stacks.count; i++) {
		const struct profile_stack *stack = &profile->stacks.items[i];
		uint32_t parent = stack->parent == PROFILE_NONE
					  ? PROFILE_NONE
					  : fold->node_of_stack[stack->parent];
		uint32_t node = fold_child(fold, &index, parent, fold->labels[stack->frame]);
		fold->node_of_stack[i] = node;
		ok = node != PROFILE_NONE;
	}
	idset_deinit(&index);
	return ok;
}

static uint64_t label_key(const void *labels, uint32_t id)
{
	return ((const uint32_t *)labels)[id];
}

/* Two frames with the same label are what makes stacks equal. */
static bool find_equal_labels(const struct profile *profile, const uint32_t *labels, bool *any_ret)
{
	struct idset seen = { 0 };
	bool ok = true, any = false;
	for (uint32_t i = 0; ok && !any && i < profile->frames.count; i++) {
		any = idset_get(&seen, labels[i], label_key, labels) != IDSET_NONE;
		ok = idset_put(&seen, i, label_key, labels);
	}
	idset_deinit(&seen);
	*any_ret = any;
	return ok;
}

struct error *fold_create(const struct profile *profile, const uint32_t *labels,
			  struct fold **fold_ret)
{
	_cleanup_fold_ struct fold *fold = calloc(1, sizeof(*fold));
	if (!fold)
		return error_no_memory();
	size_t size = profile->frames.count * sizeof(*labels);
	fold->profile = profile;
	fold->labels = malloc(size + 1);
	if (!fold->labels)
		return error_no_memory();
	memcpy(fold->labels, labels, size);
	bool merges;
	if (!find_equal_labels(profile, labels, &merges) || (merges && !fold_merge(fold)))
		return error_no_memory();
	*fold_ret = no_cleanup(fold);
	return NULL;
}

void fold_destroy(struct fold *fold)
{
	if (!fold)
		return;
	free(fold->labels);
	free(fold->node_of_stack);
	free(fold->path);
	fold_nodes_deinit(&fold->nodes);
	fold_lines_deinit(&fold->lines);
	idset_deinit(&fold->line_index);
	free(fold);
}

struct error *fold_add(struct fold *fold, uint32_t group, uint32_t stack, uint64_t weight)
{
	if (!weight)
		return NULL;
	bool merged = stack != PROFILE_NONE && fold->node_of_stack;
	uint32_t node = merged ? fold->node_of_stack[stack] : stack;
	uint32_t known = idset_get(&fold->line_index, idset_pair(group, node), line_key, fold);
	if (known != IDSET_NONE) {
		fold->lines.items[known].weight += weight;
		return NULL;
	}

	uint32_t id = (uint32_t)fold->lines.count;
	struct fold_line *line = fold_lines_append(&fold->lines);
	if (!line)
		return error_no_memory();
	*line = (struct fold_line){ group, node, weight };
	return idset_put(&fold->line_index, id, line_key, fold) ? NULL : error_no_memory();
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
	idset_deinit(&fold->line_index);
}

size_t fold_node_count(const struct fold *fold)
{
	return fold->node_of_stack ? fold->nodes.count : fold->profile->stacks.count;
}

uint32_t fold_step(const struct fold *fold, uint32_t *node)
{
	if (fold->node_of_stack) {
		const struct fold_node *merged = &fold->nodes.items[*node];
		*node = merged->parent;
		return merged->label;
	}
	const struct profile_stack *stack = &fold->profile->stacks.items[*node];
	*node = stack->parent;
	return fold->labels[stack->frame];
}

const uint32_t *fold_path(struct fold *fold, uint32_t node, size_t *count_ret)
{
	size_t count = 0;
	for (uint32_t n = node; n != PROFILE_NONE; count++)
		fold_step(fold, &n);
	if (!vec_reserve_((void **)&fold->path, &fold->path_capacity, count + 1,
			  sizeof(*fold->path)))
		return NULL;
	size_t i = count;
	for (uint32_t n = node; n != PROFILE_NONE;)
		fold->path[--i] = fold_step(fold, &n);
	*count_ret = count;
	return fold->path;
}
