/* SPDX-License-Identifier: MIT */
/*
 * test_detect.c: given traces of CPython in a module's data, this runtime or none.
 *
 * The module is this program itself: the traces are put into its own static data, at the offsets of
 * the layouts, and looked for as in any other process. Nothing is exported, as in a stripped
 * program that embeds Python.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "python/detect.h"
#include "python/detect_scan.h"

/* Writable data of this program, empty but for what a test puts there. */
static char banner[2][80];
static uint64_t globals[2][512];
static uint64_t offsets[2][8];
static uint64_t large[0x10000]; /* holds the _PyRuntime of 3.12 */

static bool read_self(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct iovec to = { buffer, size }, from = { (void *)address, size };
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size;
}

static struct memory memory = { .read = read_self };

struct fixture {
	struct process *process;
	struct modules *modules;
	struct module *module; /* this program */
	uint8_t *heap;         /* objects: not in the module's data, all zero */
};

#define HEAP_SIZE 0x400000
#define INTERP(n) ((n)*UINT64_C(0x100000))
#define TSTATE(n) ((n)*UINT64_C(0x100000) + 0xf0000)

static int set_up(void **state)
{
	memset(banner, 0, sizeof(banner));
	memset(globals, 0, sizeof(globals));
	memset(offsets, 0, sizeof(offsets));
	memset(large, 0, sizeof(large));
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	assert_non_null(fixture);
	fixture->heap =
		mmap(NULL, HEAP_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(fixture->heap != MAP_FAILED);
	assert_null(process_open(getpid(), &fixture->process));
	assert_null(modules_create(fixture->process, &memory, &fixture->modules));
	assert_null(modules_update(fixture->modules));
	fixture->module = modules_find(fixture->modules, (uintptr_t)set_up);
	assert_non_null(fixture->module);
	assert_non_null(module_image(fixture->modules, fixture->module));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	modules_destroy(fixture->modules);
	process_close(fixture->process);
	munmap(fixture->heap, HEAP_SIZE);
	free(fixture);
	return 0;
}

/* ---- the version text ---- */

static void parses_versions(void **state)
{
	static const struct {
		const char *text;
		size_t length;
		py_version version;
	} cases[] = {
		{ "3.9.18 (main", 6, 0x030912 },
		{ "2.7.18+ (de", 7, 0x020712 },
		{ "3.13.0rc2 (", 9, 0x030d00 },
		{ "3.14.0a7+ (", 9, 0x030e00 },
		{ "3.10.13", 7, 0x030a0d },
		{ "4.0.0 (", 0, 0 },
		{ "3.9 (main", 0, 0 },
		{ "3..9 (", 0, 0 },
		{ "3.900.1", 0, 0 },
		{ "3.9.x", 0, 0 },
		{ "3.9.", 0, 0 },
		{ "", 0, 0 },
		{ "30.9.1", 0, 0 },
		{ "3.9.99999", 0, 0 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		py_version version = 0;
		size_t length = scan_parse_version(cases[i].text, strlen(cases[i].text), &version);
		assert_int_equal(length, cases[i].length);
		if (cases[i].version)
			assert_int_equal(version, cases[i].version);
	}
}

static bool find_text(struct fixture *fixture, char text[PY_VERSION_TEXT_MAX])
{
	py_version version;
	return scan_version_text(&memory, fixture->module, &version, text);
}

static void finds_the_version_text(void **state)
{
	static const char *const texts[] = {
		"3.9.18 (main, Jan  1 2024, 00:00:00) \n[GCC 12.2.0]",
		"3.9.18 (main, Jan  1 2024, 00:00:00) [Clang 17.0.6 ]",
		"3.9.18 (default, x) [GCC 12]",
	};
	for (size_t i = 0; i < 3; i++) {
		char text[PY_VERSION_TEXT_MAX];
		py_version version = 0;
		strcpy(banner[0], texts[i]);
		struct fixture *fixture = *state;
		assert_true(scan_version_text(&memory, fixture->module, &version, text));
		assert_string_equal(text, "3.9.18");
		assert_int_equal(version, 0x030912);
	}
}

static void refuses_other_texts(void **state)
{
	static const char *const texts[] = {
		"",
		"3.9.18",
		"3.9.18 (main, Jan  1 2024, 00:00:00)",
		"3.9.18 main [GCC 12]",
		"Python 3.9.18 (main) [GCC 12]",
		"3.9.18 (main) [GCC 12] ",
		"3.9.18(main) [GCC 12]",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char text[PY_VERSION_TEXT_MAX];
		strcpy(banner[0], texts[i]);
		assert_false(find_text(*state, text));
	}
}

/* Read-only data without the text that Py_GetVersion() begins with: the text is of something else.
 */
static void needs_the_version_in_read_only_data_too(void **state)
{
	char text[PY_VERSION_TEXT_MAX];
	strcpy(banner[0], "3.9.18 (main) [GCC 12]");
	banner[0][4] = '7'; /* 3.9.78 */
	assert_false(find_text(*state, text));
	banner[0][4] = '1';
	assert_true(find_text(*state, text));
}

static void refuses_two_version_texts_that_differ(void **state)
{
	static const char *const volatile read_only = "3.8.18"; /* alone it would be believed */
	char text[PY_VERSION_TEXT_MAX];
	assert_int_equal(read_only[0], '3');
	strcpy(banner[0], "3.9.18 (main) [GCC 12]");
	strcpy(banner[1], "3.9.18 (main) [GCC 12]");
	assert_true(find_text(*state, text));
	banner[1][2] = '8';
	assert_false(find_text(*state, text));
}

/* ---- the debug offsets ---- */

static void put_offsets(uint64_t *place, uint64_t hex)
{
	memcpy(place, "XDEBUGPY",
	       8); /* lower case only here: the text must not be in this program's data */
	for (int i = 0; i < 8; i++)
		((char *)place)[i] |= 0x20;
	place[1] = hex;
}

static void finds_debug_offsets(void **state)
{
	struct fixture *fixture = *state;
	uint64_t address = 0;
	py_version version = 0;
	assert_false(scan_debug_offsets(&memory, fixture->module, &address, &version));
	put_offsets(offsets[0], 0x030e0af0);
	assert_true(scan_debug_offsets(&memory, fixture->module, &address, &version));
	assert_int_equal(address, (uintptr_t)offsets[0]);
	assert_int_equal(version, 0x030e0a);
}

static void refuses_debug_offsets_that_are_none(void **state)
{
	static const uint64_t wrong[] = { 0, 0x030c00f0, 0x040000f0, 0x100000030e00f0, UINT64_MAX };
	struct fixture *fixture = *state;
	uint64_t address;
	py_version version;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		put_offsets(offsets[0], wrong[i]);
		assert_false(scan_debug_offsets(&memory, fixture->module, &address, &version));
	}
	put_offsets(offsets[0], 0x030d00f0);
	put_offsets(offsets[1], 0x030d00f0);
	assert_false(scan_debug_offsets(&memory, fixture->module, &address, &version));
}

/* ---- a runtime by structure ---- */

static void put(uint64_t address, uint32_t offset, uint64_t value)
{
	memcpy((void *)(address + offset), &value, sizeof(value));
}

static void put_interp(struct fixture *fixture, const struct py_layout *layout, int number,
		       uint64_t next)
{
	uint64_t interp = (uintptr_t)fixture->heap + INTERP(number);
	uint64_t tstate = (uintptr_t)fixture->heap + TSTATE(number);
	put(interp, layout->interp_next, next);
	put(interp, layout->interp_threads_head, tstate);
	put(tstate, layout->tstate_interp, interp);
	put(tstate, layout->tstate_thread_id, tstate); /* any address in writable memory */
}

static uint64_t interp_address(struct fixture *fixture, int number)
{
	return (uintptr_t)fixture->heap + INTERP(number);
}

static struct py_layout get_layout(py_version version)
{
	struct py_layout layout;
	assert_null(
		py_layout_select(version, arch_host()->elf_machine, false, 0, &memory, 0, &layout));
	return layout;
}

/* _PyRuntime of 3.9 at @place with one interpreter. */
static void put_runtime(struct fixture *fixture, uint64_t *place, int number)
{
	struct py_layout layout = get_layout(PY_VERSION(3, 9, 18));
	uint64_t runtime = (uintptr_t)place;
	assert_true(layout.runtime_size <= sizeof(globals[0]));
	put_interp(fixture, &layout, number, 0);
	put(runtime, layout.runtime_interpreters_head, interp_address(fixture, number));
	put(runtime, layout.runtime_interpreters_head + 8, interp_address(fixture, number));
	put(runtime, layout.runtime_auto_tss_key, UINT64_C(5) << 32 | 1);
	put(runtime, layout.runtime_tstate_current, (uintptr_t)fixture->heap + TSTATE(number));
}

static struct error *detect(struct fixture *fixture, struct py_runtime *runtime_ret,
			    size_t *count_ret)
{
	_cleanup_free_ struct py_runtime *runtimes = NULL;
	struct error *err = detect_runtimes(fixture->modules, &memory, &runtimes, count_ret);
	if (!err)
		*runtime_ret = runtimes[0];
	return err;
}

static void check_not_python(struct fixture *fixture, const char *end)
{
	struct py_runtime runtime;
	size_t count;
	struct error *err = detect(fixture, &runtime, &count);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_NOT_PYTHON);
	size_t length = strlen(err->message), end_length = strlen(end);
	assert_true(length >= end_length);
	assert_string_equal(err->message + length - end_length, end);
	error_destroy(err);
}

