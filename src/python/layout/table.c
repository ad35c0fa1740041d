/* SPDX-License-Identifier: MIT */
/* table.c: the generated tables as data. */
#include "python/layout/table.h"

#include <elf.h>

const struct py_field_info py_fields[PY_FIELD_COUNT] = {
#define PY_FIELD(name_, what)                                                                      \
	[PY_FIELD_##name_] = { .name = #name_, .at = offsetof(struct py_layout, name_) },
#define PY_OBJECT_FIELD(name_, what)                                                               \
	[PY_FIELD_##name_] = { .name = #name_,                                                     \
			       .at = offsetof(struct py_layout, name_),                            \
			       .behind_head = true },
#include "python/layout/fields.def"
#undef PY_FIELD
};

#define MICRO(n) (UINT64_C(1) << (n))
const struct py_layout_row py_layout_rows[] = {
#include "python/layout/rows_x86_64.inc"
#include "python/layout/rows_aarch64.inc"
};
const size_t py_layout_rows_count = sizeof(py_layout_rows) / sizeof(py_layout_rows[0]);

const struct py_debug_shape py_debug_shapes[] = {
#include "python/layout/debug_shapes.inc"
};
const size_t py_debug_shapes_count = sizeof(py_debug_shapes) / sizeof(py_debug_shapes[0]);
