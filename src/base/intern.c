/* SPDX-License-Identifier: MIT */
/* intern.c: string → small id. */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void intern_deinit(struct intern *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->strings[i]);
	free(table->strings);
	free(table->next);
	hash_deinit(&table->index);
	*table = (struct intern){ 0 };
}

uint32_t intern_add(struct intern *table, const char *text)
{
	uint64_t key = hash_bytes(text, strlen(text), 0);
	/* Values are id + 1, since a hash value must not be NULL. */
	uint32_t head = (uint32_t)(uintptr_t)hash_get(&table->index, key);
	for (uint32_t i = head; i; i = table->next[i - 1])
		if (!strcmp(table->strings[i - 1], text))
			return i - 1;

	if (table->count >= INTERN_NONE - 1 ||
	    !vec_reserve_((void **)&table->strings, &table->capacity, table->count + 1,
			  sizeof(*table->strings)) ||
	    !vec_reserve_((void **)&table->next, &table->next_capacity, table->count + 1,
			  sizeof(*table->next)))
		return INTERN_NONE;
	char *copy = strdup(text);
	if (!copy)
		return INTERN_NONE;
	uint32_t id = (uint32_t)table->count;
	if (!hash_set(&table->index, key, (void *)(uintptr_t)(id + 1))) {
		free(copy);
		return INTERN_NONE;
	}
	table->strings[id] = copy;
	table->next[id] = head;
	table->count++;
	return id;
}

const char *intern_text(const struct intern *table, uint32_t id)
{
	return table->strings[id];
}
