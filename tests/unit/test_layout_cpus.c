/* SPDX-License-Identifier: MIT */
/*
 * Given the tables of two CPUs, the same fields but for those that follow a mutex; given the debug
 * offsets of an aarch64 interpreter, what its row says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "python/layout/debug_offsets.h"
#include "python/layout/table.h"

#ifndef TOP_SRCDIR
#define TOP_SRCDIR "."
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };

static const struct py_layout_row *row_for(uint16_t machine, unsigned major, unsigned minor,
					   unsigned micro, bool free_threaded)
{
	for (size_t i = 0; i < py_layout_rows_count; i++) {
		const struct py_layout_row *row = &py_layout_rows[i];
		if (row->machine == machine && row->major == major && row->minor == minor &&
		    row->free_threaded == free_threaded && micro >= row->micro_first &&
		    micro <= row->micro_last)
			return row;
	}
	return NULL;
}

/* What one CPU has a row for, all that is shipped have. */
static void every_cpu_has_every_row(void **state)
{
	for (size_t i = 0; i < py_layout_rows_count; i++) {
		const struct py_layout_row *row = &py_layout_rows[i];
		for (unsigned machine = 0; machine <= UINT16_MAX; machine++) {
			if (!arch_by_machine((uint16_t)machine) && machine != EM_AARCH64)
				continue;
			if (!row_for((uint16_t)machine, row->major, row->minor, row->micro_first,
				     row->free_threaded))
				fail_msg("%s has no row for %u.%u.%u%s",
					 arch_machine_name((uint16_t)machine), row->major,
					 row->minor, row->micro_first,
					 row->free_threaded ? "t" : "");
		}
	}
	for (size_t m = 0; m < COUNT(machines); m++) {
		assert_non_null(row_for(machines[m], 2, 7, 18, false));
		for (unsigned minor = 6; minor <= 15; minor++)
			assert_non_null(row_for(machines[m], 3, minor, 1, false));
		for (unsigned minor = 13; minor <= 15; minor++)
			assert_non_null(row_for(machines[m], 3, minor, 1, true));
	}
}

/* sizeof(pthread_mutex_t) is 40 on x86-64 and 48 on aarch64; up to 3.11 two of them come first. */
static uint32_t difference(const struct py_layout_row *row, enum py_field field)
{
	bool follows_mutexes =
		field == PY_FIELD_runtime_auto_tss_key || field == PY_FIELD_runtime_tstate_current;
	bool old = row->major == 3 && row->minor >= 7 && row->minor <= 11;
	return follows_mutexes && old ? 16 : 0;
}

/* Mutexes are in them; and other micro releases were measured. */
static bool may_differ(enum py_field field)
{
	return field == PY_FIELD_runtime_size || field == PY_FIELD_interp_size;
}

static void cpus_agree_on_every_other_field(void **state)
{
	size_t compared = 0;
	for (size_t i = 0; i < py_layout_rows_count; i++) {
		const struct py_layout_row *ours = &py_layout_rows[i];
		if (ours->machine != EM_AARCH64)
			continue;
		const struct py_layout_row *theirs =
			row_for(EM_X86_64, ours->major, ours->minor, ours->micro_first,
				ours->free_threaded);
		/* A row of later micro releases than x86-64 has measured is one of its own. */
		if (theirs->micro_first != ours->micro_first)
			continue;
		for (enum py_field f = 0; f < PY_FIELD_COUNT; f++) {
			uint32_t there = theirs->fields[f] + difference(ours, f);
			if (!may_differ(f) && ours->fields[f] != there)
				fail_msg("%u.%u: %s is %u on aarch64, %u on x86-64", ours->major,
					 ours->minor, py_fields[f].name, ours->fields[f],
					 theirs->fields[f]);
		}
		compared++;
	}
	assert_int_equal(compared, 14);
}

/* As the interpreters' own code says: tests/unit/test_decode_aarch64.c. */
static void keys_are_where_the_code_says(void **state)
{
	static const struct {
		unsigned minor;
		uint32_t key;
	} expected[] = { { 9, 0x258 },  { 11, 0x260 }, { 12, 0x608 },
			 { 13, 0x870 }, { 14, 0x920 }, { 15, PY_ABSENT } };
	for (size_t i = 0; i < COUNT(expected); i++) {
		const struct py_layout_row *row =
			row_for(EM_AARCH64, 3, expected[i].minor, 2, false);
		assert_int_equal(row->fields[PY_FIELD_runtime_auto_tss_key], expected[i].key);
	}
}

