/* SPDX-License-Identifier: MIT */
/* test_blocks.c: blocks copied from a process (this one) and what a plan learns from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "snapshot/blocks.h"

static struct process *self;
static struct memory_live live;
static uint8_t data[4096] __attribute__((aligned(4096)));

static int set_up(void **state)
{
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	return process_open(getpid(), &self) ||
	       memory_live_init(&live, self, (uint64_t)(uintptr_t)data);
}

static int tear_down(void **state)
{
	memory_live_deinit(&live);
	process_close(self);
	return 0;
}

static uint64_t state_of_two[1];

static uint64_t at(size_t offset)
{
	return (uint64_t)(uintptr_t)data + offset;
}

static void what_was_read_once_is_planned_for(void **state)
{
	struct blocks blocks;
	struct plan plan = { 0 };
	uint8_t bytes[64];
	blocks_init(&blocks);
	blocks_begin(&blocks, &live, &plan, NULL);
	uint64_t calls = live.calls;
	assert_true(memory_read(&blocks.memory, at(1000), bytes, 64));
	assert_memory_equal(bytes, data + 1000, 64);
	assert_true(memory_read(&blocks.memory, at(100), bytes, 16));
	assert_true(memory_read(&blocks.memory, at(1008), bytes, 8));
	assert_memory_equal(bytes, data + 1008, 8);
	assert_int_equal(live.calls - calls, 2);
	blocks_end(&blocks);
	blocks_learn(&blocks, &plan);
	assert_int_equal(plan.count, 2);
	assert_int_equal(plan.items[0].address, at(100));
	assert_int_equal(plan.items[1].address, at(1000));

	/* The next time all of it comes with one call, and fresh. */
	data[1000] = 99;
	calls = live.calls;
	blocks_begin(&blocks, &live, &plan, NULL);
	assert_true(memory_read(&blocks.memory, at(1000), bytes, 64));
	assert_int_equal(bytes[0], 99);
	assert_true(memory_read(&blocks.memory, at(100), bytes, 16));
	assert_int_equal(live.calls - calls, 1);
	plan_vec_deinit(&plan);
	blocks_deinit(&blocks);
}

static void inert_blocks_answer_only_for_what_they_have(void **state)
{
	struct blocks blocks;
	struct plan plan = { 0 };
	uint8_t bytes[32];
	blocks_init(&blocks);
	blocks_begin(&blocks, &live, &plan, NULL);
	assert_true(memory_read(&blocks.memory, at(0), bytes, 32));
	blocks_end(&blocks);
	assert_true(memory_read(&blocks.memory, at(8), bytes, 24));
	assert_false(memory_read(&blocks.memory, at(8), bytes, 25));
	assert_false(memory_read(&blocks.memory, at(64), bytes, 1));
	assert_false(memory_read(&blocks.memory, UINT64_MAX - 3, bytes, 8));
	blocks_deinit(&blocks);
}

