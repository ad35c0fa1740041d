/* SPDX-License-Identifier: MIT */
/*
 * no_cfi.c: functions without unwind information that call back. For ctypes, or with -DPROGRAM a program of its own: no_cfi WAY [NAME]
 *
 *	straight   nothing but the call and the way out
 *	framed     with a frame pointer, and a loop that no reader of instructions follows
 *	neither    a loop, and the frame pointer is used for something else
 *	anonymous, anonymous_framed, anonymous_neither   the same, copied to an anonymous page
 *
 *	leaf       on aarch64: spins itself, and the return address is in its register only
 *
 * With a NAME behind WAY the program writes /tmp/perf-PID.map, which gives that name to the page.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void (*callback)(void);
typedef void (*caller)(callback);

void straight(callback call);
void framed(callback call);
void neither(callback call);
#ifdef __aarch64__
void leaf(void);
#endif
extern const char straight_end[], framed_end[], neither_end[];

#if defined(__x86_64__)
__asm__(".text\n"
	".globl straight, straight_end, framed, framed_end, neither, neither_end\n"
	".type straight, @function\n"
	"straight:\n"
	"	sub $24, %rsp\n"
	"	call *%rdi\n"
	"	add $24, %rsp\n"
	"	ret\n"
	"straight_end:\n"
	".size straight, . - straight\n"
	".type framed, @function\n"
	"framed:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	mov %rdi, %rbx\n"
	"1:	call *%rbx\n"
	"	test %eax, %eax\n"
	"	jmp 1b\n"
	"framed_end:\n"
	".size framed, . - framed\n"
	".type neither, @function\n"
	"neither:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	sub $8, %rsp\n"
	"	mov %rdi, %rbx\n"
	"	mov $12345, %ebp\n"
	"1:	call *%rbx\n"
	"	test %eax, %eax\n"
	"	jmp 1b\n"
	"neither_end:\n"
	".size neither, . - neither\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl straight, straight_end, framed, framed_end, neither, neither_end, leaf\n"
	".type straight, @function\n"
	"straight:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	blr x0\n"
	"	ldp x29, x30, [sp], #32\n"
	"	ret\n"
	"straight_end:\n"
	".size straight, . - straight\n"
	".type framed, @function\n"
	"framed:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	mov x29, sp\n"
	"	stp x19, x20, [sp, #16]\n"
	"	mov x19, x0\n"
	"1:	blr x19\n"
	"	cmp w0, #0\n"
	"	b 1b\n"
	"framed_end:\n"
	".size framed, . - framed\n"
	".type neither, @function\n"
	"neither:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	stp x19, x20, [sp, #16]\n"
	"	mov x19, x0\n"
	"	mov x29, #12345\n"
	"1:	blr x19\n"
	"	cmp w0, #0\n"
	"	b 1b\n"
	"neither_end:\n"
	".size neither, . - neither\n"
	".type leaf, @function\n"
	"leaf:\n"
	"1:	add x1, x1, #1\n"
	"	b 1b\n"
	".size leaf, . - leaf\n");
#endif

static const char *page_name;

static void write_perf_map(const void *page, size_t size)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *file = fopen(path, "w");
	if (!file)
		return;
	fprintf(file, "%lx %zx %s\n", (unsigned long)page, size, page_name);
	fclose(file);
}

static void copied(caller function, const char *end, callback call)
{
	size_t size = (size_t)(end - (const char *)function);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, (const void *)function, size);
	if (page_name)
		write_perf_map(page, size);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	((caller)page)(call);
	__asm__ volatile(""); /* no tail call */
}

void anonymous(callback call)
{
	copied(straight, straight_end, call);
}

void anonymous_framed(callback call)
{
	copied(framed, framed_end, call);
}

void anonymous_neither(callback call)
{
	copied(neither, neither_end, call);
}

#ifdef PROGRAM
static volatile long rounds, done;

static void spin(void)
{
	puts("ready");
	fflush(stdout);
	while (!done)
		rounds++;
}

#ifdef __aarch64__
static void spin_in_leaf(callback unused)
{
	puts("ready");
	fflush(stdout);
	leaf();
	__asm__ volatile(""); /* no tail call */
}
#endif

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		caller function;
	} ways[] = {
		{ "straight", straight },
		{ "framed", framed },
		{ "neither", neither },
		{ "anonymous", anonymous },
		{ "anonymous_framed", anonymous_framed },
		{ "anonymous_neither", anonymous_neither },
#ifdef __aarch64__
		{ "leaf", spin_in_leaf },
#endif
	};
	page_name = argc > 2 ? argv[2] : NULL;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (argc > 1 && !strcmp(argv[1], ways[i].name))
			ways[i].function(spin);
	return 0;
}
#endif
