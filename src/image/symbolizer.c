/* SPDX-License-Identifier: MIT */
/* symbolizer.c: the symbol tables of one image, asked in turn. */
#include "image/symbolizer.h"

#include <stdlib.h>
#include <string.h>

enum source {
	SOURCE_SYMTAB,
	SOURCE_DEBUG_FILE,
	SOURCE_DYNSYM,
	SOURCE_EMBEDDED,
	SOURCE_COUNT,
};

struct symbolizer {
	const struct image *image;
	char *path;
	const struct debuginfo_places *places;
	struct functions_span span;
	bool has_code;
	bool looked[SOURCE_COUNT];
	struct functions *functions[SOURCE_COUNT]; /* NULL: there is no such table */
	struct image *debug;
	struct image *embedded;
};

struct error *symbolizer_create(const struct image *image, const char *path,
				const struct debuginfo_places *places,
				struct symbolizer **symbolizer_ret)
{
	_cleanup_symbolizer_ struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	if (!symbolizer)
		return error_no_memory();
	symbolizer->image = image;
	symbolizer->places = places;
	symbolizer->path = strdup(path);
	if (!symbolizer->path)
		return error_no_memory();
	symbolizer->has_code = functions_span(image, &symbolizer->span);
	*symbolizer_ret = no_cleanup(symbolizer);
	return NULL;
}

void symbolizer_destroy(struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++) {
		if (symbolizer->functions[i])
			functions_destroy(symbolizer->functions[i]);
	}
	if (symbolizer->debug)
		image_close(symbolizer->debug);
	if (symbolizer->embedded)
		image_close(symbolizer->embedded);
	free(symbolizer->path);
	free(symbolizer);
}

/* The image that a source's table is in, NULL if there is none. */
static const struct image *open_source(struct symbolizer *symbolizer, enum source source)
{
	switch (source) {
	case SOURCE_DEBUG_FILE:
		if (symbolizer->places)
			debuginfo_find(symbolizer->image, symbolizer->path, symbolizer->places,
				       &symbolizer->debug);
		return symbolizer->debug;
	case SOURCE_EMBEDDED:
		debuginfo_open_embedded(symbolizer->image, &symbolizer->embedded);
		return symbolizer->embedded;
	default:
		return symbolizer->image;
	}
}

/* Without memory there are no names from this table: the profile is worth more than they are. */
static struct functions *get_functions(struct symbolizer *symbolizer, enum source source)
{
	if (symbolizer->looked[source])
		return symbolizer->functions[source];
	symbolizer->looked[source] = true;
	const struct image *image = open_source(symbolizer, source);
	if (!image)
		return NULL;
	enum functions_table which = source == SOURCE_DYNSYM ? FUNCTIONS_DYNSYM : FUNCTIONS_SYMTAB;
	error_destroy(
		functions_load(image, which, &symbolizer->span, &symbolizer->functions[source]));
	return symbolizer->functions[source];
}

void symbolizer_prepare(struct symbolizer *symbolizer)
{
	if (symbolizer->has_code)
		get_functions(symbolizer, SOURCE_DYNSYM);
}

bool symbolizer_find(struct symbolizer *symbolizer, uint64_t vaddr, struct function *function_ret)
{
	struct function nearest = { 0 };
	if (!symbolizer->has_code)
		return false;
	for (enum source source = 0; source < SOURCE_COUNT; source++) {
		const struct functions *functions = get_functions(symbolizer, source);
		struct function found;
		if (!functions || !functions_find(functions, vaddr, &found))
			continue;
		if (!found.has_size && nearest.name && nearest.vaddr >= found.vaddr) {
			free(found.name);
			continue;
		}
		free(nearest.name);
		nearest = found;
		if (found.has_size)
			break;
	}
	if (!nearest.name)
		return false;
	*function_ret = nearest;
	return true;
}
