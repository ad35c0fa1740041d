/* SPDX-License-Identifier: MIT */
/*
 * code_map.h: an address in a process → what code is there and which rule unwinds it.
 *
 * Knows modules, the vdso and code that the process has generated, whose names come from its jitdump or its perf map. Tables of
 * rules are made on first use and kept as long as their module; an answer about a module is cached by pc, and the cache is dropped
 * when the modules change (modules_generation).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/reason.h"
#include "image/jitdump.h"
#include "image/modules.h"
#include "image/perfmap.h"
#include "snapshot/capsule_code.h"
#include "unwind/cfi_row.h"
#include "unwind/cfi_table.h"

enum code_kind {
	CODE_NONE,      /* no executable memory */
	CODE_MODULE,    /* a file's, or the vdso's */
	CODE_GENERATED, /* made by the process, and described in its jitdump or perf map */
	CODE_ANONYMOUS, /* executable memory that nothing is known of */
};

struct code_place {
	enum code_kind kind;
	const struct module *module;    /* CODE_MODULE; NULL for the vdso */
	struct image *image;            /* CODE_MODULE; NULL if it can not be read */
	const struct code_range *range; /* CODE_GENERATED */
	uint64_t bias; /* address = vaddr + bias; of other code the start of its mapping */
	const struct cfi_row *row; /* NULL: reason says why there is none */
	struct cfi_table *table;   /* the row's */
	enum reason reason;
	/* Without a row, a few bytes before the rule "no caller": where clone returns, in the old and in the new thread. */
	bool is_clone;
};

/* The file that the code at @place is from, or a name in brackets for code that is from none. */
static inline const char *code_place_path(const struct code_place *place)
{
	switch (place->kind) {
	case CODE_MODULE:
		return place->module ? place->module->path : "[vdso]";
	case CODE_GENERATED:
		return "[jit]";
	case CODE_ANONYMOUS:
		return "[anon]";
	case CODE_NONE:
		break;
	}
	return "[not code]";
}

struct code_map;

/* @modules and @memory must outlive it. */
struct error *code_map_create(struct modules *modules, const struct process *process,
			      struct memory *memory, const struct arch *arch,
			      struct code_map **map_ret);
void code_map_destroy(struct code_map *map);
DEFINE_CLEANUP(code_map_cleanup, struct code_map, code_map_destroy)
#define _cleanup_code_map_ _cleanup_(code_map_cleanup)

/* The same for the code in a capsule, without a process: what capsule_code does not hold is no code. @code must outlive it. */
struct error *code_map_create_recorded(const struct capsule_code *code, struct memory *memory,
				       const struct arch *arch, struct code_map **map_ret);

/* To be called after modules_update, and from time to time for what the process says of its generated code. */
void code_map_refresh(struct code_map *map, uint64_t now_ns);
/* What is at @address (a return address less one). Valid until the next call or refresh. */
const struct code_place *code_map_find(struct code_map *map, uint64_t address);
/* Another number when answers about modules may have changed. */
uint64_t code_map_generation(const struct code_map *map);
/*
 * A row made from the code at @pc itself, where no unwind information covers it: how it gets back to its caller from there. NULL
 * if the code is not that simple. Valid until the next call. @after_call: @pc is a return address.
 */
const struct cfi_row *code_map_exit(struct code_map *map, uint64_t pc, bool after_call);
/* The rules of a module; NULL if there are none to be had. */
struct cfi_table *code_map_table(struct code_map *map, struct module *module);
/* The vaddr where the function at @place begins, as unwind information has it; false if that does not cover @address. */
bool code_place_function(const struct code_place *place, uint64_t address, uint64_t *start_ret);
/* True if @address lies in executable memory. */
bool code_map_is_code(const struct code_map *map, uint64_t address);
/* NULL: none. */
struct image *code_map_vdso(const struct code_map *map);
