/* SPDX-License-Identifier: MIT */
/*
 * select.c: the layout of one interpreter, put together from its version's behaviour, a measured
 * row and, where there are any, its own debug offsets.
 */
#include "python/layout.h"

#include "arch/arch.h"
#include "python/layout/debug_offsets.h"
#include "python/layout/table.h"
#include "python/layout/validate.h"

/* What a version does, where fields.def says where things are. One line a minor version, oldest
 * first. */
struct behaviour {
	py_version version;
	enum py_frame_kind frame;
	enum py_line_kind line;
	enum py_text_kind text;
	enum py_gil_kind gil;
	enum py_key_kind key;
	enum py_dict_kind dict;
	enum py_attributes_kind attributes;
	uint32_t lasti_scale;
	uint64_t tag_mask; /* Py_TAG_BITS of pycore_stackref.h: 3, and 1 in the free-threaded 3.14;
			      pointers have neither bit */
};

#define HEAP        PY_FRAME_HEAP
#define CFRAME      PY_FRAME_CFRAME
#define INTERPRETER PY_FRAME_INTERPRETER
#define CURRENT     PY_GIL_CURRENT_RUNTIME
#define THREAD_VAR  PY_KEY_THREAD_LOCAL
#define DICT        PY_ATTRIBUTES_DICT
static const struct behaviour behaviours[] = {
	/* clang-format off */
	{ PY_VERSION(2, 7, 0),  HEAP,        PY_LINES_LNOTAB_UNSIGNED, PY_TEXT_BYTES,   PY_GIL_CURRENT_SYMBOL, PY_KEY_INT_SYMBOL, PY_DICT_TABLE,     DICT, 1, 0 },
	{ PY_VERSION(3, 6, 0),  HEAP,        PY_LINES_LNOTAB,          PY_TEXT_UNICODE, PY_GIL_CURRENT_SYMBOL, PY_KEY_INT_SYMBOL, PY_DICT_KEYS,      DICT, 1, 0 },
	{ PY_VERSION(3, 7, 0),  HEAP,        PY_LINES_LNOTAB,          PY_TEXT_UNICODE, CURRENT,               PY_KEY_RUNTIME,    PY_DICT_KEYS,      DICT, 1, 0 },
	{ PY_VERSION(3, 8, 0),  HEAP,        PY_LINES_LNOTAB,          PY_TEXT_UNICODE, CURRENT,               PY_KEY_RUNTIME,    PY_DICT_KEYS,      DICT, 1, 0 },
	{ PY_VERSION(3, 9, 0),  HEAP,        PY_LINES_LNOTAB,          PY_TEXT_UNICODE, CURRENT,               PY_KEY_RUNTIME,    PY_DICT_KEYS,      DICT, 1, 0 },
	{ PY_VERSION(3, 10, 0), HEAP,        PY_LINES_TABLE,           PY_TEXT_UNICODE, CURRENT,               PY_KEY_RUNTIME,    PY_DICT_KEYS,      DICT, 2, 0 },
	{ PY_VERSION(3, 11, 0), CFRAME,      PY_LINES_LOCATIONS,       PY_TEXT_UNICODE, CURRENT,               PY_KEY_RUNTIME,    PY_DICT_KEYS_LOG2, PY_ATTRIBUTES_SEPARATE, 2, 0 },
	{ PY_VERSION(3, 12, 0), CFRAME,      PY_LINES_LOCATIONS,       PY_TEXT_UNICODE, PY_GIL_INTERPRETER,    PY_KEY_RUNTIME,    PY_DICT_KEYS_LOG2, PY_ATTRIBUTES_TAGGED,   2, 0 },
	{ PY_VERSION(3, 13, 0), INTERPRETER, PY_LINES_LOCATIONS,       PY_TEXT_UNICODE, PY_GIL_INTERPRETER,    PY_KEY_RUNTIME,    PY_DICT_KEYS_LOG2, PY_ATTRIBUTES_INLINE,   2, 0 },
	{ PY_VERSION(3, 14, 0), INTERPRETER, PY_LINES_LOCATIONS,       PY_TEXT_UNICODE, PY_GIL_INTERPRETER,    PY_KEY_RUNTIME,    PY_DICT_KEYS_LOG2, PY_ATTRIBUTES_INLINE,   2, 3 },
	{ PY_VERSION(3, 15, 0), INTERPRETER, PY_LINES_LOCATIONS,       PY_TEXT_UNICODE, PY_GIL_INTERPRETER,    THREAD_VAR,        PY_DICT_KEYS_LOG2, PY_ATTRIBUTES_INLINE,   2, 3 },
	/* clang-format on */
};
#define BEHAVIOURS_COUNT    (sizeof(behaviours) / sizeof(behaviours[0]))
#define FIRST_DEBUG_OFFSETS PY_VERSION(3, 13, 0)
/* Up to 3.7 object.h defines Py_TRACE_REFS where Py_DEBUG is. */
#define DEBUG_IMPLIES_TRACES_BEFORE PY_VERSION(3, 8, 0)
/* pystate.c: tstate_activate binds the thread state that is swapped in. */
#define KEY_FOLLOWS_SWAP_FROM PY_VERSION(3, 12, 0)
/* _ob_next and _ob_prev */
#define TRACE_REFS_BYTES 16

