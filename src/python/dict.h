/* SPDX-License-Identifier: MIT */
/*
 * dict.h: dictionaries and instance attributes of the target, entry by entry.
 *
 * For what is looked at rarely and best effort: nothing is stopped, a dict may change while it is
 * read, and then entries are missing or their values are not what they were. Keys are compared, not
 * hashed: a look-up is linear.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/layout.h"
#include "target/memory.h"

/* A dict with more entries is not read. */
#define DICT_ENTRIES_MAX (1 << 16)
/* Entries read at once. */
#define DICT_BATCH 32
/* sizeof(PyDictKeyEntry), the largest kind of entry. */
#define DICT_ENTRY_SIZE_MAX 24

struct dict {
	struct memory *memory;
	const struct py_layout *layout;
	uint64_t entries;
	uint64_t values; /* where the values are, in the entries' order; 0: in the entries */
	size_t count;    /* entries, free ones included */
	uint32_t entry_size, key_offset, value_offset;
	uint64_t key_type; /* of the last key that was a string */

	size_t batch_start, batch_count; /* the entries in batch */
	uint8_t batch[DICT_BATCH * DICT_ENTRY_SIZE_MAX];
	uint64_t batch_values[DICT_BATCH];
};

/* The dict object at @address; false if there is none. */
bool dict_open(struct memory *memory, const struct py_layout *layout, uint64_t address,
	       struct dict *dict_ret);
/* The attributes of the instance at @address, wherever its type keeps them; false if it has none.
 */
bool dict_open_instance(struct memory *memory, const struct py_layout *layout, uint64_t address,
			struct dict *dict_ret);

/*
 * Key and value of entry @index; false if it is free, not readable or not below dict->count. What
 * is not readable ends the dict: count is lowered.
 */
bool dict_entry(struct dict *dict, size_t index, uint64_t *key_ret, uint64_t *value_ret);
/*
 * The value of the string key @name, which is ASCII. *@hint is an index that is tried first and is
 * set to where the key was found: instances of one type have their attributes in the same order.
 */
bool dict_find(struct dict *dict, const char *name, size_t *hint, uint64_t *value_ret);
