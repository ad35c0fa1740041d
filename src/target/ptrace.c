/* SPDX-License-Identifier: MIT */
/* ptrace.c: every ptrace(2) call of pysample. */
#include "target/ptrace.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

int ptrace_seize(pid_t tid)
{
	return ptrace(PTRACE_SEIZE, tid, NULL, NULL) ? errno : 0;
}

int ptrace_interrupt(pid_t tid)
{
	return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ? errno : 0;
}

int ptrace_detach(pid_t tid, int signal)
{
	return ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)signal) ? errno : 0;
}

int ptrace_get_regset(pid_t tid, unsigned note, void *buffer, size_t *size)
{
	struct iovec iov = { .iov_base = buffer, .iov_len = *size };
	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)note, &iov))
		return errno;
	*size = iov.iov_len;
	return 0;
}

int ptrace_peek(pid_t tid, uint64_t address, uint64_t *word_ret)
{
	errno = 0;
	long word = ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)address, NULL);
	if (errno)
		return errno;
	*word_ret = (uint64_t)word;
	return 0;
}