const char *py_layout_origin_name(enum py_layout_origin origin)
{
	switch (origin) {
	case PY_ORIGIN_MEASURED:
		return "measured";
	case PY_ORIGIN_NEIGHBOUR:
		return "measured in another micro release";
	case PY_ORIGIN_HEADERS:
		return "headers, never tried on this CPU";
	case PY_ORIGIN_DEBUG_OFFSETS:
		return "the interpreter's debug offsets";
	case PY_ORIGIN_UNTESTED:
		return "the interpreter's debug offsets, untested";
	}
	return "unknown";
}

static py_version minor_of(py_version version)
{
	return PY_VERSION(PY_MAJOR(version), PY_MINOR(version), 0);
}

/* The newest known behaviour serves every newer version; NULL for an unknown older one. */
static const struct behaviour *find_behaviour(py_version version)
{
	py_version minor = minor_of(version);
	const struct behaviour *newest = &behaviours[BEHAVIOURS_COUNT - 1];
	for (size_t i = 0; i < BEHAVIOURS_COUNT; i++) {
		if (behaviours[i].version == minor)
			return &behaviours[i];
	}
	return minor > newest->version ? newest : NULL;
}

static struct error *find_row(py_version version, py_version row_version, uint16_t machine,
			      bool free_threaded, const struct py_layout_row **row_ret)
{
	bool machine_known = false;
	/* A version that is newer than all takes the newest row whatever its micro release. */
	uint32_t micro = minor_of(version) == row_version ? PY_MICRO(version) : UINT8_MAX;
	for (size_t i = 0; i < py_layout_rows_count; i++) {
		const struct py_layout_row *row = &py_layout_rows[i];
		if (row->machine != machine)
			continue;
		machine_known = true;
		if (PY_VERSION(row->major, row->minor, 0) == row_version &&
		    row->free_threaded == free_threaded && micro >= row->micro_first &&
		    micro <= row->micro_last) {
			*row_ret = row;
			return NULL;
		}
	}
	if (!machine_known)
		return error_create(ERROR_UNSUPPORTED,
				    "the layout of CPython on %s was never measured",
				    arch_machine_name(machine));
	return error_create(ERROR_UNSUPPORTED, "CPython %u.%u%s on %s was never measured",
			    PY_MAJOR(version), PY_MINOR(version), free_threaded ? "t" : "",
			    arch_machine_name(machine));
}

static void fill_behaviour(const struct behaviour *behaviour, struct py_layout *layout)
{
	layout->frame_kind = behaviour->frame;
	layout->line_kind = behaviour->line;
	layout->text_kind = behaviour->text;
	layout->gil_kind = behaviour->gil;
	layout->key_kind = behaviour->key;
	layout->dict_kind = behaviour->dict;
	layout->attributes_kind = behaviour->attributes;
	layout->lasti_scale = behaviour->lasti_scale;
	layout->executable_tag_mask = behaviour->tag_mask;
	layout->key_follows_swap = behaviour->version >= KEY_FOLLOWS_SWAP_FROM;
}

static void fill_fields(const struct py_layout_row *row, struct py_layout *layout)
{
	for (enum py_field field = 0; field < PY_FIELD_COUNT; field++)
		*py_field(layout, field) = row->fields[field];
}

static void add_head_extra(uint32_t extra, struct py_layout *layout)
{
	for (enum py_field field = 0; field < PY_FIELD_COUNT; field++) {
		uint32_t *value = py_field(layout, field);
		if (*value != PY_ABSENT && py_fields[field].behind_head)
			*value += extra;
	}
}

