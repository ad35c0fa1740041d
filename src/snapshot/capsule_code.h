/* SPDX-License-Identifier: MIT */
/*
 * capsule_code.h: the code that a native stack leads through, as far as a walk needs it.
 *
 * Instead of the files: for each piece of code the bytes of its unwind information, its name, and where it lies. unwind/recorded.h
 * makes it and answers from it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "target/memory.h"

struct capsule_module {
	char *path;     /* in the target's root, or "[vdso]" and the like */
	char *build_id; /* hexadecimal; NULL: it has none */
	uint64_t bias;  /* address = vaddr + bias */
};

/*
 * A piece of code that a walk goes through: all addresses in it have the same name and unwind information. That is a section of its
 * own, with the one FDE and its CIE.
 */
struct capsule_function {
	uint64_t start, end; /* addresses */
	uint32_t module;
	uint32_t kind; /* as unwind/ numbers them */
	char *name;    /* NULL: none is known */
	bool eval;     /* the interpreter's evaluation loop */
	bool clone;    /* see unwind/code_map.h */
	uint64_t cfi_vaddr;
	uint8_t *cfi; /* NULL: there is none */
	size_t cfi_size;
	bool debug_frame; /* cfi is in the format of .debug_frame */
};

DEFINE_VEC(struct capsule_modules, capsule_modules_vec, struct capsule_module)
DEFINE_VEC(struct capsule_functions, capsule_functions_vec, struct capsule_function)
DEFINE_VEC(struct capsule_ranges, capsule_ranges_vec, struct memory_range)

/* The code that a native stack leads through. */
struct capsule_code {
	struct capsule_modules modules;
	struct capsule_functions functions;
	struct capsule_ranges executable; /* memory, ascending */
};

void capsule_code_deinit(struct capsule_code *code);
/* NULL if none holds @address. */
const struct capsule_function *capsule_code_find(const struct capsule_code *code, uint64_t address);
