/* SPDX-License-Identifier: MIT */
/* test_capsule.c: given the text of a capsule, what is read from it, and that nothing is read from a damaged one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snapshot/capsule.h"

#define HEAD                                                                                       \
	"{\"format\": \"pysample capsule\", \"version\": 2, \"machine\": 62, "                     \
	"\"thread\": {\"tid\": 7, \"name\": \"worker\", \"registers\": {\"7\": \"0x1000\"}}, "
#define MODULES "\"modules\": [{\"path\": \"/lib/a.so\", \"bias\": \"0x10000\"}]"
#define BLOCKS  ", \"blocks\": [{\"address\": \"0x1000\", \"bytes\": \"0102ff\"}]}"
#define CODE(functions, executable)                                                                \
	HEAD "\"code\": {" MODULES ", \"functions\": [" functions                                  \
	     "], \"executable\": [" executable "]}" BLOCKS
#define FUNCTION                                                                                   \
	"{\"start\": \"0x10100\", \"end\": \"0x10180\", \"module\": 0, \"kind\": 1, "              \
	"\"name\": \"f\", \"eval\": true, \"cfi_vaddr\": \"0x90\", \"cfi\": \"00ff7a\"}"

static struct error *parse(const char *text, struct capsule *capsule)
{
	capsule_init(capsule);
	return capsule_parse(text, strlen(text), "test", capsule);
}

static void code_is_read(void **state)
{
	_cleanup_capsule_ struct capsule capsule;
	assert_null(parse(CODE(FUNCTION, "[\"0x10000\", \"0x11000\"]"), &capsule));
	assert_false(capsule.has_python);
	assert_true(capsule.has_code);
	assert_int_equal(capsule.snapshot.tid, 7);
	assert_string_equal(capsule.name, "worker");

	assert_int_equal(capsule.code.modules.count, 1);
	assert_string_equal(capsule.code.modules.items[0].path, "/lib/a.so");
	assert_int_equal(capsule.code.modules.items[0].bias, 0x10000);
	assert_null(capsule.code.modules.items[0].build_id);
	assert_int_equal(capsule.code.executable.items[0].address, 0x10000);
	assert_int_equal(capsule.code.executable.items[0].size, 0x1000);

	const struct capsule_function *function = capsule_code_find(&capsule.code, 0x1017f);
	assert_non_null(function);
	assert_string_equal(function->name, "f");
	assert_true(function->eval);
	assert_false(function->clone);
	assert_int_equal(function->cfi_vaddr, 0x90);
	assert_int_equal(function->cfi_size, 3);
	assert_memory_equal(function->cfi, "\x00\xff\x7a", 3);
	assert_null(capsule_code_find(&capsule.code, 0x10180));
	assert_null(capsule_code_find(&capsule.code, 0x100ff));
}

static void memory_is_read(void **state)
{
	_cleanup_capsule_ struct capsule capsule;
	uint8_t bytes[4];
	assert_null(parse(CODE(FUNCTION, ""), &capsule));
	assert_true(memory_read(&capsule.snapshot.blocks.memory, 0x1001, bytes, 2));
	assert_memory_equal(bytes, "\x02\xff", 2);
	assert_false(memory_read(&capsule.snapshot.blocks.memory, 0x1001, bytes, 3));
}

/* The bits that sign addresses, which capsules of other CPUs, and older ones, do not have. */
static void the_mask_of_addresses_is_kept(void **state)
{
	_cleanup_capsule_ struct capsule capsule, again;
	assert_null(
		parse("{\"format\": \"pysample capsule\", \"version\": 2, \"machine\": 183, "
		      "\"thread\": {\"tid\": 7, \"name\": \"w\", \"code_mask\": "
		      "\"0x7f000000000000\", \"registers\": {\"30\": \"0x55000000001234\"}}" BLOCKS,
		      &capsule));
	assert_int_equal(capsule.snapshot.registers.code_mask, UINT64_C(0x007f000000000000));

	char path[] = "/tmp/test_capsule.XXXXXX/x";
	path[sizeof(path) - 3] = '\0';
	assert_non_null(mkdtemp(path));
	path[sizeof(path) - 3] = '/';
	assert_null(capsule_save(path, capsule.machine, "w", NULL, NULL, &capsule.snapshot));
	capsule_init(&again);
	assert_null(capsule_load(path, &again));
	assert_int_equal(again.snapshot.registers.code_mask, UINT64_C(0x007f000000000000));
	assert_int_equal(unlink(path), 0);
	path[sizeof(path) - 3] = '\0';
	assert_int_equal(rmdir(path), 0);

	_cleanup_capsule_ struct capsule old;
	assert_null(parse(CODE(FUNCTION, ""), &old));
	assert_int_equal(old.snapshot.registers.code_mask, 0);
}

static void damage_is_an_error(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{\"format\": \"another\"}",
		HEAD "\"code\": 1" BLOCKS,
		HEAD "\"code\": {}" BLOCKS,
		/* no such module */
		CODE("{\"start\": \"0x1\", \"end\": \"0x2\", \"module\": 1, \"kind\": 1}", ""),
		CODE("{\"start\": \"0x1\", \"end\": \"0x2\", \"module\": -1, \"kind\": 1}", ""),
		/* no address, no kind, half a byte, no place for the bytes */
		CODE("{\"start\": 1, \"end\": \"0x2\", \"module\": 0, \"kind\": 1}", ""),
		CODE("{\"start\": \"0x1\", \"end\": \"0x2\", \"module\": 0}", ""),
		CODE("{\"start\": \"0x1\", \"end\": \"0x2\", \"module\": 0, \"kind\": 1, "
		     "\"cfi_vaddr\": \"0x1\", \"cfi\": \"0\"}",
		     ""),
		CODE("{\"start\": \"0x1\", \"end\": \"0x2\", \"module\": 0, \"kind\": 1, "
		     "\"cfi\": \"00\"}",
		     ""),
		/* a range that ends before it begins, half a range */
		CODE(FUNCTION, "[\"0x2\", \"0x1\"]"),
		CODE(FUNCTION, "[\"0x2\"]"),
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		_cleanup_capsule_ struct capsule capsule;
		_cleanup_error_ struct error *err = parse(texts[i], &capsule);
		if (!err)
			fail_msg("text %zu was taken for a capsule", i);
		assert_int_equal(capsule.code.functions.count, 0);
	}
}

static void a_newer_version_is_refused_by_name(void **state)
{
	_cleanup_capsule_ struct capsule capsule;
	_cleanup_error_ struct error *err =
		parse("{\"format\": \"pysample capsule\", \"version\": 3}", &capsule);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err->message, "version 3"));
}

/* Version 1 always had it. */
static void an_old_one_without_python_is_damaged(void **state)
{
	_cleanup_capsule_ struct capsule capsule;
	_cleanup_error_ struct error *err =
		parse("{\"format\": \"pysample capsule\", \"version\": 1, \"blocks\": []}",
		      &capsule);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_read),
		cmocka_unit_test(memory_is_read),
		cmocka_unit_test(the_mask_of_addresses_is_kept),
		cmocka_unit_test(damage_is_an_error),
		cmocka_unit_test(a_newer_version_is_refused_by_name),
		cmocka_unit_test(an_old_one_without_python_is_damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
