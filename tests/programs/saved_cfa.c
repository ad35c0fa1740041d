/* SPDX-License-Identifier: MIT */
/*
 * saved_cfa.c: main → saved_cfa_caller → saved_cfa_frame → saved_cfa_leaf, where saved_cfa_frame, as hand-written assembly does,
 * aligns its stack and keeps the old stack pointer at rsp + 8: CFA = *(rsp + 8) + 8.
 *
 *	rsp + 8 → stack pointer at entry, which is the CFA less the return address
 *	rsp     → number of the round
 */
#include <stdio.h>
#include <stdlib.h>

/* How often the leaf goes round; few let every instruction of its callers be met. */
static int turns;

long saved_cfa_frame(long n);
long saved_cfa_leaf(long n);

__asm__(".text\n"
	".globl saved_cfa_frame\n"
	".type saved_cfa_frame, @function\n"
	"saved_cfa_frame:\n"
	"	.cfi_startproc\n"
	"	mov %rsp, %rax\n"
	"	.cfi_def_cfa_register rax\n"
	"	sub $48, %rsp\n"
	"	and $-64, %rsp\n"
	"	mov %rax, 8(%rsp)\n"
	"	.cfi_escape 0x0f, 0x05, 0x77, 0x08, 0x06, 0x23, 0x08\n" /* breg7 8; deref; plus_uconst 8 */
	"	mov %rdi, (%rsp)\n"
	"	call saved_cfa_leaf\n"
	"	add (%rsp), %rax\n"
	"	mov 8(%rsp), %rdx\n"
	"	.cfi_def_cfa rdx, 8\n"
	"	mov %rdx, %rsp\n"
	"	.cfi_def_cfa_register rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size saved_cfa_frame, . - saved_cfa_frame\n");

__attribute__((noipa)) long saved_cfa_leaf(long n)
{
	volatile long sum = n;
	for (int i = 0; i < turns; i++)
		sum += i;
	return sum;
}

__attribute__((noipa)) static long saved_cfa_caller(long n)
{
	long sum = saved_cfa_frame(n);
	__asm__ volatile("" : "+r"(sum));
	return sum;
}

int main(int argc, char **argv)
{
	turns = argc > 1 ? atoi(argv[1]) : 20000;
	volatile long sum = 0;
	puts("ready");
	fflush(stdout);
	for (;;)
		sum += saved_cfa_caller(sum & 7);
}
