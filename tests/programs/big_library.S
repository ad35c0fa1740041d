/* SPDX-License-Identifier: MIT */
/*
 * big_library.S: a library of 100 MB: 5,000 functions with long names and unwind information, and zeros. call_back_N calls its argument.
 */
	.altmacro
	.macro function number
	.globl call_back_from_a_function_with_a_long_name_\number
	.type call_back_from_a_function_with_a_long_name_\number, @function
call_back_from_a_function_with_a_long_name_\number:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	call *%rdi
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size call_back_from_a_function_with_a_long_name_\number, . - call_back_from_a_function_with_a_long_name_\number
	.endm

	.text
	.set number, 0
	.rept 5000
	function %number
	.set number, number + 1
	.endr

	.section .rodata
	.space 99 * 1024 * 1024
	.section .note.GNU-stack, "", @progbits
