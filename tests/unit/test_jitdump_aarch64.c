/* SPDX-License-Identifier: MIT */
/*
 * Given the jitdump of an aarch64 interpreter, a step out of its trampoline from each of its
 * instructions: signed, only marked for branches, and plain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "image/jitdump.h"
#include "unwind/cfi_table.h"
#include "unwind/step.h"

#define SECOND UINT64_C(1000000000)

#define FP 29
#define LR 30
#define SP 31

/* As a kernel with 48-bit addresses gives it. */
#define MASK   UINT64_C(0x007f000000000000)
#define SIGNED UINT64_C(0x006d000000000000)
#define CALLER UINT64_C(0x4bcf40)
#define STACK  UINT64_C(0xfffff1937ac0)
#define HIS_FP UINT64_C(0xfffff1937b30)
#define NO_LR  UINT64_C(0x6666)

/* {saved fp, saved lr} at STACK − 16 */
struct frame {
	struct memory memory;
	uint64_t words[2];
};

static bool frame_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	const struct frame *frame = (const struct frame *)memory;
	uint64_t offset = address - (STACK - 16);
	if (offset > 16 || size > 16 - offset)
		return false;
	memcpy(buffer, (const char *)frame->words + offset, size);
	return true;
}

/* What an instruction of the trampoline finds. */
struct moment {
	bool pushed;
	uint64_t lr;
};

static struct arch_registers registers_at(uint64_t pc, const struct moment *moment)
{
	struct arch_registers registers = { .code_mask = MASK };
	arch_register_set(&registers, arch_aarch64.pc, pc);
	arch_register_set(&registers, SP, moment->pushed ? STACK - 16 : STACK);
	arch_register_set(&registers, FP, moment->pushed ? STACK - 16 : HIS_FP);
	arch_register_set(&registers, LR, moment->lr);
	return registers;
}

static void assert_register(const struct arch_registers *registers, unsigned number, uint64_t want,
			    uint64_t pc)
{
	uint64_t value;
	assert_true(arch_register_get(registers, number, &value));
	if (value != want)
		fail_msg("at +%d: register %u is 0x%llx, not 0x%llx", (int)(pc & 0x7f), number,
			 (unsigned long long)value, (unsigned long long)want);
}

/* One step from @pc, with what the frame holds where it is pushed. */
static void check_step(struct cfi_table *table, uint64_t pc, const struct moment *moment,
		       uint64_t saved_lr)
{
	struct frame frame = { .memory.read = frame_read, .words = { HIS_FP, saved_lr } };
	struct step_context context = { .arch = &arch_aarch64,
					.memory = &frame.memory,
					.table = table };
	struct arch_registers registers = registers_at(pc, moment), caller;
	const struct cfi_row *row;
	uint64_t cfa;
	assert_int_equal(cfi_table_lookup(table, pc, &row), REASON_OK);
	assert_int_equal(step_row(&context, row, &registers, &caller, &cfa), REASON_OK);
	assert_int_equal(cfa, STACK);
	assert_register(&caller, arch_aarch64.pc, CALLER, pc);
	assert_register(&caller, SP, STACK, pc);
	assert_register(&caller, FP, HIS_FP, pc);
}

static struct cfi_table *table_of(const struct cfi_section *eh_frame)
{
	static const struct cfi_section none;
	struct cfi_table *table;
	assert_null(cfi_table_create(&arch_aarch64, eh_frame, NULL, &none, &table));
	return table;
}

/* paciasp; stp x29, x30, [sp, #-16]!; mov x29, sp; blr x3; ldp x29, x30, [sp], #16; autiasp; ret */
static const struct moment signed_trampoline[] = {
	{ false, CALLER },         { false, CALLER | SIGNED },
	{ true, CALLER | SIGNED }, { true, CALLER | SIGNED },
	{ true, NO_LR },           { false, CALLER | SIGNED },
	{ false, CALLER },
};

