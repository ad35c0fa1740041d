/* SPDX-License-Identifier: MIT */
/*
 * capsule.h: a snapshot in a file.
 *
 * Holds all that is needed to work out the stack again on another machine, without the process, its files or an interpreter: for
 * tests, and for bug reports. JSON; docs/formats.md has the schema. A capsule contains memory of the target: frames, code objects
 * and thread states, no other data of the program, but names and paths of its source. With native frames it has the thread's stack,
 * too, where anything may lie.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "snapshot/capsule_code.h"
#include "snapshot/snapshot.h"

/* 2 has native frames, or no Python ones. */
#define CAPSULE_VERSION 2

/* Numbers that python/ needs to read the blocks. This folder does not know what they mean. */
struct capsule_python {
	uint64_t version;
	uint64_t debug_build;
	uint64_t ob_head_extra;
	uint64_t runtime_address;
	uint64_t code_type;
	uint64_t current_address;
	uint64_t tstate;
};

struct capsule {
	uint16_t machine; /* e_machine */
	char name[16];    /* the thread's, the kernel's */
	bool has_python;
	struct capsule_python python;
	bool has_code; /* native frames are to be worked out too */
	struct capsule_code code;
	struct snapshot snapshot;
};

/* A zeroed snapshot inside is not enough: its blocks need their functions. */
void capsule_init(struct capsule *capsule);
void capsule_deinit(struct capsule *capsule);
static inline void capsule_cleanup(struct capsule *capsule)
{
	capsule_deinit(capsule);
}
#define _cleanup_capsule_ _cleanup_(capsule_cleanup)

/* Writes @snapshot of a thread called @name to a new file @path; an existing one is not touched. @python, @code: may be NULL. */
struct error *capsule_save(const char *path, uint16_t machine, const char *name,
			   const struct capsule_python *python, const struct capsule_code *code,
			   const struct snapshot *snapshot);
/* @capsule must be initialised and empty; on failure it is empty still. */
struct error *capsule_load(const char *path, struct capsule *capsule);
/* The same from memory; @name is for messages. */
struct error *capsule_parse(const char *text, size_t size, const char *name,
			    struct capsule *capsule);
