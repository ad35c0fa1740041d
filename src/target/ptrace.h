/* SPDX-License-Identifier: MIT */
/*
 * ptrace.h: every ptrace(2) call of pysample.
 *
 * All functions return 0 or a positive errno. ESRCH from a call on a thread that was not seen to stop means "not stopped", not
 * "dead". PTRACE_O_EXITKILL is never set, and nothing is ever written to the target.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Becomes the tracer of thread @tid without stopping it. */
int ptrace_seize(pid_t tid);
/* Asks a seized thread to stop; the stop is seen by stop.h. */
int ptrace_interrupt(pid_t tid);
/* Ends the tracing of a stopped thread and lets it run, delivering @signal (0: none) with the siginfo it came with. */
int ptrace_detach(pid_t tid, int signal);
/* Copies register set @note of a stopped thread; *@size is the buffer's size before and the set's after. */
int ptrace_get_regset(pid_t tid, unsigned note, void *buffer, size_t *size);
/* One word of a stopped thread's memory. */
int ptrace_peek(pid_t tid, uint64_t address, uint64_t *word_ret);
