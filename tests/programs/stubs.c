/* SPDX-License-Identifier: MIT */
/* stubs.c: calls a function of another library that does next to nothing, for ever. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	unsigned seed = 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		rand_r(&seed);
}
