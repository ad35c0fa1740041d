/* SPDX-License-Identifier: MIT */
/*
 * Given a version, these offsets; given debug offsets with one wrong member, that member's name.
 * Offsets are written out from the headers of each version; fixtures/layout/ has the debug offsets
 * of three interpreters.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "python/layout.h"
#include "python/layout/table.h"
#include "python/layout/validate.h"

#define RUNTIME_ADDRESS UINT64_C(0x7f0000a0)
#define NONE            PY_ABSENT

/* A target that has nothing but debug offsets. */
struct fake {
	struct memory memory;
	uint8_t bytes[1024];
	size_t size;
};

static bool fake_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct fake *fake = (struct fake *)memory;
	if (address < RUNTIME_ADDRESS || address - RUNTIME_ADDRESS > fake->size ||
	    fake->size - (address - RUNTIME_ADDRESS) < size)
		return false;
	memcpy(buffer, fake->bytes + (address - RUNTIME_ADDRESS), size);
	return true;
}

static struct fake fake_load(const char *version)
{
	struct fake fake = { .memory.read = fake_read };
	const char *root = getenv("srcdir");
	char path[512];
	snprintf(path, sizeof(path), "%s/fixtures/layout/debug-offsets-%s.bin", root ? root : ".",
		 version);
	_cleanup_fclose_ FILE *file = fopen(path, "rb");
	if (!file)
		fail_msg("cannot open %s", path);
	fake.size = fread(fake.bytes, 1, sizeof(fake.bytes), file);
	return fake;
}

static uint64_t fake_get(const struct fake *fake, size_t at)
{
	uint64_t value;
	memcpy(&value, fake->bytes + at, sizeof(value));
	return value;
}

static void fake_set(struct fake *fake, size_t at, uint64_t value)
{
	memcpy(fake->bytes + at, &value, sizeof(value));
}

static struct error *select_fake(py_version version, struct fake *fake, struct py_layout *layout)
{
	return py_layout_select(version, EM_X86_64, false, 0, &fake->memory, RUNTIME_ADDRESS,
				layout);
}

/* Up to 3.12 nothing is read: there is no memory. */
static struct error *select_old(py_version version, struct py_layout *layout)
{
	return py_layout_select(version, EM_X86_64, false, 0, NULL, 0, layout);
}

static struct py_layout must_select(py_version version, const char *fixture)
{
	struct py_layout layout;
	struct fake fake = { 0 };
	if (fixture)
		fake = fake_load(fixture);
	_cleanup_error_ struct error *err =
		fixture ? select_fake(version, &fake, &layout) : select_old(version, &layout);
	if (err)
		fail_msg("%s", err->message);
	return layout;
}

static void assert_refused(struct error *err, enum error_code code, const char *words)
{
	assert_non_null(err);
	if (err->code != code || !strstr(err->message, words))
		fail_msg("\"%s\" (code %d) does not say \"%s\"", err->message, err->code, words);
	error_destroy(err);
}

struct expected {
	py_version version;
	const char *fixture;
	enum py_layout_origin origin;
	uint32_t key, head, next, threads, modules, frame, thread_id, code_name, code_linetable,
		back, type, bytes_data, kind_shift, keys;
};