static void check_fixture(const char *name, const uint64_t addresses[5])
{
	char path[4096];
	snprintf(path, sizeof(path), TOP_SRCDIR "/fixtures/jitdump/%s", name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	struct jitdump *made = NULL;
	assert_null(jitdump_open_fd(fd, name, EM_AARCH64, &made));
	_cleanup_jitdump_ struct jitdump *jitdump = made;
	assert_false(jitdump_update(jitdump, SECOND));
	assert_int_equal(jitdump_count(jitdump), 5);

	for (size_t i = 0; i < 5; i++) {
		const struct code_range *range = jitdump_find(jitdump, NULL, addresses[i] + 16);
		assert_non_null(range);
		assert_int_equal(range->address, addresses[i]);
		assert_int_equal(range->size, 28);
		struct cfi_section eh_frame = { .vaddr = range->eh_frame_address,
						.size = range->eh_frame_size,
						.data = range->eh_frame };
		_cleanup_cfi_table_ struct cfi_table *table = table_of(&eh_frame);
		for (size_t at = 0; at < 7; at++)
			check_step(table, addresses[i] + 4 * at, &signed_trampoline[at],
				   CALLER | SIGNED);
	}
}

static void cpython_3_13(void **state)
{
	static const uint64_t addresses[] = { 0xffff9ec06280, 0xffff9ec06300, 0xffff9ec06380,
					      0xffff9ec06400, 0xffff9ec06480 };
	check_fixture("cpython-3.13.15-aarch64.dump", addresses);
}

static void cpython_3_14(void **state)
{
	static const uint64_t addresses[] = { 0xffffa4115f00, 0xffffa4115f80, 0xffffa4116000,
					      0xffffa4116080, 0xffffa4116100 };
	check_fixture("cpython-3.14.8-aarch64.dump", addresses);
}

static void cpython_3_15(void **state)
{
	static const uint64_t addresses[] = { 0xffff98ba6580, 0xffff98ba6600, 0xffff98ba6680,
					      0xffff98ba6700, 0xffff98ba6780 };
	check_fixture("cpython-3.15.0-aarch64.dump", addresses);
}

/* clang-format off */

/* CIE "zR", code alignment 4, data alignment −8, return address in x30, cfa = sp; its FDE is for @size bytes, 0x40 before its pointer. */
#define CIE       0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0, 0, 0, 0, 0
#define FDE(size) 0x1c, 0, 0, 0, 0x1c, 0, 0, 0, 0xc0, 0xff, 0xff, 0xff, size, 0, 0, 0, 0

static const uint8_t with_branch_marks[] = { CIE, FDE(24), 0x41, 0x41, 0x0e, 16, 0x9d, 2, 0x9e, 1, 0x43, 0xdd, 0xde, 0x0e, 0, 0, 0 };
static const uint8_t plain[] = { CIE, FDE(20), 0x41, 0x0e, 16, 0x9d, 2, 0x9e, 1, 0x43, 0xdd, 0xde, 0x0e, 0, 0, 0, 0 };

/* clang-format on */

/* Built as the interpreters' sources write it where only branches are marked: bti c; stp; mov; blr; ldp; ret. */
static void trampoline_with_branch_marks(void **state)
{
	static const struct moment moments[] = {
		{ false, CALLER }, { false, CALLER }, { true, CALLER },
		{ true, CALLER },  { true, NO_LR },   { false, CALLER },
	};
	struct cfi_section eh_frame = { .vaddr = 0x1020,
					.size = sizeof(with_branch_marks),
					.data = with_branch_marks };
	_cleanup_cfi_table_ struct cfi_table *table = table_of(&eh_frame);
	for (size_t at = 0; at < 6; at++)
		check_step(table, 0x1000 + 4 * at, &moments[at], CALLER);
}

/* And where nothing is protected: stp; mov; blr; ldp; ret. */
static void plain_trampoline(void **state)
{
	static const struct moment moments[] = {
		{ false, CALLER }, { true, CALLER },  { true, CALLER },
		{ true, NO_LR },   { false, CALLER },
	};
	struct cfi_section eh_frame = { .vaddr = 0x1020, .size = sizeof(plain), .data = plain };
	_cleanup_cfi_table_ struct cfi_table *table = table_of(&eh_frame);
	for (size_t at = 0; at < 5; at++)
		check_step(table, 0x1000 + 4 * at, &moments[at], CALLER);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpython_3_13),     cmocka_unit_test(cpython_3_14),
		cmocka_unit_test(cpython_3_15),     cmocka_unit_test(trampoline_with_branch_marks),
		cmocka_unit_test(plain_trampoline),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
