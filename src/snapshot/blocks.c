/* SPDX-License-Identifier: MIT */
/* blocks.c: memory as it was at one moment. */
#include "snapshot/blocks.h"

#include <stdlib.h>
#include <string.h>

/* More than any thread of a real program needs for its Python frames; a hostile one gets no further. */
#define BLOCKS_MAX       16384
#define BLOCKS_BYTES_MAX ((size_t)16 << 20)

/* One vector of process_vm_readv. */
#define PLAN_RANGES_MAX 1000
#define PLAN_BYTES_MAX  ((size_t)512 << 10)
/* The stack of a thread. */
#define BLOCKS_EXTRA_MAX ((size_t)4 << 20)
/* A range comes back as a rule within a few samples, when the program is where it was; frames of another path wait that long. */
#define PLAN_UNUSED_MAX 16

/* Ranges that are no farther apart are copied with what lies between them. */
#define JOIN_GAP_MAX  4096
#define PAGE_SIZE_MIN 4096

/* How many blocks that begin at or before an address are looked at: overlaps are rare and shallow. */
#define OVERLAP_DEPTH 4

static size_t first_after(const struct blocks *blocks, uint64_t address)
{
	size_t low = 0, high = blocks->list.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (blocks->list.items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool block_covers(const struct block *block, uint64_t address, size_t size)
{
	return address >= block->address && address - block->address <= block->size &&
	       size <= block->size - (address - block->address);
}

static struct block *find(const struct blocks *blocks, uint64_t address, size_t size)
{
	size_t end = first_after(blocks, address);
	/* Inert blocks must find whatever is there; live ones may rather fetch once more. */
	size_t depth = blocks->source ? OVERLAP_DEPTH : end;
	for (size_t i = 0; i < depth && i < end; i++) {
		struct block *block = &blocks->list.items[end - 1 - i];
		if (block_covers(block, address, size))
			return block;
	}
	return NULL;
}

/* A walk reads most of its words from one block, the stack. */
static struct block *find_recent(struct blocks *blocks, uint64_t address, size_t size)
{
	if (blocks->source)
		return find(blocks, address, size);
	if (blocks->recent < blocks->list.count) {
		struct block *block = &blocks->list.items[blocks->recent];
		if (block_covers(block, address, size))
			return block;
	}
	struct block *block = find(blocks, address, size);
	if (block)
		blocks->recent = (size_t)(block - blocks->list.items);
	return block;
}

/* Room for @size more bytes; their offset. */
static bool reserve_bytes(struct blocks *blocks, size_t size, size_t *offset_ret)
{
	if (size > BLOCKS_BYTES_MAX - blocks->size || blocks->list.count >= BLOCKS_MAX ||
	    !vec_reserve_((void **)&blocks->bytes, &blocks->capacity, blocks->size + size, 1)) {
		blocks->full = true;
		return false;
	}
	*offset_ret = blocks->size;
	blocks->size += size;
	return true;
}

static struct block *insert(struct blocks *blocks, uint64_t address, size_t size, size_t offset)
{
	if (!block_vec_append(&blocks->list)) {
		blocks->full = true;
		return NULL;
	}
	blocks->list.count--;
	size_t at = first_after(blocks, address);
	struct block *block = &blocks->list.items[at];
	memmove(block + 1, block, (blocks->list.count - at) * sizeof(*block));
	blocks->list.count++;
	*block = (struct block){ .address = address, .size = size, .offset = offset };
	return block;
}

static struct block *fetch(struct blocks *blocks, uint64_t address, size_t size)
{
	size_t offset;
	if (!reserve_bytes(blocks, size, &offset))
		return NULL;
	if (!memory_read(&blocks->source->memory, address, blocks->bytes + offset, size)) {
		blocks->size = offset;
		return NULL;
	}
	blocks->missed++;
	return insert(blocks, address, size, offset);
}

static bool blocks_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct blocks *blocks = (struct blocks *)memory;
	struct block *block = find_recent(blocks, address, size);
	if (!block && blocks->source)
		block = fetch(blocks, address, size);
	if (!block)
		return false;
	block->used = true;
	const uint8_t *bytes = blocks->bytes + block->offset + (address - block->address);
	if (size == sizeof(uint64_t))
		memcpy(buffer, bytes,
		       sizeof(uint64_t)); /* inline: nearly all reads are of a word */
	else
		memcpy(buffer, bytes, size);
	return true;
}

static void blocks_prefetch(struct memory *memory, uint64_t address, size_t size)
{
	struct blocks *blocks = (struct blocks *)memory;
	if (blocks->source && !find(blocks, address, size))
		fetch(blocks, address, size);
}

void blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks){
		.memory = { .read = blocks_read, .prefetch = blocks_prefetch },
	};
}

