/* SPDX-License-Identifier: MIT */
/* test_idset.c: ids are found by the key of what they number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "base/idset.h"

#define COUNT 5000

static uint64_t keys[COUNT];

static uint64_t key_of(const void *data, uint32_t id)
{
	return ((const uint64_t *)data)[id];
}

static void an_empty_set_has_nothing(void **state)
{
	struct idset set = { 0 };
	assert_int_equal(idset_get(&set, 0, key_of, keys), IDSET_NONE);
	idset_deinit(&set);
}

static void each_id_is_found_and_no_other_key(void **state)
{
	struct idset set = { 0 };
	for (uint32_t i = 0; i < COUNT; i++) {
		keys[i] = hash_mix(i);
		assert_int_equal(idset_get(&set, keys[i], key_of, keys), IDSET_NONE);
		assert_true(idset_put(&set, i, key_of, keys));
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_int_equal(idset_get(&set, hash_mix(i), key_of, keys), i);
		assert_int_equal(idset_get(&set, hash_mix(COUNT + i), key_of, keys), IDSET_NONE);
	}
	idset_deinit(&set);
}

/* Chains: the last thing with a key is the one that is found, also after the set has grown. */
static void the_last_of_equal_keys_is_found(void **state)
{
	struct idset set = { 0 };
	for (uint32_t i = 0; i < COUNT; i++) {
		keys[i] = i % 7;
		assert_true(idset_put(&set, i, key_of, keys));
		assert_int_equal(idset_get(&set, i % 7, key_of, keys), i);
	}
	for (uint32_t i = COUNT - 7; i < COUNT; i++)
		assert_int_equal(idset_get(&set, i % 7, key_of, keys), i);
	idset_deinit(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_set_has_nothing),
		cmocka_unit_test(each_id_is_found_and_no_other_key),
		cmocka_unit_test(the_last_of_equal_keys_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
