/* SPDX-License-Identifier: MIT */
/* What each CPU is said to be: given these register sets, these registers; and that no CPU lacks a part. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "arch/arch.h"
#include "python/layout.h"
#include "python/layout/table.h"
#include "python/tsd_layout.h"

static const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };

#define FOR_EACH_MACHINE(machine)                                                                  \
	for (const uint16_t *machine = machines;                                                   \
	     machine < machines + sizeof(machines) / sizeof(machines[0]); machine++)

static uint64_t value_of(const struct arch_registers *registers, unsigned number)
{
	uint64_t value = 0;
	assert_true(arch_register_get(registers, number, &value));
	return value;
}

static void assert_has(const struct arch *arch, unsigned number)
{
	assert_true(number < arch->registers);
	assert_non_null(arch->register_name(number));
}

static void test_every_cpu_has_every_hook(void **state)
{
	FOR_EACH_MACHINE(machine)
	{
		const struct arch *arch = arch_by_machine(*machine);
		assert_non_null(arch);
		assert_int_equal(arch->elf_machine, *machine);
		assert_string_equal(arch->name, arch_machine_name(*machine));
		assert_true(arch->registers > 0 && arch->registers <= ARCH_REGISTERS_MAX);
		const unsigned named[] = { arch->pc, arch->sp, arch->fp, arch->return_address,
					   arch->result };
		for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
			assert_has(arch, named[i]);
		for (unsigned i = 0; i < arch->registers; i++)
			assert_has(arch, i);
		assert_null(arch->register_name(arch->registers));
		assert_true(arch->kept && !(arch->kept >> arch->registers));
		assert_non_null(arch->parse_registers);
		assert_non_null(arch->signal_offset);
		assert_true(arch->general.note && arch->general.size);
		const struct arch_regset sets[] = { arch->general, arch->thread_pointer,
						    arch->code_mask, arch->keys };
		for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
			assert_true(sets[i].size <= ARCH_REGSET_MAX &&
				    !sets[i].note == !sets[i].size);
		assert_int_equal(!arch->code_mask.note, !arch->parse_code_mask);
		assert_int_equal(!arch->keys.note, !arch->key_names);
		assert_true(arch->feature_property && arch->feature_names &&
			    arch->feature_names[0]);
		/* Either the call stores the return address, or it is in a register of its own. */
		assert_int_equal(arch->return_address == arch->pc, arch->return_address_at != 0);
		assert_null(arch->syscall_name(-1));
		assert_null(arch->syscall_name(100000));
	}
	assert_ptr_equal(arch_by_machine(arch_host()->elf_machine), arch_host());
}

static void test_every_cpu_has_its_code_read(void **state)
{
	FOR_EACH_MACHINE(machine)
	{
		const struct flow *flow = flow_by_machine(*machine);
		const struct decoder *decoder = decoder_by_machine(*machine);
		assert_non_null(flow);
		assert_non_null(flow->exit);
		assert_non_null(flow->stub);
		assert_true(flow->stub_step > 0);
		assert_non_null(flow->jump);
		assert_non_null(flow->signal_return);
		assert_non_null(decoder);
		assert_non_null(decoder->decode_key);
		assert_non_null(decoder->decode_interp_head);
		assert_non_null(decoder->is_tail_call);
	}
}

static void test_every_cpu_has_its_layouts(void **state)
{
	FOR_EACH_MACHINE(machine)
	{
		const char *cpu = arch_by_machine(*machine)->name;
		unsigned glibc = 0, musl = 0, versions = 0;
		size_t count;
		const struct tsd_layout *rows = tsd_rows(&count);
		for (size_t i = 0; i < count; i++) {
			bool is_cpu = !strcmp(rows[i].cpu, cpu);
			glibc += is_cpu && rows[i].libc == TSD_GLIBC;
			musl += is_cpu && rows[i].libc == TSD_MUSL;
		}
		assert_true(glibc > 0);
		assert_true(musl > 0);
		for (size_t i = 0; i < py_layout_rows_count; i++)
			versions += py_layout_rows[i].machine == *machine;
		assert_true(versions >= 7);
	}
}

static void test_other_cpus_are_known_by_name_only(void **state)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} others[] = {
		{ EM_386, "386" },     { EM_ARM, "arm" },    { EM_RISCV, "riscv" },
		{ EM_PPC64, "ppc64" }, { EM_S390, "s390x" }, { 12345, "machine 12345" },
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_null(arch_by_machine(others[i].machine));
		assert_null(flow_by_machine(others[i].machine));
		assert_null(decoder_by_machine(others[i].machine));
		assert_string_equal(arch_machine_name(others[i].machine), others[i].name);
	}
}

