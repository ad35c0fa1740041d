/* SPDX-License-Identifier: MIT */
/* calltree.c: a profile's stacks as one tree with weights, by function. */
#include "write/calltree.h"

#include <stdlib.h>

#include "base/idset.h"
#include "write/text.h"

struct builder {
	struct calltree *tree;
	struct idset index; /* by parent and label */
	uint32_t *trunks; /* by thread: the node that its stacks stand on, PROFILE_NONE: none yet */
	uint32_t *nodes;  /* by stack, below the trunk at hand */
	const struct writer_options *options;
	enum writer_weights fallback;
};

static uint64_t node_key(const void *nodes, uint32_t id)
{
	const struct calltree_node *node = &((const struct calltree_nodes *)nodes)->items[id];
	return idset_pair(node->parent, node->label);
}

/* PROFILE_NONE without memory. */
static uint32_t child(struct builder *b, uint32_t parent, uint32_t label)
{
	struct calltree_nodes *nodes = &b->tree->nodes;
	uint32_t id = idset_get(&b->index, idset_pair(parent, label), node_key, nodes);
	if (id != IDSET_NONE)
		return id;
	id = (uint32_t)nodes->count;
	struct calltree_node *node = calltree_nodes_append(nodes);
	if (!node)
		return PROFILE_NONE;
	*node = (struct calltree_node){ parent, label, 0, 0, PROFILE_NONE, PROFILE_NONE };
	return idset_put(&b->index, id, node_key, nodes) ? id : PROFILE_NONE;
}

/* The node of a thread's or process's frame that its stacks stand on. */
static uint32_t trunk(struct builder *b, uint32_t thread)
{
	const struct profile *profile = b->tree->profile;
	uint32_t label = (uint32_t)profile->functions.count;
	uint32_t node = CALLTREE_ROOT;
	if (profile->processes.count > 1)
		node = child(b, node, label + profile->threads.items[thread].process);
	label += (uint32_t)profile->processes.count;
	if (node != PROFILE_NONE && b->options->threads)
		node = child(b, node, label + thread);
	return node;
}

/* The node of @stack on @base. Walked from the outermost frame; a stack's parent has a lower number. */
static uint32_t node_of(struct builder *b, uint32_t base, uint32_t stack)
{
	const struct profile *profile = b->tree->profile;
	size_t depth = 0;
	for (uint32_t s = stack; s != PROFILE_NONE; s = profile->stacks.items[s].parent)
		b->nodes[depth++] = profile->stacks.items[s].frame;
	uint32_t node = base;
	while (depth-- && node != PROFILE_NONE)
		node = child(b, node, profile->frames.items[b->nodes[depth]].function);
	return node;
}

static bool add_samples(struct builder *b)
{
	const struct profile *profile = b->tree->profile;
	vec_foreach (sample, &profile->samples) {
		uint64_t weight = writer_weight(profile, b->options, b->fallback, sample);
		if (!weight)
			continue;
		if (b->trunks[sample->thread] == PROFILE_NONE)
			b->trunks[sample->thread] = trunk(b, sample->thread);
		uint32_t node = b->trunks[sample->thread];
		if (node != PROFILE_NONE)
			node = node_of(b, node, sample->stack);
		if (node == PROFILE_NONE)
			return false;
		b->tree->nodes.items[node].own += weight;
	}
	return true;
}

static void add_up(struct calltree_nodes *nodes)
{
	for (size_t i = nodes->count; i-- > 0;) {
		struct calltree_node *node = &nodes->items[i];
		node->total += node->own;
		if (node->parent != PROFILE_NONE)
			nodes->items[node->parent].total += node->total;
	}
}

static int compare_weights(const void *a, const void *b, void *nodes)
{
	const struct calltree_node *items = nodes;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (items[x].total != items[y].total)
		return items[x].total < items[y].total ? -1 : 1;
	return x < y ? 1 : -1;
}

/* The lightest are put before their parents' other children first, so that the heaviest end up in front. */
static bool link_children(struct calltree_nodes *nodes)
{
	_cleanup_free_ uint32_t *order = calloc(nodes->count, sizeof(*order));
	if (!order)
		return false;
	for (uint32_t i = 0; i < nodes->count; i++)
		order[i] = i;
	qsort_r(order, nodes->count, sizeof(*order), compare_weights, nodes->items);
	for (size_t i = 0; i < nodes->count; i++) {
		struct calltree_node *node = &nodes->items[order[i]];
		if (node->parent == PROFILE_NONE)
			continue;
		node->next = nodes->items[node->parent].first;
		nodes->items[node->parent].first = order[i];
	}
	return true;
}

static bool build(struct builder *b)
{
	const struct profile *profile = b->tree->profile;
	b->trunks = calloc(profile->threads.count + 1, sizeof(*b->trunks));
	b->nodes = calloc(profile->stacks.count + 1, sizeof(*b->nodes));
	if (!b->trunks || !b->nodes)
		return false;
	for (size_t i = 0; i < profile->threads.count; i++)
		b->trunks[i] = PROFILE_NONE;
	if (child(b, PROFILE_NONE, PROFILE_NONE) != CALLTREE_ROOT || !add_samples(b))
		return false;
	add_up(&b->tree->nodes);
	return link_children(&b->tree->nodes);
}

struct error *calltree_init(struct calltree *tree, const struct profile *profile,
			    const struct writer_options *options, enum writer_weights fallback)
{
	tree->profile = profile;
	struct builder b = { .tree = tree, .options = options, .fallback = fallback };
	bool ok = build(&b);
	idset_deinit(&b.index);
	free(b.trunks);
	free(b.nodes);
	return ok ? NULL : error_no_memory();
}

void calltree_deinit(struct calltree *tree)
{
	calltree_nodes_deinit(&tree->nodes);
}

uint32_t calltree_function(const struct calltree *tree, uint32_t label)
{
	return label < tree->profile->functions.count ? label : PROFILE_NONE;
}

void calltree_add_name(const struct calltree *tree, uint32_t label, struct strbuf *buf)
{
	const struct profile *profile = tree->profile;
	size_t functions = profile->functions.count, processes = profile->processes.count;
	if (label < functions) {
		const char *name =
			intern_text(&profile->strings, profile->functions.items[label].name);
		text_escape(buf, *name ? name : "[unnamed]", TEXT_LINE, NULL);
	} else if (label < functions + processes) {
		uint32_t process = label - (uint32_t)functions;
		text_add_process(buf, (int)profile->processes.items[process].pid,
				 profile_process_name(profile, process));
	} else {
		uint32_t thread = label - (uint32_t)(functions + processes);
		text_add_thread(buf, (int)profile->threads.items[thread].tid,
				profile_thread_name(profile, thread));
	}
}
