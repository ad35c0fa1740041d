/* SPDX-License-Identifier: MIT */
/*
 * kernel.c: main → kernel, which is assembly as mathematical libraries have it: without unwind information and frame pointer, with two
 * saved registers, a loop that is left in its middle, and more code between that and the return than a page.
 */
#include <stdio.h>

long kernel(long n);

__asm__(".text\n"
	".globl kernel\n"
	".type kernel, @function\n"
	"kernel:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	xor %ebx, %ebx\n"
	"	mov %rdi, %r12\n"
	"	jmp 2f\n"
	"1:	test %r12, %r12\n"
	"	je 3f\n"
	"2:	add %r12, %rbx\n"
	"	dec %r12\n"
	"	jmp 1b\n"
	"	.skip 5000, 0x90\n"
	"3:	mov %rbx, %rax\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	ret\n"
	".size kernel, . - kernel\n");

int main(void)
{
	volatile long sum = 0;
	puts("ready");
	fflush(stdout);
	for (;;)
		sum += kernel(100000);
}
