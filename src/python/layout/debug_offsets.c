/* SPDX-License-Identifier: MIT */
/* debug_offsets.c: reads _Py_DebugOffsets by the shape of its version. */
#include "python/layout/debug_offsets.h"

#include <inttypes.h>
#include <string.h>

static const char cookie[8] = "xdebugpy";

bool debug_offsets_parse_head(const uint8_t head[DEBUG_OFFSETS_HEAD_SIZE], py_version *version_ret,
			      bool *free_threaded_ret)
{
	uint64_t words[DEBUG_OFFSETS_HEAD_SIZE / 8];
	memcpy(words, head, sizeof(words));
	if (memcmp(head, cookie, sizeof(cookie)) != 0 || words[1] > UINT32_MAX || words[2] > 1)
		return false;
	*version_ret = (py_version)(words[1] >> 8);
	*free_threaded_ret = words[2] != 0;
	return true;
}

/* A version that is newer than all is read by the newest shape. */
static const struct py_debug_shape *find_shape(py_version version)
{
	for (size_t i = 0; i < py_debug_shapes_count; i++) {
		const struct py_debug_shape *shape = &py_debug_shapes[i];
		if (shape->major == PY_MAJOR(version) && shape->minor == PY_MINOR(version))
			return shape;
	}
	return &py_debug_shapes[py_debug_shapes_count - 1];
}

/* Members that every object has at the same place, compared across the whole table: a member more
 * or less anywhere shows. */
static struct error *check_landmarks(const struct debug_offsets *offsets)
{
	const uint64_t *v = offsets->values;
	uint64_t head = v[PY_DEBUG_object_bytes];
	const struct {
		const char *name;
		uint64_t value;
		uint64_t expected;
	} ties[] = {
		{ "pyobject.ob_type", v[PY_DEBUG_object_type], head - 8 },
		{ "tuple_object.ob_size", v[PY_DEBUG_tuple_size], head },
		{ "list_object.ob_size", v[PY_DEBUG_list_size], head },
		{ "float_object.ob_fval", v[PY_DEBUG_float_value], head },
		{ "float_object.size", v[PY_DEBUG_float_bytes], head + 8 },
		{ "long_object.lv_tag", v[PY_DEBUG_long_tag], head },
		{ "long_object.ob_digit", v[PY_DEBUG_long_digits], head + 8 },
		{ "bytes_object.ob_size", v[PY_DEBUG_object_size], head },
		{ "bytes_object.ob_sval", v[PY_DEBUG_bytes_data], head + 16 },
		{ "type_object.tp_name", v[PY_DEBUG_type_name], head + 8 },
		{ "unicode_object.length", v[PY_DEBUG_unicode_length], head },
		{ "unicode_object.asciiobject_size", v[PY_DEBUG_unicode_ascii_data], head + 24 },
	};
	for (size_t i = 0; i < sizeof(ties) / sizeof(ties[0]); i++) {
		if (ties[i].value != ties[i].expected)
			return error_create(ERROR_CORRUPT,
					    "debug offset %s is %" PRIu64 ", not %" PRIu64
					    " as pyobject.size asks for",
					    ties[i].name, ties[i].value, ties[i].expected);
	}
	/* The runtime struct starts with the table, so it cannot be smaller. */
	if (v[PY_DEBUG_runtime_size] < offsets->shape->size)
		return error_create(ERROR_CORRUPT, "debug offset runtime_size is %" PRIu64,
				    v[PY_DEBUG_runtime_size]);
	return NULL;
}

struct error *debug_offsets_read(py_version version, struct memory *memory, uint64_t address,
				 struct debug_offsets *offsets_ret)
{
	struct debug_offsets offsets = { .shape = find_shape(version) };
	py_version found;
	uint8_t head[DEBUG_OFFSETS_HEAD_SIZE];
	if (!memory_read(memory, address, head, sizeof(head)) ||
	    !debug_offsets_parse_head(head, &found, &offsets.free_threaded))
		return error_create(ERROR_CORRUPT, "no debug offsets at 0x%" PRIx64, address);
	if (found != version)
		return error_create(ERROR_CORRUPT,
				    "the debug offsets are those of CPython %u.%u.%u, not %u.%u.%u",
				    PY_MAJOR(found), PY_MINOR(found), PY_MICRO(found),
				    PY_MAJOR(version), PY_MINOR(version), PY_MICRO(version));

	uint8_t bytes[DEBUG_OFFSETS_MAX];
	uint32_t size = offsets.shape->size;
	if (size > sizeof(bytes) || !memory_read(memory, address, bytes, size))
		return error_create(ERROR_FAULT, "cannot read the debug offsets at 0x%" PRIx64,
				    address);
	for (size_t i = 0; i < PY_DEBUG_COUNT; i++) {
		uint16_t at = offsets.shape->at[i];
		if (at >= DEBUG_OFFSETS_HEAD_SIZE && at <= size - 8)
			memcpy(&offsets.values[i], bytes + at, 8);
	}

	struct error *err = check_landmarks(&offsets);
	if (err)
		return err;
	*offsets_ret = offsets;
	return NULL;
}

/* Members that only mean something in a free-threaded build; 0 elsewhere. */
static bool is_free_threaded_only(enum py_debug_field field)
{
	return field == PY_DEBUG_gil_enabled || field == PY_DEBUG_iframe_tlbc_index ||
	       field == PY_DEBUG_code_tlbc;
}

static struct error *apply_one(const struct debug_offsets *offsets, enum py_debug_field field,
			       const char *name, uint32_t *value)
{
	if (offsets->shape->at[field] == 0)
		return NULL;
	if (is_free_threaded_only(field) && !offsets->free_threaded)
		return NULL;

	uint64_t answer = offsets->values[field];
	/* These two are counted from the interpreter, where its own lock is; the layout counts from
	 * the lock. */
	if (field == PY_DEBUG_gil_locked || field == PY_DEBUG_gil_last_holder)
		answer -= offsets->values[PY_DEBUG_gil_state];
	if (answer >= PY_ABSENT)
		return error_create(ERROR_CORRUPT,
				    "layout field %s is %" PRIu64 " by the debug offsets", name,
				    answer);
	*value = (uint32_t)answer;
	return NULL;
}

/* What follows from an answer though the table of the version does not say it. */
static void apply_derived(const struct debug_offsets *offsets, struct py_layout *layout,
			  uint32_t row_chunk)
{
	/* sizeof(PyUnicodeObject): the compact part and one pointer */
	uint64_t any_data = offsets->values[PY_DEBUG_unicode_bytes] - 8;
	layout->unicode_any_data = any_data < PY_ABSENT ? (uint32_t)any_data : PY_ABSENT - 1;
	if (offsets->shape->at[PY_DEBUG_unicode_compact_data] == 0)
		layout->unicode_compact_data = layout->unicode_any_data;
	/* datastack_chunk and datastack_top are neighbours in every version, wherever they are. */
	layout->tstate_datastack_top += layout->tstate_datastack_chunk - row_chunk;
}

struct error *debug_offsets_apply(const struct debug_offsets *offsets, struct py_layout *layout)
{
	uint32_t row_chunk = layout->tstate_datastack_chunk;
	struct error *err = NULL;

#define DEBUG_FIELD(name)                                                                          \
	if (!err)                                                                                  \
		err = apply_one(offsets, PY_DEBUG_##name, #name, &layout->name);
#define DEBUG_LANDMARK(name, member)
#include "python/layout/debug_fields.def"
#undef DEBUG_FIELD
#undef DEBUG_LANDMARK
	if (err)
		return err;
	apply_derived(offsets, layout, row_chunk);
	return NULL;
}
