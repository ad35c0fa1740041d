/* SPDX-License-Identifier: MIT */
/* intern.h: equal byte strings get the same small id. Strings are copied, NUL-terminated, and live as long as the table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define INTERN_NONE UINT32_MAX

struct intern {
	char **strings; /* by id */
	size_t count;
	size_t capacity;
	struct hash index; /* hash of the text → chain head */
	uint32_t *next;    /* by id: the next string with the same hash */
	size_t next_capacity;
};

/* A zeroed table is an empty one. */
void intern_deinit(struct intern *table);
/* The id of @text, new or old; INTERN_NONE without memory. */
uint32_t intern_add(struct intern *table, const char *text);
/* The text of @id, which must be one that intern_add returned. */
const char *intern_text(const struct intern *table, uint32_t id);
