/* SPDX-License-Identifier: MIT */
/* Addresses of a profile get their names, and the profile is written anew: which frames it has then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "aggregate/symbolize.h"
#include "image/demangle.h"
#include "scratch.h"

struct fixture {
	struct profile *profile;
	struct symbolize *symbolize;
	uint32_t thread;
};

static struct fixture begin(void)
{
	struct fixture fixture = { 0 };
	assert_null(profile_create(&fixture.profile));
	assert_null(symbolize_create(&fixture.symbolize));
	fixture.thread =
		profile_thread(fixture.profile, profile_process(fixture.profile, 1, PROFILE_NONE),
			       7, "seven");
	profile_thread_set_python_name(fixture.profile, fixture.thread, "MainThread");
	return fixture;
}

static void end(struct fixture *fixture)
{
	symbolize_destroy(fixture->symbolize);
	profile_destroy(fixture->profile);
}

static uint32_t native(struct fixture *fixture, const char *name, uint64_t vaddr, uint64_t function,
		       bool is_runtime)
{
	struct symbolize_place place = {
		.path = "lib.so",
		.name = name,
		.vaddr = vaddr,
		.function = function,
		.is_runtime = is_runtime,
	};
	return profile_frame(fixture->profile,
			     symbolize_function(fixture->symbolize, fixture->profile, &place), 0);
}

static uint32_t python(struct fixture *fixture, const char *name, uint32_t line)
{
	return profile_frame(fixture->profile,
			     profile_function(fixture->profile, name, "a.py", 1, PROFILE_PYTHON),
			     line);
}

static uint32_t mark(struct fixture *fixture, const char *name)
{
	return profile_frame(fixture->profile,
			     profile_function(fixture->profile, name, NULL, 0, PROFILE_MARKER), 0);
}

/* A stack, outermost first, as "a b c"; static. */
static const char *text_of(const struct profile *profile, uint32_t stack)
{
	static char text[256];
	char before[256] = "";
	text[0] = 0;
	for (uint32_t at = stack; at != PROFILE_NONE; at = profile->stacks.items[at].parent) {
		const struct profile_frame *frame =
			&profile->frames.items[profile->stacks.items[at].frame];
		const struct profile_function *function =
			&profile->functions.items[frame->function];
		strcpy(before, text);
		snprintf(text, sizeof(text), "%s%s%.200s",
			 intern_text(&profile->strings, function->name), before[0] ? " " : "",
			 before);
	}
	return text;
}

static uint32_t add(struct fixture *fixture, const uint32_t *frames, size_t count)
{
	uint32_t stack;
	assert_int_equal(profile_stack(fixture->profile, frames, count, &stack), REASON_OK);
	assert_int_equal(profile_count(fixture->profile, fixture->thread, stack, REASON_OK, 0, 10,
				       5),
			 REASON_OK);
	return stack;
}

/* _start → glue → <module> → sort, glue, work → key → glue → leaf */
static uint32_t mixed_stack(struct fixture *f)
{
	const uint32_t frames[] = {
		native(f, "_start", 0x10, 0, false),
		native(f, "Py_RunMain", 0x20, 0, true),
		python(f, "<module>", 3),
		native(f, "sort", 0x30, 0, true),
		native(f, "PyObject_Vectorcall", 0x40, 0, true),
		python(f, "key", 9),
		native(f, "type_call", 0x50, 0, true),
		native(f, "type_call", 0x60, 0, false),
		native(f, "leaf", 0x70, 0, true),
	};
	return add(f, frames, sizeof(frames) / sizeof(frames[0]));
}

static void check_mode(enum symbolize_mode mode, const char *expected)
{
	struct fixture f = begin();
	uint32_t stacks[] = { mixed_stack(&f), PROFILE_NONE };
	symbolize_resolve(f.symbolize, NULL);
	assert_null(symbolize_rewrite_stacks(f.symbolize, mode, &f.profile, stacks, 2));
	assert_string_equal(text_of(f.profile, f.profile->samples.items[0].stack), expected);
	assert_string_equal(text_of(f.profile, stacks[0]), expected);
	assert_int_equal(stacks[1], PROFILE_NONE);
	end(&f);
}

/* Glue is left out only of the interpreter itself: another library may have a function of that name. */
static void test_modes(void **state)
{
	check_mode(
		SYMBOLIZE_FULL,
		"_start Py_RunMain <module> sort PyObject_Vectorcall key type_call type_call leaf");
	check_mode(SYMBOLIZE_FOLD, "_start <module> sort key type_call leaf");
	check_mode(SYMBOLIZE_LEAF, "<module> key type_call leaf");
}

