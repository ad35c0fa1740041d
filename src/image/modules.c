/* SPDX-License-Identifier: MIT */
/* modules.c: which mappings are one load of one file, and where that load put it. */
#include "image/modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "image/load_bias.h"
#include "image/module_open.h"

/* Mappings of one file: one that has more is no library. */
#define LOAD_MAPPING_LIMIT 1024

DEFINE_VEC(struct module_vec, module_vec, struct module *)
DEFINE_VEC(struct pointer_vec, pointer_vec, const struct mapping *)

struct modules {
	const struct process *process;
	struct memory *memory;
	char *maps_text; /* that maps were parsed from */
	struct maps maps;
	struct module **owner; /* by mapping: the module that it belongs to, or NULL */
	struct module_vec list;
	uint64_t generation;
};

/* ---- one module ---- */

static void destroy_module(struct module *module)
{
	if (module->image)
		image_close(module->image);
	error_destroy(module->error);
	free(module->path);
	free(module);
}
DEFINE_CLEANUP(module_cleanup, struct module, destroy_module)
#define _cleanup_module_ _cleanup_(module_cleanup)

/* Orders mappings by the file behind them. */
static int compare_files(const struct mapping *a, const struct mapping *b)
{
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	if (a->dev_major != b->dev_major)
		return a->dev_major < b->dev_major ? -1 : 1;
	if (a->dev_minor != b->dev_minor)
		return a->dev_minor < b->dev_minor ? -1 : 1;
	return strcmp(a->path, b->path);
}

static bool is_part_of_load(const struct mapping *mapping)
{
	/* Without permissions: the hole that ld.so leaves between segments. */
	return mapping->inode && (mapping->read || mapping->write || mapping->exec);
}

/* ---- grouping ---- */

/* The mappings of one file, in the order of addresses. */
struct file {
	const struct mapping **mappings;
	size_t count;
};

static bool has_exec(const struct file *file)
{
	for (size_t i = 0; i < file->count; i++) {
		if (file->mappings[i]->exec)
			return true;
	}
	return false;
}

static struct error *create_module(struct modules *modules, const struct mapping *mapping,
				   struct module **module_ret)
{
	_cleanup_module_ struct module *module = calloc(1, sizeof(*module));
	if (!module)
		return error_no_memory();
	module->path = strdup(mapping->path);
	struct module **slot = module->path ? module_vec_append(&modules->list) : NULL;
	if (!slot)
		return error_no_memory();
	module->start = mapping->start;
	module->end = mapping->end;
	module->inode = mapping->inode;
	module->dev_major = mapping->dev_major;
	module->dev_minor = mapping->dev_minor;
	module->deleted = mapping->deleted;
	*slot = module;
	*module_ret = no_cleanup(module);
	return NULL;
}

static void add_mapping(struct modules *modules, struct module *module,
			const struct mapping *mapping)
{
	modules->owner[mapping - modules->maps.items] = module;
	if (mapping->start < module->start)
		module->start = mapping->start;
	if (mapping->end > module->end)
		module->end = mapping->end;
}

/* All mappings of @file as one module. The bias is found when the image is opened. */
static struct error *add_load(struct modules *modules, const struct file *file)
{
	if (!has_exec(file))
		return NULL;
	struct module *module = NULL;
	struct error *err = create_module(modules, file->mappings[0], &module);
	if (err)
		return err;
	for (size_t i = 0; i < file->count; i++)
		add_mapping(modules, module, file->mappings[i]);
	return NULL;
}

static const struct mapping *find_first(const struct file *file)
{
	for (size_t i = 0; i < file->count; i++) {
		if (!file->mappings[i]->offset && file->mappings[i]->read)
			return file->mappings[i];
	}
	return NULL;
}

/* The mappings whose bias is @bias as one module. @chosen is of no use where @has_bias says so. */
static struct error *add_bias(struct modules *modules, const struct file *file, uint64_t bias,
			      const uint64_t *chosen, const bool *has_bias)
{
	struct module *module = NULL;
	for (size_t i = 0; i < file->count; i++) {
		if (!has_bias[i] || chosen[i] != bias)
			continue;
		struct error *err =
			module ? NULL : create_module(modules, file->mappings[i], &module);
		if (err)
			return err;
		add_mapping(modules, module, file->mappings[i]);
	}
	return NULL;
}

static struct error *add_biases(struct modules *modules, const struct file *file,
				const struct image *image, const struct load_biases *biases)
{
	uint64_t chosen[LOAD_MAPPING_LIMIT];
	bool has_bias[LOAD_MAPPING_LIMIT];
	for (size_t i = 0; i < file->count; i++)
		has_bias[i] = load_bias_choose(image, file->mappings[i], biases, &chosen[i]);
	vec_foreach (entry, biases) {
		struct error *err =
			entry->exec ? add_bias(modules, file, entry->bias, chosen, has_bias) : NULL;
		if (err)
			return err;
	}
	return NULL;
}

