/* SPDX-License-Identifier: MIT */
/* launch.c: starting the program that is to be profiled. */
#include "target/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int changed_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGCHLD };
#define CHANGED_COUNT (sizeof(changed_signals) / sizeof(changed_signals[0]))

void launch_remember(struct launch_inherited *inherited)
{
	*inherited = (struct launch_inherited){ 0 };
	sigprocmask(SIG_BLOCK, NULL, &inherited->mask);
	getrlimit(RLIMIT_NOFILE, &inherited->files);
	for (size_t i = 0; i < CHANGED_COUNT; i++) {
		struct sigaction action;
		inherited->signals[i].number = changed_signals[i];
		inherited->signals[i].ignored = !sigaction(changed_signals[i], NULL, &action) &&
						action.sa_handler == SIG_IGN;
	}
}

bool launch_was_ignored(const struct launch_inherited *inherited, int number)
{
	for (size_t i = 0; i < CHANGED_COUNT; i++)
		if (inherited->signals[i].number == number)
			return inherited->signals[i].ignored;
	return false;
}

static _Noreturn void run_child(char *const *program, const struct launch_inherited *inherited,
				int wait_fd, int failed_fd)
{
	for (size_t i = 0; i < CHANGED_COUNT; i++)
		signal(inherited->signals[i].number,
		       inherited->signals[i].ignored ? SIG_IGN : SIG_DFL);
	setrlimit(RLIMIT_NOFILE, &inherited->files);
	sigprocmask(SIG_SETMASK, &inherited->mask, NULL);

	char byte;
	ssize_t n;
	do {
		n = read(wait_fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	/* One byte says go; the end of the pipe alone means that pysample is gone. */
	if (n == 1)
		execvp(program[0], program);
	int errnum = n == 1 ? errno : ECANCELED;
	if (write(failed_fd, &errnum, sizeof(errnum)) < 0)
		_exit(126);
	_exit(127);
}

struct error *launch_start(char *const *program, const struct launch_inherited *inherited,
			   struct launch *launch_ret)
{
	int go[2], failed[2];
	if (pipe2(go, O_CLOEXEC))
		return error_errno(errno, "cannot make a pipe");
	if (pipe2(failed, O_CLOEXEC)) {
		int errnum = errno;
		close(go[0]);
		close(go[1]);
		return error_errno(errnum, "cannot make a pipe");
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(failed[0]);
		run_child(program, inherited, go[0], failed[1]);
	}
	int errnum = errno;
	close(go[0]);
	close(failed[1]);
	if (pid < 0) {
		close(go[1]);
		close(failed[0]);
		return error_errno(errnum, "cannot start %s", program[0]);
	}
	*launch_ret = (struct launch){ .pid = pid, .go_fd = go[1], .failed_fd = failed[0] };
	return NULL;
}

struct error *launch_go(struct launch *launch)
{
	int errnum = 0;
	ssize_t n = write(launch->go_fd, "", 1);
	close(launch->go_fd);
	launch->go_fd = -1;
	if (n == 1) {
		do {
			n = read(launch->failed_fd, &errnum, sizeof(errnum));
		} while (n < 0 && errno == EINTR);
	}
	close(launch->failed_fd);
	launch->failed_fd = -1;
	if (n == 0)
		return NULL;
	launch_wait(launch);
	return error_errno(errnum, "cannot execute the program");
}

bool launch_poll(struct launch *launch)
{
	if (!launch->ended && waitpid(launch->pid, &launch->status, WNOHANG) == launch->pid)
		launch->ended = true;
	return launch->ended;
}

void launch_wait(struct launch *launch)
{
	while (!launch->ended) {
		pid_t got = waitpid(launch->pid, &launch->status, 0);
		if (got == launch->pid || (got < 0 && errno != EINTR))
			launch->ended = true;
	}
}

int launch_exit_status(const struct launch *launch)
{
	if (WIFSIGNALED(launch->status))
		return 128 + WTERMSIG(launch->status);
	return WEXITSTATUS(launch->status);
}

void launch_deinit(struct launch *launch)
{
	if (launch->go_fd >= 0)
		close(launch->go_fd);
	if (launch->failed_fd >= 0)
		close(launch->failed_fd);
	launch->go_fd = launch->failed_fd = -1;
}
