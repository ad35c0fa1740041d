/* SPDX-License-Identifier: MIT */
/* cfi_pool.c: instruction states to rows, rows and expressions without repetition. */
#include "unwind/cfi_pool.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/cfi_expr.h"

#define CHUNK_SIZE 16384
#define ALIGNMENT  8

struct cfi_chunk {
	struct cfi_chunk *next;
	size_t size, used;
	uint8_t bytes[] __attribute__((aligned(ALIGNMENT)));
};

void cfi_pool_deinit(struct cfi_pool *pool)
{
	while (pool->chunks) {
		struct cfi_chunk *chunk = pool->chunks;
		pool->chunks = chunk->next;
		free(chunk);
	}
	free(pool->rows);
	hash_deinit(&pool->row_numbers);
	hash_deinit(&pool->expression_numbers);
	cfi_expression_vec_deinit(&pool->expressions);
	*pool = (struct cfi_pool){ 0 };
}

/* A copy that lives as long as the pool; NULL without memory. */
static const void *keep(struct cfi_pool *pool, const void *bytes, size_t size)
{
	size_t need = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	struct cfi_chunk *chunk = pool->chunks;
	if (!chunk || chunk->size - chunk->used < need) {
		size_t chunk_size = need > CHUNK_SIZE ? need : CHUNK_SIZE;
		chunk = malloc(sizeof(*chunk) + chunk_size);
		if (!chunk)
			return NULL;
		*chunk = (struct cfi_chunk){ .next = pool->chunks, .size = chunk_size };
		pool->chunks = chunk;
		pool->chunk_bytes += sizeof(*chunk) + chunk_size;
	}
	void *place = chunk->bytes + chunk->used;
	memcpy(place, bytes, size);
	chunk->used += need;
	return place;
}

static uint32_t get_number(const struct hash *numbers, uint64_t key)
{
	return (uint32_t)(uintptr_t)hash_get(numbers, key);
}

static bool set_number(struct hash *numbers, uint64_t key, uint32_t number)
{
	return hash_set(numbers, key, (void *)(uintptr_t)number);
}

/* ---- expressions ---- */

static enum reason add_expression(struct cfi_pool *pool, const uint8_t *bytes, uint32_t size,
				  int32_t *number_ret)
{
	uint64_t key = hash_bytes(bytes, size, size);
	uint32_t known;
	/* Different bytes with the same hash: the next key. */
	while ((known = get_number(&pool->expression_numbers, key))) {
		const struct cfi_expression *expression = &pool->expressions.items[known - 1];
		if (expression->size == size && memcmp(expression->bytes, bytes, size) == 0) {
			*number_ret = (int32_t)(known - 1);
			return REASON_OK;
		}
		key++;
	}
	const uint8_t *copy = keep(pool, bytes, size);
	if (!copy || !cfi_expression_vec_reserve(&pool->expressions, pool->expressions.count + 1) ||
	    !set_number(&pool->expression_numbers, key, (uint32_t)pool->expressions.count + 1))
		return REASON_NO_MEMORY;
	*number_ret = (int32_t)pool->expressions.count;
	*cfi_expression_vec_append(&pool->expressions) =
		(struct cfi_expression){ .bytes = copy, .size = size };
	return REASON_OK;
}

const uint8_t *cfi_pool_expression(const struct cfi_pool *pool, int32_t number, size_t *size_ret)
{
	if (number < 0 || (size_t)number >= pool->expressions.count)
		return NULL;
	*size_ret = pool->expressions.items[number].size;
	return pool->expressions.items[number].bytes;
}

/* ---- rows ---- */

/* Room for the longest row. */
union row_buffer {
	struct cfi_row row;
	uint8_t bytes[CFI_ROW_SIZE_MAX];
};

static bool set_offset(int64_t offset, int32_t *ret)
{
	*ret = (int32_t)offset;
	return *ret == offset;
}

static bool is_kept(const struct arch *arch, unsigned reg)
{
	return arch->kept >> reg & 1;
}

/* Whether the psABI says as much; the stack pointer is the CFA. */
static bool is_default(const struct arch *arch, const struct cfi_rule *rule)
{
	switch (rule->kind) {
	case CFI_RULE_UNDEFINED:
		return !is_kept(arch, rule->reg) && rule->reg != arch->sp;
	case CFI_RULE_SAME:
		return is_kept(arch, rule->reg) && rule->reg != arch->sp;
	case CFI_RULE_CFA:
		return rule->reg == arch->sp && rule->offset == 0;
	default:
		return false;
	}
}

static enum reason convert_expression(struct cfi_pool *pool, const struct arch *arch,
				      const struct cfi_state_rule *stated, struct cfi_rule *rule)
{
	bool is_value = stated->kind == CFI_STATE_VALUE_EXPRESSION;
	if (cfi_expr_match_rule(arch, stated->expression, stated->expression_size, is_value, rule))
		return REASON_OK;
	rule->kind = is_value ? CFI_RULE_VALUE_EXPRESSION : CFI_RULE_AT_EXPRESSION;
	return add_expression(pool, stated->expression, stated->expression_size, &rule->offset);
}

static void convert_register(const struct arch *arch, uint64_t base, struct cfi_rule *rule)
{
	if (base >= arch->registers) {
		rule->kind = CFI_RULE_UNDEFINED; /* in a register that no walk carries */
		return;
	}
	rule->kind = CFI_RULE_REGISTER;
	rule->base = (uint8_t)base;
}

