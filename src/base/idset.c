/* SPDX-License-Identifier: MIT */
/* idset.c: which number a key has. */
#include "base/idset.h"

#include <stdlib.h>

#include "base/hash.h"

#define CAPACITY_MIN 64

void idset_deinit(struct idset *set)
{
	free(set->slots);
	*set = (struct idset){ 0 };
}

/* The slot of @key, or the free one where it belongs. There is always a free one. */
static uint32_t *find(const struct idset *set, uint64_t key, idset_key key_of, const void *data)
{
	size_t mask = set->capacity - 1, at = hash_mix(key) & mask;
	while (set->slots[at] && key_of(data, set->slots[at] - 1) != key)
		at = (at + 1) & mask;
	return &set->slots[at];
}

uint32_t idset_get(const struct idset *set, uint64_t key, idset_key key_of, const void *data)
{
	return set->capacity ? *find(set, key, key_of, data) - 1 : IDSET_NONE;
}

/* The new table is filled from the things themselves, after the old one was given back. */
static bool grow(struct idset *set, uint32_t count, idset_key key_of, const void *data)
{
	size_t capacity = set->capacity ? 2 * set->capacity : CAPACITY_MIN;
	uint32_t *slots = calloc(capacity, sizeof(*slots));
	if (!slots)
		return false;
	free(set->slots);
	*set = (struct idset){ slots, capacity };
	for (uint32_t id = 0; id < count; id++)
		*find(set, key_of(data, id), key_of, data) = id + 1;
	return true;
}

bool idset_put(struct idset *set, uint32_t id, idset_key key_of, const void *data)
{
	if (id == IDSET_NONE)
		return false;
	/* Three quarters at most are in use. */
	if ((uint64_t)id + 1 > (uint64_t)set->capacity / 4 * 3 && !grow(set, id, key_of, data))
		return false;
	*find(set, key_of(data, id), key_of, data) = id + 1;
	return true;
}
