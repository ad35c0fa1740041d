/* SPDX-License-Identifier: MIT */
/* threading._active built by hand in every way in which a CPython version keeps dicts, attributes
 * and ints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_python.h"
#include "python/dict.h"
#include "python/threadnames.h"

#define IDENT     UINT64_C(0x7f12345678c0)
#define THREADS   3
#define KEYS_ROOM 1024 /* bytes of a keys object here */

struct fixture {
	struct fake fake;
	struct py_layout layout;
	uint64_t str, dict, other, thread; /* types */
	uint64_t interp;
	uint64_t active, active_entries; /* dict, first entry */
	uint64_t modules;
	uint64_t idents[THREADS], threads[THREADS], names[THREADS];
	uint64_t cached_keys; /* of the thread type: "_target", the name, "_args" */
};

/* A combined keys object or, in 2.7, a table; the address of its first entry in *entries_ret. */
static uint64_t make_keys(struct fixture *f, bool strings_only, size_t count, uint64_t *entries_ret)
{
	const struct py_layout *layout = &f->layout;
	uint64_t keys = fake_alloc(&f->fake, KEYS_ROOM);
	*entries_ret = keys;
	if (layout->dict_kind == PY_DICT_TABLE)
		return keys;
	fake_put_u64(&f->fake, keys + layout->keys_nentries, count);
	*entries_ret = keys + layout->keys_indices + 8;
	if (layout->dict_kind == PY_DICT_KEYS) {
		fake_put_u64(&f->fake, keys + layout->keys_size, 8);
		return keys;
	}
	fake_put_u8(&f->fake, keys + layout->keys_log2_size, 3);
	fake_put_u8(&f->fake, keys + layout->keys_log2_index_bytes, 3);
	fake_put_u8(&f->fake, keys + layout->keys_kind, strings_only);
	return keys;
}

static void put_entry(struct fixture *f, uint64_t entries, bool strings_only, size_t index,
		      uint64_t key, uint64_t value)
{
	bool small = strings_only && f->layout.dict_kind == PY_DICT_KEYS_LOG2;
	uint64_t entry = entries + index * (small ? 16 : 24);
	fake_put_u64(&f->fake, entry + (small ? 0 : 8), key);
	fake_put_u64(&f->fake, entry + (small ? 8 : 16), value);
}

static uint64_t make_dict(struct fixture *f, uint64_t keys, size_t mask)
{
	uint64_t dict = fake_object(&f->fake, f->dict, 64);
	fake_put_u64(&f->fake, dict + f->layout.dict_keys, keys);
	if (f->layout.dict_kind == PY_DICT_TABLE)
		fake_put_u64(&f->fake, dict + f->layout.dict_mask, mask);
	return dict;
}

static uint64_t make_text(struct fixture *f, const char *text)
{
	return f->layout.text_kind == PY_TEXT_BYTES
		       ? fake_bytes(&f->fake, f->str, text, strlen(text))
		       : fake_ascii(&f->fake, f->str, text);
}

/* {"other": an object, NAME: value}, with a free entry before them. */
static uint64_t make_namespace(struct fixture *f, const char *name, uint64_t value)
{
	uint64_t entries;
	uint64_t keys = make_keys(f, true, 3, &entries);
	put_entry(f, entries, true, 0, 0, 0);
	put_entry(f, entries, true, 1, make_text(f, "other"), f->other);
	put_entry(f, entries, true, 2, make_text(f, name), value);
	return make_dict(f, keys, 3);
}

static uint64_t make_ident(struct fixture *f, uint64_t value)
{
	uint64_t type =
		fake_type(&f->fake, f->layout.int_value == PY_ABSENT ? FAKE_LONG : FAKE_INT, "int");
	uint64_t object = fake_object(&f->fake, type, 40);
	size_t digits = 0;
	if (f->layout.int_value != PY_ABSENT) {
		fake_put_u64(&f->fake, object + 16, value);
		return object;
	}
	for (; value; value >>= 30)
		fake_put_u32(&f->fake, object + 24 + 4 * digits++, value & 0x3fffffff);
	fake_put_u64(&f->fake, object + 16,
		     f->layout.long_tag == PY_ABSENT ? digits : digits << 3 | 4);
	return object;
}

static const char *name_key(const struct fixture *f)
{
	return f->layout.text_kind == PY_TEXT_BYTES ? "_Thread__name" : "_name";
}

