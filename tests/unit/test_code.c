/* SPDX-License-Identifier: MIT */
/* Code objects built by hand, and the cache: what it takes for the same code object and what not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_python.h"
#include "python/code.h"
#include "python/lines.h"

/* PyCodeObject of 3.11 */
#define FIRSTLINENO 68
#define FILENAME    112
#define NAME        120
#define QUALNAME    128
#define LINETABLE   136
#define CODE_SIZE   184

struct fixture {
	struct fake fake;
	struct py_layout layout;
	uint64_t code_type, unicode, bytes, other;
	uint64_t name, qualname, filename, linetable;
	uint64_t address;
	struct code_cache *cache;
};

/* Lines 10 (two code units), none (one), 12 (one). */
#define TABLE "\x81\x12\xf8\xe0\x01\x02"

static uint64_t make_code(struct fixture *f)
{
	uint64_t code = fake_object(&f->fake, f->code_type, CODE_SIZE + 8);
	fake_put_u32(&f->fake, code + FIRSTLINENO, 10);
	fake_put_u64(&f->fake, code + FILENAME, f->filename);
	fake_put_u64(&f->fake, code + NAME, f->name);
	fake_put_u64(&f->fake, code + QUALNAME, f->qualname);
	fake_put_u64(&f->fake, code + LINETABLE, f->linetable);
	return code;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	fake_init(&f->fake);
	f->layout = fake_layout();
	f->layout.line_kind = PY_LINES_LOCATIONS;
	f->layout.code_size = CODE_SIZE;
	f->layout.code_name = NAME;
	f->layout.code_qualname = QUALNAME;
	f->layout.code_filename = FILENAME;
	f->layout.code_firstlineno = FIRSTLINENO;
	f->layout.code_linetable = LINETABLE;
	f->code_type = fake_type(&f->fake, 0, "code");
	f->other = fake_type(&f->fake, 0, "codec");
	f->unicode = fake_type(&f->fake, FAKE_UNICODE, "str");
	f->bytes = fake_type(&f->fake, FAKE_BYTES, "bytes");
	f->name = fake_ascii(&f->fake, f->unicode, "method");
	f->qualname = fake_ascii(&f->fake, f->unicode, "Klass.method");
	f->filename = fake_ascii(&f->fake, f->unicode, "/srv/app/views.py");
	f->linetable = fake_bytes(&f->fake, f->bytes, TABLE, sizeof(TABLE) - 1);
	f->address = make_code(f);
	assert_null(code_cache_create(&f->layout, f->code_type, &f->cache));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	code_cache_destroy(f->cache);
	free(f);
	return 0;
}

static enum reason read_reason(struct fixture *f, uint64_t code_type)
{
	struct code *code = NULL;
	enum reason reason = code_read(&f->fake.memory, &f->layout, code_type, f->address, &code);
	if (reason != REASON_OK)
		assert_null(code);
	code_destroy(code);
	return reason;
}

static void test_qualified_name_file_and_lines(void **state)
{
	struct fixture *f = *state;
	_cleanup_code_ struct code *code = NULL;
	uint32_t line = 1;
	assert_int_equal(code_read(&f->fake.memory, &f->layout, f->code_type, f->address, &code),
			 REASON_OK);
	assert_int_equal(code->address, f->address);
	assert_string_equal(code->name, "Klass.method");
	assert_string_equal(code->filename, "/srv/app/views.py");
	assert_int_equal(code->firstlineno, 10);
	assert_int_equal(code_line(code, -2, &line), REASON_OK);
	assert_int_equal(line, 10);
	assert_int_equal(code_line(code, 4, &line), REASON_OK);
	assert_int_equal(line, LINE_NONE);
	assert_int_equal(code_line(code, 6, &line), REASON_OK);
	assert_int_equal(line, 12);
	assert_int_equal(code_line(code, 8, &line), REASON_BAD_LINE_TABLE);
}

static void test_without_qualified_names(void **state)
{
	struct fixture *f = *state;
	_cleanup_code_ struct code *code = NULL;
	f->layout.code_qualname = PY_ABSENT;
	assert_int_equal(code_read(&f->fake.memory, &f->layout, 0, f->address, &code), REASON_OK);
	assert_string_equal(code->name, "method");
	assert_int_equal(code->range_count, 4);
}

