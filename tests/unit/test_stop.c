/* SPDX-License-Identifier: MIT */
/* test_stop.c: threads that do not stop when they are asked to. What can be tried only on real programs is in tests/live. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "target/ptrace.h"
#include "target/stop.h"

static pid_t child;

static pid_t start_child(void)
{
	child = fork();
	assert_true(child >= 0);
	while (!child)
		pause();
	return child;
}

/* It would keep the output of a test that has failed open. */
static int end_child(void **state)
{
	return child > 0 ? kill(child, SIGKILL) : 0;
}

/* Seen on a thread that was in an exec when it was asked: it ran on as our tracee, and was not sampled until the end. */
static void a_stop_that_was_not_heard_is_asked_for_again(void **state)
{
	struct stopper stopper;
	stopper_init(&stopper);
	pid_t pid = start_child();
	int errnum = ptrace_seize(pid);
	if (errnum) {
		print_message("ptrace is refused here: errno %d\n", errnum);
		skip();
	}
	struct stop_late *late = stop_pending_append(&stopper.pending);
	assert_non_null(late);
	*late = (struct stop_late){ pid, pid, clock_now_ns() };

	uint64_t deadline_ns = clock_now_ns() + 30 * NS_PER_S;
	while (stop_is_pending(&stopper, pid) && clock_now_ns() < deadline_ns) {
		stop_collect(&stopper);
		stop_wait(20 * NS_PER_MS);
	}
	assert_false(stop_is_pending(&stopper, pid));

	/* It was let go: another can stop it, and it dies of a signal of its own. */
	struct stop stop = stop_thread(&stopper, pid, 5 * NS_PER_S);
	assert_int_equal(stop.kind, STOP_INTERRUPTED);
	stop_release(&stopper, &stop);
	assert_false(stop_is_pending(&stopper, pid));
	assert_int_equal(kill(pid, SIGTERM), 0);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	child = 0;
	stopper_deinit(&stopper);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_stop_that_was_not_heard_is_asked_for_again, end_child),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
