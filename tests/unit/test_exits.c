/* SPDX-License-Identifier: MIT */
/* Rows made from code: what is read of it, and how long a row is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "unwind/exits.h"

enum { RBX = 3, RSP = 7, RIP = 16 };

#define PAGE 4096
#define CODE UINT64_C(0x40000)

/* Three pages of code; one of them may be missing. */
struct code {
	struct memory memory;
	uint8_t bytes[3 * PAGE];
	unsigned missing; /* a bit a page */
	unsigned reads;
};

static bool code_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct code *code = (struct code *)memory;
	code->reads++;
	if (address < CODE || address - CODE > sizeof(code->bytes) - size)
		return false;
	for (uint64_t page = (address - CODE) / PAGE; page <= (address - CODE + size - 1) / PAGE;
	     page++)
		if (code->missing >> page & 1)
			return false;
	memcpy(buffer, code->bytes + (address - CODE), size);
	return true;
}

static struct code code;
static struct exits exits;

static int set_up(void **state)
{
	memset(&code, 0, sizeof(code));
	code.memory.read = code_read;
	memset(code.bytes, 0xcc, sizeof(code.bytes));
	return 0;
}

static int tear_down(void **state)
{
	exits_clear(&exits);
	exits = (struct exits){ 0 };
	return 0;
}

static uint64_t put(size_t at, const char *bytes, size_t size)
{
	memcpy(code.bytes + at, bytes, size);
	return CODE + at;
}

#define PUT(at, bytes) put(at, bytes, sizeof(bytes) - 1)

static const struct cfi_row *find(uint64_t pc)
{
	return exits_find(&exits, &arch_x86_64, &code.memory, pc, false);
}

static const struct cfi_row *find_after_call(uint64_t pc)
{
	return exits_find(&exits, &arch_x86_64, &code.memory, pc, true);
}

/* add $0x10,%rsp; pop %rbx; ret */
static void test_a_straight_way_out(void **state)
{
	const struct cfi_row *row = find(PUT(0x100, "\x48\x83\xc4\x10\x5b\xc3"));
	assert_non_null(row);
	assert_int_equal(row->cfa_kind, CFI_CFA_REGISTER);
	assert_int_equal(row->cfa_register, RSP);
	assert_int_equal(row->cfa_offset, 32);
	assert_int_equal(row->return_register, RIP);
	assert_int_equal(row->rule_count, 2);
	assert_int_equal(row->rules[0].reg, RBX);
	assert_int_equal(row->rules[0].kind, CFI_RULE_AT_CFA);
	assert_int_equal(row->rules[0].offset, -16);
	assert_int_equal(row->rules[1].reg, RIP);
	assert_int_equal(row->rules[1].offset, -8);
}

/* At the end of a mapping: ret is its last byte. */
static void test_the_last_bytes_of_a_mapping(void **state)
{
	code.missing = 1u << 1;
	assert_non_null(find(PUT(PAGE - 5, "\x48\x83\xc4\x10\xc3")));
	/* test %edi,%edi; je 1f; xorps %xmm4,%xmm4; 1: ret */
	code.missing = 1u << 0 | 1u << 2;
	assert_non_null(find(PUT(2 * PAGE - 8, "\x85\xff\x74\x03\x0f\x57\xe4\xc3")));
}

/* A loop over the border of two pages, whose way out is in a third: dec %ecx; je out; jmp back … */
static void test_a_loop_over_pages(void **state)
{
	uint64_t pc = PUT(PAGE - 2, "\xff\xc9\x0f\x84\xfa\x0f\x00\x00\xeb\xf6");
	PUT(2 * PAGE, "\x48\x83\xc4\x18\xc3");
	const struct cfi_row *row = find(pc);
	assert_non_null(row);
	assert_int_equal(row->cfa_offset, 32);
	/* From behind the jump out: the way leads over the page before. */
	row = find(pc + 8);
	assert_non_null(row);
	assert_int_equal(row->cfa_offset, 32);
	code.missing = 1u << 0;
	exits_clear(&exits);
	assert_null(find(pc + 8));
	code.missing = 1u << 2;
	exits_clear(&exits);
	assert_null(find(pc));
}