static void test_type_decides(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(read_reason(f, f->code_type), REASON_OK);
	assert_int_equal(read_reason(f, f->code_type + 16), REASON_BAD_CODE);
	assert_int_equal(read_reason(f, 0), REASON_OK);
	fake_put_u64(&f->fake, f->address + 8, f->other);
	assert_int_equal(read_reason(f, f->code_type), REASON_BAD_CODE);
	assert_int_equal(read_reason(f, 0), REASON_BAD_CODE); /* "codec" */
	fake_put_u64(&f->fake, f->address + 8, 0x10);
	assert_int_equal(read_reason(f, 0), REASON_BAD_CODE);
}

static void test_parts_that_are_something_else(void **state)
{
	struct fixture *f = *state;
	fake_put_u32(&f->fake, f->address + FIRSTLINENO, (uint32_t)-1);
	assert_int_equal(read_reason(f, 0), REASON_BAD_CODE);
	fake_put_u32(&f->fake, f->address + FIRSTLINENO, 10);

	static const uint32_t texts[] = { FILENAME, NAME, QUALNAME };
	for (size_t i = 0; i < 3; i++) {
		uint64_t value;
		assert_true(memory_read_u64(&f->fake.memory, f->address + texts[i], &value));
		fake_put_u64(&f->fake, f->address + texts[i], f->linetable);
		assert_int_equal(read_reason(f, 0), REASON_BAD_TEXT);
		fake_put_u64(&f->fake, f->address + texts[i], 0);
		assert_int_equal(read_reason(f, 0), REASON_MEMORY_FAULT);
		fake_put_u64(&f->fake, f->address + texts[i], value);
	}

	fake_put_u64(&f->fake, f->address + LINETABLE, f->filename);
	assert_int_equal(read_reason(f, 0), REASON_BAD_LINE_TABLE);
	fake_put_u64(&f->fake, f->address + LINETABLE, f->linetable);
	fake_alloc(&f->fake, 256); /* so that its first bytes can be read */
	fake_put_u64(&f->fake, f->linetable + 16, LINES_TABLE_MAX + 1);
	assert_int_equal(read_reason(f, 0), REASON_LIMIT);
	fake_put_u64(&f->fake, f->linetable + 16, LINES_TABLE_MAX);
	assert_int_equal(read_reason(f, 0), REASON_MEMORY_FAULT);
	fake_put_u64(&f->fake, f->linetable + 16, UINT64_MAX);
	assert_int_equal(read_reason(f, 0), REASON_BAD_LINE_TABLE);
	fake_put_u64(&f->fake, f->linetable + 16, sizeof(TABLE) - 1);
	assert_int_equal(read_reason(f, 0), REASON_OK);
	f->address = 0x1000;
	assert_int_equal(read_reason(f, 0), REASON_MEMORY_FAULT);
}

static void test_impossible_layout(void **state)
{
	struct fixture *f = *state;
	f->layout.code_linetable = CODE_SIZE - 4;
	assert_int_equal(read_reason(f, 0), REASON_BAD_CODE);
	f->layout.code_linetable = PY_ABSENT;
	assert_int_equal(read_reason(f, 0), REASON_BAD_CODE);
	f->layout.code_linetable = LINETABLE;
	f->layout.code_size = CODE_RANGE_SIZE_MAX + 1;
	assert_int_equal(read_reason(f, 0), REASON_BAD_CODE);
}

static const struct code *get(struct fixture *f, uint64_t address)
{
	const struct code *code = NULL;
	assert_int_equal(code_cache_get(f->cache, &f->fake.memory, address, &code), REASON_OK);
	return code;
}

