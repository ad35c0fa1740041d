/* SPDX-License-Identifier: MIT */
/*
 * sources.h: the source files of the processes of a recording, for formats that show them.
 *
 * Places are noted while a process lives and are good after its end. A file is read only if the process itself may read it:
 * a program that calls its code /etc/shadow must not get that into a page of its owner's.
 */
#pragma once

#include <sys/types.h>

#include "base/vec.h"
#include "image/rootfs.h"
#include "target/process.h"
#include "write/writer.h"

struct source_place {
	struct rootfs root;
	dev_t device; /* of the root directory */
	ino_t inode;
	gid_t gid; /* of the process, for files; root has its user */
	char *cwd; /* where relative names begin; NULL: unknown */
};

DEFINE_VEC(struct source_places, source_places, struct source_place)

/* A zeroed one is empty. */
struct sources {
	struct source_places places;
};

/* Notes where @process has its files, unless another one has them at the same place. What can not be had is left out. */
void sources_add(struct sources *sources, const struct process *process);
void sources_deinit(struct sources *sources);
/* For writer_options; @sources must outlive it. */
struct source_reader sources_reader(struct sources *sources);
