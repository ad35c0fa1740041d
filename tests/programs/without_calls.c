/* SPDX-License-Identifier: MIT */
/*
 * without_calls ERRNO CALL… -- PROGRAM ARGUMENT…: runs a program under a seccomp filter that
 * answers the named system calls with an errno, as a container's profile does.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	int number;
} calls[] = {
	{ "bpf", SYS_bpf },
	{ "kcmp", SYS_kcmp },
	{ "mount", SYS_mount },
	{ "perf_event_open", SYS_perf_event_open },
	{ "pidfd_getfd", SYS_pidfd_getfd },
	{ "pidfd_open", SYS_pidfd_open },
	{ "process_madvise", SYS_process_madvise },
	{ "process_vm_readv", SYS_process_vm_readv },
	{ "process_vm_writev", SYS_process_vm_writev },
	{ "ptrace", SYS_ptrace },
	{ "setns", SYS_setns },
	{ "unshare", SYS_unshare },
};

static int number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(name, calls[i].name) == 0)
			return calls[i].number;
	}
	fprintf(stderr, "without_calls: %s is not known\n", name);
	exit(2);
}

static void forbid(int number, int errnum)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("without_calls");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int i = 2;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		forbid(number_of(argv[i]), atoi(argv[1]));
	if (i + 1 >= argc)
		return 2;
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 2;
}