/* What the session does: reads the ranges of a code object, one after the other. */
static bool validate(struct fixture *f, const struct code *code)
{
	uint8_t bytes[CODE_RANGES_MAX * CODE_RANGE_SIZE_MAX];
	size_t count, offset = 0;
	const struct memory_range *ranges = code_ranges(code, &count);
	for (size_t i = 0; i < count; i++) {
		assert_true(memory_read(&f->fake.memory, ranges[i].address, bytes + offset,
					ranges[i].size));
		offset += ranges[i].size;
	}
	assert_int_equal(offset, code->ranges_bytes);
	return code_cache_validate(f->cache, code, bytes);
}

static void test_cached_code_is_not_read_again(void **state)
{
	struct fixture *f = *state;
	const struct code *code = get(f, f->address);
	f->fake.reads = 0;
	assert_ptr_equal(get(f, f->address), code);
	assert_int_equal(f->fake.reads, 0);
	assert_int_equal(code_cache_count(f->cache), 1);
	const struct code *none = NULL;
	assert_int_equal(code_cache_get(f->cache, &f->fake.memory, f->name, &none),
			 REASON_BAD_CODE);
	assert_null(none);
	assert_int_equal(code_cache_count(f->cache), 1);
}

static void test_what_an_interpreter_fills_in_is_no_change(void **state)
{
	struct fixture *f = *state;
	const struct code *code = get(f, f->address);
	fake_put_u64(&f->fake, f->address, 99);          /* reference count */
	fake_put_u64(&f->fake, f->address + 160, 1234);  /* co_extra and the like */
	fake_put_u64(&f->fake, f->linetable + 24, 4711); /* hash */
	fake_put_u64(&f->fake, f->filename + 24, 4711);
	assert_true(validate(f, code));
	assert_false(code_cache_is_volatile(f->cache, f->address));
	assert_ptr_equal(get(f, f->address), code);
}

/* Each way in which another code object at the same address can differ. */
static void test_every_change_is_seen(void **state)
{
	struct fixture *f = *state;
	const struct {
		uint64_t address;
		uint8_t value;
	} changes[] = {
		{ f->address + 8, 0x55 },         /* type */
		{ f->address + FIRSTLINENO, 11 }, /* first line */
		{ f->address + NAME, 0x55 },      /* pointers */
		{ f->address + QUALNAME, 0x55 },
		{ f->address + FILENAME, 0x55 },
		{ f->address + LINETABLE, 0x55 },
		{ f->name + 48, 'M' }, /* the same places, other content */
		{ f->qualname + 48 + 11, 'D' },
		{ f->filename + 48 + 16, 'c' },
		{ f->filename + 16, 16 }, /* shorter */
		{ f->linetable + 32, 0x80 },
		{ f->linetable + 32 + 5, 3 },
		{ f->linetable + 16, 5 },
	};
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		const struct code *code = get(f, f->address);
		uint8_t *byte = &f->fake.bytes[changes[i].address - FAKE_BASE];
		uint8_t before = *byte;
		assert_int_not_equal(before, changes[i].value);
		assert_true(validate(f, code));
		*byte = changes[i].value;
		assert_false(validate(f, code));
		*byte = before;
		assert_int_equal(code_cache_count(f->cache), 0);
	}
}

static void test_mismatch_makes_volatile_and_is_readable_until_the_sweep(void **state)
{
	struct fixture *f = *state;
	const struct code *before = get(f, f->address);
	assert_false(code_cache_is_volatile(f->cache, f->address));
	fake_put_u64(&f->fake, f->address + QUALNAME, fake_ascii(&f->fake, f->unicode, "other"));
	assert_false(validate(f, before));
	assert_true(code_cache_is_volatile(f->cache, f->address));

	const struct code *after = get(f, f->address);
	assert_string_equal(after->name, "other");
	assert_string_equal(before->name, "Klass.method");
	/* The old one, told again that it does not match, takes nothing from the new one. */
	assert_false(validate(f, before));
	assert_ptr_equal(get(f, f->address), after);
	code_cache_sweep(f->cache);
	assert_string_equal(after->name, "other");
	assert_true(code_cache_is_volatile(f->cache, f->address));
}

