/* SPDX-License-Identifier: MIT */
/*
 * cfi_pool.h: the different rows and expressions of one image, each once.
 *
 * An image has some hundred different rows for a hundred thousand ranges of pc. A zeroed pool is an
 * empty one. Rows stay where they are, expressions too.
 */
#pragma once

#include "base/hash.h"
#include "base/reason.h"
#include "base/vec.h"
#include "unwind/cfi_exec.h"
#include "unwind/cfi_row.h"

struct cfi_expression {
	const uint8_t *bytes;
	uint32_t size;
};

struct cfi_chunk;

DEFINE_VEC(struct cfi_expression_vec, cfi_expression_vec, struct cfi_expression)

struct cfi_pool {
	const struct cfi_row **rows; /* by number */
	size_t row_count, row_capacity;
	struct hash row_numbers; /* hash of the bytes → the row's number + 1 */
	struct cfi_expression_vec expressions;
	struct hash expression_numbers;
	struct cfi_chunk *chunks; /* where both lie */
	size_t chunk_bytes;
};

void cfi_pool_deinit(struct cfi_pool *pool);

/*
 * Makes a row of @state and adds it: rules that say no more than the psABI are dropped, expressions
 * of a known shape become rules. REASON_BAD_CFI for what a row cannot say: an offset of more than
 * 32 bits, a CFA from a register that no walk carries.
 */
enum reason cfi_pool_add_row(struct cfi_pool *pool, const struct arch *arch,
			     const struct cfi_state *state, const struct cfi_cie *cie,
			     uint32_t *number_ret);

static inline const struct cfi_row *cfi_pool_row(const struct cfi_pool *pool, uint32_t number)
{
	return pool->rows[number];
}

/* NULL for a number that is none. */
const uint8_t *cfi_pool_expression(const struct cfi_pool *pool, int32_t number, size_t *size_ret);

/* Memory in use. */
size_t cfi_pool_bytes(const struct cfi_pool *pool);
