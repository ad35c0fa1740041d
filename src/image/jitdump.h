/* SPDX-License-Identifier: MIT */
/*
 * jitdump.h: names and unwind information of code that a process has generated, from the file that
 * it writes about it.
 *
 * The process maps the first page of the file executable, which is how it is found. Its content is
 * hostile: each update reads a bounded part of what was appended, in all a bounded amount is kept,
 * and a range is believed only as far as the process has executable memory there that no file is
 * behind. The bytes of the code in the file are not used: they are not always those in memory.
 *
 * Format: tools/perf/Documentation/jitdump-specification.txt of Linux, version 1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/code_ranges.h"
#include "image/rootfs.h"
#include "target/maps.h"

struct jitdump;

/*
 * The next mapping from @maps->items[*index] on whose path is .../jit-PID.dump and that holds
 * executable the start of its file; *index is set behind it. NULL at the end. A forked process has
 * its parent's mapped too.
 */
const struct mapping *jitdump_next_mapping(const struct maps *maps, size_t *index);

/* Opens the file behind @mapping, written by the process whose root @root is. */
struct error *jitdump_open(const struct rootfs *root, const struct mapping *mapping,
			   uint16_t machine, struct jitdump **jitdump_ret);
/* The same from a descriptor, which it takes over on success. @name is for messages. */
struct error *jitdump_open_fd(int fd, const char *name, uint16_t machine,
			      struct jitdump **jitdump_ret);
void jitdump_close(struct jitdump *jitdump);
DEFINE_CLEANUP(jitdump_cleanup, struct jitdump, jitdump_close)
#define _cleanup_jitdump_ _cleanup_(jitdump_cleanup)

/*
 * Reads records that were appended since the last time, as far as the limits of a call and of time
 * allow. @now_ns is monotonic. True if there is more to read: a later call goes on.
 */
bool jitdump_update(struct jitdump *jitdump, uint64_t now_ns);

/*
 * The range that holds @address, all of it in executable memory without a file as @maps has it
 * (NULL: not checked). Valid until the next update; its eh_frame bytes until the file is closed.
 */
const struct code_range *jitdump_find(const struct jitdump *jitdump, const struct maps *maps,
				      uint64_t address);
/* Grows with each update that changed anything. */
uint64_t jitdump_generation(const struct jitdump *jitdump);
size_t jitdump_count(const struct jitdump *jitdump);
/* True if the file was found to contradict itself, or a limit is reached: nothing more is read. */
bool jitdump_is_finished(const struct jitdump *jitdump);