static const struct expected expected[] = {
	/* clang-format off */
	/*                                                                key    head   next threads modules frame thread_id name linetable back type bytes kind keys */
	{ PY_VERSION(2, 7, 18),  NULL,      PY_ORIGIN_MEASURED,           NONE,  NONE,     0,     8,     16,   16,     144,   88,     104,  24,    8,  36, NONE, 40 },
	{ PY_VERSION(3, 6, 15),  NULL,      PY_ORIGIN_MEASURED,           NONE,  NONE,     0,     8,     16,   24,     152,  104,     112,  24,    8,  32,    2, 32 },
	{ PY_VERSION(3, 7, 16),  NULL,      PY_ORIGIN_MEASURED,          0x5e0,    24,     0,     8,     40,   24,     176,  104,     112,  24,    8,  32,    2, 32 },
	{ PY_VERSION(3, 8, 18),  NULL,      PY_ORIGIN_MEASURED,          0x570,    32,     0,     8,     56,   24,     176,  112,     120,  24,    8,  32,    2, 32 },
	{ PY_VERSION(3, 9, 2),   NULL,      PY_ORIGIN_MEASURED,          0x248,    32,     0,     8,    856,   24,     176,  112,     120,  24,    8,  32,    2, 32 },
	{ PY_VERSION(3, 9, 18),  NULL,      PY_ORIGIN_MEASURED,          0x248,    32,     0,     8,    856,   24,     176,  112,     120,  24,    8,  32,    2, 32 },
	{ PY_VERSION(3, 10, 13), NULL,      PY_ORIGIN_MEASURED,          0x248,    32,     0,     8,    856,   24,     176,  112,     120,  24,    8,  32,    2, 32 },
	{ PY_VERSION(3, 11, 2),  NULL,      PY_ORIGIN_MEASURED,          0x250,    40,     0,    16,    888,   56,     152,  120,     136,  48,    8,  32,    2, 32 },
	{ PY_VERSION(3, 11, 7),  NULL,      PY_ORIGIN_MEASURED,          0x250,    40,     0,    16,    888,   56,     152,  120,     136,  48,    8,  32,    2, 32 },
	{ PY_VERSION(3, 11, 9),  NULL,      PY_ORIGIN_NEIGHBOUR,         0x250,    40,     0,    16,    888,   56,     152,  120,     136,  48,    8,  32,    2, 32 },
	{ PY_VERSION(3, 12, 1),  NULL,      PY_ORIGIN_MEASURED,          0x608,    40,     0,    72,    944,   56,     136,  120,     136,   8,    8,  32,    2, 32 },
	{ PY_VERSION(3, 13, 5),  "3.13.5",  PY_ORIGIN_DEBUG_OFFSETS,     0x870,   632,  7264,  7344,   7656,   72,     152,  120,     136,   8,    8,  32,    2, 32 },
	{ PY_VERSION(3, 14, 10), "3.14.10", PY_ORIGIN_DEBUG_OFFSETS,     0x920,   808,  7272,  7344,   7688,   72,     152,  120,     136,   8,    8,  32,    2, 32 },
	{ PY_VERSION(3, 15, 2),  "3.15.2",  PY_ORIGIN_DEBUG_OFFSETS,      NONE,   936,  7264,  7336,   7592,   72,     176,  120,     136,   8,    8,  32,    2, 32 },
	/* clang-format on */
};
#define EXPECTED_COUNT (sizeof(expected) / sizeof(expected[0]))

/* The one of these fields that the version has. */
static uint32_t first_of(uint32_t a, uint32_t b, uint32_t c)
{
	return a != PY_ABSENT ? a : b != PY_ABSENT ? b : c;
}

static void each_version_has_its_offsets(void **state)
{
	for (size_t i = 0; i < EXPECTED_COUNT; i++) {
		const struct expected *e = &expected[i];
		struct py_layout l = must_select(e->version, e->fixture);
		print_message("%u.%u.%u\n", PY_MAJOR(e->version), PY_MINOR(e->version),
			      PY_MICRO(e->version));
		assert_int_equal(l.version, e->version);
		assert_int_equal(l.origin, e->origin);
		assert_int_equal(l.runtime_auto_tss_key, e->key);
		assert_int_equal(l.runtime_interpreters_head, e->head);
		assert_int_equal(l.interp_next, e->next);
		assert_int_equal(l.interp_threads_head, e->threads);
		assert_int_equal(l.interp_modules, e->modules);
		assert_int_equal(first_of(l.tstate_frame, l.tstate_cframe, l.tstate_current_frame),
				 e->frame);
		assert_int_equal(l.tstate_thread_id, e->thread_id);
		assert_int_equal(l.code_name, e->code_name);
		assert_int_equal(l.code_linetable, e->code_linetable);
		assert_int_equal(first_of(l.frame_back, l.iframe_previous, NONE), e->back);
		assert_int_equal(l.object_type, e->type);
		assert_int_equal(l.bytes_data, e->bytes_data);
		assert_int_equal(l.unicode_kind_shift, e->kind_shift);
		assert_int_equal(l.dict_keys, e->keys);
		assert_false(l.free_threaded);
	}
}

