/* SPDX-License-Identifier: MIT */
/* validate.c: one check for every field of a layout. */
#include "python/layout/validate.h"

#include <assert.h>

#include "python/layout/table.h"

enum check_kind {
	CHECK_MISSING, /* a field that has no line below */
	CHECK_SIZE,    /* of a struct: at most limit, a multiple of width */
	CHECK_INSIDE,  /* width bytes, aligned, inside the struct whose size is the field of number
			  size */
	CHECK_WITHIN,  /* width bytes, aligned, inside limit */
	CHECK_BEFORE,  /* width bytes, aligned, that many bytes before an object */
	CHECK_SHIFT,   /* of width bits of a 32-bit word */
	CHECK_BIT,     /* a mask of one bit of the low word of tp_flags */
	CHECK_BELOW,   /* a plain number below limit */
};

struct check {
	enum check_kind kind;
	uint32_t width;
	uint32_t limit;
	enum py_field size;
};

#define SIZE(field, width_, limit_)                                                                \
	[PY_FIELD_##field] = { .kind = CHECK_SIZE, .width = (width_), .limit = (limit_) }
#define INSIDE(field, width_, size_)                                                               \
	[PY_FIELD_##field] = { .kind = CHECK_INSIDE, .width = (width_), .size = PY_FIELD_##size_ }
#define WITHIN(field, width_, limit_)                                                              \
	[PY_FIELD_##field] = { .kind = CHECK_WITHIN, .width = (width_), .limit = (limit_) }
#define BEFORE(field)                                                                              \
	[PY_FIELD_##field] = { .kind = CHECK_BEFORE, .width = 8, .limit = LIMIT_PREHEADER }
#define SHIFT(field, width_) [PY_FIELD_##field] = { .kind = CHECK_SHIFT, .width = (width_) }
#define BIT(field)           [PY_FIELD_##field] = { .kind = CHECK_BIT }
#define BELOW(field, limit_) [PY_FIELD_##field] = { .kind = CHECK_BELOW, .limit = (limit_) }

/* Small structs whose size nothing reports; the largest measured values are beside them. */
enum {
	LIMIT_GIL = 256,      /* 24: locked in a free-threaded build */
	LIMIT_CFRAME = 64,    /* 8 */
	LIMIT_CHUNK = 64,     /* 24: data */
	LIMIT_KEYS = 128,     /* 40: dk_indices up to 3.10 */
	LIMIT_ENTRY = 64,     /* 24: sizeof(PyDictKeyEntry) */
	LIMIT_VALUES = 64,    /* 8 */
	LIMIT_TLBC = 64,      /* 8 */
	LIMIT_PREHEADER = 64, /* 32: the values pointer of 3.11; GC head, dict and weak references
				 are all there is */
	LIMIT_OWNER = 256,    /* owner is one byte */
	LIMIT_DIGIT = 33,     /* bits used of a 32-bit digit */
};

static const struct check checks[] = {
	SIZE(runtime_size, 8, PY_LIMIT_RUNTIME),
	INSIDE(runtime_interpreters_head, 8, runtime_size),
	INSIDE(runtime_auto_tss_key, 4, runtime_size),
	INSIDE(runtime_tstate_current, 8, runtime_size),
	SIZE(interp_size, 8, PY_LIMIT_INTERPRETER),
	INSIDE(interp_next, 8, interp_size),
	INSIDE(interp_id, 8, interp_size),
	INSIDE(interp_threads_head, 8, interp_size),
	INSIDE(interp_modules, 8, interp_size),
	INSIDE(interp_gil, 8, interp_size),
	WITHIN(gil_last_holder, 8, LIMIT_GIL),
	WITHIN(gil_locked, 4, LIMIT_GIL),
	WITHIN(gil_enabled, 4, LIMIT_GIL),
	SIZE(tstate_size, 8, PY_LIMIT_TSTATE),
	INSIDE(tstate_next, 8, tstate_size),
	INSIDE(tstate_interp, 8, tstate_size),
	INSIDE(tstate_frame, 8, tstate_size),
	INSIDE(tstate_cframe, 8, tstate_size),
	INSIDE(tstate_current_frame, 8, tstate_size),
	INSIDE(tstate_base_frame, 8, tstate_size),
	INSIDE(tstate_thread_id, 8, tstate_size),
	INSIDE(tstate_native_thread_id, 8, tstate_size),
	INSIDE(tstate_datastack_chunk, 8, tstate_size),
	INSIDE(tstate_datastack_top, 8, tstate_size),
	INSIDE(tstate_holds_gil, 4, tstate_size),
	WITHIN(cframe_current_frame, 8, LIMIT_CFRAME),
	WITHIN(chunk_previous, 8, LIMIT_CHUNK),
	WITHIN(chunk_size, 8, LIMIT_CHUNK),
	WITHIN(chunk_data, 8, LIMIT_CHUNK),
	SIZE(frame_size, 8, PY_LIMIT_FRAME),
	INSIDE(frame_back, 8, frame_size),
	INSIDE(frame_code, 8, frame_size),
	INSIDE(frame_lasti, 4, frame_size),
	SIZE(iframe_size, 8, PY_LIMIT_FRAME),
	INSIDE(iframe_previous, 8, iframe_size),
	INSIDE(iframe_executable, 8, iframe_size),
	INSIDE(iframe_instr, 8, iframe_size),
	INSIDE(iframe_owner, 1, iframe_size),
	INSIDE(iframe_is_entry, 1, iframe_size),
	INSIDE(iframe_tlbc_index, 4, iframe_size),
	BELOW(owner_generator, LIMIT_OWNER),
	BELOW(owner_cstack, LIMIT_OWNER),
	BELOW(owner_interpreter, LIMIT_OWNER),
	WITHIN(object_type, 8, PY_LIMIT_OBJECT),
	WITHIN(object_size, 8, PY_LIMIT_OBJECT),
	SIZE(code_size, 8, PY_LIMIT_CODE),
	INSIDE(code_name, 8, code_size),
	INSIDE(code_qualname, 8, code_size),
	INSIDE(code_filename, 8, code_size),
	INSIDE(code_firstlineno, 4, code_size),
	INSIDE(code_linetable, 8, code_size),
	WITHIN(code_instructions, 8, PY_LIMIT_CODE),
	INSIDE(code_tlbc, 8, code_size),
	INSIDE(code_first_traceable, 4, code_size),
	WITHIN(tlbc_count, 8, LIMIT_TLBC),
	WITHIN(tlbc_entries, 8, LIMIT_TLBC),
	WITHIN(bytes_hash, 8, PY_LIMIT_OBJECT),
	WITHIN(bytes_data, 4, PY_LIMIT_OBJECT),
	WITHIN(unicode_length, 8, PY_LIMIT_OBJECT),
	WITHIN(unicode_hash, 8, PY_LIMIT_OBJECT),
	WITHIN(unicode_state, 4, PY_LIMIT_OBJECT),
	SHIFT(unicode_kind_shift, 3),
	SHIFT(unicode_compact_shift, 1),
	SHIFT(unicode_ascii_shift, 1),
	SIZE(unicode_ascii_data, 8, PY_LIMIT_OBJECT),
	SIZE(unicode_compact_data, 8, PY_LIMIT_OBJECT),
	WITHIN(unicode_any_data, 8, PY_LIMIT_OBJECT),
	WITHIN(int_value, 8, PY_LIMIT_OBJECT),
	WITHIN(long_tag, 8, PY_LIMIT_OBJECT),
	WITHIN(long_digits, 4, PY_LIMIT_OBJECT),
	BELOW(long_digit_bits, LIMIT_DIGIT),
	WITHIN(dict_used, 8, PY_LIMIT_OBJECT),
	WITHIN(dict_keys, 8, PY_LIMIT_OBJECT),
	WITHIN(dict_values, 8, PY_LIMIT_OBJECT),
	WITHIN(dict_mask, 8, PY_LIMIT_OBJECT),
	WITHIN(keys_log2_size, 1, LIMIT_KEYS),
	WITHIN(keys_size, 8, LIMIT_KEYS),
	WITHIN(keys_log2_index_bytes, 1, LIMIT_KEYS),
	WITHIN(keys_kind, 1, LIMIT_KEYS),
	WITHIN(keys_nentries, 8, LIMIT_KEYS),
	WITHIN(keys_indices, 8, LIMIT_KEYS),
	SIZE(entry_size, 8, LIMIT_ENTRY),
	INSIDE(entry_key, 8, entry_size),
	INSIDE(entry_value, 8, entry_size),
	SIZE(unicode_entry_size, 8, LIMIT_ENTRY),
	INSIDE(unicode_entry_key, 8, unicode_entry_size),
	INSIDE(unicode_entry_value, 8, unicode_entry_size),
	WITHIN(module_dict, 8, PY_LIMIT_OBJECT),
	WITHIN(type_name, 8, PY_LIMIT_TYPE),
	WITHIN(type_flags, 8, PY_LIMIT_TYPE),
	WITHIN(type_basicsize, 8, PY_LIMIT_TYPE),
	WITHIN(type_dictoffset, 8, PY_LIMIT_TYPE),
	WITHIN(type_cached_keys, 8, PY_LIMIT_TYPE),
	BIT(flag_inline_values),
	BIT(flag_managed_dict),
	BIT(flag_heap_type),
	BEFORE(managed_dict),
	BEFORE(managed_values),
	WITHIN(values_data, 8, LIMIT_VALUES),
	WITHIN(values_valid, 1, LIMIT_VALUES),
	WITHIN(values_capacity, 1, LIMIT_VALUES),
};

/* A field that is added to fields.def is not used before it has a check: add a line above and this
 * number. */
static_assert(PY_FIELD_COUNT == 101, "every field of fields.def needs a check");
static_assert(sizeof(checks) / sizeof(checks[0]) == PY_FIELD_COUNT, "the last field has no check");

/* What is wrong with @value, or NULL. @size_name names the struct's size for CHECK_INSIDE, whose
 * limit is that size. */
static struct error *check_value(const char *name, const struct check *check, uint32_t value,
				 uint32_t limit, const char *size_name)
{
	if (check->width && check->kind != CHECK_SHIFT && value % check->width != 0)
		return error_create(ERROR_CORRUPT, "layout field %s is %u, not a multiple of %u",
				    name, value, check->width);

	bool fits = false;
	switch (check->kind) {
	case CHECK_MISSING:
		break;
	case CHECK_SIZE:
	case CHECK_BEFORE:
		fits = value >= check->width && value <= limit;
		break;
	case CHECK_INSIDE:
	case CHECK_WITHIN:
		fits = value <= limit && limit - value >= check->width;
		break;
	case CHECK_SHIFT:
		fits = value <= 32 - check->width;
		break;
	case CHECK_BIT:
		fits = value != 0 && (value & (value - 1)) == 0;
		break;
	case CHECK_BELOW:
		fits = value < limit;
		break;
	}
	if (fits)
		return NULL;
	if (size_name)
		return error_create(ERROR_CORRUPT,
				    "layout field %s is %u, outside its struct (%s is %u)", name,
				    value, size_name, limit);
	return error_create(ERROR_CORRUPT, "layout field %s is %u, which no interpreter has", name,
			    value);
}

struct error *py_layout_validate(const struct py_layout *layout)
{
	/* Sizes first: the others are measured against them. */
	for (int pass = 0; pass < 2; pass++) {
		for (enum py_field field = 0; field < PY_FIELD_COUNT; field++) {
			const struct check *check = &checks[field];
			uint32_t value = py_field_value(layout, field);
			if ((check->kind == CHECK_SIZE) != (pass == 0) || value == PY_ABSENT)
				continue;

			bool inside = check->kind == CHECK_INSIDE;
			uint32_t limit =
				inside ? py_field_value(layout, check->size) : check->limit;
			struct error *err =
				check_value(py_fields[field].name, check, value, limit,
					    inside ? py_fields[check->size].name : NULL);
			if (err)
				return err;
		}
	}
	return NULL;
}
