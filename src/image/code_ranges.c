/* SPDX-License-Identifier: MIT */
/* code_ranges.c: what was added is sorted and merged, so many small updates stay cheap. */
#include "image/code_ranges.h"

#include <stdlib.h>
#include <string.h>

/* CPython's names are a function and a path. */
#define NAME_BYTES_LIMIT ((size_t)128 << 20)

static void drop(struct code_ranges *ranges, struct code_range *range)
{
	ranges->name_bytes -= strlen(range->name) + 1;
	free(range->name);
}

void code_ranges_deinit(struct code_ranges *ranges)
{
	vec_foreach (range, &ranges->sorted)
		free(range->name);
	vec_foreach (range, &ranges->added)
		free(range->name);
	code_range_vec_deinit(&ranges->sorted);
	code_range_vec_deinit(&ranges->added);
	*ranges = (struct code_ranges){ 0 };
}

bool code_ranges_add(struct code_ranges *ranges, const struct code_range *range, const char *name,
		     size_t name_length)
{
	uint64_t end;
	if (!range->size || __builtin_add_overflow(range->address, range->size, &end) ||
	    ranges->sorted.count + ranges->added.count >= CODE_RANGE_LIMIT ||
	    ranges->name_bytes >= NAME_BYTES_LIMIT)
		return false;
	name_length = name_length < CODE_RANGE_NAME_LIMIT ? name_length : CODE_RANGE_NAME_LIMIT;
	char *copy = strndup(name, name_length);
	struct code_range *slot = copy ? code_range_vec_append(&ranges->added) : NULL;
	if (!slot) {
		free(copy);
		return false;
	}
	*slot = *range;
	slot->name = copy;
	slot->sequence = ranges->sequence++;
	ranges->name_bytes += strlen(copy) + 1;
	return true;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct code_range *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* Appends @range to @merged, which is sorted and has no overlaps; of two that overlap the newer
 * stays. */
static void push(struct code_ranges *ranges, struct code_range_vec *merged,
		 struct code_range *range)
{
	while (merged->count) {
		struct code_range *last = &merged->items[merged->count - 1];
		if (range->address - last->address >= last->size)
			break;
		if (last->sequence > range->sequence) {
			drop(ranges, range);
			return;
		}
		drop(ranges, last);
		merged->count--;
	}
	merged->items[merged->count++] = *range;
}

bool code_ranges_update(struct code_ranges *ranges)
{
	struct code_range_vec *sorted = &ranges->sorted, *added = &ranges->added, merged = { 0 };
	if (!added->count)
		return true;
	if (!code_range_vec_reserve(&merged, sorted->count + added->count))
		return false;
	qsort(added->items, added->count, sizeof(*added->items), compare_ranges);
	for (size_t i = 0, j = 0; i < sorted->count || j < added->count;) {
		bool is_old = j == added->count ||
			      (i < sorted->count &&
			       compare_ranges(&sorted->items[i], &added->items[j]) < 0);
		push(ranges, &merged, is_old ? &sorted->items[i++] : &added->items[j++]);
	}
	code_range_vec_deinit(sorted);
	*sorted = merged;
	added->count = 0;
	return true;
}

static const struct code_range *find(const struct code_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->sorted.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct code_range *range = &ranges->sorted.items[middle];
		if (address < range->address)
			high = middle;
		else if (address - range->address >= range->size)
			low = middle + 1;
		else
			return range;
	}
	return NULL;
}

/* Shared memory without a name in any file system: JITs map it twice, to write and to run. */
static bool is_memory_file(const struct mapping *mapping)
{
	return mapping->deleted &&
	       (!strncmp(mapping->path, "/memfd:", 7) || !strcmp(mapping->path, "/dev/zero"));
}

static bool is_generated(const struct mapping *mapping)
{
	return mapping->exec && (mapping->inode ? is_memory_file(mapping)
						: strcmp(mapping->path, "[vdso]") &&
							  strcmp(mapping->path, "[vsyscall]"));
}

bool code_is_generated(const struct maps *maps, uint64_t address, uint64_t size)
{
	uint64_t end;
	const struct mapping *mapping = maps_find(maps, address);
	if (__builtin_add_overflow(address, size, &end) || !mapping)
		return false;
	for (; mapping < maps->items + maps->count; mapping++) {
		if (mapping->start > address || !is_generated(mapping))
			return false;
		if (end <= mapping->end)
			return true;
		address = mapping->end;
	}
	return false;
}

const struct code_range *code_ranges_find(const struct code_ranges *ranges, const struct maps *maps,
					  uint64_t address)
{
	const struct code_range *range = find(ranges, address);
	return range && (!maps || code_is_generated(maps, range->address, range->size)) ? range
											: NULL;
}

bool code_ranges_move(struct code_ranges *ranges, uint64_t old_address, uint64_t new_address)
{
	uint64_t end;
	if (!code_ranges_update(ranges) || !code_range_vec_reserve(&ranges->added, 1))
		return false;
	const struct code_range *found = find(ranges, old_address);
	if (!found || found->address != old_address ||
	    __builtin_add_overflow(new_address, found->size, &end))
		return false;
	struct code_range *moved = code_range_vec_append(&ranges->added);
	*moved = *found;
	moved->address = new_address;
	moved->eh_frame_address += new_address - old_address;
	moved->sequence = ranges->sequence++;
	size_t index = (size_t)(found - ranges->sorted.items);
	ranges->sorted.count--;
	memmove(&ranges->sorted.items[index], &ranges->sorted.items[index + 1],
		(ranges->sorted.count - index) * sizeof(*found));
	return true;
}
