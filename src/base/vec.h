/* SPDX-License-Identifier: MIT */
/*
 * vec.h: growable arrays.
 *
 * DEFINE_VEC(struct foo_vec, foo_vec, struct foo) makes a type with items, count and capacity and its functions. A zeroed
 * vector is an empty one. Growth can fail: append returns NULL then and the vector is as before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Grows @items to hold @need elements of @size bytes; false without memory (@items then untouched). */
static inline bool vec_reserve_(void **items, size_t *capacity, size_t need, size_t size)
{
	if (need <= *capacity)
		return true;
	size_t capacity_new = *capacity ? *capacity : 8;
	while (capacity_new < need) {
		if (__builtin_mul_overflow(capacity_new, 2, &capacity_new))
			return false;
	}
	void *p = reallocarray(*items, capacity_new, size);
	if (!p)
		return false;
	*items = p;
	*capacity = capacity_new;
	return true;
}

#define DEFINE_VEC(vec_type, prefix, item_type)                                                    \
	vec_type                                                                                   \
	{                                                                                          \
		item_type *items;                                                                  \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	};                                                                                         \
	__attribute__((unused)) static inline void prefix##_deinit(vec_type *vec)                  \
	{                                                                                          \
		free(vec->items);                                                                  \
		*vec = (vec_type){ 0 };                                                            \
	}                                                                                          \
	__attribute__((unused)) static inline bool prefix##_reserve(vec_type *vec, size_t need)    \
	{                                                                                          \
		return vec_reserve_((void **)&vec->items, &vec->capacity, need,                    \
				    sizeof(item_type));                                            \
	}                                                                                          \
	/* A new zeroed item at the end, NULL without memory. */                                   \
	__attribute__((unused)) static inline item_type *prefix##_append(vec_type *vec)            \
	{                                                                                          \
		if (!prefix##_reserve(vec, vec->count + 1))                                        \
			return NULL;                                                               \
		item_type *item = &vec->items[vec->count++];                                       \
		memset(item, 0, sizeof(*item));                                                    \
		return item;                                                                       \
	}

/* A loop over all items. An empty vector has none, not even a pointer that could be added to. */
#define vec_foreach(item, vec)                                                                     \
	for (__typeof__(&*(vec)->items) item = (vec)->items;                                       \
	     item && item < (vec)->items + (vec)->count; item++)
