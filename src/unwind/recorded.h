/* SPDX-License-Identifier: MIT */
/*
 * recorded.h: the code that a native stack leads through, out of a process and back.
 *
 * What is kept of a function are the bytes of its FDE and CIE, as a section of their own that lies where the FDE lay: so the same
 * decoder reads the same bytes at replay. The CIE pointer is the one thing in them that has to be changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "image/debuginfo.h"
#include "image/modules.h"
#include "snapshot/capsule_code.h"
#include "unwind/code_map.h"
#include "unwind/walk.h"

/*
 * Adds all that a walk over @frames needed to @code, an empty one, with names, also from debug files at @places. False without memory; what was added is to be
 * released in any case.
 */
bool recorded_save(struct code_map *map, struct modules *modules,
		   const struct debuginfo_places *places, const struct native_frames *frames,
		   struct capsule_code *code);

struct recorded;

/* @code must outlive it. */
struct error *recorded_create(const struct capsule_code *code, const struct arch *arch,
			      struct recorded **recorded_ret);
void recorded_destroy(struct recorded *recorded);

/* As code_map_find says: what is at @address. */
void recorded_find(struct recorded *recorded, uint64_t address, struct code_place *place_ret);
bool recorded_is_code(const struct recorded *recorded, uint64_t address);
