/* SPDX-License-Identifier: MIT */
/*
 * merge.h: native frames and Python frames → one stack.
 *
 * Each native frame of an evaluation loop gives way to the Python frames that it runs: one up to 3.10; from 3.11 on all up to and
 * including the entry frame. A trampoline that an evaluation loop was called through (-X perf) is a part of it. Both lists are right
 * in themselves; where they do not fit together, the Python frames are kept, a mark is put where they stopped fitting, and the
 * mismatch is counted. Where the native frames are cut at their outer end, the Python frames beyond go on after another mark.
 * Nothing is left out.
 *
 * greenlet runs a chain of Python frames of its own on top of the C stack of whoever started it. The evaluation loops outside of its
 * code belong to another chain, whose frames are not among the given ones: they stay C frames.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "unwind/code_map.h"

enum merged_kind {
	MERGED_NATIVE, /* index into the native frames */
	MERGED_PYTHON, /* index into the Python frames */
	MERGED_MARK,   /* index: enum merged_mark */
};

enum merged_mark {
	MERGED_MISFIT, /* here the two stopped fitting together */
	MERGED_CUT,    /* here the native frames end before their time */
};

struct merged {
	enum merged_kind kind;
	size_t index;
};

DEFINE_VEC(struct merged_vec, merged_vec, struct merged)

struct merge_input {
	size_t native_count; /* both innermost first */
	size_t python_count;
	bool native_complete; /* the outermost frame is there */
	bool python_cut;      /* outer frames are missing */
	const void *data;
	bool (*is_eval)(const void *data, size_t native);
	bool (*is_trampoline)(const void *data, size_t native); /* NULL: there are none */
	bool (*is_entry)(const void *data, size_t python);
	bool (*is_switch)(const void *data,
			  size_t native); /* code that starts such a chain; NULL: there is none */
};

/*
 * With -X perf an evaluation loop is called through generated code of its own, named "py::FUNCTION:FILE". The name may come late:
 * CPython writes it to a buffer first. Whether code of @kind, with @name (NULL: none), is such, to be used for is_trampoline.
 */
bool merge_is_trampoline_code(enum code_kind kind, const char *name);
/* True if the file at @path is greenlet's, to be used for is_switch. */
bool merge_is_switch_file(const char *path);

enum merge_result {
	MERGE_FITS,
	MERGE_CUT, /* as far as the native frames go */
	MERGE_MISMATCH,
	MERGE_NO_MEMORY,
};

/* Fills @merged, innermost first. */
enum merge_result merge(const struct merge_input *input, struct merged_vec *merged);
