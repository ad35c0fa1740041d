/* SPDX-License-Identifier: MIT */
/*
 * Libraries made with the system's compiler that hold an evaluation loop in one of the forms that compilers give it: which
 * addresses are the loop's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "merge/evalmap.h"
#include "scratch.h"

#define BIAS UINT64_C(0x7f0000000000)
#define CC   "${CC:-cc} -nostdlib -shared -Wl,-z,max-page-size=0x1000 "

/* clang-format off */

/* A function as compilers begin and end it; a frame with a frame pointer; the rules inside such a frame, for a part of it. */
#define MACROS                                                                                      \
	".macro begin name\n"                                                                      \
	".globl \\name\n.type \\name,%function\n\\name:\n.L\\name:\n.cfi_startproc\n"             \
	".endm\n"                                                                                  \
	".macro end name\n"                                                                        \
	".cfi_endproc\n.size \\name,.-\\name\n.skip 300,0x90\n"                                   \
	".endm\n"                                                                                  \
	".macro enter\n"                                                                           \
	"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset rbp,-16\n"                                 \
	"mov %rsp,%rbp\n.cfi_def_cfa_register rbp\n"                                               \
	".endm\n"                                                                                  \
	".macro inside\n"                                                                          \
	".cfi_def_cfa rbp,16\n.cfi_offset rbp,-16\n"                                               \
	".endm\n"                                                                                  \
	".macro finish\n"                                                                          \
	"leave\n.cfi_def_cfa rsp,8\n"                                                              \
	".endm\n"

/*
 * A loop with two parts, the second reached from the first only. It is left by a jump to tail, which jumps back into it; and it has
 * bytes that look like jumps to far, a part of other, and to strange, whose frame is another one.
 */
static const char split[] =
	MACROS
	".text\n"
	"begin _PyEval_EvalFrameDefault\n"
	"enter\n"
	"test %rdi,%rdi\n"
	"je .Lfirst_part\n"
	".globl back\n"
	"back:\n"
	".byte 0xb8,0xe9\n"
	".long .Lfar - . - 4\n"
	".byte 0xb8,0xe9\n"
	".long .Lstrange - . - 4\n"
	".skip 64,0x90\n"
	"finish\n"
	"jmp .Ltail\n"
	"end _PyEval_EvalFrameDefault\n"
	"begin other\n"
	"enter\n"
	"test %rdi,%rdi\n"
	"je .Lfar\n"
	"finish\n"
	"ret\n"
	"end other\n"
	"begin PyEval_EvalFrameEx\n"
	"jmp _PyEval_EvalFrameDefault@plt\n"
	"end PyEval_EvalFrameEx\n"
	".section .text.unlikely,\"ax\"\n"
	"begin tail\n"
	"jmp .L_PyEval_EvalFrameDefault\n"
	"end tail\n"
	"begin first_part\n"
	"inside\n"
	"test %rdi,%rdi\n"
	"je .Lsecond_part\n"
	"jmp .L_PyEval_EvalFrameDefault + 10\n"
	"end first_part\n"
	"begin far\n"
	"inside\n"
	"nop\n"
	"ud2\n"
	"end far\n"
	"begin strange\n"
	".cfi_def_cfa_offset 64\n"
	"nop\n"
	"jmp .L_PyEval_EvalFrameDefault + 10\n"
	"end strange\n"
	"begin second_part\n"
	"inside\n"
	"nop\n"
	"jmp .L_PyEval_EvalFrameDefault + 10\n"
	"end second_part\n";

/* 2.7: the loop itself has the old name. */
static const char old[] =
	MACROS
	".text\n"
	"begin PyEval_EvalFrameEx\n"
	"enter\n"
	".skip 32,0x90\n"
	"finish\n"
	"ret\n"
	"end PyEval_EvalFrameEx\n"
	"begin after\n"
	"ret\n"
	"end after\n";

static const char none[] =
	MACROS
	".text\n"
	"begin PyEval_Other\n"
	"ret\n"
	"end PyEval_Other\n";

/* clang-format on */

struct library {
	struct image *image;
	struct cfi_table *table;
	struct evalmap map;
};

