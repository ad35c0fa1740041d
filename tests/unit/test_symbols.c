/* SPDX-License-Identifier: MIT */
/*
 * test_symbols.c: given these symbols, this name at that address; given a file with symbols in one of
 * five places, the same name from each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <link.h>
#include <sys/uio.h>

#include "image/functions.h"
#include "image/symbolizer.h"
#include "image/vdso.h"
#include "scratch.h"

#define TEXT 0x10000
#define CC   "${CC:-cc} -nostdlib -shared -Wl,-Ttext=0x10000 -Wl,-z,max-page-size=0x1000"

/* What one address must give. @name NULL: nothing. */
struct expected {
	uint64_t offset; /* in .text */
	const char *name;
	uint64_t start;
	uint64_t size;
	bool has_size;
};

static const char rules[] =
	".text\n"
	"label:\n"
	".globl sized\n.type sized,%function\nsized: .skip 0x10\n.size sized,0x10\n"
	".skip 0x10\n" /* 0x10: nothing */
	".globl nosize\n.type nosize,%function\nnosize: .skip 0x10\nlabel_inside: .skip "
	"0x10\n"                                                   /* 0x20 */
	".type outer,%function\nouter: .skip 0x10\n"               /* 0x40 */
	".type inner,%function\ninner: .skip 0x8\n.size inner,8\n" /* 0x50 */
	"inside: .skip 0x28\n"                                     /* 0x58 */
	".size outer,0x40\n"
	/* 0x80: aliases */
	".globl __alias\n.type __alias,%function\n__alias:\n"
	".weak _alias\n.type _alias,%function\n_alias:\n"
	".type alias,%function\nalias:\n"
	".skip 0x10\n"
	".size __alias,0x10\n.size _alias,0x10\n.size alias,0x10\n"
	/* 0x90: a function's label and a symbol without type */
	".globl aaa\naaa:\n"
	".globl typed_by_hand\n.type typed_by_hand,%function\n"
	"typed_by_hand: .skip 0x10\n.size typed_by_hand,0x10\n"
	/* 0xa0: two of the same rank: the shorter name */
	".globl bbbb\n.type bbbb,%function\nbbbb:\n"
	".globl ccc\n.type ccc,%function\nccc: .skip 0x10\n"
	".size bbbb,0x10\n.size ccc,0x10\n"
	/* 0xb0: data among the code */
	".globl table\n.type table,%object\ntable: .skip 0x10\n.size table,0x10\n"
	/* 0xc0: an indirect function */
	".globl chosen\n.type chosen,%gnu_indirect_function\n"
	"chosen: .skip 0x10\n.size chosen,0x10\n"
	/* 0xd0: a version */
	".globl real\n.type real,%function\nreal: .skip 0x10\n.size real,0x10\n"
	".symver real,public_name@@V1,remove\n"
	/* 0xe0: no type, no size, exported: assembly */
	".globl assembly\nassembly: .skip 0x10\n"
	/* 0xf0: to the end of the section */
	".globl last\n.type last,%function\nlast: .skip 0x20\n"
	".section .other,\"ax\",%progbits\n.skip 0x10\n"
	".section .rodata\n.globl constant\nconstant: .skip 8\n"
	".data\n.globl datum\n.type datum,%function\ndatum: .skip 8\n"
	".section .note.GNU-stack,\"\",%progbits\n";

