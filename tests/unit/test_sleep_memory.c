/* SPDX-License-Identifier: MIT */
/* test_sleep_memory.c: what is remembered of sleepers that were held once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sleep_memory.h"

#define RBP 6

static const struct arch *const arch = &arch_x86_64;

static struct arch_registers slept_at(uint64_t pc, uint64_t sp)
{
	struct arch_registers registers = { 0 };
	arch_register_set(&registers, arch->pc, pc);
	arch_register_set(&registers, arch->sp, sp);
	return registers;
}

static struct arch_registers held_at(uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct arch_registers registers = slept_at(pc, sp);
	arch_register_set(&registers, RBP, fp);
	return registers;
}

static void a_place_is_known_by_pc_and_sp(void **state)
{
	struct sleep_memory memory = { 0 };
	struct native_frame items[] = { { .pc = 0x1000, .sp = 0x7000 },
					{ .pc = 0x2000, .sp = 0x7040 } };
	struct native_frames frames = { .items = items, .count = 2 };
	struct arch_registers slept = slept_at(0x1000, 0x7000),
			      held = held_at(0x1000, 0x7000, 0x7030),
			      other_pc = slept_at(0x1001, 0x7000),
			      other_sp = slept_at(0x1000, 0x7008);
	assert_null(sleep_memory_find(&memory, arch, &slept));
	sleep_memory_keep(&memory, arch, &slept, &held, &frames);
	const struct sleep_place *place = sleep_memory_find(&memory, arch, &slept);
	assert_non_null(place);
	uint64_t fp;
	assert_true(arch_register_get(&place->registers, RBP, &fp));
	assert_int_equal(fp, 0x7030);
	assert_null(sleep_memory_find(&memory, arch, &other_pc));
	assert_null(sleep_memory_find(&memory, arch, &other_sp));
}

static void other_frames_are_not_taken_for_the_same(void **state)
{
	struct sleep_memory memory = { 0 };
	struct native_frame items[] = { { .pc = 0x1000, .sp = 0x7000 },
					{ .pc = 0x2000, .sp = 0x7040 } };
	struct native_frames frames = { .items = items, .count = 2 };
	struct arch_registers slept = slept_at(0x1000, 0x7000),
			      held = held_at(0x1000, 0x7000, 0x7030);
	sleep_memory_keep(&memory, arch, &slept, &held, &frames);
	const struct sleep_place *place = sleep_memory_find(&memory, arch, &slept);
	assert_true(sleep_place_matches(place, &frames));
	items[1].sp = 0x7050;
	assert_false(sleep_place_matches(place, &frames));
	items[1].sp = 0x7040;
	items[1].pc = 0x2001;
	assert_false(sleep_place_matches(place, &frames));
	items[1].pc = 0x2000;
	frames.count = 1;
	assert_false(sleep_place_matches(place, &frames));
}

/* It woke up and was held somewhere else: nothing is learnt of the place where it slept. */
static void what_was_held_elsewhere_is_not_kept(void **state)
{
	struct sleep_memory memory = { 0 };
	struct native_frames frames = { 0 };
	struct arch_registers slept = slept_at(0x1000, 0x7000), held = held_at(0x1002, 0x7000, 1);
	sleep_memory_keep(&memory, arch, &slept, &held, &frames);
	assert_null(sleep_memory_find(&memory, arch, &slept));
	assert_null(sleep_memory_find(&memory, arch, &held));
}

static void the_oldest_place_makes_room(void **state)
{
	struct sleep_memory memory = { 0 };
	struct native_frames frames = { 0 };
	for (uint64_t i = 0; i <= SLEEP_PLACES_MAX; i++) {
		struct arch_registers held = held_at(0x1000 + i, 0x7000, i);
		sleep_memory_keep(&memory, arch, &held, &held, &frames);
		/* The same place again takes no room. */
		sleep_memory_keep(&memory, arch, &held, &held, &frames);
	}
	for (uint64_t i = 0; i <= SLEEP_PLACES_MAX; i++) {
		struct arch_registers slept = slept_at(0x1000 + i, 0x7000);
		assert_true(!sleep_memory_find(&memory, arch, &slept) == (i == 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_is_known_by_pc_and_sp),
		cmocka_unit_test(other_frames_are_not_taken_for_the_same),
		cmocka_unit_test(what_was_held_elsewhere_is_not_kept),
		cmocka_unit_test(the_oldest_place_makes_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