void blocks_deinit(struct blocks *blocks)
{
	block_vec_deinit(&blocks->list);
	free(blocks->bytes);
	free(blocks->pieces);
	plan_vec_deinit(&blocks->spare);
	blocks_init(blocks);
}

static void add_piece(struct blocks *blocks, size_t number, uint64_t address, size_t size)
{
	blocks->pieces[number] = (struct memory_piece){
		.address = address,
		.size = size,
		.buffer = blocks->bytes + blocks->size,
	};
	blocks->size += size;
}

/*
 * How many of the ranges from @first on go into one piece, and its size: a piece costs the kernel as much as a kilobyte or two. In
 * the same page or the next one nothing between them can be missing.
 */
static size_t join_ranges(const struct plan *plan, size_t first, size_t end, size_t *size_ret)
{
	const struct plan_range *range = &plan->items[first];
	uint64_t start = range->address, stop = start + range->size;
	size_t next = first + 1;
	for (; next < end; next++) {
		range = &plan->items[next];
		if (range->address < start ||
		    (range->address > stop &&
		     (range->address - stop > JOIN_GAP_MAX ||
		      range->address / PAGE_SIZE_MIN - (stop - 1) / PAGE_SIZE_MIN > 1)))
			break;
		uint64_t range_stop = range->address + range->size;
		stop = range_stop > stop ? range_stop : stop;
	}
	*size_ret = (size_t)(stop - start);
	return next - first;
}

/* How many ranges of @plan are copied beside @extra bytes; @size_ret is the most that all of it takes, joined. */
static size_t ranges_within(const struct plan *plan, size_t extra, size_t *size_ret)
{
	size_t ranges = 0, total = extra;
	for (; ranges < plan->count && ranges < PLAN_RANGES_MAX; ranges++) {
		if (plan->items[ranges].size > PLAN_BYTES_MAX + BLOCKS_EXTRA_MAX - total)
			break;
		total += plan->items[ranges].size;
	}
	*size_ret = total + ranges * JOIN_GAP_MAX;
	return ranges;
}

/*
 * The pieces of @extra and then of the first @ranges of @plan, with their room set aside; how many. The one that matters most comes
 * first.
 */
static size_t lay_out(struct blocks *blocks, const struct plan *plan,
		      const struct memory_range *extra, size_t *ranges_ret)
{
	size_t total, count = 0;
	size_t ranges = ranges_within(plan, extra ? extra->size : 0, &total);
	if (!vec_reserve_((void **)&blocks->bytes, &blocks->capacity, total, 1) ||
	    !vec_reserve_((void **)&blocks->pieces, &blocks->pieces_capacity, ranges + 1,
			  sizeof(*blocks->pieces)) ||
	    !block_vec_reserve(&blocks->list, ranges + 1))
		return 0;
	if (extra)
		add_piece(blocks, count++, extra->address, extra->size);
	for (size_t i = 0; i < ranges;) {
		size_t size, joined = join_ranges(plan, i, ranges, &size);
		add_piece(blocks, count++, plan->items[i].address, size);
		i += joined;
	}
	*ranges_ret = ranges;
	return count;
}

void blocks_reset(struct blocks *blocks)
{
	blocks->list.count = 0;
	blocks->size = 0;
	blocks->full = false;
	blocks->missed = 0;
	blocks->source = NULL;
}

/* Lists the first @ranges of @plan, each a block of its own, as far as the @pieces that they lie in were read. */
static void insert_ranges(struct blocks *blocks, const struct plan *plan, size_t ranges,
			  const struct memory_piece *pieces)
{
	for (size_t i = 0; i < ranges; pieces++) {
		size_t size, joined = join_ranges(plan, i, ranges, &size);
		size_t offset = (size_t)((uint8_t *)pieces->buffer - blocks->bytes);
		for (size_t end = i + joined; i < end; i++) {
			const struct plan_range *range = &plan->items[i];
			if (pieces->ok)
				insert(blocks, range->address, range->size,
				       offset + (size_t)(range->address - pieces->address));
		}
	}
}