/* Threads without attributes yet: an object has room for what goes before and after it. */
static uint64_t make_thread(struct fixture *f)
{
	fake_alloc(&f->fake, 32);
	return fake_object(&f->fake, f->thread, 64);
}

static void build(struct fixture *f, uint64_t thread_flags)
{
	static const char *const names[THREADS] = { "MainThread", "worker-1", "a;b c" };
	bool is_bytes = f->layout.text_kind == PY_TEXT_BYTES;
	f->str = fake_type(&f->fake, is_bytes ? FAKE_BYTES : FAKE_UNICODE, "str");
	f->dict = fake_type(&f->fake, FAKE_DICT, "dict");
	f->other = fake_object(&f->fake, fake_type(&f->fake, 0, "other"), 32);
	f->thread = fake_type(&f->fake, thread_flags, "Thread");
	fake_put_u64(&f->fake, f->thread + 32, 16);  /* tp_basicsize */
	fake_put_u64(&f->fake, f->thread + 288, 24); /* tp_dictoffset */
	if (!is_bytes) {
		uint64_t entries;
		f->cached_keys = make_keys(f, true, 3, &entries);
		put_entry(f, entries, true, 0, make_text(f, "_target"), 0);
		put_entry(f, entries, true, 1, make_text(f, "_name"), 0);
		put_entry(f, entries, true, 2, make_text(f, "_args"), 0);
		fake_put_u64(&f->fake, f->thread + 880, f->cached_keys);
	}

	uint64_t keys = make_keys(f, false, THREADS, &f->active_entries);
	for (size_t i = 0; i < THREADS; i++) {
		f->idents[i] = make_ident(f, IDENT + i);
		f->threads[i] = make_thread(f);
		f->names[i] = make_text(f, names[i]);
		put_entry(f, f->active_entries, false, i, f->idents[i], f->threads[i]);
	}
	f->active = make_dict(f, keys, 3);
	uint64_t module = fake_object(&f->fake, f->other, 64);
	fake_put_u64(&f->fake, module + 16, make_namespace(f, "_active", f->active));
	f->modules = make_namespace(f, "threading", module);
	f->interp = fake_alloc(&f->fake, 128);
	fake_put_u64(&f->fake, f->interp + 0x40, f->modules);
}

static void put_dict_with_name(struct fixture *f, size_t i, uint64_t where)
{
	fake_put_u64(&f->fake, where, make_namespace(f, name_key(f), f->names[i]));
}

/* Three values at @where, the second being the name. */
static void put_values(struct fixture *f, size_t i, uint64_t where)
{
	fake_put_u64(&f->fake, where, f->other);
	fake_put_u64(&f->fake, where + 8, f->names[i]);
	fake_put_u64(&f->fake, where + 16, 0);
}

static void expect_names(struct fixture *f)
{
	struct threadnames names;
	assert_true(threadnames_read(&f->fake.memory, &f->layout, f->interp, &names));
	assert_int_equal(names.count, THREADS);
	assert_string_equal(threadnames_find(&names, IDENT), "MainThread");
	assert_string_equal(threadnames_find(&names, IDENT + 1), "worker-1");
	assert_string_equal(threadnames_find(&names, IDENT + 2), "a;b c");
	assert_null(threadnames_find(&names, IDENT + 3));
	threadnames_deinit(&names);
}

static size_t count_names(struct fixture *f)
{
	struct threadnames names;
	assert_true(threadnames_read(&f->fake.memory, &f->layout, f->interp, &names));
	size_t count = names.count;
	threadnames_deinit(&names);
	return count;
}

static void expect_nothing(struct fixture *f)
{
	struct threadnames names = { .count = 77 };
	assert_false(threadnames_read(&f->fake.memory, &f->layout, f->interp, &names));
	assert_int_equal(names.count, 77);
}

static void layout_2_7(struct fixture *f)
{
	f->layout.text_kind = PY_TEXT_BYTES;
	f->layout.dict_kind = PY_DICT_TABLE;
	f->layout.bytes_data = 32;
	f->layout.int_value = 16;
	f->layout.dict_mask = 32;
	f->layout.dict_keys = 40;
}

static void layout_3_6(struct fixture *f)
{
	f->layout.dict_keys = 32;
	f->layout.dict_values = 40;
	f->layout.keys_size = 8;
	f->layout.keys_nentries = 32;
	f->layout.keys_indices = 40;
	f->layout.type_cached_keys = 880;
}