static void what_was_never_run_is_called_so(void **state)
{
	static const struct {
		py_version version;
		enum py_layout_origin x86_64, aarch64;
	} expected[] = {
		{ PY_VERSION(2, 7, 18), PY_ORIGIN_MEASURED, PY_ORIGIN_HEADERS },
		{ PY_VERSION(3, 6, 15), PY_ORIGIN_MEASURED, PY_ORIGIN_HEADERS },
		{ PY_VERSION(3, 9, 2), PY_ORIGIN_MEASURED, PY_ORIGIN_MEASURED },
		{ PY_VERSION(3, 9, 18), PY_ORIGIN_MEASURED, PY_ORIGIN_NEIGHBOUR },
		{ PY_VERSION(3, 11, 2), PY_ORIGIN_MEASURED, PY_ORIGIN_MEASURED },
		{ PY_VERSION(3, 12, 1), PY_ORIGIN_MEASURED, PY_ORIGIN_HEADERS },
		{ PY_VERSION(3, 12, 9), PY_ORIGIN_NEIGHBOUR, PY_ORIGIN_HEADERS },
	};
	for (size_t i = 0; i < COUNT(expected); i++) {
		struct py_layout layout;
		py_version version = expected[i].version;
		assert_null(py_layout_select(version, EM_X86_64, false, 0, NULL, 0, &layout));
		assert_int_equal(layout.origin, expected[i].x86_64);
		assert_null(py_layout_select(version, EM_AARCH64, false, 0, NULL, 0, &layout));
		assert_int_equal(layout.origin, expected[i].aarch64);
	}
	assert_string_equal(py_layout_origin_name(PY_ORIGIN_HEADERS),
			    "headers, never tried on this CPU");
}

/* ---- debug offsets ---- */

#define RUNTIME UINT64_C(0x7f0000a0)

struct fake {
	struct memory memory;
	uint8_t bytes[DEBUG_OFFSETS_MAX];
	size_t size;
};

static bool fake_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct fake *fake = (struct fake *)memory;
	if (address < RUNTIME || address - RUNTIME > fake->size ||
	    fake->size - (address - RUNTIME) < size)
		return false;
	memcpy(buffer, fake->bytes + (address - RUNTIME), size);
	return true;
}

static struct fake fake_load(const char *version)
{
	char path[4096];
	snprintf(path, sizeof(path), TOP_SRCDIR "/fixtures/layout/debug-offsets-%s-aarch64.bin",
		 version);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	if (!file)
		fail_msg("cannot open %s", path);
	struct fake fake = { .memory.read = fake_read };
	fake.size = fread(fake.bytes, 1, sizeof(fake.bytes), file);
	return fake;
}

static void debug_offsets_agree_with_the_row(void **state)
{
	static const struct {
		const char *fixture;
		py_version version;
	} cases[] = {
		{ "3.13.5", PY_VERSION(3, 13, 5) },
		{ "3.13.15", PY_VERSION(3, 13, 15) },
		{ "3.14.8", PY_VERSION(3, 14, 8) },
		{ "3.15.0", PY_VERSION(3, 15, 0) },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		py_version version = cases[i].version;
		struct fake fake = fake_load(cases[i].fixture);
		struct py_layout layout;
		struct error *err = py_layout_select(version, EM_AARCH64, false, 0, &fake.memory,
						     RUNTIME, &layout);
		if (err)
			fail_msg("%s: %s", cases[i].fixture, err->message);
		assert_int_equal(layout.origin, PY_ORIGIN_DEBUG_OFFSETS);

		const struct py_layout_row *row =
			row_for(EM_AARCH64, 3, PY_MINOR(version), PY_MICRO(version), false);
		for (enum py_field f = 0; f < PY_FIELD_COUNT; f++) {
			uint32_t told = py_field_value(&layout, f);
			if (!may_differ(f) && told != row->fields[f])
				fail_msg("%s: debug offsets say %s is %u, the row %u",
					 cases[i].fixture, py_fields[f].name, told, row->fields[f]);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cpu_has_every_row),
		cmocka_unit_test(cpus_agree_on_every_other_field),
		cmocka_unit_test(keys_are_where_the_code_says),
		cmocka_unit_test(what_was_never_run_is_called_so),
		cmocka_unit_test(debug_offsets_agree_with_the_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