static void a_program_without_python(void **state)
{
	check_not_python(*state, "there is no CPython in this process");
}

static void a_python_that_is_not_initialised(void **state)
{
	strcpy(banner[0], "3.9.18 (main) [GCC 12]");
	check_not_python(*state, "holds CPython 3.9.18, which is not initialised");
}

static void a_version_text_of_an_unknown_version(void **state)
{
	struct py_runtime runtime;
	size_t count;
	strcpy(banner[0], "3.5.10 (main) [GCC 12]");
	static const char *const volatile read_only = "3.5.10";
	assert_int_equal(read_only[0], '3');
	struct error *err = detect(*state, &runtime, &count);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err->message, "3.5"));
	error_destroy(err);
}

static void a_runtime_of_a_stripped_program(void **state)
{
	struct fixture *fixture = *state;
	struct py_runtime runtime;
	size_t count = 0;
	strcpy(banner[0], "3.9.18 (main) [GCC 12]");
	put_runtime(fixture, globals[0], 0);
	assert_null(detect(fixture, &runtime, &count));
	assert_int_equal(count, 1);
	assert_ptr_equal(runtime.module, fixture->module);
	assert_int_equal(runtime.runtime_address, (uintptr_t)globals[0]);
	assert_int_equal(runtime.version, 0x030912);
	assert_string_equal(runtime.version_text, "3.9.18");
	assert_int_equal(runtime.main_interp, interp_address(fixture, 0));
	assert_int_equal(runtime.code_type, 0);
	assert_int_equal(runtime.current_address, 0);
	assert_false(runtime.debug_build);
	assert_int_equal(detect_first_interp(&memory, &runtime), interp_address(fixture, 0));
	globals[0][0] = 1; /* nothing that matters */
	put((uintptr_t)globals[0], runtime.layout.runtime_interpreters_head, 0);
	assert_int_equal(detect_first_interp(&memory, &runtime), 0);
}

