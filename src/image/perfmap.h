/* SPDX-License-Identifier: MIT */
/*
 * perfmap.h: names of generated code from /tmp/perf-PID.map, which the process writes.
 *
 * A line is "START SIZE NAME", both numbers hexadecimal. PID is the process's id in its own PID
 * namespace, and /tmp is that of its own root. Lines come in any order and a later one replaces
 * earlier ones that it overlaps; a line that is none is skipped, a last line without its newline
 * waits for the next update. Hostile as jitdump.h says, and bounded in the same way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/code_ranges.h"
#include "image/rootfs.h"
#include "target/maps.h"

struct perfmap;

/* The file of the process whose root @root is. *perfmap_ret is NULL, without an error, if it has none. */
struct error *perfmap_open(const struct rootfs *root, struct perfmap **perfmap_ret);
/* The same from a descriptor, which it takes over on success. */
struct error *perfmap_open_fd(int fd, struct perfmap **perfmap_ret);
void perfmap_close(struct perfmap *perfmap);
DEFINE_CLEANUP(perfmap_cleanup, struct perfmap, perfmap_close)
#define _cleanup_perfmap_ _cleanup_(perfmap_cleanup)

/* Reads what was appended, within limits; a file that has become shorter is read anew. True if there
 * is more to read. @now_ns is monotonic. */
bool perfmap_update(struct perfmap *perfmap, uint64_t now_ns);

/* As code_ranges_find. */
const struct code_range *perfmap_find(const struct perfmap *perfmap, const struct maps *maps,
				      uint64_t address);
/* Grows with each update that changed anything. */
uint64_t perfmap_generation(const struct perfmap *perfmap);
size_t perfmap_count(const struct perfmap *perfmap);
/* Lines that were none. */
uint64_t perfmap_skipped(const struct perfmap *perfmap);