static const struct expected expected_rules[] = {
	{ 0x00, "sized", 0x00, 0x10, true },
	{ 0x0f, "sized", 0x00, 0x10, true },
	{ 0x10, NULL, 0, 0, false },
	{ 0x1f, NULL, 0, 0, false },
	{ 0x20, "nosize", 0x20, 0x20, false },
	{ 0x3f, "nosize", 0x20, 0x20, false },
	{ 0x40, "outer", 0x40, 0x40, true },
	{ 0x50, "inner", 0x50, 0x08, true },
	{ 0x58, "outer", 0x40, 0x40, true },
	{ 0x7f, "outer", 0x40, 0x40, true },
	/* The local one has the best name and the worst rank. */
	{ 0x80, "_alias", 0x80, 0x10, true },
	{ 0x9f, "typed_by_hand", 0x90, 0x10, true },
	{ 0xa0, "ccc", 0xa0, 0x10, true },
	{ 0xb0, NULL, 0, 0, false },
	{ 0xc8, "chosen", 0xc0, 0x10, true },
	{ 0xd8, "public_name", 0xd0, 0x10, true },
	{ 0xe8, "assembly", 0xe0, 0x10, false },
	{ 0xf0, "last", 0xf0, 0x20, false },
	{ 0x10f, "last", 0xf0, 0x20, false },
	{ 0x110, NULL, 0, 0, false },
};

static void check_function(bool found, const struct function *function,
			   const struct expected *expected)
{
	if (found != (expected->name != NULL))
		fail_msg("%#lx: %s", (unsigned long)expected->offset,
			 found ? function->name : "nothing found");
	if (!found)
		return;
	assert_string_equal(function->name, expected->name);
	assert_int_equal(function->vaddr, TEXT + expected->start);
	assert_int_equal(function->size, expected->size);
	assert_int_equal(function->has_size, expected->has_size);
	free(function->name);
}

static void the_rule_between_symbols(void **state)
{
	if (!scratch_has("${CC:-cc}"))
		skip();
	scratch_write("rules.s", rules);
	scratch_write("rules.map", "V1 { global: public_name; constant; };\n");
	assert_true(scratch_run(CC " -Wl,--version-script=rules.map -Wl,-z,noseparate-code "
				   "-o rules.so rules.s"));
	_cleanup_image_ struct image *image = scratch_open("rules.so");
	_cleanup_functions_ struct functions *functions = NULL;
	struct functions_span span;
	assert_true(functions_span(image, &span));
	assert_null(functions_load(image, FUNCTIONS_SYMTAB, &span, &functions));
	assert_non_null(functions);
	for (size_t i = 0; i < sizeof(expected_rules) / sizeof(expected_rules[0]); i++) {
		struct function function;
		bool found = functions_find(functions, TEXT + expected_rules[i].offset, &function);
		check_function(found, &function, &expected_rules[i]);
	}
	struct function function;
	/* Between the first and the last byte of the executable segment, but no code. */
	struct image_symbol constant;
	assert_true(image_symbol(image, "constant", &constant));
	assert_true(constant.vaddr >= span.start && constant.vaddr < span.end);
	assert_false(functions_find(functions, constant.vaddr, &function));
	assert_false(functions_find(functions, 0, &function));
	assert_false(functions_find(functions, UINT64_MAX, &function));
}

/* ---- the five places ---- */

/* public is exported, hidden is not; then 16 bytes that no symbol covers. */
static const char two[] = ".text\n"
			  ".globl public\n.type public,%function\npublic: .skip 0x10\n"
			  ".size public,0x10\n"
			  ".type hidden,%function\nhidden: .skip 0x10\n.size hidden,0x10\n"
			  ".skip 0x10\n"
			  ".section .note.GNU-stack,\"\",%progbits\n";

static const struct expected both[] = {
	{ 0x08, "public", 0x00, 0x10, true },
	{ 0x18, "hidden", 0x10, 0x10, true },
	{ 0x28, NULL, 0, 0, false },
};
static const struct expected public_only[] = {
	{ 0x08, "public", 0x00, 0x10, true },
	{ 0x18, NULL, 0, 0, false },
	{ 0x28, NULL, 0, 0, false },
};

