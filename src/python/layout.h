/* SPDX-License-Identifier: MIT */
/*
 * layout.h: where things are inside one build of CPython.
 *
 * A struct py_layout holds every offset and every behaviour switch that the walkers may ask for.
 * Code outside python/layout/ asks the layout and never the version. Rows for 2.7 and 3.6–3.12 are
 * generated from measurements (docs/add-a-python-version.md); 3.13 and later fill the struct from
 * the interpreter's own _Py_DebugOffsets, and what those lack from a measured row.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "target/memory.h"

/* "This version has no such field." 0 is a valid offset. */
#define PY_ABSENT UINT32_MAX

/* A CPython version as in PY_VERSION_HEX >> 8: major << 16 | minor << 8 | micro. */
typedef uint32_t py_version;
#define PY_VERSION(major, minor, micro) ((py_version)(major) << 16 | (minor) << 8 | (micro))
#define PY_MAJOR(v)                     ((v) >> 16)
#define PY_MINOR(v)                     ((v) >> 8 & 0xff)
#define PY_MICRO(v)                     ((v)&0xff)

enum py_frame_kind {
	PY_FRAME_HEAP,   /* up to 3.10: PyFrameObject linked by f_back, from tstate->frame */
	PY_FRAME_CFRAME, /* 3.11, 3.12: _PyInterpreterFrame from tstate->cframe->current_frame */
	PY_FRAME_INTERPRETER, /* 3.13 on: _PyInterpreterFrame from tstate->current_frame */
};

enum py_line_kind {
	PY_LINES_LNOTAB_UNSIGNED, /* 2.7: line increments are 0–255 */
	PY_LINES_LNOTAB,          /* 3.6–3.9: line increments are signed */
	PY_LINES_TABLE,           /* 3.10: PEP 626 pairs */
	PY_LINES_LOCATIONS,       /* 3.11 on: location table */
};

enum py_text_kind {
	PY_TEXT_BYTES,   /* 2.7: names and file names are byte strings */
	PY_TEXT_UNICODE, /* 3.x: PEP 393 */
};

enum py_gil_kind {
	PY_GIL_CURRENT_SYMBOL,  /* 2.7, 3.6: the global _PyThreadState_Current */
	PY_GIL_CURRENT_RUNTIME, /* 3.7–3.11: _PyRuntime.gilstate.tstate_current */
	PY_GIL_INTERPRETER,     /* 3.12 on: interp->ceval.gil: locked and last_holder */
};

enum py_key_kind {
	PY_KEY_INT_SYMBOL,   /* 2.7, 3.6: a static int autoTLSkey */
	PY_KEY_RUNTIME,      /* 3.7–3.14: Py_tss_t _PyRuntime.autoTSSkey */
	PY_KEY_THREAD_LOCAL, /* 3.15 on: no key, the thread-local _Py_tss_tstate */
};

enum py_dict_kind {
	PY_DICT_TABLE, /* 2.7: dict_mask + 1 entries at dict_keys, a free one has no key or no value
			*/
	/*
	 * 3.6–3.10: keys_size indices at keys_indices, of 1, 2, 4 or 8 bytes for a keys_size up to
	 * 0xff, 0xffff, 0xffffffff or more; then the entries, keys_nentries of them in use. With
	 * dict_values the values are there instead, in that order.
	 */
	PY_DICT_KEYS,
	/* 3.11 on: 1 << keys_log2_index_bytes bytes of indices; unicode_entry_* unless keys_kind is
	   0. */
	PY_DICT_KEYS_LOG2,
};

/* Where an instance keeps its attributes; the order of values is that of the entries of the type's
 * type_cached_keys. */
enum py_attributes_kind {
	PY_ATTRIBUTES_DICT, /* up to 3.10: a dict pointer at type_dictoffset in the object */
	/* 3.11, types with flag_managed_dict: object - managed_dict points to the dict, object -
	   managed_values to the values. */
	PY_ATTRIBUTES_SEPARATE,
	/* 3.12, the same types: the word at object - managed_dict is a dict pointer when even, the
	   values' address - 1 when odd. */
	PY_ATTRIBUTES_TAGGED,
	/*
	 * 3.13 on: object - managed_dict points to the dict or is 0; of types with
	 * flag_inline_values too the values struct is in the object at type_basicsize, and counts
	 * while its values_valid byte is not 0.
	 */
	PY_ATTRIBUTES_INLINE,
};

