/* SPDX-License-Identifier: MIT */
/* paths.c: the shortest file texts that are still unique. */
#include "write/paths.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/intern.h"

/* Packages nested deeper than this are not followed further up. */
#define PACKAGE_DEPTH_MAX 64
/* Rounds of lengthening by one directory; then the full path is taken. Real trees need two or
 * three. */
#define ROUNDS_MAX 16

/* What is known of directories: each is asked about once. */
struct directories {
	const struct path_rules *rules;
	struct intern names;
	struct hash answers; /* id of the name → package or ordinary */
};

static char package, ordinary;

static void directories_deinit(struct directories *directories)
{
	intern_deinit(&directories->names);
	hash_deinit(&directories->answers);
}

static bool is_package(struct directories *directories, const char *dir)
{
	uint32_t id = intern_add(&directories->names, dir);
	if (id == INTERN_NONE)
		return false;
	char *answer = hash_get(&directories->answers, id);
	if (!answer) {
		bool yes = directories->rules->is_package_dir(directories->rules->context, dir);
		answer = yes ? &package : &ordinary;
		/* Without memory it is asked again next time. */
		(void)hash_set(&directories->answers, id, answer);
	}
	return answer == &package;
}

static bool component_is(const char *component, size_t length, const char *name)
{
	return strlen(name) == length && !memcmp(component, name, length);
}

/* "python3", "python3.12", "python3.13t", "python312.zip": a directory of the standard library if
 * it is below lib. */
static bool is_stdlib_name(const char *component, size_t length)
{
	static const char prefix[] = "python";
	size_t skip = sizeof(prefix) - 1;
	return length > skip && !memcmp(component, prefix, skip) && component[skip] >= '2' &&
	       component[skip] <= '9';
}

/* Length of the part of @file up to the innermost well-known root, its slash included; 0 if there
 * is none. */
static size_t known_root(const char *file)
{
	size_t root = 0;
	bool in_lib = false;
	const char *component = file;
	for (const char *slash; (slash = strchr(component, '/')); component = slash + 1) {
		size_t length = (size_t)(slash - component);
		if (component_is(component, length, "site-packages") ||
		    component_is(component, length, "dist-packages") ||
		    (in_lib && is_stdlib_name(component, length)))
			root = (size_t)(slash + 1 - file);
		in_lib = component_is(component, length, "lib") ||
			 component_is(component, length, "lib64") ||
			 component_is(component, length, "lib32");
	}
	return root;
}

/* Where the last component of the first @length bytes of @file starts. */
static size_t last_component(const char *file, size_t length)
{
	while (length && file[length - 1] != '/')
		length--;
	return length;
}

/* Where @file starts when seen from the directory that holds its outermost package. */
static struct error *package_start(struct directories *directories, const char *file,
				   size_t *start_ret)
{
	size_t start = last_component(file, strlen(file));
	if (!directories->rules->is_package_dir) {
		*start_ret = start;
		return NULL;
	}

	_cleanup_free_ char *dir = strdup(file);
	if (!dir)
		return error_no_memory();
	for (int depth = 0; start > 1 && depth < PACKAGE_DEPTH_MAX; depth++) {
		dir[start - 1] = '\0';
		if (!is_package(directories, dir))
			break;
		start = last_component(file, start - 1);
	}
	*start_ret = start;
	return NULL;
}

static struct error *first_start(struct directories *directories, struct path *path)
{
	if (path->known)
		return NULL;
	path->start = 0;
	if (path->file[0] == '<')
		return NULL;
	size_t last = last_component(path->file, strlen(path->file));
	if (!path->file[last])
		return NULL;
	if (!path->python) {
		path->start = last;
		return NULL;
	}
	path->start = known_root(path->file);
	if (path->start)
		return NULL;
	return package_start(directories, path->file, &path->start);
}

static int compare_texts(const void *a, const void *b)
{
	const struct path *x = *(struct path *const *)a;
	const struct path *y = *(struct path *const *)b;
	return strcmp(x->file + x->start, y->file + y->start);
}

static bool lengthen(struct path *path, int round)
{
	if (!path->start)
		return false;
	path->start = round < ROUNDS_MAX ? last_component(path->file, path->start - 1) : 0;
	return true;
}

/* Lengthens all of @order (sorted by text) that have a twin; false if none has. */
static bool lengthen_twins(struct path **order, size_t count, int round)
{
	bool changed = false;
	for (size_t i = 0, end; i < count; i = end) {
		/* The texts are compared before any of the run changes. */
		for (end = i + 1; end < count && !compare_texts(&order[i], &order[end]); end++)
			;
		if (end - i < 2)
			continue;
		for (size_t k = i; k < end; k++)
			changed |= lengthen(order[k], round);
	}
	return changed;
}

struct error *paths_shorten(struct path *paths, size_t count, const struct path_rules *rules)
{
	if (!count)
		return NULL;
	_cleanup_free_ struct path **order = calloc(count, sizeof(*order));
	if (!order)
		return error_no_memory();

	_cleanup_(directories_deinit) struct directories directories = { .rules = rules };
	for (size_t i = 0; i < count; i++) {
		struct error *err = first_start(&directories, &paths[i]);
		if (err)
			return err;
		order[i] = &paths[i];
	}

	/* Ends: every round moves a start towards 0, and full paths differ. */
	int round = 0;
	do
		qsort(order, count, sizeof(*order), compare_texts);
	while (lengthen_twins(order, count, round++));
	return NULL;
}