bool blocks_begin(struct blocks *blocks, struct memory_live *source, const struct plan *plan,
		  const struct memory_range *extra)
{
	blocks_reset(blocks);
	blocks->source = source;

	size_t ranges, count = lay_out(blocks, plan, extra, &ranges);
	if (!count)
		return !extra;
	memory_live_readv(source, blocks->pieces, count);
	insert_ranges(blocks, plan, ranges, blocks->pieces + (extra ? 1 : 0));
	if (!extra)
		return true;
	if (!blocks->pieces[0].ok)
		return false;
	struct block *block = insert(blocks, extra->address, extra->size, 0);
	if (block)
		block->extra = true;
	return true;
}

void blocks_begin_twice(struct blocks *first, struct blocks *second, struct memory_live *source,
			const struct plan *plan)
{
	blocks_reset(first);
	blocks_reset(second);
	first->source = second->source = source;

	size_t ranges, count = lay_out(first, plan, NULL, &ranges);
	if (!count || lay_out(second, plan, NULL, &ranges) != count ||
	    !vec_reserve_((void **)&first->pieces, &first->pieces_capacity, 2 * count,
			  sizeof(*first->pieces)))
		return;
	memcpy(first->pieces + count, second->pieces, count * sizeof(*first->pieces));
	memory_live_readv(source, first->pieces, 2 * count);
	insert_ranges(first, plan, ranges, first->pieces);
	insert_ranges(second, plan, ranges, first->pieces + count);
}

void blocks_end(struct blocks *blocks)
{
	blocks->source = NULL;
}

bool blocks_add(struct blocks *blocks, uint64_t address, const void *data, size_t size)
{
	size_t offset;
	if (!size)
		return true;
	if (!reserve_bytes(blocks, size, &offset))
		return false;
	memcpy(blocks->bytes + offset, data, size);
	return insert(blocks, address, size, offset);
}

static unsigned unused_so_far(const struct plan *plan, const struct block *block, size_t *hint)
{
	for (; *hint < plan->count; (*hint)++) {
		const struct plan_range *range = &plan->items[*hint];
		if (range->address > block->address)
			break;
		if (range->address == block->address && range->size == block->size)
			return range->unused;
	}
	return 0;
}

void blocks_learn(struct blocks *blocks, struct plan *plan)
{
	/* Blocks and plan are both sorted; the new plan is made in one pass over them. */
	struct plan *learnt = &blocks->spare;
	size_t hint = 0, total = 0;
	learnt->count = 0;
	vec_foreach (block, &blocks->list) {
		unsigned unused = block->used ? 0 : unused_so_far(plan, block, &hint) + 1;
		if (block->extra || unused > PLAN_UNUSED_MAX || learnt->count >= PLAN_RANGES_MAX ||
		    block->size > PLAN_BYTES_MAX - total)
			continue;
		/* What another range covers need not be fetched twice. */
		const struct plan_range *last =
			learnt->count ? &learnt->items[learnt->count - 1] : NULL;
		if (last && last->unused <= unused && block->address >= last->address &&
		    block->address + block->size <= last->address + last->size)
			continue;
		struct plan_range *range = plan_vec_append(learnt);
		if (!range)
			return;
		*range = (struct plan_range){ block->address, block->size, unused };
		total += block->size;
	}
	/* The room of the old one serves the next time. */
	struct plan old = *plan;
	*plan = *learnt;
	*learnt = old;
}

void plan_add(struct plan *plan, const struct memory_range *range)
{
	size_t at = 0;
	if (!range->size || !plan_vec_append(plan))
		return;
	while (at < plan->count - 1 && plan->items[at].address <= range->address)
		at++;
	memmove(&plan->items[at + 1], &plan->items[at],
		(plan->count - 1 - at) * sizeof(plan->items[0]));
	plan->items[at] = (struct plan_range){ .address = range->address, .size = range->size };
}