static enum py_layout_origin row_origin(const struct py_layout_row *row, py_version version)
{
	if (row->headers_only)
		return PY_ORIGIN_HEADERS;
	uint32_t micro = PY_MICRO(version);
	bool measured = micro < 64 && (row->micros >> micro & 1);
	return measured ? PY_ORIGIN_MEASURED : PY_ORIGIN_NEIGHBOUR;
}

static struct error *select_row(py_version version, uint16_t machine,
				const struct behaviour *behaviour, bool debug_build,
				uint32_t ob_head_extra, struct py_layout *layout)
{
	const struct py_layout_row *row;
	struct error *err = find_row(version, behaviour->version, machine, false, &row);
	if (err)
		return err;
	fill_fields(row, layout);
	layout->origin = row_origin(row, version);
	if (debug_build && version < DEBUG_IMPLIES_TRACES_BEFORE)
		ob_head_extra = TRACE_REFS_BYTES;
	add_head_extra(ob_head_extra, layout);
	return NULL;
}

static struct error *select_debug_offsets(py_version version, uint16_t machine,
					  const struct behaviour *behaviour, struct memory *memory,
					  uint64_t runtime_address, struct py_layout *layout)
{
	struct debug_offsets offsets;
	struct error *err = debug_offsets_read(version, memory, runtime_address, &offsets);
	if (err)
		return err;

	const struct py_layout_row *row;
	err = find_row(version, behaviour->version, machine, offsets.free_threaded, &row);
	if (err)
		return err;
	fill_fields(row, layout);
	layout->free_threaded = offsets.free_threaded;
	/* Free-threaded rows are measured from headers; no such build is among the tested
	 * interpreters. */
	bool tested = minor_of(version) == behaviour->version && !offsets.free_threaded;
	layout->origin = tested ? PY_ORIGIN_DEBUG_OFFSETS : PY_ORIGIN_UNTESTED;
	return debug_offsets_apply(&offsets, layout);
}

struct error *py_layout_select(py_version version, uint16_t machine, bool debug_build,
			       uint32_t ob_head_extra, struct memory *memory,
			       uint64_t runtime_address, struct py_layout *layout_ret)
{
	const struct behaviour *behaviour = find_behaviour(version);
	if (!behaviour)
		return error_create(ERROR_UNSUPPORTED,
				    "CPython %u.%u.%u is not supported: 2.7 and 3.6 to 3.15 are",
				    PY_MAJOR(version), PY_MINOR(version), PY_MICRO(version));
	if (ob_head_extra != 0 && ob_head_extra != TRACE_REFS_BYTES)
		return error_create(ERROR_UNSUPPORTED,
				    "%u bytes before ob_refcnt: Py_TRACE_REFS puts %d there",
				    ob_head_extra, TRACE_REFS_BYTES);

	struct py_layout layout = { .version = version, .debug_build = debug_build };
	fill_behaviour(behaviour, &layout);
	struct error *err = version < FIRST_DEBUG_OFFSETS
				    ? select_row(version, machine, behaviour, debug_build,
						 ob_head_extra, &layout)
				    : select_debug_offsets(version, machine, behaviour, memory,
							   runtime_address, &layout);
	if (!err)
		err = py_layout_validate(&layout);
	if (err && minor_of(version) > behaviour->version)
		return error_prefix(err, "CPython %u.%u is newer than any known here",
				    PY_MAJOR(version), PY_MINOR(version));
	if (err)
		return err;
	*layout_ret = layout;
	return NULL;
}

bool py_layout_parse_version(const uint8_t *data, size_t size, py_version *version_ret)
{
	py_version version;
	bool free_threaded;
	if (size < DEBUG_OFFSETS_HEAD_SIZE ||
	    !debug_offsets_parse_head(data, &version, &free_threaded) ||
	    version < FIRST_DEBUG_OFFSETS || PY_MAJOR(version) != PY_MAJOR(FIRST_DEBUG_OFFSETS))
		return false;
	*version_ret = version;
	return true;
}

bool py_layout_read_version(struct memory *memory, uint64_t runtime_address,
			    py_version *version_ret)
{
	uint8_t head[DEBUG_OFFSETS_HEAD_SIZE];
	return memory_read(memory, runtime_address, head, sizeof(head)) &&
	       py_layout_parse_version(head, sizeof(head), version_ret);
}
