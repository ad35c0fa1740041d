/* SPDX-License-Identifier: MIT */
/*
 * py-layout-probe.c: prints where the fields of src/python/layout/fields.def are in the CPython
 * whose headers this is compiled against. One "field NAME VALUE" a line ("absent" where the version
 * has no such field), and from 3.13 on one "debug NAME POSITION" for each field that the
 * interpreter's own _Py_DebugOffsets answers and "landmark NAME POSITION" for the members that tell
 * one shape of that table from another.
 *
 * Compiled and run by contrib/gen-py-layout; never linked with libpython. The build that is
 * measured is the one the headers' pyconfig.h describes; -DPy_DEBUG, -DPy_TRACE_REFS and
 * -DPy_GIL_DISABLED=1 give its siblings.
 */
#define Py_BUILD_CORE 1
#define NDEBUG        1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if PY_VERSION_HEX < 0x030b0000
#include <longintrepr.h>
#endif
#if PY_VERSION_HEX >= 0x03070000 && PY_VERSION_HEX < 0x03080000
#include <internal/pystate.h>
#elif PY_VERSION_HEX >= 0x03080000 && PY_VERSION_HEX < 0x03090000
#include <internal/pycore_pystate.h>
#elif PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_runtime.h>
#include <internal/pycore_interp.h>
#endif
#if PY_VERSION_HEX >= 0x030a0000
#include <internal/pycore_moduleobject.h>
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_object.h>
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_debug_offsets.h>
#include <internal/pycore_interpframe_structs.h>
#include <internal/pycore_stackref.h>
#endif

#define FIELD(name, value)         printf("field %s %lld\n", #name, (long long)(value))
#define ABSENT(name)               printf("field %s absent\n", #name)
#define OFFSET(name, type, member) FIELD(name, offsetof(type, member))

#if PY_VERSION_HEX < 0x03000000
typedef PyStringObject probe_bytes;
#else
typedef PyBytesObject probe_bytes;
#endif

/* The three structs below are in no installed header. tests/live/test_layout.py checks them in
 * living objects. */
#if PY_VERSION_HEX < 0x030a0000
typedef struct { /* Objects/moduleobject.c */
	PyObject_HEAD PyObject *md_dict;
} PyModuleObject;
#endif
#if PY_VERSION_HEX >= 0x03060000 && PY_VERSION_HEX < 0x030b0000
struct probe_keys { /* Objects/dict-common.h, struct _dictkeysobject */
	Py_ssize_t dk_refcnt;
	Py_ssize_t dk_size;
	void *dk_lookup;
	Py_ssize_t dk_usable;
	Py_ssize_t dk_nentries;
	char dk_indices[8];
};
typedef struct { /* Objects/dict-common.h */
	Py_hash_t me_hash;
	PyObject *me_key;
	PyObject *me_value;
} PyDictKeyEntry;
#endif

static void probe_runtime(void)
{
#if PY_VERSION_HEX >= 0x03070000
	FIELD(runtime_size, sizeof(_PyRuntimeState));
	OFFSET(runtime_interpreters_head, _PyRuntimeState, interpreters.head);
#else
	ABSENT(runtime_size);
	ABSENT(runtime_interpreters_head);
#endif
#if PY_VERSION_HEX >= 0x03070000 && PY_VERSION_HEX < 0x030c0000
	OFFSET(runtime_auto_tss_key, _PyRuntimeState, gilstate.autoTSSkey);
	OFFSET(runtime_tstate_current, _PyRuntimeState, gilstate.tstate_current);
#elif PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030f0000
	OFFSET(runtime_auto_tss_key, _PyRuntimeState, autoTSSkey);
	ABSENT(runtime_tstate_current);
#else
	ABSENT(runtime_auto_tss_key);
	ABSENT(runtime_tstate_current);
#endif
}

static void probe_interpreter(void)
{
	FIELD(interp_size, sizeof(PyInterpreterState));
	OFFSET(interp_next, PyInterpreterState, next);
#if PY_VERSION_HEX >= 0x03070000
	OFFSET(interp_id, PyInterpreterState, id);
#else
	ABSENT(interp_id);
#endif
#if PY_VERSION_HEX >= 0x030b0000
	OFFSET(interp_threads_head, PyInterpreterState, threads.head);
#else
	OFFSET(interp_threads_head, PyInterpreterState, tstate_head);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	OFFSET(interp_modules, PyInterpreterState, imports.modules);
	OFFSET(interp_gil, PyInterpreterState, ceval.gil);
	OFFSET(gil_last_holder, struct _gil_runtime_state, last_holder);
	OFFSET(gil_locked, struct _gil_runtime_state, locked);
#else
	OFFSET(interp_modules, PyInterpreterState, modules);
	ABSENT(interp_gil);
	ABSENT(gil_last_holder);
	ABSENT(gil_locked);
#endif
#ifdef Py_GIL_DISABLED
	OFFSET(gil_enabled, struct _gil_runtime_state, enabled);
#else
	ABSENT(gil_enabled);
#endif
}