/* Skips where there is no compiler. */
static void open_library(const char *name, const char *source, const char *strip,
			 struct library *library)
{
	*library = (struct library){ 0 };
	char file[64];
	if (!scratch_has("${CC:-cc} strip"))
		skip();
	snprintf(file, sizeof(file), "%s.s", name);
	scratch_write(file, source);
	assert_true(scratch_run(CC "%s.s -o %s.so && %s %s.so", name, name, strip, name));
	snprintf(file, sizeof(file), "%s.so", name);
	library->image = scratch_open(file);
	assert_null(cfi_table_create_image(library->image, &library->table));
}

static void close_library(struct library *library)
{
	evalmap_deinit(&library->map);
	cfi_table_destroy(library->table);
	image_close(library->image);
}

static uint64_t address(const struct library *library, const char *symbol)
{
	struct image_symbol found;
	assert_true(image_symbol(library->image, symbol, &found));
	return BIAS + found.vaddr;
}

static int64_t size(const struct library *library, const char *symbol)
{
	struct image_symbol found;
	assert_true(image_symbol(library->image, symbol, &found));
	return (int64_t)found.size;
}

static bool is_eval(const struct library *library, const char *symbol, int64_t offset)
{
	return evalmap_is_eval(&library->map, address(library, symbol) + (uint64_t)offset);
}

static void check_split(const char *name, const char *strip)
{
	struct library library;
	open_library(name, split, strip, &library);
	assert_true(evalmap_add(&library.map, library.image, BIAS, library.table));
	assert_true(is_eval(&library, "_PyEval_EvalFrameDefault", 0));
	assert_true(is_eval(&library, "back", 70));
	assert_false(is_eval(&library, "_PyEval_EvalFrameDefault", -1));
	assert_true(is_eval(&library, "first_part", 0));
	assert_true(is_eval(&library, "first_part", size(&library, "first_part") - 1));
	assert_false(is_eval(&library, "first_part", size(&library, "first_part")));
	assert_true(is_eval(&library, "second_part", 0));
	assert_false(is_eval(&library, "second_part", size(&library, "second_part")));
	/* Neither a function that it jumps to, nor a part that never comes back, nor the wrapper. */
	assert_false(is_eval(&library, "tail", 0));
	assert_false(is_eval(&library, "other", 0));
	assert_false(is_eval(&library, "far", 0));
	assert_false(is_eval(&library, "strange", 0));
	assert_false(is_eval(&library, "PyEval_EvalFrameEx", 0));
	assert_int_equal(library.map.ranges.count, 3);
	close_library(&library);
}

static void test_parts_are_found(void **state)
{
	check_split("split", "true");
}

static void test_parts_are_found_without_symbols(void **state)
{
	check_split("stripped", "strip --strip-all");
}

static void test_the_loop_of_2_7(void **state)
{
	struct library library;
	open_library("old", old, "true", &library);
	assert_true(evalmap_add(&library.map, library.image, BIAS, library.table));
	assert_true(is_eval(&library, "PyEval_EvalFrameEx", 10));
	assert_false(is_eval(&library, "after", 0));
	close_library(&library);
}

static void test_without_rules_the_symbol_says_how_far_it_reaches(void **state)
{
	struct library library;
	open_library("no_rules", split, "true", &library);
	assert_true(evalmap_add(&library.map, library.image, BIAS, NULL));
	assert_true(is_eval(&library, "back", 70));
	assert_false(is_eval(&library, "other", 0));
	assert_int_equal(library.map.ranges.count, 1);
	close_library(&library);
}

static void test_no_loop(void **state)
{
	struct library library;
	open_library("none", none, "true", &library);
	assert_false(evalmap_add(&library.map, library.image, BIAS, library.table));
	assert_false(evalmap_is_eval(&library.map, address(&library, "PyEval_Other")));
	close_library(&library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_are_found),
		cmocka_unit_test(test_parts_are_found_without_symbols),
		cmocka_unit_test(test_the_loop_of_2_7),
		cmocka_unit_test(test_without_rules_the_symbol_says_how_far_it_reaches),
		cmocka_unit_test(test_no_loop),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