/* The file is mapped more than once: only its program headers tell which mapping is of which load.
 */
static struct error *add_ambiguous(struct modules *modules, const struct file *file, bool *done_ret)
{
	_cleanup_image_ struct image *image = NULL;
	bool from_memory;
	if (file->count > LOAD_MAPPING_LIMIT)
		return NULL;
	_cleanup_error_ struct error *unreadable =
		module_open(modules->process, modules->memory, file->mappings[0], find_first(file),
			    &image, &from_memory);
	if (unreadable)
		return NULL;
	struct load_biases biases = { 0 };
	struct error *err = NULL;
	for (size_t i = 0; i < file->count && !err; i++) {
		if (!load_bias_vote(image, file->mappings[i], &biases))
			err = error_no_memory();
	}
	if (!err)
		err = add_biases(modules, file, image, &biases);
	load_biases_deinit(&biases);
	*done_ret = true;
	return err;
}

/* One load of a file has its pieces at growing offsets. */
static bool is_one_load(const struct file *file)
{
	for (size_t i = 1; i < file->count; i++) {
		if (file->mappings[i]->offset <= file->mappings[i - 1]->offset)
			return false;
	}
	return true;
}

static struct error *add_file(struct modules *modules, const struct file *file)
{
	if (!has_exec(file))
		return NULL;
	if (is_one_load(file))
		return add_load(modules, file);
	bool done = false;
	struct error *err = add_ambiguous(modules, file, &done);
	if (err || done)
		return err;

	/* Unreadable: a new load is assumed where the offset falls back. */
	size_t first = 0;
	for (size_t i = 1; i <= file->count && !err; i++) {
		if (i < file->count && file->mappings[i]->offset > file->mappings[i - 1]->offset)
			continue;
		struct file load = { file->mappings + first, i - first };
		err = add_load(modules, &load);
		first = i;
	}
	return err;
}

static int compare_mappings(const void *a, const void *b)
{
	const struct mapping *x = *(const struct mapping *const *)a;
	const struct mapping *y = *(const struct mapping *const *)b;
	int order = compare_files(x, y);
	return order ? order : (x->start > y->start) - (x->start < y->start);
}

static int compare_modules(const void *a, const void *b)
{
	const struct module *x = *(struct module *const *)a, *y = *(struct module *const *)b;
	return (x->start > y->start) - (x->start < y->start);
}

static struct error *add_files(struct modules *modules, struct pointer_vec *mappings)
{
	vec_foreach (mapping, &modules->maps) {
		if (!is_part_of_load(mapping))
			continue;
		const struct mapping **slot = pointer_vec_append(mappings);
		if (!slot)
			return error_no_memory();
		*slot = mapping;
	}
	if (!mappings->count)
		return NULL;
	qsort(mappings->items, mappings->count, sizeof(*mappings->items), compare_mappings);
	for (size_t first = 0, i = 1; i <= mappings->count; i++) {
		if (i < mappings->count &&
		    !compare_files(mappings->items[i], mappings->items[first]))
			continue;
		struct file file = { mappings->items + first, i - first };
		struct error *err = add_file(modules, &file);
		if (err)
			return err;
		first = i;
	}
	if (modules->list.count)
		qsort(modules->list.items, modules->list.count, sizeof(*modules->list.items),
		      compare_modules);
	return NULL;
}

/* Fills owner and list from maps. */
static struct error *group(struct modules *modules)
{
	modules->owner = calloc(modules->maps.count + 1, sizeof(*modules->owner));
	if (!modules->owner)
		return error_no_memory();
	struct pointer_vec mappings = { 0 };
	struct error *err = add_files(modules, &mappings);
	pointer_vec_deinit(&mappings);
	return err;
}

/* ---- the list ---- */

static void deinit(struct modules *modules)
{
	vec_foreach (slot, &modules->list)
		destroy_module(*slot);
	module_vec_deinit(&modules->list);
	free(modules->owner);
	free(modules->maps_text);
	maps_deinit(&modules->maps);
}

struct error *modules_create(const struct process *process, struct memory *memory,
			     struct modules **modules_ret)
{
	struct modules *modules = calloc(1, sizeof(*modules));
	if (!modules)
		return error_no_memory();
	modules->process = process;
	modules->memory = memory;
	*modules_ret = modules;
	return NULL;
}

void modules_destroy(struct modules *modules)
{
	deinit(modules);
	free(modules);
}

static bool is_same_module(const struct module *a, const struct module *b)
{
	return a->start == b->start && a->end == b->end && a->inode == b->inode &&
	       a->dev_major == b->dev_major && a->dev_minor == b->dev_minor &&
	       !strcmp(a->path, b->path);
}

/* Exchanges the objects, so that pointers to the old one stay good. */
static bool keep(struct module **now, struct module **old, struct hash *kept)
{
	if (!hash_set(kept, (uintptr_t)*now, *old))
		return false;
	(*old)->deleted |= (*now)->deleted;
	struct module *object = *old;
	*old = *now;
	*now = object;
	return true;
}