static void probe_thread(void)
{
	FIELD(tstate_size, sizeof(PyThreadState));
	OFFSET(tstate_next, PyThreadState, next);
	OFFSET(tstate_interp, PyThreadState, interp);
	OFFSET(tstate_thread_id, PyThreadState, thread_id);
#if PY_VERSION_HEX < 0x030b0000
	OFFSET(tstate_frame, PyThreadState, frame);
	ABSENT(tstate_native_thread_id);
	ABSENT(tstate_datastack_chunk);
	ABSENT(tstate_datastack_top);
	ABSENT(chunk_previous);
	ABSENT(chunk_size);
	ABSENT(chunk_data);
#else
	ABSENT(tstate_frame);
	OFFSET(tstate_native_thread_id, PyThreadState, native_thread_id);
	OFFSET(tstate_datastack_chunk, PyThreadState, datastack_chunk);
	OFFSET(tstate_datastack_top, PyThreadState, datastack_top);
	OFFSET(chunk_previous, _PyStackChunk, previous);
	OFFSET(chunk_size, _PyStackChunk, size);
	OFFSET(chunk_data, _PyStackChunk, data);
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
	OFFSET(tstate_cframe, PyThreadState, cframe);
	OFFSET(cframe_current_frame, _PyCFrame, current_frame);
#else
	ABSENT(tstate_cframe);
	ABSENT(cframe_current_frame);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	OFFSET(tstate_current_frame, PyThreadState, current_frame);
#else
	ABSENT(tstate_current_frame);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	OFFSET(tstate_holds_gil, PyThreadState, holds_gil);
#else
	ABSENT(tstate_holds_gil);
#endif
#if PY_VERSION_HEX >= 0x030f0000
	OFFSET(tstate_base_frame, PyThreadState, base_frame);
#else
	ABSENT(tstate_base_frame);
#endif
}

static void probe_frame(void)
{
#if PY_VERSION_HEX < 0x030b0000
	OFFSET(frame_size, PyFrameObject, f_localsplus);
	OFFSET(frame_back, PyFrameObject, f_back);
	OFFSET(frame_code, PyFrameObject, f_code);
	OFFSET(frame_lasti, PyFrameObject, f_lasti);
	ABSENT(iframe_size);
	ABSENT(iframe_previous);
	ABSENT(iframe_executable);
	ABSENT(iframe_instr);
	ABSENT(iframe_owner);
	ABSENT(owner_generator);
#else
	ABSENT(frame_size);
	ABSENT(frame_back);
	ABSENT(frame_code);
	ABSENT(frame_lasti);
	OFFSET(iframe_size, _PyInterpreterFrame, localsplus);
	OFFSET(iframe_previous, _PyInterpreterFrame, previous);
	OFFSET(iframe_owner, _PyInterpreterFrame, owner);
	FIELD(owner_generator, FRAME_OWNED_BY_GENERATOR);
#if PY_VERSION_HEX < 0x030d0000
	OFFSET(iframe_executable, _PyInterpreterFrame, f_code);
	OFFSET(iframe_instr, _PyInterpreterFrame, prev_instr);
#else
	OFFSET(iframe_executable, _PyInterpreterFrame, f_executable);
	OFFSET(iframe_instr, _PyInterpreterFrame, instr_ptr);
#endif
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
	OFFSET(iframe_is_entry, _PyInterpreterFrame, is_entry);
#else
	ABSENT(iframe_is_entry);
#endif
#if PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030f0000
	FIELD(owner_cstack, FRAME_OWNED_BY_CSTACK);
#else
	ABSENT(owner_cstack);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	FIELD(owner_interpreter, FRAME_OWNED_BY_INTERPRETER);
#else
	ABSENT(owner_interpreter);
#endif
#if PY_VERSION_HEX >= 0x030e0000 && defined(Py_GIL_DISABLED)
	OFFSET(iframe_tlbc_index, _PyInterpreterFrame, tlbc_index);
#else
	ABSENT(iframe_tlbc_index);
#endif
}

