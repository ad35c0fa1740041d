/* SPDX-License-Identifier: MIT */
/*
 * blocks.h: memory as it was at one moment.
 *
 * A set of blocks copied from a target, readable through the memory interface. While a source is set, a read that no block covers
 * is fetched from there and kept; without one it fails. So the same walker runs inside a stop, where it leaves behind all that it
 * touched, and later over what was left, on any machine.
 *
 * What was touched last time is the best guess at what will be touched now: a plan remembers it, and blocks_begin fetches all of
 * it with one system call. Nothing of the guess is trusted: the walker follows the links it finds in the fresh copies, and what
 * the guess did not cover is fetched on the way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "target/memory.h"
#include "target/memory_live.h"

struct block {
	uint64_t address;
	size_t size;
	size_t offset; /* of its content in bytes */
	bool used;     /* a read was answered from it */
	bool extra;    /* asked for beside the plan, and not to be planned for */
};

DEFINE_VEC(struct block_vec, block_vec, struct block)

struct plan_range {
	uint64_t address;
	size_t size;
	unsigned unused; /* samples in a row in which it was of no use */
};

DEFINE_VEC(struct plan, plan_vec, struct plan_range)

struct blocks {
	struct memory memory;
	struct block_vec list; /* sorted by address; they may overlap */
	uint8_t *bytes;
	size_t size;
	size_t capacity;
	struct memory_live *source; /* NULL: only what is here */
	struct memory_piece *pieces;
	size_t pieces_capacity;
	struct plan spare; /* room of blocks_learn's */
	size_t recent;     /* the block that answered last, once inert */
	size_t missed;     /* blocks that were fetched on the way: the plan lacked them */
	bool full; /* a limit or the end of memory was reached: reads have failed for that reason */
};

void blocks_init(struct blocks *blocks);
void blocks_deinit(struct blocks *blocks);

/* Forgets all it has. */
void blocks_reset(struct blocks *blocks);
/*
 * Empties it, then fetches @extra (may be NULL) and the ranges of @plan from @source, which stays set until blocks_end. False if
 * @extra could not be fetched.
 */
bool blocks_begin(struct blocks *blocks, struct memory_live *source, const struct plan *plan,
		  const struct memory_range *extra);
/*
 * Two copies of the ranges of @plan, one after the other in as few system calls as possible: what is the same in both was so at the
 * moment between them. That holds only as long as nothing is missed (@missed of both is 0).
 */
void blocks_begin_twice(struct blocks *first, struct blocks *second, struct memory_live *source,
			const struct plan *plan);
/* No more fetching: from now on it is inert. */
void blocks_end(struct blocks *blocks);
/* Puts what was used into @plan and forgets what has been useless for a while. */
void blocks_learn(struct blocks *blocks, struct plan *plan);
/* Adds @range to @plan, to be forgotten like any other when it is of no use. Nothing happens if it is empty, or without memory. */
void plan_add(struct plan *plan, const struct memory_range *range);
/* Adds a block with known content, as when a recorded one is loaded. False without memory or beyond the limits. */
bool blocks_add(struct blocks *blocks, uint64_t address, const void *data, size_t size);
