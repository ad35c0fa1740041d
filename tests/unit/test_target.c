/* SPDX-License-Identifier: MIT */
/* test_target.c: stops, reading and activity of a child of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/clock.h"
#include "target/activity.h"
#include "target/launch.h"
#include "target/memory_live.h"
#include "target/ptrace.h"
#include "target/stop.h"
#include "target/threads.h"

#define PATIENCE_NS (20 * NS_PER_S)

static volatile sig_atomic_t caught, caught_value;

static void catch (int number, siginfo_t *info, void *context)
{
	caught++;
	caught_value = info->si_value.sival_int;
}

/* A child that says one byte and then does @work; dies with us. */
static pid_t start(void (*work)(int fd), int *fd_ret)
{
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fds[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		work(fds[1]);
		_exit(0);
	}
	close(fds[1]);
	char byte;
	assert_int_equal(read(fds[0], &byte, 1), 1);
	*fd_ret = fds[0];
	return pid;
}

static void end(pid_t pid, int fd)
{
	kill(pid, SIGKILL);
	close(fd);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void say(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(1);
}

static void spin(int fd)
{
	say(fd);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static void sleep_for_ever(int fd)
{
	say(fd);
	for (;;)
		ppoll(NULL, 0, NULL, NULL);
}

static char state_of(pid_t pid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[n] = '\0';
	char *p = strrchr(text, ')');
	return p ? p[2] : 0;
}

static bool comes_to(pid_t pid, const char *states)
{
	uint64_t start_ns = clock_now_ns();
	while (clock_now_ns() - start_ns < PATIENCE_NS) {
		if (strchr(states, state_of(pid)))
			return true;
		usleep(1000);
	}
	return false;
}

/* True once the held thread is where it is to spin. It is a copy of us: its code is where ours is. */
static bool is_held_spinning(struct stopper *stopper, pid_t pid)
{
	const struct arch *arch = arch_host();
	struct stop stop = stop_thread(stopper, pid, PATIENCE_NS);
	assert_int_equal(stop.kind, STOP_INTERRUPTED);
	assert_int_equal(state_of(pid), 't');

	uint8_t general[ARCH_REGSET_MAX], thread[ARCH_REGSET_MAX];
	size_t size = sizeof(general);
	assert_int_equal(ptrace_get_regset(pid, arch->general.note, general, &size), 0);
	assert_int_equal(size, arch->general.size);
	size = sizeof(thread);
	if (arch->thread_pointer.note)
		assert_int_equal(ptrace_get_regset(pid, arch->thread_pointer.note, thread, &size),
				 0);
	assert_true(size >= arch->thread_pointer.size);
	struct arch_registers registers;
	arch->parse_registers(general, thread, &registers);
	uint64_t pc = 0, sp = 0;
	assert_true(arch_register_get(&registers, arch->pc, &pc));
	assert_true(arch_register_get(&registers, arch->sp, &sp));
	assert_true(registers.has_thread_pointer);
	stop_release(stopper, &stop);

	uint64_t function = (uint64_t)(uintptr_t)spin;
	if (pc < function || pc >= function + 256)
		return false;
	uint64_t here = (uint64_t)(uintptr_t)&sp;
	assert_in_range(sp, here - 65536, here + 65536);
	return true;
}

static void a_running_thread_is_held_and_runs_on(void **state)
{
	int fd;
	pid_t pid = start(spin, &fd);
	struct stopper stopper;
	stopper_init(&stopper);
	/* It may still be on its way back from the write that said it had started. */
	bool seen = false;
	for (uint64_t start_ns = clock_now_ns(); !seen && clock_now_ns() - start_ns < PATIENCE_NS;)
		seen = is_held_spinning(&stopper, pid);
	assert_true(seen);
	assert_true(comes_to(pid, "R"));
	stopper_deinit(&stopper);
	end(pid, fd);
}

static void signal_in_flight(int fd)
{
	struct sigaction action = { .sa_sigaction = catch, .sa_flags = SA_SIGINFO };
	sigaction(SIGRTMIN, &action, NULL);
	say(fd);
	int last = 0;
	for (;;) {
		if (caught == last)
			continue;
		last = caught;
		char byte = (char)(caught_value);
		if (write(fd, &byte, 1) != 1)
			_exit(1);
	}
}

static void expect_byte(int fd, int value)
{
	char byte;
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_int_equal(byte, value);
}

static void a_signal_on_its_way_arrives_with_its_value(void **state)
{
	int fd, status;
	pid_t pid = start(signal_in_flight, &fd);
	struct stopper stopper;
	stopper_init(&stopper);

	/* Seized and not yet asked to stop: the signal makes the stop. */
	union sigval value = { .sival_int = 77 };
	assert_int_equal(ptrace_seize(pid), 0);
	assert_int_equal(sigqueue(pid, SIGRTMIN, value), 0);
	assert_int_equal(wait4(pid, &status, __WALL, NULL), pid);
	struct stop stop = stop_classify(pid, status);
	assert_int_equal(stop.kind, STOP_SIGNAL);
	assert_int_equal(stop.signal, SIGRTMIN);
	stop_release(&stopper, &stop);
	expect_byte(fd, 77);

	/* And at any other moment. */
	for (int i = 0; i < 300; i++) {
		value.sival_int = i & 127;
		assert_int_equal(sigqueue(pid, SIGRTMIN, value), 0);
		stop = stop_thread(&stopper, pid, PATIENCE_NS);
		assert_true(stop_is_held(&stop));
		stop_release(&stopper, &stop);
		expect_byte(fd, i & 127);
	}
	stopper_deinit(&stopper);
	end(pid, fd);
}

static void job_control_keeps_its_hold(void **state)
{
	int fd;
	pid_t pid = start(spin, &fd);
	struct stopper stopper;
	stopper_init(&stopper);
	kill(pid, SIGSTOP);
	assert_true(comes_to(pid, "T"));
	struct stop stop = stop_thread(&stopper, pid, PATIENCE_NS);
	assert_int_equal(stop.kind, STOP_GROUP);
	stop_release(&stopper, &stop);
	assert_true(comes_to(pid, "T"));
	kill(pid, SIGCONT);
	assert_true(comes_to(pid, "R"));
	stopper_deinit(&stopper);
	end(pid, fd);
}

static void a_thread_that_is_gone_is_refused(void **state)
{
	int fd;
	pid_t pid = start(spin, &fd);
	end(pid, fd);
	struct stopper stopper;
	stopper_init(&stopper);
	struct stop stop = stop_thread(&stopper, pid, PATIENCE_NS);
	assert_int_equal(stop.kind, STOP_REFUSED);
	assert_int_equal(stop.errnum, ESRCH);
	assert_int_equal(stop_probe(pid), ESRCH);
	stopper_deinit(&stopper);
}

static void a_probe_leaves_a_sleeper_asleep(void **state)
{
	int fd;
	pid_t pid = start(sleep_for_ever, &fd);
	assert_true(comes_to(pid, "S"));
	struct process *process;
	assert_null(process_open(pid, &process));
	struct activity_files files;
	struct activity before = { 0 }, after = { 0 };
	activity_open(&files, process, pid);
	activity_look(&files, &before);
	activity_count(&files, &before);
	assert_int_equal(before.state, ACTIVITY_BLOCKED);
	assert_int_equal(before.syscall, SYS_ppoll);

	assert_int_equal(stop_probe(pid), 0);
	activity_look(&files, &after);
	activity_count(&files, &after);
	assert_true(activity_same_sleep(&before, &after));
	assert_true(activity_rests(&files, &before));

	/* And a real stop is seen as what it is. */
	struct stopper stopper;
	stopper_init(&stopper);
	struct stop stop = stop_thread(&stopper, pid, PATIENCE_NS);
	assert_true(stop_is_held(&stop));
	stop_release(&stopper, &stop);
	assert_true(comes_to(pid, "S"));
	assert_false(activity_rests(&files, &before));
	activity_look(&files, &after);
	activity_count(&files, &after);
	assert_false(activity_same_sleep(&before, &after));
	stopper_deinit(&stopper);
	activity_close(&files);
	process_close(process);
	end(pid, fd);
}

/* Asleep uninterruptibly until its child ends: what vfork makes of a parent. */
static void wait_in_vfork(int fd)
{
	say(fd);
	if (!vfork()) {
		/* Until it gets SIGUSR1. */
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		sigprocmask(SIG_BLOCK, &set, NULL);
		syscall(SYS_rt_sigtimedwait, &set, NULL, NULL, 8);
		_exit(0);
	}
	for (;;)
		pause();
}

static pid_t vforked_child_of(pid_t parent)
{
	char path[64], text[256];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[n] = '\0';
	return atoi(text);
}

static void a_thread_that_can_not_stop_is_let_go_later(void **state)
{
	int fd;
	pid_t pid = start(wait_in_vfork, &fd);
	assert_true(comes_to(pid, "D"));
	pid_t child = 0;
	for (uint64_t start_ns = clock_now_ns(); !child && clock_now_ns() - start_ns < PATIENCE_NS;
	     usleep(1000))
		child = vforked_child_of(pid);
	assert_true(child > 0);

	struct stopper stopper;
	stopper_init(&stopper);
	struct stop stop = stop_thread(&stopper, pid, 10 * NS_PER_MS);
	assert_int_equal(stop.kind, STOP_TIMEOUT);
	assert_true(stop_is_pending(&stopper, pid));
	/* It is not seized a second time. */
	stop = stop_thread(&stopper, pid, 10 * NS_PER_MS);
	assert_int_equal(stop.kind, STOP_TIMEOUT);

	kill(child, SIGUSR1);
	for (uint64_t start_ns = clock_now_ns();
	     stopper.pending.count && clock_now_ns() - start_ns < PATIENCE_NS;) {
		stop_wait(NS_PER_MS);
		stop_collect(&stopper);
	}
	assert_int_equal(stopper.pending.count, 0);
	assert_true(comes_to(pid, "S"));
	stopper_deinit(&stopper);
	end(pid, fd);
}

static uint64_t word_to_read = UINT64_C(0x1122334455667788);

static void memory_is_the_same_by_every_method(void **state)
{
	int fd;
	pid_t pid = start(spin, &fd);
	struct process *process;
	struct stopper stopper;
	struct memory_live live;
	stopper_init(&stopper);
	assert_null(process_open(pid, &process));
	uint64_t address = (uint64_t)(uintptr_t)&word_to_read;
	assert_null(memory_live_init(&live, process, address));
	live.stopper = &stopper;
	assert_int_equal(live.method, MEMORY_VM_READV);
	for (enum memory_method method = MEMORY_VM_READV; method <= MEMORY_PEEK; method++) {
		uint8_t bytes[5] = { 0 };
		uint64_t word = 0;
		live.method = method;
		assert_true(memory_read_u64(&live.memory, address, &word));
		assert_int_equal(word, word_to_read);
		assert_true(memory_read(&live.memory, address + 2, bytes, sizeof(bytes)));
		assert_memory_equal(bytes, "\x66\x55\x44\x33\x22", 5);
		assert_false(memory_read_u64(&live.memory, 8, &word));
		assert_false(memory_read_u64(&live.memory, UINT64_MAX - 8, &word));
	}
	assert_true(memory_live_same_image(&live));
	assert_true(comes_to(pid, "R"));
	memory_live_deinit(&live);
	process_close(process);
	stopper_deinit(&stopper);
	end(pid, fd);
}

static void exec_when_told(int fd)
{
	say(fd);
	raise(SIGSTOP);
	execl("/bin/sleep", "sleep", "1000", NULL);
	_exit(1);
}

static void an_exec_is_noticed(void **state)
{
	int fd;
	pid_t pid = start(exec_when_told, &fd);
	assert_true(comes_to(pid, "T"));
	struct process *process;
	struct memory_live live;
	assert_null(process_open(pid, &process));
	assert_null(memory_live_init(&live, process, (uint64_t)(uintptr_t)&word_to_read));
	assert_true(memory_live_same_image(&live));
	kill(pid, SIGCONT);
	uint64_t start_ns = clock_now_ns();
	while (memory_live_same_image(&live) && clock_now_ns() - start_ns < PATIENCE_NS)
		usleep(1000);
	assert_false(memory_live_same_image(&live));
	memory_live_deinit(&live);
	process_close(process);
	end(pid, fd);
}

static void what_is_killed_under_our_hands_is_collected(void **state)
{
	int fd;
	pid_t pid = start(spin, &fd);
	struct stopper stopper;
	stopper_init(&stopper);
	struct stop stop = stop_thread(&stopper, pid, PATIENCE_NS);
	assert_int_equal(stop.kind, STOP_INTERRUPTED);
	kill(pid, SIGKILL);
	assert_true(comes_to(pid, "Z"));
	stop_release(&stopper, &stop);
	for (uint64_t start_ns = clock_now_ns();
	     stopper.pending.count && clock_now_ns() - start_ns < PATIENCE_NS;) {
		stop_wait(NS_PER_MS);
		stop_collect(&stopper);
	}
	assert_int_equal(stopper.pending.count, 0);
	/* Collected: not even a zombie is left to keep its process from going on. */
	assert_int_equal(state_of(pid), 0);
	stopper_deinit(&stopper);
	close(fd);
}

static void *spin_in_thread(void *fd)
{
	/* Until the leader is gone. */
	while (state_of(getpid()) != 'Z')
		usleep(1000);
	spin((int)(intptr_t)fd);
	return NULL;
}

static void end_the_leader(int fd)
{
	pthread_t thread;
	pthread_create(&thread, NULL, spin_in_thread, (void *)(intptr_t)fd);
	pthread_exit(NULL);
}

static void wait_for_byte_and_end_the_leader(int fd)
{
	say(fd);
	raise(SIGSTOP);
	end_the_leader(fd);
}

static void reading_goes_on_when_the_main_thread_ends(void **state)
{
	int fd;
	pid_t pid = start(wait_for_byte_and_end_the_leader, &fd);
	assert_true(comes_to(pid, "T"));
	struct process *process;
	struct memory_live live;
	assert_null(process_open(pid, &process));
	assert_null(memory_live_init(&live, process, (uint64_t)(uintptr_t)&word_to_read));
	kill(pid, SIGCONT);
	char byte;
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_int_equal(state_of(pid), 'Z');

	uint64_t word = 0;
	struct memory_piece piece = { (uint64_t)(uintptr_t)&word_to_read, sizeof(word), &word,
				      false };
	memory_live_readv(&live, &piece, 1);
	assert_true(piece.ok);
	assert_int_equal(word, word_to_read);
	assert_true(live.stale);
	assert_null(process_refresh(process));
	assert_int_not_equal(process->tid, pid);
	memory_live_adopt(&live, process->tid);
	word = 0;
	memory_live_readv(&live, &piece, 1);
	assert_true(piece.ok);
	assert_false(live.stale);
	memory_live_deinit(&live);
	process_close(process);
	end(pid, fd);
}

static void stopped_and_ended_threads_are_told_from_sleepers(void **state)
{
	int fd;
	pid_t pid = start(spin, &fd);
	struct process *process;
	struct activity_files files;
	struct activity activity = { 0 };
	assert_null(process_open(pid, &process));
	activity_open(&files, process, pid);
	kill(pid, SIGSTOP);
	assert_true(comes_to(pid, "T"));
	activity_look(&files, &activity);
	assert_int_not_equal(activity.state, ACTIVITY_RUNNING);
	activity_look_closely(&files, &activity);
	assert_int_equal(activity.state, ACTIVITY_STOPPED);
	kill(pid, SIGKILL);
	assert_true(comes_to(pid, "Z"));
	activity_look(&files, &activity);
	assert_int_equal(activity.state, ACTIVITY_ENDED);
	activity_close(&files);
	process_close(process);
	end(pid, fd);
}

static void without_schedstat_switches_are_counted(void **state)
{
	int fd;
	pid_t pid = start(sleep_for_ever, &fd);
	struct process *process;
	struct activity_files files;
	struct activity before = { 0 }, after = { 0 };
	assert_true(comes_to(pid, "S"));
	assert_null(process_open(pid, &process));
	activity_open(&files, process, pid);
	close(files.schedstat_fd);
	files.schedstat_fd = -1;
	activity_look(&files, &before);
	/* Not counted yet: nothing is known of what happened in between. */
	assert_false(activity_same_sleep(&before, &before));
	activity_count(&files, &before);
	assert_true(before.runs > 0);
	activity_look(&files, &after);
	activity_count(&files, &after);
	assert_true(activity_same_sleep(&before, &after));

	struct stopper stopper;
	stopper_init(&stopper);
	struct stop stop = stop_thread(&stopper, pid, PATIENCE_NS);
	stop_release(&stopper, &stop);
	assert_true(comes_to(pid, "S"));
	activity_look(&files, &after);
	activity_count(&files, &after);
	assert_false(activity_same_sleep(&before, &after));
	stopper_deinit(&stopper);
	activity_close(&files);
	process_close(process);
	end(pid, fd);
}

static void a_launched_program_starts_as_we_did(void **state)
{
	struct launch_inherited inherited;
	struct launch launch;
	struct sigaction old;
	struct rlimit limit, changed;
	assert_int_equal(sigaction(SIGHUP, NULL, &old), 0);
	/* A shell ignores it for what it runs in the background. */
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_IGN);
	launch_remember(&inherited);
	assert_true(launch_was_ignored(&inherited, SIGHUP));
	assert_false(launch_was_ignored(&inherited, SIGINT));
	limit = changed = inherited.files;
	changed.rlim_cur = 77;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &changed), 0);
	signal(SIGINT, SIG_IGN);

	char *program[] = { "/bin/sh", "-c", "exit $(($(ulimit -n) % 256))", NULL };
	assert_null(launch_start(program, &inherited, &launch));
	assert_null(launch_go(&launch));
	launch_wait(&launch);
	assert_int_equal(launch_exit_status(&launch), (int)(limit.rlim_cur % 256));
	launch_deinit(&launch);

	char *sleeper[] = { "/bin/sh", "-c", "exec sleep 1000", NULL };
	char path[64], text[4096];
	assert_null(launch_start(sleeper, &inherited, &launch));
	assert_null(launch_go(&launch));
	snprintf(path, sizeof(path), "/proc/%d/status", (int)launch.pid);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	char *line = strstr(text, "SigIgn:");
	assert_non_null(line);
	unsigned long long ignored = strtoull(line + 7, NULL, 16);
	assert_true(ignored >> (SIGHUP - 1) & 1);
	assert_false(ignored >> (SIGINT - 1) & 1);
	kill(launch.pid, SIGKILL);
	launch_wait(&launch);
	assert_int_equal(launch_exit_status(&launch), 128 + SIGKILL);
	launch_deinit(&launch);

	sigaction(SIGHUP, &old, NULL);
	signal(SIGINT, SIG_DFL);
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void a_program_that_is_not_there_is_named(void **state)
{
	struct launch_inherited inherited;
	struct launch launch;
	launch_remember(&inherited);
	char *program[] = { "/nowhere/at/all", NULL };
	assert_null(launch_start(program, &inherited, &launch));
	struct error *err = launch_go(&launch);
	assert_non_null(err);
	assert_int_equal(err->errnum, ENOENT);
	error_destroy(err);
	launch_deinit(&launch);
}

