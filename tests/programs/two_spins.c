/* SPDX-License-Identifier: MIT */
/*
 * two_spins: runs for ever, half of the time in an exported function and half in one that only
 * .symtab knows. Built with -rdynamic.
 */
#include <stdio.h>

static volatile unsigned long count;

__attribute__((noinline, noclone)) static void hidden_spin(void)
{
	for (int i = 0; i < 1000000; i++)
		count++;
}

void public_spin(void);

__attribute__((noinline, noclone)) void public_spin(void)
{
	for (int i = 0; i < 1000000; i++)
		count++;
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		hidden_spin();
		public_spin();
	}
}
