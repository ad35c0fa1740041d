/* SPDX-License-Identifier: MIT */
/*
 * idset.h: which number a key has, where the numbered things lie in an array and know their keys.
 *
 * Ids are given from 0 on, in order, and each is put in. The set keeps ids only and asks for the key of one where it needs it: four
 * bytes a slot instead of a map's sixteen, which counts where there are millions. Of ids with the same key the last one put is the
 * one that is found. A zeroed set is empty.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDSET_NONE UINT32_MAX

/* A key of two ids. */
static inline uint64_t idset_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* The key of thing number @id in @data. */
typedef uint64_t (*idset_key)(const void *data, uint32_t id);

struct idset {
	uint32_t *slots; /* id + 1; 0: free */
	size_t capacity; /* 0 or a power of two */
};

void idset_deinit(struct idset *set);
/* IDSET_NONE if there is none. */
uint32_t idset_get(const struct idset *set, uint64_t key, idset_key key_of, const void *data);
/* Puts @id, the highest so far, in; the thing must already be in @data. False without memory. */
bool idset_put(struct idset *set, uint32_t id, idset_key key_of, const void *data);