/* What a walker of each frame kind reads without asking whether it is there. */
static void fields_that_a_kind_needs_are_there(void **state)
{
	for (size_t i = 0; i < EXPECTED_COUNT; i++) {
		struct py_layout l = must_select(expected[i].version, expected[i].fixture);
		bool heap = l.frame_kind == PY_FRAME_HEAP;
		assert_int_equal(heap, l.frame_size != NONE && l.frame_lasti != NONE &&
					       l.tstate_frame != NONE);
		assert_int_equal(!heap, l.iframe_size != NONE && l.iframe_instr != NONE &&
						l.iframe_owner != NONE && l.chunk_data != NONE &&
						l.tstate_datastack_chunk != NONE &&
						l.code_instructions != NONE &&
						l.code_first_traceable != NONE);
		assert_int_equal(l.frame_kind == PY_FRAME_CFRAME, l.cframe_current_frame != NONE);
		assert_int_equal(l.frame_kind == PY_FRAME_INTERPRETER,
				 l.tstate_current_frame != NONE);
		assert_int_equal(l.key_kind == PY_KEY_RUNTIME, l.runtime_auto_tss_key != NONE);
		assert_int_equal(l.gil_kind == PY_GIL_CURRENT_RUNTIME,
				 l.runtime_tstate_current != NONE);
		assert_int_equal(l.gil_kind == PY_GIL_INTERPRETER, l.interp_gil != NONE);
		assert_int_equal(l.text_kind == PY_TEXT_UNICODE, l.unicode_state != NONE);
		assert_int_equal(l.dict_kind == PY_DICT_TABLE, l.dict_mask != NONE);
		assert_int_equal(l.dict_kind == PY_DICT_KEYS, l.keys_size != NONE);
		assert_int_equal(l.dict_kind == PY_DICT_KEYS_LOG2, l.unicode_entry_size != NONE);
		assert_int_equal(l.attributes_kind == PY_ATTRIBUTES_SEPARATE,
				 l.managed_values != NONE);
		assert_int_equal(l.attributes_kind == PY_ATTRIBUTES_INLINE,
				 l.values_valid != NONE && l.flag_inline_values != NONE);
	}
}

static void frames_differ_from_version_to_version(void **state)
{
	struct py_layout l = must_select(PY_VERSION(3, 10, 13), NULL);
	assert_int_equal(l.lasti_scale, 2);
	assert_int_equal(l.line_kind, PY_LINES_TABLE);
	l = must_select(PY_VERSION(3, 9, 18), NULL);
	assert_int_equal(l.lasti_scale, 1);
	assert_int_equal(l.line_kind, PY_LINES_LNOTAB);

	l = must_select(PY_VERSION(3, 11, 7), NULL);
	assert_int_equal(l.iframe_is_entry, 68);
	assert_int_equal(l.iframe_owner, 69);
	assert_int_equal(l.owner_cstack, NONE);
	assert_int_equal(l.managed_values, 32);
	l = must_select(PY_VERSION(3, 12, 1), NULL);
	assert_int_equal(l.iframe_is_entry, NONE);
	assert_int_equal(l.owner_cstack, 3);
	assert_int_equal(l.attributes_kind, PY_ATTRIBUTES_TAGGED);
	l = must_select(PY_VERSION(3, 13, 5), "3.13.5");
	assert_int_equal(l.owner_cstack, 3);
	assert_int_equal(l.owner_interpreter, NONE);
	assert_int_equal(l.executable_tag_mask, 0);
	assert_int_equal(l.gil_last_holder, 8);
	assert_int_equal(l.gil_locked, 16);
	assert_int_equal(l.unicode_compact_data, 56);
	l = must_select(PY_VERSION(3, 14, 10), "3.14.10");
	assert_int_equal(l.owner_interpreter, 3);
	assert_int_equal(l.owner_cstack, 4);
	assert_int_equal(l.executable_tag_mask, 3);
	assert_int_equal(l.tstate_base_frame, NONE);
	l = must_select(PY_VERSION(3, 15, 2), "3.15.2");
	assert_int_equal(l.owner_interpreter, 3);
	assert_int_equal(l.owner_cstack, NONE);
	assert_int_equal(l.tstate_base_frame, 80);
	assert_int_equal(l.key_kind, PY_KEY_THREAD_LOCAL);
}

