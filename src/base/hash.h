/* SPDX-License-Identifier: MIT */
/*
 * hash.h: a map from 64-bit keys to pointers, open addressing.
 *
 * A zeroed map is empty. Values are the caller's and must not be NULL; hash_deinit does not release them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint64_t key;
	void *value; /* NULL: the slot is free */
};

struct hash {
	struct hash_slot *slots;
	size_t capacity; /* 0 or a power of two */
	size_t count;
};

void hash_deinit(struct hash *hash);
/* NULL if there is none. */
void *hash_get(const struct hash *hash, uint64_t key);
/* Adds or replaces; false without memory. */
bool hash_set(struct hash *hash, uint64_t key, void *value);
/* The removed value, NULL if there was none. */
void *hash_remove(struct hash *hash, uint64_t key);

/* Spreads a 64-bit value over 64 bits. */
uint64_t hash_mix(uint64_t value);
/* A hash of bytes, for keys made of several fields. */
uint64_t hash_bytes(const void *data, size_t size, uint64_t seed);

/* Visits every entry; the map must not change meanwhile. */
#define hash_foreach(slot, hash)                                                                   \
	for (struct hash_slot *slot = (hash)->slots;                                               \
	     slot && slot < (hash)->slots + (hash)->capacity; slot++)                              \
		if (slot->value)