static void layout_3_11(struct fixture *f)
{
	layout_3_6(f);
	f->layout.dict_kind = PY_DICT_KEYS_LOG2;
	f->layout.attributes_kind = PY_ATTRIBUTES_SEPARATE;
	f->layout.keys_size = PY_ABSENT;
	f->layout.keys_log2_size = 8;
	f->layout.keys_log2_index_bytes = 9;
	f->layout.keys_kind = 10;
	f->layout.keys_nentries = 24;
	f->layout.keys_indices = 32;
	f->layout.unicode_entry_size = 16;
	f->layout.unicode_entry_key = 0;
	f->layout.unicode_entry_value = 8;
	f->layout.flag_managed_dict = FAKE_MANAGED;
	f->layout.managed_dict = 24;
	f->layout.managed_values = 32;
	f->layout.values_data = 0;
}

static void layout_3_12(struct fixture *f)
{
	layout_3_11(f);
	f->layout.attributes_kind = PY_ATTRIBUTES_TAGGED;
	f->layout.managed_values = PY_ABSENT;
	f->layout.long_tag = 16;
}

static void layout_3_13(struct fixture *f)
{
	layout_3_12(f);
	f->layout.attributes_kind = PY_ATTRIBUTES_INLINE;
	f->layout.flag_inline_values = FAKE_INLINE;
	f->layout.values_capacity = 0;
	f->layout.values_valid = 3;
	f->layout.values_data = 8;
}

static void test_2_7(void **state)
{
	struct fixture *f = *state;
	layout_2_7(f);
	build(f, 0);
	for (size_t i = 0; i < THREADS; i++)
		put_dict_with_name(f, i, f->threads[i] + 24);
	expect_names(f);
}

static void test_3_6_combined_and_split(void **state)
{
	struct fixture *f = *state;
	layout_3_6(f);
	build(f, 0);
	put_dict_with_name(f, 0, f->threads[0] + 24);
	for (size_t i = 1; i < THREADS; i++) {
		uint64_t dict = make_dict(f, f->cached_keys, 0);
		uint64_t values = fake_alloc(&f->fake, 64);
		put_values(f, i, values);
		fake_put_u64(&f->fake, dict + 40, values);
		fake_put_u64(&f->fake, f->threads[i] + 24, dict);
	}
	expect_names(f);
}

static void test_3_11_values_or_dict(void **state)
{
	struct fixture *f = *state;
	layout_3_11(f);
	build(f, FAKE_MANAGED);
	put_dict_with_name(f, 0, f->threads[0] - 24);
	for (size_t i = 1; i < THREADS; i++) {
		uint64_t values = fake_alloc(&f->fake, 64);
		put_values(f, i, values);
		fake_put_u64(&f->fake, f->threads[i] - 32, values);
	}
	expect_names(f);
}

static void test_3_11_type_without_managed_dict(void **state)
{
	struct fixture *f = *state;
	layout_3_11(f);
	build(f, 0);
	for (size_t i = 0; i < THREADS; i++)
		put_dict_with_name(f, i, f->threads[i] + 24);
	expect_names(f);
}

static void test_3_12_tagged_word(void **state)
{
	struct fixture *f = *state;
	layout_3_12(f);
	build(f, FAKE_MANAGED);
	put_dict_with_name(f, 0, f->threads[0] - 24);
	for (size_t i = 1; i < THREADS; i++) {
		uint64_t values = fake_alloc(&f->fake, 64);
		put_values(f, i, values);
		fake_put_u64(&f->fake, f->threads[i] - 24, values - 1);
	}
	expect_names(f);
}

static void put_inline_values(struct fixture *f, size_t i, uint8_t capacity, uint8_t valid)
{
	uint64_t values = f->threads[i] + 16;
	fake_put_u8(&f->fake, values, capacity);
	fake_put_u8(&f->fake, values + 3, valid);
	put_values(f, i, values + 8);
}

static void test_3_13_inline_values(void **state)
{
	struct fixture *f = *state;
	layout_3_13(f);
	build(f, FAKE_MANAGED | FAKE_INLINE);
	/* A dict has taken over. */
	put_inline_values(f, 0, 3, 0);
	fake_put_u64(&f->fake, f->threads[0] + 16 + 8 + 8, f->names[1]);
	put_dict_with_name(f, 0, f->threads[0] - 24);
	/* There is a dict too, which shares the values. */
	put_inline_values(f, 1, 3, 1);
	fake_put_u64(&f->fake, f->threads[1] - 24, f->modules);
	put_inline_values(f, 2, 3, 1);
	expect_names(f);

	struct dict attributes;
	size_t hint = 0;
	uint64_t value = 0;
	assert_true(dict_open_instance(&f->fake.memory, &f->layout, f->threads[1], &attributes));
	assert_true(dict_find(&attributes, "_target", &hint, &value));
	assert_int_equal(value, f->other);
	assert_false(dict_find(&attributes, "_args", &hint, &value)); /* not set */

	/* A key that was added for another instance: no room for it here. */
	put_inline_values(f, 2, 1, 1);
	assert_int_equal(count_names(f), THREADS - 1);
}

