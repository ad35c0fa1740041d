/* SPDX-License-Identifier: MIT */
/* evalmap.c: is this native frame an evaluation loop. */
#include "merge/evalmap.h"

#include "arch/arch.h"
#include "base/cleanup.h"

/* The function with the loop: from 3.6 on the first, in 2.7 the second. */
static const char *const loops[] = { "_PyEval_EvalFrameDefault", "PyEval_EvalFrameEx" };

/* Real loops have one or two parts of up to 100 KiB. */
#define PARTS_MAX      16
#define PART_BYTES_MAX ((uint64_t)4 << 20)

/* A search for the parts of one loop; ranges are vaddrs until it ends. */
struct search {
	const struct image *image;
	struct cfi_table *table;
	const struct flow *flow;
	struct eval_ranges *ranges;
	size_t first; /* of this loop's ranges */
};

void evalmap_deinit(struct evalmap *map)
{
	eval_ranges_deinit(&map->ranges);
}

static bool add_range(struct eval_ranges *ranges, uint64_t start, uint64_t end)
{
	struct eval_range *range = eval_ranges_append(ranges);
	if (range)
		*range = (struct eval_range){ start, end };
	return range != NULL;
}

static bool holds(const struct eval_ranges *ranges, size_t first, uint64_t address)
{
	for (size_t i = first; i < ranges->count; i++)
		if (address >= ranges->items[i].start && address < ranges->items[i].end)
			return true;
	return false;
}

static bool find_fde(struct cfi_table *table, uint64_t vaddr, struct eval_range *range_ret)
{
	struct cfi_index *index = table ? cfi_table_eh_frame(table) : NULL;
	struct cfi_found found;
	if (!index || cfi_index_find(index, vaddr, &found))
		return false;
	*range_ret = (struct eval_range){ found.start, found.end };
	return true;
}

static bool same_cfa(const struct cfi_row *a, const struct cfi_row *b)
{
	return a->cfa_kind == b->cfa_kind && a->cfa_register == b->cfa_register &&
	       a->cfa_offset == b->cfa_offset && a->cfa_bias == b->cfa_bias;
}

/*
 * True if [@part) is a part of the function that jumps from @from to @to in it: the stack frame is the same at both ends, and the
 * part has one where it begins, as no function has.
 */
static bool is_part(const struct search *search, const struct eval_range *part, uint64_t from,
		    uint64_t to)
{
	const struct cfi_row *at_jump, *at_target, *at_start, *at_entry;
	uint64_t entry = search->ranges->items[search->first].start;
	return !cfi_table_lookup(search->table, from, &at_jump) &&
	       !cfi_table_lookup(search->table, to, &at_target) &&
	       !cfi_table_lookup(search->table, part->start, &at_start) &&
	       !cfi_table_lookup(search->table, entry, &at_entry) && same_cfa(at_jump, at_target) &&
	       !same_cfa(at_start, at_entry);
}

static bool read_code(const struct search *search, const struct eval_range *range,
		      uint8_t **code_ret)
{
	uint64_t size = range->end - range->start;
	_cleanup_free_ uint8_t *code = size <= PART_BYTES_MAX ? malloc(size) : NULL;
	if (!code || !image_read(search->image, range->start, code, size))
		return false;
	*code_ret = no_cleanup(code);
	return true;
}

/* A part set apart jumps back; bytes that only look like a jump to some other function's part lead to none that does. */
static bool jumps_back(const struct search *search, const struct eval_range *part)
{
	_cleanup_free_ uint8_t *code = NULL;
	uint64_t target;
	if (!read_code(search, part, &code))
		return false;
	uint64_t size = part->end - part->start;
	for (uint64_t i = 0; i < size; i++)
		if (search->flow->jump(code + i, size - i, part->start + i, &target) &&
		    holds(search->ranges, search->first, target))
			return true;
	return false;
}

static void add_parts_of(const struct search *search, struct eval_range range)
{
	_cleanup_free_ uint8_t *code = NULL;
	if (!read_code(search, &range, &code))
		return;
	uint64_t size = range.end - range.start, target;
	for (uint64_t i = 0; i < size && search->ranges->count - search->first < PARTS_MAX; i++) {
		struct eval_range part;
		if (!search->flow->jump(code + i, size - i, range.start + i, &target) ||
		    holds(search->ranges, search->first, target) ||
		    !find_fde(search->table, target, &part) ||
		    !is_part(search, &part, range.start + i, target) || !jumps_back(search, &part))
			continue;
		if (!add_range(search->ranges, part.start, part.end))
			return;
	}
}

static bool find_loop(const struct image *image, struct cfi_table *table,
		      struct eval_range *range_ret)
{
	struct image_symbol symbol;
	size_t i = 0, count = sizeof(loops) / sizeof(loops[0]);
	/* 3.x still has PyEval_EvalFrameEx, a wrapper: only the first that is there is the loop. */
	while (i < count && !image_symbol(image, loops[i], &symbol))
		i++;
	if (i == count)
		return false;
	if (find_fde(table, symbol.vaddr, range_ret))
		return true;
	*range_ret = (struct eval_range){ symbol.vaddr, symbol.vaddr + symbol.size };
	return symbol.size > 0;
}

bool evalmap_add(struct evalmap *map, const struct image *image, uint64_t bias,
		 struct cfi_table *table)
{
	struct search search = {
		.image = image,
		.table = table,
		.flow = flow_by_machine(image_machine(image)),
		.ranges = &map->ranges,
		.first = map->ranges.count,
	};
	struct eval_range loop;
	if (!find_loop(image, table, &loop) || !add_range(&map->ranges, loop.start, loop.end))
		return false;
	/* Parts of parts too: the list grows while it is gone through. */
	for (size_t i = search.first; table && search.flow && i < map->ranges.count; i++)
		add_parts_of(&search, map->ranges.items[i]);
	for (size_t i = search.first; i < map->ranges.count; i++) {
		map->ranges.items[i].start += bias;
		map->ranges.items[i].end += bias;
	}
	return true;
}

bool evalmap_is_eval(const struct evalmap *map, uint64_t address)
{
	return holds(&map->ranges, 0, address);
}
