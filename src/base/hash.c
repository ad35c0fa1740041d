/* SPDX-License-Identifier: MIT */
/* hash.c: a map from 64-bit keys to pointers. */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

uint64_t hash_mix(uint64_t value)
{
	value ^= value >> 33;
	value *= UINT64_C(0xff51afd7ed558ccd);
	value ^= value >> 33;
	value *= UINT64_C(0xc4ceb9fe1a85ec53);
	value ^= value >> 33;
	return value;
}

uint64_t hash_bytes(const void *data, size_t size, uint64_t seed)
{
	const uint8_t *p = data;
	uint64_t value = hash_mix(seed ^ size);
	while (size >= 8) {
		uint64_t word;
		memcpy(&word, p, sizeof(word));
		value = hash_mix(value ^ word);
		p += 8;
		size -= 8;
	}
	uint64_t word = 0;
	if (size)
		memcpy(&word, p, size);
	return hash_mix(value ^ word);
}

void hash_deinit(struct hash *hash)
{
	free(hash->slots);
	*hash = (struct hash){ 0 };
}

/* The slot of @key, or the free one where it would go. Needs a free slot in the table. */
static struct hash_slot *hash_find(const struct hash *hash, uint64_t key)
{
	size_t mask = hash->capacity - 1;
	size_t i = (size_t)hash_mix(key) & mask;
	while (hash->slots[i].value && hash->slots[i].key != key)
		i = (i + 1) & mask;
	return &hash->slots[i];
}

void *hash_get(const struct hash *hash, uint64_t key)
{
	return hash->capacity ? hash_find(hash, key)->value : NULL;
}

static bool hash_grow(struct hash *hash)
{
	struct hash bigger = { .capacity = hash->capacity ? hash->capacity * 2 : 16 };
	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	hash_foreach (slot, hash)
		*hash_find(&bigger, slot->key) = *slot;
	bigger.count = hash->count;
	free(hash->slots);
	*hash = bigger;
	return true;
}

bool hash_set(struct hash *hash, uint64_t key, void *value)
{
	if ((hash->count + 1) * 4 > hash->capacity * 3 && !hash_grow(hash))
		return false;
	struct hash_slot *slot = hash_find(hash, key);
	if (!slot->value)
		hash->count++;
	*slot = (struct hash_slot){ .key = key, .value = value };
	return true;
}

void *hash_remove(struct hash *hash, uint64_t key)
{
	if (!hash->capacity)
		return NULL;
	struct hash_slot *slot = hash_find(hash, key);
	void *value = slot->value;
	if (!value)
		return NULL;
	hash->count--;

	/* Closes the gap: later entries of the same run move back unless they are at home already. */
	size_t mask = hash->capacity - 1;
	size_t gap = (size_t)(slot - hash->slots);
	for (size_t i = (gap + 1) & mask; hash->slots[i].value; i = (i + 1) & mask) {
		size_t home = (size_t)hash_mix(hash->slots[i].key) & mask;
		if (((i - home) & mask) >= ((i - gap) & mask)) {
			hash->slots[gap] = hash->slots[i];
			gap = i;
		}
	}
	hash->slots[gap].value = NULL;
	return value;
}
