/* SPDX-License-Identifier: MIT */
/* maps.h: the mappings of a process, from /proc/TID/maps, sorted by address. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "target/process.h"

struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file, of start */
	bool read, write, exec, shared;
	uint32_t dev_major, dev_minor;
	uint64_t inode; /* 0: no file behind it */
	/* As the kernel prints it: a path in the target's own root, "[heap]", "[vdso]", or "". Owned by the list. */
	char *path;
	bool deleted; /* the kernel said " (deleted)"; it is not part of path */
};

DEFINE_VEC(struct maps, maps_vec, struct mapping)

/* Parses the text of a maps file. Lines that are none are an error: the kernel writes no such lines. */
struct error *maps_parse(const char *text, struct maps *maps_ret);
struct error *maps_read(const struct process *process, struct maps *maps_ret);
/* The text alone, the caller's to free: what has not changed need not be parsed again. */
struct error *maps_read_text(const struct process *process, char **text_ret);
void maps_deinit(struct maps *maps);

/* The mapping that holds @address, or NULL. */
const struct mapping *maps_find(const struct maps *maps, uint64_t address);

/*
 * Opens the file behind @mapping as the target sees it: /proc/TID/map_files first (right even when the file was deleted or
 * replaced), then the path below /proc/TID/root and below our own root, then /proc/TID/exe; all but the first only if device and inode are the mapping's.
 * ERROR_GONE if none of them leads to that very file: it must then be read from memory.
 */
struct error *maps_open_file(const struct process *process, const struct mapping *mapping,
			     int *fd_ret);