static void an_unreadable_range_of_a_plan_costs_only_itself(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *hole = mmap(NULL, (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(hole != MAP_FAILED);
	struct plan_range ranges[] = {
		{ .address = at(0), .size = 8 },
		{ .address = (uint64_t)(uintptr_t)hole, .size = 8 },
		{ .address = at(16), .size = 8 },
	};
	if (ranges[1].address < ranges[0].address) {
		struct plan_range first = ranges[0];
		ranges[0] = ranges[1];
		ranges[1] = first;
	}
	struct plan plan = { .items = ranges, .count = 3 };
	struct blocks blocks;
	uint8_t bytes[8];
	blocks_init(&blocks);
	blocks_begin(&blocks, &live, &plan, NULL);
	assert_int_equal(blocks.list.count, 2);
	blocks_end(&blocks);
	assert_true(memory_read(&blocks.memory, at(0), bytes, 8));
	assert_memory_equal(bytes, data, 8);
	assert_true(memory_read(&blocks.memory, at(16), bytes, 8));
	assert_memory_equal(bytes, data + 16, 8);
	assert_false(memory_read(&blocks.memory, (uint64_t)(uintptr_t)hole, bytes, 8));
	blocks_deinit(&blocks);
	munmap(hole, (size_t)page);
}

/* Ranges of one page or two neighbours come as one piece, and answer for themselves only. */
static void near_ranges_are_read_together(void **state)
{
	struct plan_range ranges[] = {
		{ .address = at(8), .size = 16 },
		{ .address = at(16), .size = 32 },
		{ .address = at(2000), .size = 8 },
	};
	struct plan plan = { .items = ranges, .count = 3 };
	struct blocks blocks;
	uint8_t bytes[40];
	blocks_init(&blocks);
	blocks_begin(&blocks, &live, &plan, NULL);
	blocks_end(&blocks);
	assert_int_equal(blocks.list.count, 3);
	assert_true(memory_read(&blocks.memory, at(8), bytes, 16));
	assert_memory_equal(bytes, data + 8, 16);
	assert_true(memory_read(&blocks.memory, at(16), bytes, 32));
	assert_memory_equal(bytes, data + 16, 32);
	assert_true(memory_read(&blocks.memory, at(2000), bytes, 8));
	assert_memory_equal(bytes, data + 2000, 8);
	assert_false(memory_read(&blocks.memory, at(1000), bytes, 8));
	assert_int_equal(blocks.pieces[0].size, 2000);
	blocks_deinit(&blocks);
}

static void two_copies_come_with_one_call(void **state)
{
	const struct memory_range ranges[] = {
		{ .address = at(64), .size = 8 },
		{ .address = (uint64_t)(uintptr_t)state_of_two, .size = 8 },
	};
	struct plan plan = { 0 };
	for (size_t i = 0; i < 2; i++)
		plan_add(&plan, &ranges[i]);
	struct blocks first, second;
	uint64_t value, calls = live.calls;
	blocks_init(&first);
	blocks_init(&second);
	state_of_two[0] = 1;
	blocks_begin_twice(&first, &second, &live, &plan);
	assert_int_equal(live.calls - calls, 1);
	state_of_two[0] = 2;
	struct blocks *both[] = { &first, &second };
	for (size_t i = 0; i < 2; i++) {
		uint8_t bytes[8];
		assert_true(memory_read_u64(&both[i]->memory, (uint64_t)(uintptr_t)state_of_two,
					    &value));
		assert_int_equal(value, 1);
		assert_true(memory_read(&both[i]->memory, at(64), bytes, 8));
		assert_memory_equal(bytes, data + 64, 8);
		assert_int_equal(both[i]->missed, 0);
	}

	/* What only one of them lacked shows in that one. */
	assert_true(memory_read_u64(&second.memory, at(3000), &value));
	assert_int_equal(first.missed, 0);
	assert_int_equal(second.missed, 1);
	plan_vec_deinit(&plan);
	blocks_deinit(&first);
	blocks_deinit(&second);
}

static void what_is_of_no_use_is_forgotten(void **state)
{
	struct blocks blocks;
	struct plan plan = { 0 };
	uint8_t bytes[8];
	blocks_init(&blocks);
	blocks_begin(&blocks, &live, &plan, NULL);
	assert_true(memory_read(&blocks.memory, at(0), bytes, 8));
	assert_true(memory_read(&blocks.memory, at(512), bytes, 8));
	blocks_learn(&blocks, &plan);
	for (int i = 0; i < 16; i++) {
		assert_int_equal(plan.count, 2);
		blocks_begin(&blocks, &live, &plan, NULL);
		assert_true(memory_read(&blocks.memory, at(0), bytes, 8));
		blocks_learn(&blocks, &plan);
	}
	blocks_begin(&blocks, &live, &plan, NULL);
	assert_true(memory_read(&blocks.memory, at(0), bytes, 8));
	blocks_learn(&blocks, &plan);
	assert_int_equal(plan.count, 1);
	assert_int_equal(plan.items[0].address, at(0));
	plan_vec_deinit(&plan);
	blocks_deinit(&blocks);
}

static void there_is_a_limit_to_what_is_kept(void **state)
{
	struct blocks blocks;
	struct plan plan = { 0 };
	blocks_init(&blocks);
	blocks_begin(&blocks, &live, &plan, NULL);
	size_t size = (size_t)17 << 20;
	uint8_t *large = malloc(size);
	assert_non_null(large);
	assert_false(memory_read(&blocks.memory, (uint64_t)(uintptr_t)large, large, size));
	assert_true(blocks.full);
	free(large);
	blocks_deinit(&blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_read_once_is_planned_for),
		cmocka_unit_test(inert_blocks_answer_only_for_what_they_have),
		cmocka_unit_test(an_unreadable_range_of_a_plan_costs_only_itself),
		cmocka_unit_test(near_ranges_are_read_together),
		cmocka_unit_test(two_copies_come_with_one_call),
		cmocka_unit_test(what_is_of_no_use_is_forgotten),
		cmocka_unit_test(there_is_a_limit_to_what_is_kept),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