static void test_checked_get_reads_anew(void **state)
{
	struct fixture *f = *state;
	const struct code *before = get(f, f->address), *after = NULL;
	assert_int_equal(code_cache_get_checked(f->cache, &f->fake.memory, f->address, &after),
			 REASON_OK);
	assert_ptr_equal(after, before);
	fake_put_u32(&f->fake, f->address + FIRSTLINENO, 500);
	assert_int_equal(code_cache_get_checked(f->cache, &f->fake.memory, f->address, &after),
			 REASON_OK);
	assert_int_equal(after->firstlineno, 500);
	assert_int_equal(before->firstlineno, 10);
	assert_int_equal(code_cache_count(f->cache), 1);
	fake_put_u64(&f->fake, f->address + 8, f->other);
	assert_int_equal(code_cache_get_checked(f->cache, &f->fake.memory, f->address, &after),
			 REASON_BAD_CODE);
	assert_int_equal(code_cache_count(f->cache), 0);
}

/* A memory in which one code object appears at any number of addresses, FAR apart from each other.
 */
#define FAR UINT64_C(0x100000000)
static bool alias_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct fixture *f = (struct fixture *)memory;
	if (address >= FAKE_BASE + FAR)
		address = f->address + address % FAR;
	return fake_read(memory, address, buffer, size);
}

static uint64_t alias(size_t i)
{
	return ((FAKE_BASE / FAR) + 1 + i) * FAR;
}

static void test_entries_are_limited(void **state)
{
	struct fixture *f = *state;
	f->fake.memory.read = alias_read;
	const struct code *hot = get(f, alias(0));
	for (size_t i = 1; i < 3 * CODE_CACHE_ENTRIES_MAX; i++) {
		get(f, alias(i));
		assert_ptr_equal(get(f, alias(0)), hot); /* in use: stays */
		assert_true(code_cache_count(f->cache) <= CODE_CACHE_ENTRIES_MAX);
	}
	assert_int_equal(code_cache_count(f->cache), CODE_CACHE_ENTRIES_MAX);
	code_cache_sweep(f->cache);
	assert_string_equal(get(f, alias(0))->name, "Klass.method");
	for (size_t i = 1; i < 3 * CODE_CACHE_ENTRIES_MAX; i += 97)
		assert_int_equal(get(f, alias(i))->address, alias(i));
}

static void test_bytes_are_limited(void **state)
{
	struct fixture *f = *state;
	const size_t size = 200000;
	uint8_t *table = calloc(1, size);
	f->linetable = fake_bytes(&f->fake, f->bytes, table, size);
	free(table);
	fake_put_u64(&f->fake, f->address + LINETABLE, f->linetable);
	f->fake.memory.read = alias_read;
	for (size_t i = 0; i < 300; i++)
		get(f, alias(i));
	size_t most = CODE_CACHE_BYTES_MAX / size;
	assert_in_range(code_cache_count(f->cache), most - 1, most);
}

static void test_volatile_addresses_are_limited(void **state)
{
	struct fixture *f = *state;
	f->fake.memory.read = alias_read;
	uint8_t other[CODE_RANGES_MAX * CODE_RANGE_SIZE_MAX] = { 0 };
	for (size_t i = 0; i < CODE_VOLATILE_MAX; i++) {
		code_cache_validate(f->cache, get(f, alias(i)), other);
		code_cache_sweep(f->cache);
	}
	assert_true(code_cache_is_volatile(f->cache, alias(0)));
	code_cache_validate(f->cache, get(f, alias(CODE_VOLATILE_MAX)), other);
	assert_false(code_cache_is_volatile(f->cache, alias(0)));
	assert_true(code_cache_is_volatile(f->cache, alias(CODE_VOLATILE_MAX)));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_qualified_name_file_and_lines),
		TEST(test_without_qualified_names),
		TEST(test_type_decides),
		TEST(test_parts_that_are_something_else),
		TEST(test_impossible_layout),
		TEST(test_cached_code_is_not_read_again),
		TEST(test_what_an_interpreter_fills_in_is_no_change),
		TEST(test_every_change_is_seen),
		TEST(test_mismatch_makes_volatile_and_is_readable_until_the_sweep),
		TEST(test_checked_get_reads_anew),
		TEST(test_entries_are_limited),
		TEST(test_bytes_are_limited),
		TEST(test_volatile_addresses_are_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