static void trace_refs_move_what_lies_behind_a_head(void **state)
{
	struct py_layout l;
	assert_null(py_layout_select(PY_VERSION(3, 11, 2), EM_X86_64, true, 16, NULL, 0, &l));
	assert_true(l.debug_build);
	assert_int_equal(l.object_type, 24);
	assert_int_equal(l.code_name, 136);
	assert_int_equal(l.bytes_data, 48);
	assert_int_equal(l.unicode_any_data, 88);
	assert_int_equal(l.type_cached_keys, 888);
	assert_int_equal(l.unicode_kind_shift, 2);
	assert_int_equal(l.entry_key, 8);
	assert_int_equal(l.iframe_previous, 48);
	assert_int_equal(l.tstate_cframe, 56);
	assert_int_equal(l.code_tlbc, NONE);

	/* Without Py_TRACE_REFS a debug build of 3.11 is laid out as any other; one of 3.7 always
	 * has them. */
	assert_null(py_layout_select(PY_VERSION(3, 11, 2), EM_X86_64, true, 0, NULL, 0, &l));
	assert_int_equal(l.object_type, 8);
	assert_null(py_layout_select(PY_VERSION(3, 7, 16), EM_X86_64, true, 0, NULL, 0, &l));
	assert_int_equal(l.object_type, 24);
	assert_int_equal(l.frame_back, 40);

	assert_refused(py_layout_select(PY_VERSION(3, 11, 2), EM_X86_64, true, 8, NULL, 0, &l),
		       ERROR_UNSUPPORTED, "Py_TRACE_REFS");
}

static void what_is_unknown_is_refused_by_name(void **state)
{
	struct py_layout untouched;
	memset(&untouched, 0x5a, sizeof(untouched));
	struct py_layout l = untouched;

	assert_refused(select_old(PY_VERSION(2, 6, 9), &l), ERROR_UNSUPPORTED, "CPython 2.6.9");
	assert_refused(select_old(PY_VERSION(2, 8, 0), &l), ERROR_UNSUPPORTED, "CPython 2.8.0");
	assert_refused(select_old(PY_VERSION(3, 0, 1), &l), ERROR_UNSUPPORTED, "CPython 3.0.1");
	assert_refused(select_old(PY_VERSION(3, 5, 10), &l), ERROR_UNSUPPORTED, "CPython 3.5.10");
	assert_refused(select_old(0, &l), ERROR_UNSUPPORTED, "CPython 0.0.0");
	const struct {
		uint16_t machine;
		const char *name;
	} cpus[] = { { EM_RISCV, "riscv" },
		     { EM_386, "386" },
		     { EM_PPC64, "ppc64" },
		     { EM_S390, "s390x" },
		     { 0x7777, "machine 30583" } };
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++)
		assert_refused(py_layout_select(PY_VERSION(3, 12, 1), cpus[i].machine, false, 0,
						NULL, 0, &l),
			       ERROR_UNSUPPORTED, cpus[i].name);
	assert_memory_equal(&l, &untouched, sizeof(l));
}

/* The members that lead to a field of the layout, so that setting them to nonsense must be noticed.
 */
static const char *const debug_names[] = {
#define DEBUG_FIELD(name)            #name,
#define DEBUG_LANDMARK(name, member) NULL,
#include "python/layout/debug_fields.def"
#undef DEBUG_FIELD
#undef DEBUG_LANDMARK
};

static const struct py_debug_shape *shape_of(py_version version)
{
	for (size_t i = 0; i < py_debug_shapes_count; i++) {
		const struct py_debug_shape *shape = &py_debug_shapes[i];
		if (PY_VERSION(shape->major, shape->minor, 0) == (version & ~0xffu))
			return shape;
	}
	fail_msg("no shape");
	return NULL;
}