static void test_numbers_and_threads_are_kept(void **state)
{
	struct fixture f = begin();
	mixed_stack(&f);
	mixed_stack(&f);
	f.profile->processes.items[0].pid = 4711;
	assert_null(symbolize_rewrite(f.symbolize, SYMBOLIZE_FULL, &f.profile));
	assert_int_equal(f.profile->samples.count, 1);
	assert_int_equal(f.profile->samples.items[0].count, 2);
	assert_int_equal(f.profile->samples.items[0].wall_ns, 20);
	assert_int_equal(f.profile->samples.items[0].cpu_ns, 10);
	assert_int_equal(f.profile->processes.items[0].pid, 4711);
	assert_int_equal(f.profile->threads.items[0].tid, 7);
	assert_string_equal(profile_thread_name(f.profile, 0), "MainThread");
	assert_string_equal(f.profile->threads.items[0].kernel_name, "seven");
	end(&f);
}

/* Stacks that differ only in addresses of one function, or in what is left out, become one. */
static void test_equal_stacks_become_one(void **state)
{
	struct fixture f = begin();
	uint32_t first[] = { python(&f, "a", 1), native(&f, "work", 0x10, 0, true) };
	uint32_t second[] = { python(&f, "a", 1), native(&f, "type_call", 0x99, 0, true),
			      native(&f, "work", 0x20, 0, true) };
	add(&f, first, 2);
	add(&f, second, 3);
	assert_int_equal(f.profile->samples.count, 2);
	assert_null(symbolize_rewrite(f.symbolize, SYMBOLIZE_FOLD, &f.profile));
	assert_int_equal(f.profile->samples.count, 1);
	assert_int_equal(f.profile->samples.items[0].count, 2);
	end(&f);
}

/* Without a name a function is where it begins; without that it is its address. */
static void test_functions_without_names(void **state)
{
	struct fixture f = begin();
	uint32_t frames[] = { native(&f, NULL, 0x1234, 0x1200, false),
			      native(&f, NULL, 0x1256, 0x1200, false),
			      native(&f, NULL, 0x5678, 0, false) };
	uint32_t stack = add(&f, frames, 3);
	assert_null(symbolize_rewrite_stacks(f.symbolize, SYMBOLIZE_FOLD, &f.profile, &stack, 1));
	assert_string_equal(text_of(f.profile, stack), "+0x1200 +0x1200 +0x5678");
	end(&f);
}

static void test_marks_are_kept(void **state)
{
	struct fixture f = begin();
	uint32_t frames[] = { mark(&f, "[cut: gap]"), native(&f, "a", 1, 0, false) };
	uint32_t stack = add(&f, frames, 2);
	assert_null(symbolize_rewrite_stacks(f.symbolize, SYMBOLIZE_LEAF, &f.profile, &stack, 1));
	assert_string_equal(text_of(f.profile, stack), "[cut: gap] a");
	end(&f);
}

/* A real library: a function's name by symbol, a stub's by its relocation; C++ is made readable. */
static void test_names_of_a_library(void **state)
{
	if (!scratch_has("${CC:-cc} objdump"))
		skip();
	scratch_write("names.c", "extern int outside(int);\n"
				 "int _ZN5outer5innerEi(int n) { return outside(n) + 1; }\n");
	assert_true(scratch_run("${CC:-cc} -O1 -fPIC -shared -fcf-protection=none -Wl,-z,lazy "
				"names.c -o names.so"));
	assert_true(scratch_run("objdump -d names.so | sed -n 's/^0*\\([0-9a-f]*\\) "
				"<outside@plt>:$/\\1/p' > stub"));
	char path[128];
	unsigned long stub = 0;
	snprintf(path, sizeof(path), "%s/stub", scratch_dir);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lx", &stub), 1);
	fclose(file);

	struct fixture f = begin();
	struct image *image = scratch_open("names.so");
	struct image_symbol symbol;
	assert_true(image_symbol(image, "_ZN5outer5innerEi", &symbol));
	uint32_t frames[2];
	const uint64_t vaddrs[] = { symbol.vaddr + 4, stub + 6 };
	for (size_t i = 0; i < 2; i++) {
		struct symbolize_place place = { .image = image,
						 .path = "names.so",
						 .vaddr = vaddrs[i] };
		frames[i] = profile_frame(f.profile,
					  symbolize_function(f.symbolize, f.profile, &place), 0);
	}
	uint32_t stack = add(&f, frames, 2);
	symbolize_resolve(f.symbolize, NULL);
	image_close(image);
	assert_null(symbolize_rewrite_stacks(f.symbolize, SYMBOLIZE_FOLD, &f.profile, &stack, 1));
	assert_string_equal(text_of(f.profile, stack), demangle_is_available()
							       ? "outer::inner outside@plt"
							       : "_ZN5outer5innerEi outside@plt");
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_numbers_and_threads_are_kept),
		cmocka_unit_test(test_equal_stacks_become_one),
		cmocka_unit_test(test_functions_without_names),
		cmocka_unit_test(test_marks_are_kept),
		cmocka_unit_test(test_names_of_a_library),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