static void two_places_that_fit_are_refused(void **state)
{
	struct fixture *fixture = *state;
	strcpy(banner[0], "3.9.18 (main) [GCC 12]");
	put_runtime(fixture, globals[0], 0);
	put_runtime(fixture, globals[1], 1);
	check_not_python(fixture, "which is not initialised");
}

/* Each link alone makes the difference. */
static void every_link_is_checked(void **state)
{
	struct fixture *fixture = *state;
	struct py_layout layout = get_layout(PY_VERSION(3, 9, 18));
	uint64_t runtime = (uintptr_t)globals[0], heap = (uintptr_t)fixture->heap;
	const struct {
		uint64_t address;
		uint64_t value;
	} damages[] = {
		{ runtime + layout.runtime_auto_tss_key, 0 },
		{ runtime + layout.runtime_auto_tss_key, UINT64_C(1024) << 32 | 1 },
		{ runtime + layout.runtime_tstate_current, 0x1230 },
		{ runtime + layout.runtime_interpreters_head, heap + INTERP(0) + 8 },
		{ heap + INTERP(0) + layout.interp_next, heap + INTERP(0) },
		{ heap + INTERP(0) + layout.interp_next, 0x1230 },
		{ heap + INTERP(0) + layout.interp_threads_head, 0 },
		{ heap + TSTATE(0) + layout.tstate_interp, heap + INTERP(1) },
		{ heap + TSTATE(0) + layout.tstate_thread_id, 0x1230 },
		{ heap + TSTATE(0) + layout.tstate_next, heap + TSTATE(1) }, /* of no interpreter */
	};
	strcpy(banner[0], "3.9.18 (main) [GCC 12]");
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		memset(fixture->heap, 0, HEAP_SIZE);
		put_runtime(fixture, globals[0], 0);
		/* Only interpreters.head leads to it, so that damage to it leaves nothing. */
		put(runtime, layout.runtime_interpreters_head + 8, 0);
		put(damages[i].address, 0, damages[i].value);
		check_not_python(fixture, "which is not initialised");
	}
	memset(fixture->heap, 0, HEAP_SIZE);
	put_runtime(fixture, globals[0], 0);
	struct py_runtime found;
	size_t count;
	assert_null(detect(fixture, &found, &count));
}