/* Sets the member at @at to @value, and expects an error that names the field, or one of those that
 * share or bound it. */
static void assert_member_refused(const struct expected *e, size_t at, uint64_t value,
				  const char *name)
{
	/* Members that are tied to others are named as CPython does; the two that share a member
	 * may come as the other one. */
	static const char *const aliases[][2] = {
		{ "object_type", "pyobject.ob_type" },
		{ "object_size", "bytes_object.ob_size" },
		{ "bytes_data", "bytes_object.ob_sval" },
		{ "unicode_length", "unicode_object.length" },
		{ "unicode_ascii_data", "unicode_object.asciiobject_size" },
		{ "long_tag", "long_object.lv_tag" },
		{ "long_digits", "long_object.ob_digit" },
		{ "type_name", "type_object.tp_name" },
		{ "code_instructions", "code_size" },
	};
	struct fake fake = fake_load(e->fixture);
	fake_set(&fake, at, value);
	struct py_layout l;
	struct error *err = select_fake(e->version, &fake, &l);
	if (!err)
		fail_msg("%s = %llu was accepted", name, (unsigned long long)value);
	const char *words = name;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (strcmp(aliases[i][0], name) == 0)
			words = aliases[i][1];
	}
	assert_refused(err, ERROR_CORRUPT, words);
}

static bool is_free_threaded_only(const char *name)
{
	return strcmp(name, "gil_enabled") == 0 || strcmp(name, "code_tlbc") == 0 ||
	       strcmp(name, "iframe_tlbc_index") == 0;
}

static bool is_byte(const char *name)
{
	return strcmp(name, "iframe_owner") == 0;
}

static void each_wrong_member_is_refused_by_name(void **state)
{
	for (size_t i = 0; i < EXPECTED_COUNT; i++) {
		const struct expected *e = &expected[i];
		if (!e->fixture)
			continue;
		const struct py_debug_shape *shape = shape_of(e->version);
		struct fake fake = fake_load(e->fixture);
		assert_int_equal(fake.size, shape->size);
		size_t tried = 0;
		for (size_t f = 0; f < PY_DEBUG_COUNT; f++) {
			size_t at = shape->at[f];
			const char *name = debug_names[f];
			if (at == 0 || !name || is_free_threaded_only(name))
				continue;
			uint64_t good = fake_get(&fake, at);
			if (!is_byte(name))
				assert_member_refused(e, at, good + 1, name);
			assert_member_refused(e, at, UINT32_MAX, name);
			assert_member_refused(e, at, UINT64_C(1) << 31, name);
			assert_member_refused(e, at, UINT64_MAX, name);
			assert_member_refused(e, at, good + (UINT64_C(1) << 32), name);
			tried++;
		}
		assert_in_range(tried, 40, PY_DEBUG_COUNT);
	}
}

/* Any word of the table set to any of these: refused, or accepted with a layout that validates. */
static void no_table_gets_past_validation(void **state)
{
	static const uint64_t nonsense[] = { 0, 1, 8, 0x7ffffff8, UINT32_MAX, UINT64_MAX };
	for (size_t i = 0; i < EXPECTED_COUNT; i++) {
		const struct expected *e = &expected[i];
		if (!e->fixture)
			continue;
		struct fake good = fake_load(e->fixture);
		for (size_t at = 0; at + 8 <= good.size; at += 8) {
			for (size_t n = 0; n < sizeof(nonsense) / sizeof(nonsense[0]); n++) {
				struct fake fake = good;
				fake_set(&fake, at, nonsense[n]);
				struct py_layout l;
				struct error *err = select_fake(e->version, &fake, &l);
				if (!err)
					err = py_layout_validate(&l);
				else if (err->code != ERROR_CORRUPT)
					fail_msg("%s", err->message);
				error_destroy(err);
			}
		}
	}
}

