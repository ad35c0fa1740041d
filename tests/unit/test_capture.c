/* SPDX-License-Identifier: MIT */
/* test_capture.c: what is read with a thread's registers, of a child of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snapshot/capture.h"
#include "target/stop.h"

#define NO_SUCH_SET 0x7fff

static uint64_t masks_read;

/* A mask of its own each time, so that it can be told which one is in use. */
static uint64_t next_mask(const void *set)
{
	return ++masks_read << 48;
}

struct setting {
	pid_t pid;
	struct arch arch;
	struct stopper stopper;
	struct memory_live live;
	struct capture capture;
	struct snapshot snapshot;
};

static pid_t start_child(void)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* This CPU's, but that the mask comes from the set @note. */
static void begin(struct setting *setting, unsigned note)
{
	masks_read = 0;
	*setting = (struct setting){ .pid = start_child(), .arch = *arch_host() };
	setting->arch.code_mask.note = note;
	setting->arch.code_mask.size = sizeof(uint64_t);
	setting->arch.parse_code_mask = next_mask;
	stopper_init(&setting->stopper);
	setting->capture.stopper = &setting->stopper;
	setting->capture.live = &setting->live;
	setting->capture.arch = &setting->arch;
	snapshot_init(&setting->snapshot);
}

static void end(struct setting *setting)
{
	snapshot_deinit(&setting->snapshot);
	stopper_deinit(&setting->stopper);
	kill(setting->pid, SIGKILL);
	while (waitpid(setting->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static enum reason grab_nothing(void *data, struct snapshot *snapshot)
{
	return REASON_OK;
}

static uint64_t mask_of_next_hold(struct setting *setting)
{
	const struct plan plan = { 0 };
	const struct capture_wants wants = { .plan = &plan, .registers = true };
	const struct thread thread = { .tid = setting->pid };
	assert_int_equal(capture_held(&setting->capture, &thread, &wants, grab_nothing, NULL,
				      &setting->snapshot),
			 REASON_OK);
	return setting->snapshot.registers.code_mask;
}

static void the_first_hold_has_the_mask_and_later_ones_do_not_ask(void **state)
{
	struct setting setting;
	begin(&setting, NT_PRSTATUS);
	assert_int_equal(mask_of_next_hold(&setting), 1ULL << 48);
	assert_int_equal(mask_of_next_hold(&setting), 1ULL << 48);
	capture_forget(&setting.capture, false);
	assert_int_equal(mask_of_next_hold(&setting), 1ULL << 48);
	assert_int_equal(masks_read, 1);
	end(&setting);
}

static void what_was_forgotten_is_asked_for_again(void **state)
{
	struct setting setting;
	begin(&setting, NT_PRSTATUS);
	mask_of_next_hold(&setting);
	capture_forget(&setting.capture, true);
	assert_int_equal(mask_of_next_hold(&setting), 2ULL << 48);
	assert_int_equal(mask_of_next_hold(&setting), 2ULL << 48);
	end(&setting);
}

static void without_the_set_no_address_is_signed(void **state)
{
	struct setting setting;
	begin(&setting, NO_SUCH_SET);
	assert_int_equal(mask_of_next_hold(&setting), 0);
	assert_int_equal(masks_read, 0);
	end(&setting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_hold_has_the_mask_and_later_ones_do_not_ask),
		cmocka_unit_test(what_was_forgotten_is_asked_for_again),
		cmocka_unit_test(without_the_set_no_address_is_signed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
