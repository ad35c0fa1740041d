/* SPDX-License-Identifier: MIT */
/*
 * attributes.h: what describes a resource: pairs of a key and a text or number, each key once.
 *
 * Keys and values are valid UTF-8 without control characters, whatever they were made from, and at most ATTRIBUTE_MAX bytes. A zeroed
 * list is empty.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

#define ATTRIBUTE_MAX  4096
#define ATTRIBUTES_MAX 128

struct attribute {
	char *key;
	char *text; /* NULL: it is a number */
	int64_t number;
};

DEFINE_VEC(struct attributes, attributes_vec, struct attribute)

void attributes_deinit(struct attributes *attributes);
static inline void attributes_cleanup(struct attributes *attributes)
{
	attributes_deinit(attributes);
}
#define _cleanup_attributes_ _cleanup_(attributes_cleanup)

/* Sets @key, in the place of what it was. Longer texts are cut. False without memory, for an empty key or when there are too many. */
bool attributes_set(struct attributes *attributes, const char *key, const char *text);
bool attributes_set_number(struct attributes *attributes, const char *key, int64_t number);
/* The same if there is no @key yet and @text is neither NULL nor empty; else true. */
bool attributes_add(struct attributes *attributes, const char *key, const char *text);
/* @text without the blanks at both ends, in its place. */
char *attributes_trim(char *text);
/* NULL if there is none. */
const struct attribute *attributes_get(const struct attributes *attributes, const char *key);
/* Adds those of @more that are not there yet. False without memory. */
bool attributes_add_all(struct attributes *attributes, const struct attributes *more);

/*
 * Adds "KEY=VALUE,KEY=VALUE", as OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS have it: blanks around the parts do not count,
 * %HH in a value is a byte. What is there already stays. ERROR_USAGE for a part without "=" or key; those before it are added.
 */
struct error *attributes_parse(struct attributes *attributes, const char *text);
/* Sets "KEY=VALUE", taken as it is. */
struct error *attributes_set_pair(struct attributes *attributes, const char *pair);