static void syscall_files_are_understood(void **state)
{
	struct activity activity = { 0 };
	assert_true(activity_parse_syscall("running\n", &activity));
	assert_int_equal(activity.state, ACTIVITY_RUNNING);
	assert_true(activity_parse_syscall(
		"232 0x4 0x7ffd1 0x3e8 0xffffffff 0x0 0x8 0x7ffd0ffe8 0x7f1122334455\n",
		&activity));
	assert_int_equal(activity.state, ACTIVITY_BLOCKED);
	assert_int_equal(activity.syscall, 232);
	assert_int_equal(activity.sp, 0x7ffd0ffe8);
	assert_int_equal(activity.pc, 0x7f1122334455);
	assert_true(activity_parse_syscall("-1 0x7ffd0 0x401000\n", &activity));
	assert_int_equal(activity.syscall, ACTIVITY_NO_SYSCALL);
	assert_int_equal(activity.sp, 0x7ffd0);
	assert_false(activity_parse_syscall("", &activity));
	assert_false(activity_parse_syscall("232 0x4\n", &activity));
	assert_false(activity_parse_syscall("nonsense", &activity));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_running_thread_is_held_and_runs_on),
		cmocka_unit_test(a_signal_on_its_way_arrives_with_its_value),
		cmocka_unit_test(job_control_keeps_its_hold),
		cmocka_unit_test(a_thread_that_is_gone_is_refused),
		cmocka_unit_test(a_probe_leaves_a_sleeper_asleep),
		cmocka_unit_test(a_thread_that_can_not_stop_is_let_go_later),
		cmocka_unit_test(memory_is_the_same_by_every_method),
		cmocka_unit_test(an_exec_is_noticed),
		cmocka_unit_test(what_is_killed_under_our_hands_is_collected),
		cmocka_unit_test(reading_goes_on_when_the_main_thread_ends),
		cmocka_unit_test(stopped_and_ended_threads_are_told_from_sleepers),
		cmocka_unit_test(without_schedstat_switches_are_counted),
		cmocka_unit_test(a_launched_program_starts_as_we_did),
		cmocka_unit_test(a_program_that_is_not_there_is_named),
		cmocka_unit_test(syscall_files_are_understood),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