static void check_image(const struct image *image, const char *path, const char *debug_dir,
			const struct expected *expected)
{
	char dir[128];
	snprintf(dir, sizeof(dir), "%s/%s", scratch_dir, debug_dir);
	const char *dirs[] = { dir };
	struct debuginfo_places places = { .root_fd = -1, .dirs = dirs, .dir_count = 1 };
	_cleanup_symbolizer_ struct symbolizer *symbolizer = NULL;
	assert_null(symbolizer_create(image, path, &places, &symbolizer));
	for (size_t i = 0; i < 3; i++) {
		struct function function;
		bool found = symbolizer_find(symbolizer, TEXT + expected[i].offset, &function);
		check_function(found, &function, &expected[i]);
	}
}

static void check_file(const char *name, const char *debug_dir, const struct expected *expected)
{
	_cleanup_image_ struct image *image = scratch_open(name);
	check_image(image, image_name(image), debug_dir, expected);
}

static void make_two(const char *options)
{
	scratch_write("two.s", two);
	assert_true(scratch_run(CC " %s -o two.so two.s", options));
}

static void names_from_symtab(void **state)
{
	if (!scratch_has("${CC:-cc}"))
		skip();
	make_two("");
	check_file("two.so", "none", both);
}

static void names_from_dynsym(void **state)
{
	if (!scratch_has("${CC:-cc} strip"))
		skip();
	make_two("");
	assert_true(scratch_run("strip -o bare.so two.so"));
	check_file("bare.so", "none", public_only);
}

/* Section headers too are gone: what PT_DYNAMIC leads to is left. */
static void names_without_sections(void **state)
{
	if (!scratch_has("${CC:-cc} eu-strip"))
		skip();
	make_two("-Wl,--hash-style=gnu");
	assert_true(scratch_run("eu-strip --strip-sections -o nosections.so two.so"));
	check_file("nosections.so", "none", public_only);
	make_two("-Wl,--hash-style=sysv");
	assert_true(scratch_run("eu-strip --strip-sections -o nosections.so two.so"));
	check_file("nosections.so", "none", public_only);
}

static void names_by_build_id(void **state)
{
	if (!scratch_has("${CC:-cc} strip objcopy"))
		skip();
	make_two("-Wl,--build-id=0xabcdef0123");
	assert_true(
		scratch_run("mkdir -p ids/.build-id/ab && "
			    "objcopy --only-keep-debug two.so ids/.build-id/ab/cdef0123.debug && "
			    "strip -o bare.so two.so"));
	check_file("bare.so", "none", public_only);
	check_file("bare.so", "ids", both);
	/* The file at the right place is that of another build. */
	make_two("-Wl,--build-id=0xabcdef0124");
	assert_true(
		scratch_run("objcopy --only-keep-debug two.so ids/.build-id/ab/cdef0123.debug"));
	check_file("bare.so", "ids", public_only);
}

static void names_by_debug_link(void **state)
{
	if (!scratch_has("${CC:-cc} strip objcopy"))
		skip();
	make_two("-Wl,--build-id=none");
	assert_true(scratch_run("mkdir -p linked/.debug && "
				"objcopy --only-keep-debug two.so linked/.debug/two.debug && "
				"strip -o linked/bare.so two.so && cd linked && "
				"objcopy --add-gnu-debuglink=.debug/two.debug bare.so"));
	check_file("linked/bare.so", "none", both);
	/* Beside the image, and below a debug directory by the image's own path. */
	assert_true(scratch_run("mv linked/.debug/two.debug linked/two.debug"));
	check_file("linked/bare.so", "none", both);
	assert_true(scratch_run("mkdir -p dirs%s/linked && mv linked/two.debug dirs%s/linked/",
				scratch_dir, scratch_dir));
	check_file("linked/bare.so", "none", public_only);
	check_file("linked/bare.so", "dirs", both);
	/* One byte more, and the CRC is wrong. */
	assert_true(scratch_run("echo >> dirs%s/linked/two.debug", scratch_dir));
	check_file("linked/bare.so", "dirs", public_only);
}