/* Each word of the set is its own number. */
static void fill(uint64_t *words, size_t size)
{
	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = i;
}

static void test_registers_of_x86_64(void **state)
{
	const struct arch *arch = arch_by_machine(EM_X86_64);
	uint64_t general[27];
	struct arch_registers registers;
	assert_int_equal(arch->general.size, sizeof(general));
	fill(general, sizeof(general));
	arch->parse_registers(general, NULL, &registers);
	/* struct user_regs_struct: r15, r14, r13, r12, rbp, rbx, …, rip the 17th, rsp the 20th, fs_base the 22nd */
	assert_int_equal(value_of(&registers, 15), 0);
	assert_int_equal(value_of(&registers, 6), 4);
	assert_int_equal(value_of(&registers, 3), 5);
	assert_int_equal(value_of(&registers, 16), 16);
	assert_int_equal(value_of(&registers, 7), 19);
	assert_true(registers.has_thread_pointer);
	assert_int_equal(registers.thread_pointer, 21);
	assert_int_equal(arch->signal_offset(16), 168);
}

static void test_registers_of_aarch64(void **state)
{
	const struct arch *arch = arch_by_machine(EM_AARCH64);
	uint64_t general[34], thread[2] = { UINT64_C(0xffff12345678), 99 };
	struct arch_registers registers;
	assert_int_equal(arch->general.size, sizeof(general));
	fill(general, sizeof(general));
	arch->parse_registers(general, thread, &registers);
	for (unsigned i = 0; i < 31; i++)
		assert_int_equal(value_of(&registers, i), i);
	assert_int_equal(value_of(&registers, arch->sp), 31);
	assert_int_equal(value_of(&registers, arch->pc), 32);
	assert_true(registers.has_thread_pointer);
	assert_int_equal(registers.thread_pointer, UINT64_C(0xffff12345678));
	assert_int_equal(registers.code_mask, 0);
	arch->parse_registers(general, NULL, &registers);
	assert_false(registers.has_thread_pointer);
	/* x19 to x30 and the stack pointer */
	assert_int_equal(arch->kept, UINT64_C(0xfff80000));
	/* struct rt_sigframe: 128 of siginfo, 168 + 8 of ucontext before sigcontext, 8 of fault_address */
	assert_int_equal(arch->signal_offset(0), 312);
	assert_int_equal(arch->signal_offset(30), 552);
	assert_int_equal(arch->signal_offset(31), 560);
	assert_int_equal(arch->signal_offset(32), 568);
	assert_string_equal(arch->syscall_name(98), "futex");
	assert_string_equal(arch->syscall_name(22), "epoll_pwait");
}

static void test_addresses_of_code(void **state)
{
	const struct arch *arch = arch_by_machine(EM_AARCH64);
	/* struct user_pac_mask: data, instructions */
	const uint64_t set[] = { 1, UINT64_C(0x007f000000000000) };
	struct arch_registers registers = { .code_mask = arch->parse_code_mask(set) };
	assert_int_equal(registers.code_mask, UINT64_C(0x007f000000000000));
	assert_int_equal(arch_code_address(arch, &registers, UINT64_C(0x006d0000004bcf40)),
			 0x4bcf40);
	assert_int_equal(arch_code_address(arch, &registers, UINT64_C(0xb46d0000004bcf40)),
			 0x4bcf40);
	/* One of the kernel's is left as it is. */
	assert_int_equal(arch_code_address(arch, &registers, UINT64_C(0xff80000000000010)),
			 UINT64_C(0xff80000000000010));
	/* Of data only the tag is not looked at. */
	assert_int_equal(arch_untagged(arch, UINT64_C(0xb46d0000004bcf40)),
			 UINT64_C(0x006d0000004bcf40));
	assert_int_equal(arch_untagged(&arch_x86_64, UINT64_C(0xb46d0000004bcf40)),
			 UINT64_C(0xb46d0000004bcf40));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cpu_has_every_hook),
		cmocka_unit_test(test_every_cpu_has_its_code_read),
		cmocka_unit_test(test_every_cpu_has_its_layouts),
		cmocka_unit_test(test_other_cpus_are_known_by_name_only),
		cmocka_unit_test(test_registers_of_x86_64),
		cmocka_unit_test(test_registers_of_aarch64),
		cmocka_unit_test(test_addresses_of_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