static enum reason convert_rule(struct cfi_pool *pool, const struct arch *arch,
				const struct cfi_state_rule *stated, struct cfi_rule *rule)
{
	switch (stated->kind) {
	case CFI_STATE_UNSPECIFIED:
	case CFI_STATE_UNDEFINED:
		rule->kind = CFI_RULE_UNDEFINED;
		return REASON_OK;
	case CFI_STATE_SAME:
		rule->kind = CFI_RULE_SAME;
		return REASON_OK;
	case CFI_STATE_AT_CFA:
		rule->kind = CFI_RULE_AT_CFA;
		return set_offset(stated->offset, &rule->offset) ? REASON_OK : REASON_BAD_CFI;
	case CFI_STATE_CFA:
		rule->kind = CFI_RULE_CFA;
		return set_offset(stated->offset, &rule->offset) ? REASON_OK : REASON_BAD_CFI;
	case CFI_STATE_REGISTER:
		convert_register(arch, stated->base, rule);
		return REASON_OK;
	case CFI_STATE_AT_EXPRESSION:
	case CFI_STATE_VALUE_EXPRESSION:
		return convert_expression(pool, arch, stated, rule);
	}
	return REASON_BAD_CFI;
}

static enum reason add_rules(struct cfi_pool *pool, const struct arch *arch,
			     const struct cfi_state *state, struct cfi_row *row)
{
	const struct cfi_state_rule at_default = { .kind = CFI_STATE_AT_CFA,
						   .offset = arch->return_address_at };
	for (unsigned reg = 0; reg < arch->registers; reg++) {
		const struct cfi_state_rule *stated = &state->rules[reg];
		if (stated->kind == CFI_STATE_UNSPECIFIED) {
			if (reg != row->return_register || !arch->return_address_at)
				continue;
			stated = &at_default;
		}
		struct cfi_rule rule = { .reg = (uint8_t)reg };
		enum reason reason = convert_rule(pool, arch, stated, &rule);
		if (reason)
			return reason;
		if (!is_default(arch, &rule))
			row->rules[row->rule_count++] = rule;
	}
	return REASON_OK;
}

static enum reason set_cfa(struct cfi_pool *pool, const struct arch *arch,
			   const struct cfi_state *state, struct cfi_row *row)
{
	if (state->cfa_kind == CFI_STATE_UNSPECIFIED) {
		row->cfa_kind = CFI_CFA_UNDEFINED;
		return REASON_OK;
	}
	if (state->cfa_kind == CFI_STATE_REGISTER) {
		row->cfa_kind = CFI_CFA_REGISTER;
		row->cfa_register = (uint8_t)state->cfa_register;
		return state->cfa_register < arch->registers &&
				       set_offset(state->cfa_offset, &row->cfa_offset)
			       ? REASON_OK
			       : REASON_BAD_CFI;
	}
	if (cfi_expr_match_cfa(arch, state->cfa_expression, state->cfa_expression_size, row))
		return REASON_OK;
	row->cfa_kind = CFI_CFA_EXPRESSION;
	return add_expression(pool, state->cfa_expression, state->cfa_expression_size,
			      &row->cfa_offset);
}

static uint8_t row_flags(const struct cfi_state *state, const struct cfi_cie *cie)
{
	unsigned flags = 0;
	if (cie->is_signal_frame)
		flags |= CFI_ROW_SIGNAL_FRAME;
	if (state->rules[cie->return_register].kind == CFI_STATE_UNDEFINED)
		flags |= CFI_ROW_OUTERMOST;
	if (state->is_ra_signed)
		flags |= CFI_ROW_RA_SIGNED | (cie->is_key_b ? CFI_ROW_KEY_B : 0);
	return (uint8_t)flags;
}

static bool reserve_row(struct cfi_pool *pool)
{
	return vec_reserve_((void **)&pool->rows, &pool->row_capacity, pool->row_count + 1,
			    sizeof(*pool->rows));
}

static enum reason intern_row(struct cfi_pool *pool, const struct cfi_row *row,
			      uint32_t *number_ret)
{
	size_t size = cfi_row_size(row);
	uint64_t key = hash_bytes(row, size, size);
	uint32_t known;
	while ((known = get_number(&pool->row_numbers, key))) {
		const struct cfi_row *other = pool->rows[known - 1];
		if (cfi_row_size(other) == size && memcmp(other, row, size) == 0) {
			*number_ret = known - 1;
			return REASON_OK;
		}
		key++;
	}
	const struct cfi_row *copy = keep(pool, row, size);
	if (!copy || !reserve_row(pool) ||
	    !set_number(&pool->row_numbers, key, (uint32_t)pool->row_count + 1))
		return REASON_NO_MEMORY;
	*number_ret = (uint32_t)pool->row_count;
	pool->rows[pool->row_count++] = copy;
	return REASON_OK;
}

enum reason cfi_pool_add_row(struct cfi_pool *pool, const struct arch *arch,
			     const struct cfi_state *state, const struct cfi_cie *cie,
			     uint32_t *number_ret)
{
	if (cie->return_register >= arch->registers)
		return REASON_BAD_CFI;
	union row_buffer buffer = { .row = { .return_register = cie->return_register,
					     .flags = row_flags(state, cie) } };
	enum reason reason = set_cfa(pool, arch, state, &buffer.row);
	if (!reason)
		reason = add_rules(pool, arch, state, &buffer.row);
	return reason ? reason : intern_row(pool, &buffer.row, number_ret);
}

size_t cfi_pool_bytes(const struct cfi_pool *pool)
{
	return pool->chunk_bytes + pool->row_capacity * sizeof(*pool->rows) +
	       (pool->row_numbers.capacity + pool->expression_numbers.capacity) *
		       sizeof(struct hash_slot) +
	       pool->expressions.capacity * sizeof(struct cfi_expression);
}
