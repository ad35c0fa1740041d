/* SPDX-License-Identifier: MIT */
/* stays.c: a library with a function that runs for ever at one address. */
__attribute__((noipa)) void stay(void)
{
	for (;;)
		__asm__ volatile("");
}
