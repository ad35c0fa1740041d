/* SPDX-License-Identifier: MIT */
/* symbolize.c: native addresses → names. */
#include "aggregate/symbolize.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/glue.h"
#include "aggregate/profile_copy.h"
#include "image/function_name.h"
#include "image/symbolizer.h"

/* A process with plugins that come and go: an image is a file descriptor and what was read of it. */
#define IMAGES_MAX 256

struct address {
	uint32_t function;   /* of the profile */
	struct image *image; /* one of those held; NULL once resolved */
	uint64_t vaddr;
	uint64_t start; /* of its function; 0: not known */
	char *path;
	char *name; /* NULL: none was found */
	bool is_runtime;
};

DEFINE_VEC(struct address_vec, address_vec, struct address)
DEFINE_VEC(struct image_vec, image_vec, struct image *)

struct symbolize {
	struct address_vec addresses;
	size_t resolved;         /* of these, the first ones: there is no more to find out */
	struct image_vec images; /* held */
	unsigned round;          /* grows when they are closed */
	struct hash by_function; /* profile's function id → index + 1 */
};

struct error *symbolize_create(struct symbolize **symbolize_ret)
{
	*symbolize_ret = calloc(1, sizeof(**symbolize_ret));
	return *symbolize_ret ? NULL : error_no_memory();
}

static void close_images(struct symbolize *symbolize)
{
	vec_foreach (image, &symbolize->images)
		image_close(*image);
	symbolize->images.count = 0;
	symbolize->round++;
}

void symbolize_destroy(struct symbolize *symbolize)
{
	close_images(symbolize);
	image_vec_deinit(&symbolize->images);
	vec_foreach (address, &symbolize->addresses) {
		free(address->path);
		free(address->name);
	}
	address_vec_deinit(&symbolize->addresses);
	hash_deinit(&symbolize->by_function);
	free(symbolize);
}

static bool hold(struct symbolize *symbolize, struct image *image)
{
	vec_foreach (held, &symbolize->images)
		if (*held == image)
			return true;
	struct image **slot = image_vec_append(&symbolize->images);
	if (slot)
		*slot = image_ref(image);
	return slot != NULL;
}

static bool add_address(struct symbolize *symbolize, uint32_t function,
			const struct symbolize_place *place)
{
	if (place->image && !hold(symbolize, place->image))
		return false;
	struct address *address = address_vec_append(&symbolize->addresses);
	if (!address)
		return false;
	*address = (struct address){
		.function = function,
		.image = place->image,
		.vaddr = place->vaddr,
		.start = place->function,
		.path = strdup(place->path),
		.name = place->name ? strdup(place->name) : NULL,
		.is_runtime = place->is_runtime,
	};
	return address->path && hash_set(&symbolize->by_function, function,
					 (void *)(uintptr_t)symbolize->addresses.count);
}

uint32_t symbolize_function(struct symbolize *symbolize, struct profile *profile,
			    const struct symbolize_place *place)
{
	/* The image is part of the name: after an exec another file may be at the same path. Once closed, another may be at its address. */
	char name[64];
	snprintf(name, sizeof(name), "%u/%p+%#" PRIx64, symbolize->round, (void *)place->image,
		 place->vaddr);
	uint32_t function = profile_function(profile, name, place->path, 0, PROFILE_NATIVE);
	if (function == PROFILE_NONE || hash_get(&symbolize->by_function, function))
		return function;
	return add_address(symbolize, function, place) ? function : PROFILE_NONE;
}

bool symbolize_label(const struct symbolize *symbolize, uint32_t function,
		     struct symbolize_label *label_ret)
{
	size_t number = (size_t)(uintptr_t)hash_get(&symbolize->by_function, function);
	if (!number)
		return false;
	const struct address *address = &symbolize->addresses.items[number - 1];
	*label_ret = (struct symbolize_label){
		.name = address->name,
		.vaddr = address->start ? address->start : address->vaddr,
		.is_glue = address->is_runtime && glue_is_one(address->name),
	};
	return true;
}

static int by_image(const void *a, const void *b)
{
	const struct address *const *left = a, *const *right = b;
	uintptr_t x = (uintptr_t)(*left)->image, y = (uintptr_t)(*right)->image;
	return (x > y) - (x < y);
}