/* Where a layout came from, for doctor and the profile's header. */
enum py_layout_origin {
	PY_ORIGIN_MEASURED,  /* a generated row, this very version measured */
	PY_ORIGIN_NEIGHBOUR, /* a generated row of the same minor version, another micro release */
	PY_ORIGIN_HEADERS,   /* a generated row, from headers; never tried on this CPU */
	PY_ORIGIN_DEBUG_OFFSETS, /* the interpreter's own table, a minor version that is tested */
	PY_ORIGIN_UNTESTED, /* the interpreter's own table, a minor version or free-threaded build
			       never tried */
};

struct py_layout {
	py_version version; /* of the interpreter this is for */
	enum py_layout_origin origin;
	enum py_frame_kind frame_kind;
	enum py_line_kind line_kind;
	enum py_text_kind text_kind;
	enum py_gil_kind gil_kind;
	enum py_key_kind key_kind;
	enum py_dict_kind dict_kind;
	enum py_attributes_kind attributes_kind;
	bool free_threaded;
	bool debug_build; /* Py_DEBUG */
	/*
	 * A thread that runs another interpreter's thread state (PyThreadState_Swap) has that one under its key from 3.12 on, the
	 * one it started with before.
	 */
	bool key_follows_swap;

	/* f_lasti counts code units of this many bytes: 1 up to 3.9, 2 in 3.10. Heap frames only.
	 */
	uint32_t lasti_scale;
	/* Bits to clear in a frame's pointer to its code object (3.14 on tag it); 0 if none. */
	uint64_t executable_tag_mask;

#define PY_FIELD(name, what) uint32_t name;
#include "python/layout/fields.def"
#undef PY_FIELD
};

/*
 * Limits that every layout is held to, so that a reader may use buffers of fixed size. Beside each
 * the largest value that was measured, free-threaded and debug builds included.
 */
#define PY_LIMIT_RUNTIME     (UINT32_C(16) << 20) /* 475,960: 3.12 with Py_DEBUG */
#define PY_LIMIT_INTERPRETER (UINT32_C(16) << 20) /* 383,568: 3.12 with Py_DEBUG */
#define PY_LIMIT_TSTATE      UINT32_C(8192)       /* 2,272: 3.6 */
#define PY_LIMIT_FRAME       UINT32_C(1024)       /* 392: 2.7 and 3.6 with Py_TRACE_REFS */
#define PY_LIMIT_CODE        UINT32_C(1024)       /* 232: 3.14 free-threaded */
#define PY_LIMIT_OBJECT                                                                            \
	UINT32_C(256)                /* 88: a string's data pointer up to 3.11 with Py_TRACE_REFS */
#define PY_LIMIT_TYPE UINT32_C(4096) /* 904: ht_cached_keys in 3.15 free-threaded */

/* A name for an origin: "measured", … */
const char *py_layout_origin_name(enum py_layout_origin origin);

/*
 * The layout of interpreter @version on the CPU of ELF machine @machine. Up to 3.12 from the table,
 * without touching @memory; from 3.13 on from the _Py_DebugOffsets at @runtime_address, validated
 * field by field before use. @ob_head_extra is the number of bytes that Py_TRACE_REFS puts before
 * ob_refcnt: 0 or 16; Py_DEBUG implies it up to 3.7, and nothing does from 3.13 on. An unknown
 * older version or an unmeasured CPU is refused by name with ERROR_UNSUPPORTED; contradicting
 * offsets with ERROR_CORRUPT naming the field. An unknown newer version is PY_ORIGIN_UNTESTED: read
 * like the newest known one, with what its debug offsets lack taken from that one's row.
 *
 * runtime_size and interp_size are the smallest of the measured builds of a version: debug builds
 * and later micro releases append to these structs. All other fields are exact.
 */
struct error *py_layout_select(py_version version, uint16_t machine, bool debug_build,
			       uint32_t ob_head_extra, struct memory *memory,
			       uint64_t runtime_address, struct py_layout *layout_ret);

/*
 * The version in the _Py_DebugOffsets at @runtime_address, for a caller that does not know it yet.
 * False if there are none: older than 3.13, or not a runtime.
 */
bool py_layout_read_version(struct memory *memory, uint64_t runtime_address,
			    py_version *version_ret);
/* The same of a copy: @data are @size bytes from the start of what may be a runtime. */
bool py_layout_parse_version(const uint8_t *data, size_t size, py_version *version_ret);
