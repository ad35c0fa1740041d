/* SPDX-License-Identifier: MIT */
/*
 * detect.h: modules of a process → the CPython runtimes that run in it.
 *
 * A runtime is found by what a module exports or holds, never by a file name, and counts only once
 * its structures are alive: an interpreter whose thread state links back to it, and types that are
 * types. So a second libpython that is merely loaded, or a library with a section of the same name,
 * is none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/modules.h"
#include "python/layout.h"
#include "target/memory.h"

struct py_runtime {
	struct module *module; /* that holds it; valid until it is unmapped (modules.h) */
	uint64_t bias;         /* of the module */
	uint16_t machine;      /* e_machine */
	py_version version;
	char version_text[32];    /* "3.14.0rc2"; where the release level is not known "3.11.2" */
	uint64_t runtime_address; /* of _PyRuntime; 0 for 2.7 and 3.6 */
	uint64_t interp_head; /* address of the pointer to the first interpreter; 0 if unknown */
	uint64_t main_interp; /* the interpreter that started the runtime: last of the list */
	uint64_t code_type;   /* PyCode_Type; 0 if not known yet: no frame has been seen */
	uint64_t type_type;   /* PyType_Type; 0 if not known yet */
	uint64_t current_address;   /* of _PyThreadState_Current, 2.7 and 3.6; 0 if there is none */
	uint32_t ob_head_extra;     /* by ob_type's place, for py_layout_select */
	bool debug_build;           /* Py_DEBUG */
	const char *found_by;       /* for doctor: "symbol _PyRuntime", … */
	const char *version_source; /* for doctor: "symbol Py_Version", … */
	struct py_layout layout;
};

/*
 * All runtimes that are initialised, after modules_update; the first is the one with most thread
 * states. The array is the caller's. ERROR_NOT_PYTHON if there is none (with errnum EAGAIN if a
 * Python is there that is not initialised yet), ERROR_UNSUPPORTED if there is one but its version
 * or shape is not known.
 */
struct error *detect_runtimes(struct modules *modules, struct memory *memory,
			      struct py_runtime **runtimes_ret, size_t *count_ret);

/*
 * The address of the runtime's first interpreter now, 0 if it is gone. For 2.7 and 3.6 without
 * interp_head it is the main interpreter as it was found.
 */
uint64_t detect_first_interp(struct memory *memory, const struct py_runtime *runtime);