void symbolize_resolve_new(struct symbolize *symbolize, const struct debuginfo_places *places)
{
	size_t count = 0, end = symbolize->addresses.count;
	if (symbolize->resolved == end)
		return;
	_cleanup_free_ struct address **pending =
		calloc(end - symbolize->resolved, sizeof(*pending));
	if (!pending)
		return;
	for (size_t i = symbolize->resolved; i < end; i++) {
		struct address *address = &symbolize->addresses.items[i];
		if (address->image && !address->name)
			pending[count++] = address;
	}
	symbolize->resolved = end;
	qsort(pending, count, sizeof(*pending), by_image);

	struct symbolizer *symbolizer = NULL;
	for (size_t i = 0; i < count; i++) {
		if (!i || pending[i]->image != pending[i - 1]->image) {
			if (symbolizer)
				symbolizer_destroy(symbolizer);
			symbolizer = NULL;
			error_destroy(symbolizer_create(pending[i]->image, pending[i]->path, places,
							&symbolizer));
		}
		if (symbolizer)
			pending[i]->name =
				function_name(symbolizer, pending[i]->image, pending[i]->vaddr);
	}
	if (symbolizer)
		symbolizer_destroy(symbolizer);
}

void symbolize_resolve(struct symbolize *symbolize, const struct debuginfo_places *places)
{
	symbolize_resolve_new(symbolize, places);
	vec_foreach (address, &symbolize->addresses)
		address->image = NULL;
	close_images(symbolize);
}

bool symbolize_is_full(const struct symbolize *symbolize)
{
	return symbolize->images.count >= IMAGES_MAX;
}

/* ---- writing the profile anew ---- */

struct rewrite {
	const struct symbolize *symbolize;
	enum symbolize_mode mode;
	const struct profile *old;
	struct profile *fresh;
	const uint32_t *threads; /* the new number of each thread; NULL: the old one */
	uint32_t *path;          /* frame ids of the old profile, outermost first */
	size_t capacity;
};

static const struct address *address_of(const struct rewrite *rewrite, uint32_t function)
{
	if (!rewrite->symbolize)
		return NULL;
	size_t number = (size_t)(uintptr_t)hash_get(&rewrite->symbolize->by_function, function);
	return number ? &rewrite->symbolize->addresses.items[number - 1] : NULL;
}

static bool is_left_out(const struct rewrite *rewrite, const struct address *address,
			bool below_python)
{
	switch (rewrite->mode) {
	case SYMBOLIZE_FULL:
		return false;
	case SYMBOLIZE_LEAF:
		return !below_python || (address->is_runtime && glue_is_one(address->name));
	case SYMBOLIZE_FOLD:
		break;
	}
	return address->is_runtime && glue_is_one(address->name);
}

static uint32_t native_function(struct rewrite *rewrite, const struct address *address)
{
	char text[32];
	/* All addresses in a function are one function, with a name or without. */
	snprintf(text, sizeof(text), "+%#" PRIx64,
		 address->start ? address->start : address->vaddr);
	return profile_function(rewrite->fresh, address->name ? address->name : text, address->path,
				0, PROFILE_NATIVE);
}

static uint32_t copy_function(struct rewrite *rewrite, const struct profile_function *function)
{
	const struct intern *strings = &rewrite->old->strings;
	return profile_function(rewrite->fresh, intern_text(strings, function->name),
				function->file == PROFILE_NONE
					? NULL
					: intern_text(strings, function->file),
				function->firstlineno, function->kind);
}

