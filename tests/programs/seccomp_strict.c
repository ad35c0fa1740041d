/* SPDX-License-Identifier: MIT */
/*
 * A process under seccomp's strict mode: read, write, exit and sigreturn; any other system call
 * kills it. Answers each line of its input with a dot, and ends with 7 when the input ends.
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	char byte;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 1;
	if (write(1, "ready\n", 6) != 6)
		syscall(SYS_exit, 1);
	while (read(0, &byte, 1) == 1)
		if (byte == '\n' && write(1, ".\n", 2) != 2)
			syscall(SYS_exit, 1);
	syscall(SYS_exit, 7);
}