static void heads_that_are_none_are_refused(void **state)
{
	struct py_layout l;
	struct fake fake = fake_load("3.14.10");
	py_version version = 0;
	assert_true(py_layout_read_version(&fake.memory, RUNTIME_ADDRESS, &version));
	assert_int_equal(version, PY_VERSION(3, 14, 10));

	assert_refused(select_fake(PY_VERSION(3, 14, 9), &fake, &l), ERROR_CORRUPT,
		       "CPython 3.14.10, not 3.14.9");
	fake.size = 400;
	assert_refused(select_fake(PY_VERSION(3, 14, 10), &fake, &l), ERROR_FAULT, "cannot read");
	fake.size = 23;
	assert_refused(select_fake(PY_VERSION(3, 14, 10), &fake, &l), ERROR_CORRUPT,
		       "no debug offsets");
	fake = fake_load("3.14.10");
	version = 7;
	assert_false(py_layout_parse_version(fake.bytes, 23, &version));
	assert_int_equal(version, 7);
	assert_true(py_layout_parse_version(fake.bytes, 24, &version));
	assert_int_equal(version, PY_VERSION(3, 14, 10));
	fake.bytes[0] = 'X';
	version = 7;
	assert_false(py_layout_read_version(&fake.memory, RUNTIME_ADDRESS, &version));
	assert_int_equal(version, 7);
	assert_refused(select_fake(PY_VERSION(3, 14, 10), &fake, &l), ERROR_CORRUPT,
		       "no debug offsets");
}

/* A newer version with the newest table is tried and called untested; one with any member more is
 * refused. */
static void a_newer_version_is_tried(void **state)
{
	struct py_layout l;
	struct fake fake = fake_load("3.15.2");
	fake_set(&fake, 8, 0x031001f0);
	struct error *err = select_fake(PY_VERSION(3, 16, 1), &fake, &l);
	if (err)
		fail_msg("%s", err->message);
	assert_int_equal(l.origin, PY_ORIGIN_UNTESTED);
	assert_int_equal(l.version, PY_VERSION(3, 16, 1));
	assert_int_equal(l.key_kind, PY_KEY_THREAD_LOCAL);
	assert_int_equal(l.tstate_current_frame, 72);

	struct fake good = fake;
	for (size_t at = 24; at < 600; at += 8) {
		fake = good;
		memmove(fake.bytes + at + 8, fake.bytes + at, good.size - at);
		err = select_fake(PY_VERSION(3, 16, 1), &fake, &l);
		if (!err)
			fail_msg("a table with a member more at %zu was accepted", at);
		if (!strstr(err->message, "newer than any known"))
			fail_msg("%s", err->message);
		error_destroy(err);
	}
}

/* No free-threaded interpreter is at hand: the fixture's numbers are moved as its headers say (16
 * bytes more of head). */
static void a_free_threaded_build_is_recognised(void **state)
{
	static const char *const moved[] = {
		"object_type",    "object_size",    "bytes_data",    "code_size",
		"code_name",      "code_qualname",  "code_filename", "code_firstlineno",
		"code_linetable", "unicode_length", "unicode_state", "unicode_ascii_data",
		"long_tag",       "long_digits",    "dict_keys",     "dict_values",
		"type_name",      "type_flags"
	};
	struct fake fake = fake_load("3.13.5");
	const struct py_debug_shape *shape = shape_of(PY_VERSION(3, 13, 5));
	fake_set(&fake, 16, 1);
	bool done[1024] = { false };
	for (size_t f = 0; f < PY_DEBUG_COUNT; f++) {
		bool move = !debug_names[f] && f != PY_DEBUG_gil_state && f != PY_DEBUG_frame_bytes;
		for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++)
			move |= debug_names[f] && strcmp(debug_names[f], moved[i]) == 0;
		size_t at = shape->at[f];
		if (!move || done[at])
			continue;
		done[at] = true;
		fake_set(&fake, at, fake_get(&fake, at) + 16);
	}
	struct py_layout l;
	struct error *err = select_fake(PY_VERSION(3, 13, 5), &fake, &l);
	if (err)
		fail_msg("%s", err->message);
	assert_true(l.free_threaded);
	assert_int_equal(l.origin, PY_ORIGIN_UNTESTED);
	assert_int_equal(l.object_type, 24);
	assert_int_equal(l.unicode_hash, 40);
	assert_int_equal(l.code_instructions, 216);
	assert_int_equal(l.managed_dict, 8);
	assert_int_equal(l.unicode_compact_data, 72);
}

