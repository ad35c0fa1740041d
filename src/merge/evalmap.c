/* SPDX-License-Identifier: MIT */
/* evalmap.c: is this native frame an evaluation loop. */
#include "merge/evalmap.h"

/* The function with the loop: from 3.6 on the first, in 2.7 the second; the rest are what compilers and 3.14 split off. */
static const char *const loops[] = { "_PyEval_EvalFrameDefault", "PyEval_EvalFrameEx" };
static const char *const parts[] = { "_PyEval_EvalFrameDefault.cold", "PyEval_EvalFrameEx.cold",
				     "_PyEval_EvalFrameDefault.part.0" };

void evalmap_deinit(struct evalmap *map)
{
	eval_ranges_deinit(&map->ranges);
}

static bool add_symbol(struct evalmap *map, const struct image *image, uint64_t bias,
		       const char *name)
{
	struct image_symbol symbol;
	if (!image_symbol(image, name, &symbol) || !symbol.size)
		return false;
	struct eval_range *range = eval_ranges_append(&map->ranges);
	if (!range)
		return false;
	*range = (struct eval_range){ symbol.vaddr + bias, symbol.vaddr + bias + symbol.size };
	return true;
}

bool evalmap_add(struct evalmap *map, const struct image *image, uint64_t bias)
{
	/* 3.x still has PyEval_EvalFrameEx, a wrapper: only the first that is there is the loop. */
	size_t found = 0, count = sizeof(loops) / sizeof(loops[0]);
	while (found < count && !add_symbol(map, image, bias, loops[found]))
		found++;
	if (found == count)
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		add_symbol(map, image, bias, parts[i]);
	return true;
}

bool evalmap_is_eval(const struct evalmap *map, uint64_t address)
{
	vec_foreach (range, &map->ranges)
		if (address >= range->start && address < range->end)
			return true;
	return false;
}
