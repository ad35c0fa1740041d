/* SPDX-License-Identifier: MIT */
/*
 * handlers.c: signal handlers that stay for ever. usage: handlers WAY
 *
 *	alternate  main → work → raise, then on another stack, mapped above: on_first → spin
 *	nested     the same, on_first raises again: on_first → raise, on the stack of work again: on_second → spin
 *	plain      on_first → spin on the stack of work
 *	bad        main → work → call_nowhere → an address that is none; SIGSEGV: on_fault → spin on another stack
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_SIZE (1 << 20)
#define ROOM_ABOVE (1 << 24)

static const char *way;
static volatile long rounds;
static void (*volatile nowhere)(void) = (void (*)(void))(uintptr_t)0x10;

__attribute__((noinline)) static void spin(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		rounds++;
}

static void on_second(int number)
{
	spin();
	rounds += number;
}

static void on_first(int number)
{
	if (!strcmp(way, "nested"))
		raise(SIGUSR2);
	else
		spin();
	rounds += number;
}

static void on_fault(int number)
{
	spin();
	rounds += number;
}

__attribute__((noinline)) static void call_nowhere(void)
{
	nowhere();
	rounds++;
}

__attribute__((noinline)) static void work(void)
{
	/* So that the frame is large, and the handler's stack is another one. */
	volatile char room[10000];
	room[0] = 1;
	if (!strcmp(way, "bad"))
		call_nowhere();
	else
		raise(SIGUSR1);
	rounds += room[0];
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	sigaction(number, &action, NULL);
}

/* Above all stacks: near the end of the addresses, which is the next power of two. */
static void *stack_above(void)
{
	uintptr_t here = (uintptr_t)&here, end = 1;
	while (end <= here)
		end *= 2;
	return mmap((void *)(end - ROOM_ABOVE), STACK_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
	way = argc > 1 ? argv[1] : "alternate";
	stack_t stack = { .ss_sp = stack_above(), .ss_size = STACK_SIZE };
	/* The main stack may lie there itself. It will be elsewhere in the same program once more. */
	if ((uintptr_t)stack.ss_sp < (uintptr_t)&stack)
		return argc < 3 ? execl("/proc/self/exe", argv[0], way, "again", NULL) : 2;
	sigaltstack(&stack, NULL);
	handle(SIGUSR1, on_first, strcmp(way, "plain") ? SA_ONSTACK : 0);
	handle(SIGUSR2, on_second, SA_ONSTACK);
	handle(SIGSEGV, on_fault, SA_ONSTACK);
	work();
	return rounds == 0;
}