/* Both lists are sorted by start. True in *changed_ret if they are not the same modules. */
static bool keep_all(struct modules *next, struct modules *old, struct hash *kept,
		     bool *changed_ret)
{
	size_t count = 0, j = 0;
	for (size_t i = 0; i < next->list.count; i++) {
		struct module **now = &next->list.items[i];
		while (j < old->list.count && old->list.items[j]->start < (*now)->start)
			j++;
		if (j == old->list.count || !is_same_module(*now, old->list.items[j]))
			continue;
		if (!keep(now, &old->list.items[j++], kept))
			return false;
		count++;
	}
	*changed_ret = count != next->list.count || count != old->list.count;
	return true;
}

static void update_owners(struct modules *next, const struct hash *kept)
{
	for (size_t i = 0; i < next->maps.count; i++) {
		struct module *module =
			next->owner[i] ? hash_get(kept, (uintptr_t)next->owner[i]) : NULL;
		if (module)
			next->owner[i] = module;
	}
}

struct error *modules_update(struct modules *modules)
{
	_cleanup_(deinit) struct modules next = {
		.process = modules->process,
		.memory = modules->memory,
		.generation = modules->generation,
	};
	struct error *err = maps_read_text(modules->process, &next.maps_text);
	if (err)
		return err;
	if (modules->owner && !strcmp(modules->maps_text, next.maps_text))
		return NULL;
	err = error_prefix(maps_parse(next.maps_text, &next.maps), "process %d",
			   (int)modules->process->pid);
	if (!err)
		err = group(&next);
	if (err)
		return err;

	struct hash kept = { 0 };
	bool changed = true;
	if (!keep_all(&next, modules, &kept, &changed)) {
		hash_deinit(&kept);
		return error_no_memory();
	}
	update_owners(&next, &kept);
	hash_deinit(&kept);
	next.generation += changed;

	struct modules old = *modules;
	*modules = next;
	next = old;
	return NULL;
}

uint64_t modules_generation(const struct modules *modules)
{
	return modules->generation;
}

size_t modules_count(const struct modules *modules)
{
	return modules->list.count;
}

struct module *modules_get(struct modules *modules, size_t index)
{
	return modules->list.items[index];
}

const struct maps *modules_maps(const struct modules *modules)
{
	return &modules->maps;
}

struct module *modules_find(struct modules *modules, uint64_t address)
{
	const struct mapping *mapping = maps_find(&modules->maps, address);
	return mapping ? modules->owner[mapping - modules->maps.items] : NULL;
}

/* ---- images ---- */

/* The first mapping from @mapping on that belongs to @module, NULL if there is none. */
static const struct mapping *next_of(const struct modules *modules, const struct module *module,
				     const struct mapping *mapping)
{
	const struct mapping *end = modules->maps.items + modules->maps.count;
	for (; mapping < end && mapping->start < module->end; mapping++) {
		if (modules->owner[mapping - modules->maps.items] == module)
			return mapping;
	}
	return NULL;
}

static const struct mapping *first_of(const struct modules *modules, const struct module *module)
{
	return next_of(modules, module, maps_find(&modules->maps, module->start));
}

static bool find_module_bias(const struct modules *modules, const struct module *module,
			     const struct image *image, uint64_t *bias_ret)
{
	struct load_biases biases = { 0 };
	bool ok = true;
	for (const struct mapping *mapping = first_of(modules, module); mapping && ok;
	     mapping = next_of(modules, module, mapping + 1))
		ok = load_bias_vote(image, mapping, &biases);
	ok = ok && load_bias_most(&biases, bias_ret);
	load_biases_deinit(&biases);
	return ok;
}

/* The mapping of the start of the file: the module's own, else that of another load. */
static const struct mapping *find_start(const struct modules *modules, const struct module *module)
{
	for (const struct mapping *mapping = first_of(modules, module); mapping;
	     mapping = next_of(modules, module, mapping + 1)) {
		if (!mapping->offset && mapping->read)
			return mapping;
	}
	const struct mapping *own = maps_find(&modules->maps, module->start);
	vec_foreach (mapping, &modules->maps) {
		if (!mapping->offset && mapping->read && !compare_files(mapping, own))
			return mapping;
	}
	return NULL;
}

struct image *module_image(struct modules *modules, struct module *module)
{
	if (module->image || module->error)
		return module->image;
	_cleanup_image_ struct image *image = NULL;
	module->error = module_open(modules->process, modules->memory,
				    maps_find(&modules->maps, module->start),
				    find_start(modules, module), &image, &module->from_memory);
	if (module->error)
		return NULL;
	if (!find_module_bias(modules, module, image, &module->bias)) {
		module->error = error_create(ERROR_CORRUPT,
					     "%s is mapped otherwise than its program headers say",
					     module->path);
		return NULL;
	}
	module->image = no_cleanup(image);
	return module->image;
}