static void probe_code(void)
{
	OFFSET(code_name, PyCodeObject, co_name);
	OFFSET(code_filename, PyCodeObject, co_filename);
	OFFSET(code_firstlineno, PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX < 0x030a0000
	OFFSET(code_linetable, PyCodeObject, co_lnotab);
#else
	OFFSET(code_linetable, PyCodeObject, co_linetable);
#endif
#if PY_VERSION_HEX < 0x030b0000
	FIELD(code_size, sizeof(PyCodeObject));
	ABSENT(code_qualname);
	ABSENT(code_instructions);
	ABSENT(code_first_traceable);
#else
	OFFSET(code_size, PyCodeObject, co_code_adaptive);
	OFFSET(code_qualname, PyCodeObject, co_qualname);
	OFFSET(code_instructions, PyCodeObject, co_code_adaptive);
	OFFSET(code_first_traceable, PyCodeObject, _co_firsttraceable);
#endif
#if PY_VERSION_HEX >= 0x030e0000 && defined(Py_GIL_DISABLED)
	OFFSET(code_tlbc, PyCodeObject, co_tlbc);
	OFFSET(tlbc_count, _PyCodeArray, size);
	OFFSET(tlbc_entries, _PyCodeArray, entries);
#else
	ABSENT(code_tlbc);
	ABSENT(tlbc_count);
	ABSENT(tlbc_entries);
#endif
}

#if PY_VERSION_HEX >= 0x03000000
/* A bitfield has no offset: it is set and looked for in the word that holds it. */
static int lowest_bit(const PyASCIIObject *ascii)
{
	uint32_t word;

	memcpy(&word, &ascii->state, sizeof(word));
	return word ? __builtin_ctz(word) : -1;
}
#endif

static void probe_text(void)
{
	OFFSET(bytes_hash, probe_bytes, ob_shash);
	OFFSET(bytes_data, probe_bytes, ob_sval);
#if PY_VERSION_HEX < 0x03000000
	ABSENT(unicode_length);
	ABSENT(unicode_hash);
	ABSENT(unicode_state);
	ABSENT(unicode_kind_shift);
	ABSENT(unicode_compact_shift);
	ABSENT(unicode_ascii_shift);
	ABSENT(unicode_ascii_data);
	ABSENT(unicode_compact_data);
	ABSENT(unicode_any_data);
#else
	PyASCIIObject kind, compact, ascii;

	memset(&kind, 0, sizeof(kind));
	memset(&compact, 0, sizeof(compact));
	memset(&ascii, 0, sizeof(ascii));
	kind.state.kind = 1;
	compact.state.compact = 1;
	ascii.state.ascii = 1;
	OFFSET(unicode_length, PyASCIIObject, length);
	OFFSET(unicode_hash, PyASCIIObject, hash);
	OFFSET(unicode_state, PyASCIIObject, state);
	FIELD(unicode_kind_shift, lowest_bit(&kind));
	FIELD(unicode_compact_shift, lowest_bit(&compact));
	FIELD(unicode_ascii_shift, lowest_bit(&ascii));
	FIELD(unicode_ascii_data, sizeof(PyASCIIObject));
	FIELD(unicode_compact_data, sizeof(PyCompactUnicodeObject));
	OFFSET(unicode_any_data, PyUnicodeObject, data);
#endif
}

static void probe_int(void)
{
#if PY_VERSION_HEX < 0x03000000
	OFFSET(int_value, PyIntObject, ob_ival);
#else
	ABSENT(int_value);
#endif
#if PY_VERSION_HEX < 0x030c0000
	ABSENT(long_tag);
	OFFSET(long_digits, struct _longobject, ob_digit);
#else
	OFFSET(long_tag, struct _longobject, long_value.lv_tag);
	OFFSET(long_digits, struct _longobject, long_value.ob_digit);
#endif
	FIELD(long_digit_bits, PyLong_SHIFT);
}

static void probe_dict(void)
{
#if PY_VERSION_HEX < 0x03000000
	OFFSET(dict_used, PyDictObject, ma_used);
	OFFSET(dict_keys, PyDictObject, ma_table);
	ABSENT(dict_values);
	OFFSET(dict_mask, PyDictObject, ma_mask);
	ABSENT(keys_nentries);
	ABSENT(keys_indices);
	FIELD(entry_size, sizeof(PyDictEntry));
	OFFSET(entry_key, PyDictEntry, me_key);
	OFFSET(entry_value, PyDictEntry, me_value);
#else
	OFFSET(dict_used, PyDictObject, ma_used);
	OFFSET(dict_keys, PyDictObject, ma_keys);
	OFFSET(dict_values, PyDictObject, ma_values);
	ABSENT(dict_mask);
	FIELD(entry_size, sizeof(PyDictKeyEntry));
	OFFSET(entry_key, PyDictKeyEntry, me_key);
	OFFSET(entry_value, PyDictKeyEntry, me_value);
#endif
#if PY_VERSION_HEX >= 0x03060000 && PY_VERSION_HEX < 0x030b0000
	OFFSET(keys_size, struct probe_keys, dk_size);
	OFFSET(keys_nentries, struct probe_keys, dk_nentries);
	OFFSET(keys_indices, struct probe_keys, dk_indices);
#else
	ABSENT(keys_size);
#endif
#if PY_VERSION_HEX >= 0x030b0000
	OFFSET(keys_log2_size, struct _dictkeysobject, dk_log2_size);
	OFFSET(keys_log2_index_bytes, struct _dictkeysobject, dk_log2_index_bytes);
	OFFSET(keys_kind, struct _dictkeysobject, dk_kind);
	OFFSET(keys_nentries, struct _dictkeysobject, dk_nentries);
	OFFSET(keys_indices, struct _dictkeysobject, dk_indices);
	FIELD(unicode_entry_size, sizeof(PyDictUnicodeEntry));
	OFFSET(unicode_entry_key, PyDictUnicodeEntry, me_key);
	OFFSET(unicode_entry_value, PyDictUnicodeEntry, me_value);
#else
	ABSENT(keys_log2_size);
	ABSENT(keys_log2_index_bytes);
	ABSENT(keys_kind);
	ABSENT(unicode_entry_size);
	ABSENT(unicode_entry_key);
	ABSENT(unicode_entry_value);
#endif
}

static void probe_type(void)
{
	OFFSET(object_type, PyObject, ob_type);
	OFFSET(object_size, PyVarObject, ob_size);
	OFFSET(module_dict, PyModuleObject, md_dict);
	OFFSET(type_name, PyTypeObject, tp_name);
	OFFSET(type_flags, PyTypeObject, tp_flags);
	OFFSET(type_basicsize, PyTypeObject, tp_basicsize);
	OFFSET(type_dictoffset, PyTypeObject, tp_dictoffset);
	FIELD(flag_heap_type, Py_TPFLAGS_HEAPTYPE);
#if PY_VERSION_HEX < 0x03000000
	ABSENT(type_cached_keys);
#else
	OFFSET(type_cached_keys, PyHeapTypeObject, ht_cached_keys);
#endif
}

static void probe_attributes(void)
{
#if PY_VERSION_HEX < 0x030b0000
	ABSENT(flag_managed_dict);
	ABSENT(managed_dict);
	ABSENT(values_data);
#else
	static char block[256];
	PyObject *object = (PyObject *)(void *)(block + 128);

	FIELD(flag_managed_dict, Py_TPFLAGS_MANAGED_DICT);
	OFFSET(values_data, struct _dictvalues, values);
#if PY_VERSION_HEX < 0x030c0000
	FIELD(managed_dict, (char *)object - (char *)_PyObject_ManagedDictPointer(object));
#elif PY_VERSION_HEX < 0x030d0000
	FIELD(managed_dict, (char *)object - (char *)_PyObject_DictOrValuesPointer(object));
#else
	FIELD(managed_dict, (char *)object - (char *)_PyObject_ManagedDictPointer(object));
#endif
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
	FIELD(managed_values, (char *)object - (char *)_PyObject_ValuesPointer(object));
#else
	ABSENT(managed_values);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	FIELD(flag_inline_values, Py_TPFLAGS_INLINE_VALUES);
	OFFSET(values_valid, struct _dictvalues, valid);
	OFFSET(values_capacity, struct _dictvalues, capacity);
#else
	ABSENT(flag_inline_values);
	ABSENT(values_valid);
	ABSENT(values_capacity);
#endif
}

#if PY_VERSION_HEX >= 0x030d0000
static void probe_debug_offsets(void)
{
#define DEBUG_FIELD_3_13(name, member)                                                             \
	printf("debug %s %zu\n", #name, offsetof(_Py_DebugOffsets, member));
#if PY_VERSION_HEX >= 0x030e0000
#define DEBUG_FIELD_3_14(name, member) DEBUG_FIELD_3_13(name, member)
#else
#define DEBUG_FIELD_3_14(name, member) printf("debug %s absent\n", #name);
#endif
#if PY_VERSION_HEX >= 0x030f0000
#define DEBUG_FIELD_3_15(name, member) DEBUG_FIELD_3_13(name, member)
#else
#define DEBUG_FIELD_3_15(name, member) printf("debug %s absent\n", #name);
#endif
#define DEBUG_LANDMARK(name, member)                                                               \
	printf("landmark %s %zu\n", #name, offsetof(_Py_DebugOffsets, member));
	printf("debug-size %zu\n", sizeof(_Py_DebugOffsets));
#include "debug_fields.def"
}
#endif

int main(void)
{
	printf("version %d.%d.%d\n", PY_MAJOR_VERSION, PY_MINOR_VERSION, PY_MICRO_VERSION);
	probe_runtime();
	probe_interpreter();
	probe_thread();
	probe_frame();
	probe_code();
	probe_text();
	probe_int();
	probe_dict();
	probe_type();
	probe_attributes();
#if PY_VERSION_HEX >= 0x030d0000
	probe_debug_offsets();
#endif
	return 0;
}