/*
 * A call to a function that does not come back, as the last instruction of its own: behind it another function begins. ret; and
 * test %edi,%edi; je 1f; xorps %xmm4,%xmm4; 1: add $8,%rsp; ret
 */
static void test_after_a_call(void **state)
{
	uint64_t pc = PUT(0x100, "\xc3");
	assert_non_null(find(pc));
	assert_null(find_after_call(pc));
	assert_non_null(find(pc));
	/* What calls nothing has not called. */
	pc = PUT(0x200, "\x85\xff\x74\x03\x0f\x57\xe4\x48\x83\xc4\x08\xc3");
	assert_non_null(find(pc));
	assert_null(find_after_call(pc));
	/* add $8,%rsp; ret */
	const struct cfi_row *row = find_after_call(PUT(0x300, "\x48\x83\xc4\x08\xc3"));
	assert_non_null(row);
	assert_int_equal(row->cfa_offset, 16);
}

static void test_what_is_no_code(void **state)
{
	assert_null(find(CODE + 0x200));
	assert_null(find(0));
	assert_null(find(UINT64_MAX));
	assert_null(find(CODE + sizeof(code.bytes)));
}

static void test_a_row_is_kept_for_a_while(void **state)
{
	uint64_t pc = PUT(0x100, "\x48\x83\xc4\x10\xc3");
	exits_refresh(&exits, true, NS_PER_S);
	assert_int_equal(find(pc)->cfa_offset, 24);
	unsigned reads = code.reads;
	PUT(0x100, "\x48\x83\xc4\x20\xc3");
	exits_refresh(&exits, false, NS_PER_S + NS_PER_MS);
	assert_int_equal(find(pc)->cfa_offset, 24);
	assert_int_equal(code.reads, reads);
	/* Other code may be there now. */
	exits_refresh(&exits, true, NS_PER_S + NS_PER_MS);
	assert_int_equal(find(pc)->cfa_offset, 40);
	PUT(0x100, "\x48\x83\xc4\x30\xc3");
	exits_refresh(&exits, false, 2 * NS_PER_S);
	assert_int_equal(find(pc)->cfa_offset, 56);
}

static void test_that_there_is_none_is_kept_too(void **state)
{
	uint64_t pc = PUT(0x100, "\x0f\x0b");
	assert_null(find(pc));
	unsigned reads = code.reads;
	assert_null(find(pc));
	assert_int_equal(code.reads, reads);
}

/* A loop in the first page whose way out is in the second: both are needed, the third is not. */
static void test_the_memory_that_an_answer_comes_from(void **state)
{
	static const char loop[] = "\x48\xff\xcf"             /* dec %rdi */
				   "\x0f\x84\xf4\x17\x00\x00" /* je +6132 */
				   "\xeb\xf5";                /* jmp to the start */
	uint64_t pc = put(0x20, loop, sizeof(loop) - 1);
	put(0x20 + 9 + 0x17f4, "\xc3", 1);
	struct memory_range range;
	assert_non_null(find(pc));
	assert_true(exits_memory(&arch_x86_64, &code.memory, pc, &range));
	assert_int_equal(range.address, CODE);
	assert_int_equal(range.size, 2 * PAGE);

	/* What is read at the place alone needs no pages; what has no answer has no memory. */
	assert_false(exits_memory(&arch_x86_64, &code.memory, CODE + 0x20 + 9 + 0x17f4, &range));
	assert_false(exits_memory(&arch_x86_64, &code.memory, CODE, &range));
}

/* There is no end to the addresses that a process may have: old rows make room. */
static void test_more_than_there_is_room_for(void **state)
{
	memset(code.bytes, '\xc3', sizeof(code.bytes));
	for (size_t i = 0; i < sizeof(code.bytes); i++)
		assert_non_null(find(CODE + i));
	assert_true(exits.rows.count < sizeof(code.bytes) / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_straight_way_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_last_bytes_of_a_mapping, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_loop_over_pages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_after_a_call, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_no_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_row_is_kept_for_a_while, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_that_there_is_none_is_kept_too, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_more_than_there_is_room_for, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_memory_that_an_answer_comes_from, set_up,
						tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