static void every_row_validates(void **state)
{
	assert_in_range(py_layout_rows_count, 14, 1000);
	for (size_t i = 0; i < py_layout_rows_count; i++) {
		struct py_layout l;
		for (enum py_field field = 0; field < PY_FIELD_COUNT; field++)
			*py_field(&l, field) = py_layout_rows[i].fields[field];
		struct error *err = py_layout_validate(&l);
		if (err)
			fail_msg("%u.%u: %s", py_layout_rows[i].major, py_layout_rows[i].minor,
				 err->message);
	}
}

/* Every field that a row has, set to something no struct has room for, is refused by its name: none
 * is unchecked. */
static void every_field_is_checked(void **state)
{
	bool seen[PY_FIELD_COUNT] = { false };
	for (size_t i = 0; i < py_layout_rows_count; i++) {
		for (enum py_field field = 0; field < PY_FIELD_COUNT; field++) {
			struct py_layout l;
			for (enum py_field f = 0; f < PY_FIELD_COUNT; f++)
				*py_field(&l, f) = py_layout_rows[i].fields[f];
			if (py_field_value(&l, field) == PY_ABSENT)
				continue;
			seen[field] = true;
			*py_field(&l, field) = 0x7ffffff8;
			assert_refused(py_layout_validate(&l), ERROR_CORRUPT,
				       py_fields[field].name);
		}
	}
	for (enum py_field field = 0; field < PY_FIELD_COUNT; field++) {
		if (!seen[field])
			fail_msg("no row has %s", py_fields[field].name);
	}
}

static void the_last_bytes_of_a_struct_are_inside(void **state)
{
	struct py_layout good = must_select(PY_VERSION(3, 12, 1), NULL), l = good;
	l.tstate_next = l.tstate_size - 8;
	l.iframe_owner = l.iframe_size - 1;
	l.code_firstlineno = l.code_size - 4;
	assert_null(py_layout_validate(&l));
	l = good;
	l.tstate_next = l.tstate_size;
	assert_refused(py_layout_validate(&l), ERROR_CORRUPT, "tstate_next is 288, outside");
	l = good;
	l.iframe_owner = l.iframe_size;
	assert_refused(py_layout_validate(&l), ERROR_CORRUPT, "iframe_owner is 72, outside");
	l = good;
	l.tstate_size = 0;
	assert_refused(py_layout_validate(&l), ERROR_CORRUPT, "tstate_size is 0");
	l = good;
	l.tstate_size = PY_LIMIT_TSTATE + 8;
	assert_refused(py_layout_validate(&l), ERROR_CORRUPT, "tstate_size is 8200");
	l = good;
	l.unicode_kind_shift = 30;
	assert_refused(py_layout_validate(&l), ERROR_CORRUPT, "unicode_kind_shift is 30");
	l = good;
	l.flag_managed_dict = 0x30;
	assert_refused(py_layout_validate(&l), ERROR_CORRUPT, "flag_managed_dict is 48");
	l = good;
	l.managed_dict = 12;
	assert_refused(py_layout_validate(&l), ERROR_CORRUPT, "not a multiple of 8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_version_has_its_offsets),
		cmocka_unit_test(fields_that_a_kind_needs_are_there),
		cmocka_unit_test(frames_differ_from_version_to_version),
		cmocka_unit_test(trace_refs_move_what_lies_behind_a_head),
		cmocka_unit_test(what_is_unknown_is_refused_by_name),
		cmocka_unit_test(each_wrong_member_is_refused_by_name),
		cmocka_unit_test(no_table_gets_past_validation),
		cmocka_unit_test(heads_that_are_none_are_refused),
		cmocka_unit_test(a_newer_version_is_tried),
		cmocka_unit_test(a_free_threaded_build_is_recognised),
		cmocka_unit_test(every_row_validates),
		cmocka_unit_test(every_field_is_checked),
		cmocka_unit_test(the_last_bytes_of_a_struct_are_inside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