/* Fills path with the new frames of old stack @stack; how many. */
static bool map_stack(struct rewrite *rewrite, uint32_t stack, size_t *count_ret)
{
	const struct profile *old = rewrite->old;
	size_t depth = 0, kept = 0, last_python = 0;
	for (uint32_t at = stack; at != PROFILE_NONE; at = old->stacks.items[at].parent)
		depth++;
	if (!vec_reserve_((void **)&rewrite->path, &rewrite->capacity, depth,
			  sizeof(*rewrite->path)))
		return false;
	size_t place = depth;
	for (uint32_t at = stack; at != PROFILE_NONE; at = old->stacks.items[at].parent)
		rewrite->path[--place] = old->stacks.items[at].frame;
	for (size_t i = 0; i < depth; i++) {
		uint32_t function = old->frames.items[rewrite->path[i]].function;
		if (old->functions.items[function].kind == PROFILE_PYTHON)
			last_python = i + 1;
	}
	for (size_t i = 0; i < depth; i++) {
		const struct profile_frame *frame = &old->frames.items[rewrite->path[i]];
		const struct address *address = address_of(rewrite, frame->function);
		if (address && is_left_out(rewrite, address, i >= last_python))
			continue;
		uint32_t function =
			address ? native_function(rewrite, address)
				: copy_function(rewrite, &old->functions.items[frame->function]);
		rewrite->path[kept++] = profile_frame(rewrite->fresh, function, frame->line);
	}
	*count_ret = kept;
	return true;
}

static struct error *copy_samples(struct rewrite *rewrite)
{
	vec_foreach (sample, &rewrite->old->samples) {
		size_t count;
		uint32_t stack;
		if (!map_stack(rewrite, sample->stack, &count) ||
		    profile_stack(rewrite->fresh, rewrite->path, count, &stack))
			return error_no_memory();
		struct profile_sample moved = *sample;
		moved.stack = stack;
		if (rewrite->threads)
			moved.thread = rewrite->threads[sample->thread];
		if (profile_merge(rewrite->fresh, &moved))
			return error_no_memory();
	}
	return NULL;
}

static struct error *copy_stacks(struct rewrite *rewrite, uint32_t *stacks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t depth;
		if (stacks[i] == PROFILE_NONE)
			continue;
		if (!map_stack(rewrite, stacks[i], &depth) ||
		    profile_stack(rewrite->fresh, rewrite->path, depth, &stacks[i]))
			return error_no_memory();
	}
	return NULL;
}

/* What is not about stacks stays as it is. */
static void move_facts(struct profile *old, struct profile *fresh)
{
	fresh->facts = old->facts;
	old->facts = (struct profile_facts){ 0 };
	fresh->stats = old->stats;
	old->stats = (struct stats){ 0 };
	fresh->processes = old->processes;
	old->processes = (struct profile_processes){ 0 };
	fresh->threads = old->threads;
	old->threads = (struct profile_threads){ 0 };
}

struct error *symbolize_copy(struct symbolize *symbolize, enum symbolize_mode mode,
			     const struct profile *profile, struct profile **copy_ret)
{
	_cleanup_free_ uint32_t *threads = NULL;
	_cleanup_profile_ struct profile *fresh = NULL;
	struct error *err = profile_create(&fresh);
	if (!err)
		err = profile_copy_facts(profile, fresh, &threads);
	if (err)
		return err;
	struct rewrite rewrite = {
		.symbolize = symbolize,
		.mode = mode,
		.old = profile,
		.fresh = fresh,
		.threads = threads,
	};
	err = copy_samples(&rewrite);
	free(rewrite.path);
	if (!err)
		*copy_ret = no_cleanup(fresh);
	return err;
}

struct error *symbolize_rewrite(struct symbolize *symbolize, enum symbolize_mode mode,
				struct profile **profile)
{
	return symbolize_rewrite_stacks(symbolize, mode, profile, NULL, 0);
}

struct error *symbolize_rewrite_stacks(struct symbolize *symbolize, enum symbolize_mode mode,
				       struct profile **profile, uint32_t *stacks, size_t count)
{
	_cleanup_profile_ struct profile *fresh = NULL;
	struct error *err = profile_create(&fresh);
	if (err)
		return err;
	struct rewrite rewrite = {
		.symbolize = symbolize,
		.mode = mode,
		.old = *profile,
		.fresh = fresh,
	};
	err = copy_samples(&rewrite);
	if (!err)
		err = copy_stacks(&rewrite, stacks, count);
	free(rewrite.path);
	if (err)
		return err;

	struct profile *old = *profile;
	move_facts(old, fresh);
	*profile = no_cleanup(fresh);
	profile_destroy(old);
	return NULL;
}