static void test_3_13_managed_dict_only(void **state)
{
	struct fixture *f = *state;
	layout_3_13(f);
	build(f, FAKE_MANAGED);
	for (size_t i = 0; i < THREADS; i++)
		put_dict_with_name(f, i, f->threads[i] - 24);
	expect_names(f);
}

static void build_3_6(struct fixture *f)
{
	layout_3_6(f);
	build(f, 0);
	for (size_t i = 0; i < THREADS; i++)
		put_dict_with_name(f, i, f->threads[i] + 24);
	expect_names(f);
}

static void test_idents(void **state)
{
	struct fixture *f = *state;
	static const uint64_t values[] = { 0, 1, 0x3fffffff, 0x40000000, UINT64_MAX };
	build_3_6(f);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct threadnames names;
		put_entry(f, f->active_entries, false, 0, make_ident(f, values[i]), f->threads[0]);
		assert_true(threadnames_read(&f->fake.memory, &f->layout, f->interp, &names));
		assert_string_equal(threadnames_find(&names, values[i]), "MainThread");
		threadnames_deinit(&names);
	}
	uint64_t ident = f->idents[1];
	fake_put_u32(&f->fake, ident + 24, 1u << 30); /* not a digit */
	assert_int_equal(count_names(f), THREADS - 1);
	fake_put_u32(&f->fake, ident + 24, 1);
	assert_int_equal(count_names(f), THREADS);
	fake_put_u64(&f->fake, ident + 16, (uint64_t)-2); /* negative */
	assert_int_equal(count_names(f), THREADS - 1);
	fake_put_u64(&f->fake, ident + 16, 3);
	fake_put_u32(&f->fake, ident + 32, 16); /* 2^64 and more */
	assert_int_equal(count_names(f), THREADS - 1);
	fake_put_u32(&f->fake, ident + 32, 15);
	assert_int_equal(count_names(f), THREADS);
	fake_put_u64(&f->fake, ident + 16, UINT64_C(1) << 62);
	assert_int_equal(count_names(f), THREADS - 1);
	fake_put_u64(&f->fake, ident + 16, 2);
	assert_int_equal(count_names(f), THREADS);
	fake_put_u64(&f->fake, ident + 8, f->str); /* no int */
	assert_int_equal(count_names(f), THREADS - 1);
}

static void test_negative_ident_with_tag(void **state)
{
	struct fixture *f = *state;
	layout_3_12(f);
	build(f, 0);
	for (size_t i = 0; i < THREADS; i++)
		put_dict_with_name(f, i, f->threads[i] + 24);
	expect_names(f);
	fake_put_u64(&f->fake, f->idents[0] + 16, 2 << 3 | 2);
	assert_int_equal(count_names(f), THREADS - 1);
}

static void test_damaged_threads_have_no_name(void **state)
{
	struct fixture *f = *state;
	build_3_6(f);
	fake_put_u64(&f->fake, f->threads[0] + 24, 0); /* no dict */
	assert_int_equal(count_names(f), 2);
	fake_put_u64(&f->fake, f->threads[1] + 24, f->names[1]); /* something else */
	assert_int_equal(count_names(f), 1);
	fake_put_u64(&f->fake, f->names[2] + 16, UINT64_MAX); /* length */
	assert_int_equal(count_names(f), 0);
	fake_put_u64(&f->fake, f->names[2] + 16, 5);
	assert_int_equal(count_names(f), 1);
	fake_put_u64(&f->fake, f->thread + 288, 0); /* no tp_dictoffset */
	assert_int_equal(count_names(f), 0);
	fake_put_u64(&f->fake, f->thread + 288, (uint64_t)-8); /* from the end of the object */
	put_dict_with_name(f, 2, f->threads[2] - 8);
	assert_int_equal(count_names(f), 0);
}