/* A thread state chain that leads back to its start is not walked for ever, and is none. */
static void a_cyclic_thread_list_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct py_layout layout = get_layout(PY_VERSION(3, 9, 18));
	strcpy(banner[0], "3.9.18 (main) [GCC 12]");
	put_runtime(fixture, globals[0], 0);
	put((uintptr_t)fixture->heap + TSTATE(0), layout.tstate_next,
	    (uintptr_t)fixture->heap + TSTATE(0));
	check_not_python(fixture, "which is not initialised");
}

/* In 3.12 another key follows the one that is looked at: interpreters.main looks like the head of a
 * runtime 8 bytes further. */
static void the_word_behind_the_head_is_no_head(void **state)
{
	struct fixture *fixture = *state;
	struct py_layout layout = get_layout(PY_VERSION(3, 12, 1));
	uint64_t runtime = (uintptr_t)large, address = 0;
	assert_true(layout.runtime_size <= sizeof(large));
	put_interp(fixture, &layout, 0, 0);
	put(runtime, layout.runtime_interpreters_head, interp_address(fixture, 0));
	put(runtime, layout.runtime_interpreters_head + 8, interp_address(fixture, 0));
	put(runtime, layout.runtime_auto_tss_key, UINT64_C(5) << 32 | 1);
	put(runtime, layout.runtime_auto_tss_key + 8, UINT64_C(6) << 32 | 1);
	assert_true(scan_interp_head(&memory, fixture->module, modules_maps(fixture->modules),
				     &layout, &address));
	assert_int_equal(address, runtime + layout.runtime_interpreters_head);
}

/* 2.7 and 3.6 have no runtime struct, and two globals lead to the main interpreter. */
static void the_head_of_2_7_is_the_longer_list(void **state)
{
	struct fixture *fixture = *state;
	struct py_layout layout = get_layout(PY_VERSION(2, 7, 18));
	uint64_t address = 0;
	put_interp(fixture, &layout, 0, 0);
	globals[0][10] = interp_address(fixture, 0);
	globals[0][20] = interp_address(fixture, 0);
	assert_true(scan_interp_head(&memory, fixture->module, modules_maps(fixture->modules),
				     &layout, &address));
	assert_int_equal(address, (uintptr_t)&globals[0][10]);

	put_interp(fixture, &layout, 1, interp_address(fixture, 0));
	globals[0][20] = interp_address(fixture, 1);
	assert_true(scan_interp_head(&memory, fixture->module, modules_maps(fixture->modules),
				     &layout, &address));
	assert_int_equal(address, (uintptr_t)&globals[0][20]);

	/* A list that is longer still, but its thread state is of another interpreter. */
	put_interp(fixture, &layout, 2, interp_address(fixture, 1));
	put((uintptr_t)fixture->heap + TSTATE(2), layout.tstate_interp, interp_address(fixture, 0));
	globals[0][5] = interp_address(fixture, 2);
	assert_true(scan_interp_head(&memory, fixture->module, modules_maps(fixture->modules),
				     &layout, &address));
	assert_int_equal(address, (uintptr_t)&globals[0][20]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_versions),
		TEST(finds_the_version_text),
		TEST(refuses_other_texts),
		TEST(needs_the_version_in_read_only_data_too),
		TEST(refuses_two_version_texts_that_differ),
		TEST(finds_debug_offsets),
		TEST(refuses_debug_offsets_that_are_none),
		TEST(a_program_without_python),
		TEST(a_python_that_is_not_initialised),
		TEST(a_version_text_of_an_unknown_version),
		TEST(a_runtime_of_a_stripped_program),
		TEST(two_places_that_fit_are_refused),
		TEST(every_link_is_checked),
		TEST(a_cyclic_thread_list_is_refused),
		TEST(the_word_behind_the_head_is_no_head),
		TEST(the_head_of_2_7_is_the_longer_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