static void names_from_embedded_symbols(void **state)
{
	if (!debuginfo_can_unpack() || !scratch_has("${CC:-cc} strip objcopy xz"))
		skip();
	make_two("");
	assert_true(scratch_run("objcopy -S --keep-symbol=hidden two.so mini && xz -f mini && "
				"strip -o embedded.so two.so && "
				"objcopy --add-section .gnu_debugdata=mini.xz embedded.so"));
	check_file("embedded.so", "none", both);
	/* Damaged in the middle: no names from it, and those of .dynsym stay. */
	assert_true(scratch_run("size=$(wc -c < mini.xz) && "
				"printf '\\377\\377\\377\\377' | dd of=mini.xz bs=1 conv=notrunc "
				"seek=$((size / 2)) 2>/dev/null && "
				"objcopy --update-section .gnu_debugdata=mini.xz embedded.so"));
	check_file("embedded.so", "none", public_only);
}

/* ---- from memory ---- */

struct own_memory {
	struct memory memory;
	bool is_gone;
};

static bool read_own(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct iovec local = { buffer, size }, remote = { (void *)(uintptr_t)address, size };
	return !((struct own_memory *)memory)->is_gone &&
	       process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *data)
{
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	*(uint64_t *)data = info->dlpi_addr;
	return 1;
}

static void names_of_a_process_that_has_ended(void **state)
{
	struct own_memory own = { .memory.read = read_own };
	uint64_t base = 0;
	_cleanup_image_ struct image *image = NULL;
	if (!dl_iterate_phdr(find_libc, &base))
		skip();
	assert_null(image_open_memory(&own.memory, base, "libc", &image));
	_cleanup_symbolizer_ struct symbolizer *symbolizer = NULL;
	assert_null(symbolizer_create(image, "libc", NULL, &symbolizer));
	symbolizer_prepare(symbolizer);
	own.is_gone = true;
	struct function function;
	assert_true(symbolizer_find(symbolizer, (uintptr_t)&getppid - base, &function));
	assert_string_equal(function.name, "getppid");
	free(function.name);
}

static void names_of_the_vdso(void **state)
{
	struct own_memory own = { .memory.read = read_own };
	_cleanup_process_ struct process *process = NULL;
	struct maps maps;
	assert_null(process_open(getpid(), &process));
	assert_null(maps_read(process, &maps));
	const struct mapping *mapping = vdso_mapping(&maps);
	if (!mapping) {
		/* As under valgrind. */
		maps_deinit(&maps);
		process_close(no_cleanup(process));
		skip();
	}
	_cleanup_image_ struct image *image = NULL;
	assert_null(vdso_open(&own.memory, mapping, &image));
	maps_deinit(&maps);
	assert_string_equal(image_name(image), "[vdso]");
	/* x86-64 has two names for it, AArch64 one. */
	struct image_symbol symbol;
	assert_true(image_symbol(image, "__vdso_clock_gettime", &symbol) ||
		    image_symbol(image, "__kernel_clock_gettime", &symbol));
	_cleanup_symbolizer_ struct symbolizer *symbolizer = NULL;
	assert_null(symbolizer_create(image, "[vdso]", NULL, &symbolizer));
	struct function function;
	assert_true(symbolizer_find(symbolizer, symbol.vaddr, &function));
	assert_non_null(strstr(function.name, "clock_gettime"));
	assert_int_equal(function.vaddr, symbol.vaddr);
	free(function.name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rule_between_symbols),
		cmocka_unit_test(names_from_symtab),
		cmocka_unit_test(names_from_dynsym),
		cmocka_unit_test(names_without_sections),
		cmocka_unit_test(names_by_build_id),
		cmocka_unit_test(names_by_debug_link),
		cmocka_unit_test(names_from_embedded_symbols),
		cmocka_unit_test(names_of_a_process_that_has_ended),
		cmocka_unit_test(names_of_the_vdso),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