static void test_threading_not_imported(void **state)
{
	struct fixture *f = *state;
	build_3_6(f);
	fake_put_u64(&f->fake, f->interp + 0x40, make_namespace(f, "threadin_", f->other));
	expect_nothing(f);
	fake_put_u64(&f->fake, f->interp + 0x40, make_namespace(f, "threading", f->other));
	expect_nothing(f);
	fake_put_u64(&f->fake, f->interp + 0x40, f->names[0]);
	expect_nothing(f);
	fake_put_u64(&f->fake, f->interp + 0x40, 0);
	expect_nothing(f);
}

static void test_sizes_of_a_damaged_dict(void **state)
{
	struct fixture *f = *state;
	uint64_t keys;
	build_3_6(f);
	assert_true(memory_read_u64(&f->fake.memory, f->active + 32, &keys));
	fake_put_u64(&f->fake, keys + 32, DICT_ENTRIES_MAX + 1);
	expect_nothing(f);
	fake_put_u64(&f->fake, keys + 32, DICT_ENTRIES_MAX); /* read until it faults */
	f->fake.reads = 0;
	assert_true(count_names(f) <= THREADS);
	assert_true(f->fake.reads < 50000); /* and not once for every entry beyond */
	fake_put_u64(&f->fake, keys + 32, THREADS);
	fake_put_u64(&f->fake, keys + 8, UINT64_MAX);
	expect_nothing(f);
}

static void test_sizes_of_a_damaged_dict_2_7(void **state)
{
	struct fixture *f = *state;
	layout_2_7(f);
	build(f, 0);
	fake_put_u64(&f->fake, f->active + 32, DICT_ENTRIES_MAX);
	expect_nothing(f);
	fake_put_u64(&f->fake, f->active + 32, UINT64_MAX);
	expect_nothing(f);
}

static void test_sizes_of_a_damaged_dict_3_11(void **state)
{
	struct fixture *f = *state;
	uint64_t keys;
	layout_3_11(f);
	build(f, FAKE_MANAGED);
	assert_int_equal(count_names(f), 0);
	assert_true(memory_read_u64(&f->fake.memory, f->active + 32, &keys));
	fake_put_u8(&f->fake, keys + 9, 64);
	expect_nothing(f);
}

/* More entries than are read at once: all are seen, and indices have two bytes. */
static void test_large_dict(void **state)
{
	struct fixture *f = *state;
	struct dict dict;
	uint64_t value = 0, key;
	size_t hint = 0;
	layout_3_6(f);
	build(f, 0);
	uint64_t keys = fake_alloc(&f->fake, 40 + 2 * 512 + 24 * 340);
	fake_put_u64(&f->fake, keys + 8, 512);
	fake_put_u64(&f->fake, keys + 32, 340);
	for (size_t i = 0; i < 340; i++) {
		char name[16];
		snprintf(name, sizeof(name), "key%zu", i);
		put_entry(f, keys + 40 + 2 * 512, false, i, make_text(f, name), 1000 + i);
	}
	assert_true(dict_open(&f->fake.memory, &f->layout, make_dict(f, keys, 0), &dict));
	assert_int_equal(dict.count, 340);
	for (size_t i = 340; i-- > 0;) {
		assert_true(dict_entry(&dict, i, &key, &value));
		assert_int_equal(value, 1000 + i);
	}
	assert_false(dict_entry(&dict, 340, &key, &value));
	assert_true(dict_find(&dict, "key339", &hint, &value));
	assert_int_equal(value, 1339);
	assert_int_equal(hint, 339);
	assert_true(dict_find(&dict, "key3", &hint, &value));
	assert_int_equal(value, 1003);
	assert_false(dict_find(&dict, "key", &hint, &value));
	assert_int_equal(value, 1003);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	fake_init(&f->fake);
	f->layout = fake_layout();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_2_7),
		TEST(test_3_6_combined_and_split),
		TEST(test_3_11_values_or_dict),
		TEST(test_3_11_type_without_managed_dict),
		TEST(test_3_12_tagged_word),
		TEST(test_3_13_inline_values),
		TEST(test_3_13_managed_dict_only),
		TEST(test_idents),
		TEST(test_negative_ident_with_tag),
		TEST(test_damaged_threads_have_no_name),
		TEST(test_threading_not_imported),
		TEST(test_sizes_of_a_damaged_dict),
		TEST(test_sizes_of_a_damaged_dict_2_7),
		TEST(test_sizes_of_a_damaged_dict_3_11),
		TEST(test_large_dict),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
