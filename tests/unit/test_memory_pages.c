/* SPDX-License-Identifier: MIT */
/* test_memory_pages.c: each page is read once, and gives what reads of pieces would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "target/memory_pages.h"

#define BASE  UINT64_C(0x10000)
#define PAGES 3

/* Three pages and a half. */
struct fake {
	struct memory memory;
	uint8_t bytes[PAGES * MEMORY_PAGE_SIZE + MEMORY_PAGE_SIZE / 2];
	unsigned reads;
};

static bool fake_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct fake *fake = (struct fake *)memory;
	fake->reads++;
	if (address < BASE || size > sizeof(fake->bytes) ||
	    address - BASE > sizeof(fake->bytes) - size)
		return false;
	memcpy(buffer, fake->bytes + (address - BASE), size);
	return true;
}

static void fake_init(struct fake *fake)
{
	*fake = (struct fake){ .memory.read = fake_read };
	for (size_t i = 0; i < sizeof(fake->bytes); i++)
		fake->bytes[i] = (uint8_t)(i * 7 + i / 256);
}

static void expect_bytes(struct memory *memory, const struct fake *fake, size_t at, size_t size)
{
	uint8_t bytes[2 * MEMORY_PAGE_SIZE];
	assert_true(memory_read(memory, BASE + at, bytes, size));
	assert_memory_equal(bytes, fake->bytes + at, size);
}

static void a_page_is_read_once(void **state)
{
	struct fake fake;
	fake_init(&fake);
	_cleanup_memory_pages_ struct memory_pages pages;
	memory_pages_init(&pages, &fake.memory);
	for (size_t i = 0; i < 100; i++)
		expect_bytes(&pages.memory, &fake, 10 * i, 8);
	assert_int_equal(fake.reads, 1);
	expect_bytes(&pages.memory, &fake, MEMORY_PAGE_SIZE - 3, 8);
	assert_int_equal(fake.reads, 2);
	expect_bytes(&pages.memory, &fake, MEMORY_PAGE_SIZE - 3, MEMORY_PAGE_SIZE);
	assert_int_equal(fake.reads, 2);
}

/* More than a page is not worth keeping. */
static void what_is_large_is_read_at_once(void **state)
{
	struct fake fake;
	fake_init(&fake);
	_cleanup_memory_pages_ struct memory_pages pages;
	memory_pages_init(&pages, &fake.memory);
	expect_bytes(&pages.memory, &fake, 100, MEMORY_PAGE_SIZE + 1);
	assert_int_equal(fake.reads, 1);
}

/* The end of what is readable lies in a page: up to there it can be read, and no byte further. */
static void a_page_that_is_not_whole_is_read_in_pieces(void **state)
{
	struct fake fake;
	fake_init(&fake);
	_cleanup_memory_pages_ struct memory_pages pages;
	memory_pages_init(&pages, &fake.memory);
	expect_bytes(&pages.memory, &fake, sizeof(fake.bytes) - 8, 8);
	expect_bytes(&pages.memory, &fake, PAGES * MEMORY_PAGE_SIZE - 4, 8);
	uint64_t word;
	assert_false(memory_read_u64(&pages.memory, BASE + sizeof(fake.bytes) - 7, &word));
	assert_false(memory_read_u64(&pages.memory, BASE - 1, &word));
	assert_false(memory_read_u64(&pages.memory, UINT64_MAX - 3, &word));
	assert_false(memory_read_u64(&pages.memory, 0, &word));
}

/* Two pages that share a slot push each other out. */
static void a_slot_holds_the_page_that_it_says(void **state)
{
	struct fake fake;
	fake_init(&fake);
	_cleanup_memory_pages_ struct memory_pages pages;
	memory_pages_init(&pages, &fake.memory);
	expect_bytes(&pages.memory, &fake, 0, 8);
	uint64_t word;
	assert_false(memory_read_u64(&pages.memory,
				     BASE + MEMORY_PAGE_SLOTS * (uint64_t)MEMORY_PAGE_SIZE, &word));
	expect_bytes(&pages.memory, &fake, 0, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_is_read_once),
		cmocka_unit_test(what_is_large_is_read_at_once),
		cmocka_unit_test(a_page_that_is_not_whole_is_read_in_pieces),
		cmocka_unit_test(a_slot_holds_the_page_that_it_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
