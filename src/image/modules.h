/* SPDX-License-Identifier: MIT */
/*
 * modules.h: mapping ↔ image ↔ load bias of one process.
 *
 * A module is one file that the process has mapped executable; its bias comes from a PT_LOAD
 * matched to a mapping's file offset, so a file that is mapped a second time elsewhere is two
 * modules and neither is mistaken for the other. Images are opened on first use, through the
 * target.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/image.h"
#include "target/maps.h"
#include "target/memory.h"
#include "target/process.h"

struct module {
	uint64_t start; /* lowest and one past the highest mapped address that belongs to it */
	uint64_t end;
	uint64_t bias; /* address in the process = vaddr + bias; valid once image is there */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	char *path;          /* in the target's root */
	bool deleted;        /* the path names another file by now */
	bool from_memory;    /* the image was read from the target, its file being out of reach */
	struct image *image; /* NULL until module_image */
	struct error *error; /* why there is no image, if it was tried in vain */
};

struct modules;

/* An empty list for @process and its @memory, which must outlive it. */
struct error *modules_create(const struct process *process, struct memory *memory,
			     struct modules **modules_ret);
void modules_destroy(struct modules *modules);
DEFINE_CLEANUP(modules_cleanup, struct modules, modules_destroy)
#define _cleanup_modules_ _cleanup_(modules_cleanup)

/*
 * Reads the maps again. Modules that are still there keep their image, and pointers to them stay
 * valid; pointers to others become invalid.
 */
struct error *modules_update(struct modules *modules);
/* Grows with each update that changed anything: caches compare it instead of being flushed. */
uint64_t modules_generation(const struct modules *modules);
size_t modules_count(const struct modules *modules);
struct module *modules_get(struct modules *modules, size_t index);
/* The maps of the last update. */
const struct maps *modules_maps(const struct modules *modules);
/* The module that holds @address, or NULL. */
struct module *modules_find(struct modules *modules, uint64_t address);
/* Opens the image if it is not yet; NULL if that is impossible: module->error says why. */
struct image *module_image(struct modules *modules, struct module *module);
