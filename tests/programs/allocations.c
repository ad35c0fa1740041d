/* SPDX-License-Identifier: MIT */
/*
 * allocations.c: counts a program's allocations and where they are made. To be preloaded (LD_PRELOAD).
 *
 * At its end the program writes a line for each place to the file $ALLOCATIONS: how often, and the return addresses that led there,
 * innermost first, as FILE+OFFSET. Counted are malloc, calloc, realloc, reallocarray, the aligned ones, and calls of mmap: what glibc
 * does inside of them (brk, its own mmap) comes with one of these.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH 10
/* This library's own: count and the function that was called. */
#define OWN_FRAMES 2
#define PLACES     4096

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

struct place {
	void *frames[DEPTH];
	int depth;
	unsigned long count;
};

static struct place places[PLACES];
static size_t place_count;
static unsigned long lost;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool inside; /* backtrace may allocate */

__attribute__((noinline)) static void count(void)
{
	void *frames[DEPTH + OWN_FRAMES] = { NULL };
	if (inside)
		return;
	int errnum = errno;
	inside = true;
	int depth = backtrace(frames, DEPTH + OWN_FRAMES) - OWN_FRAMES;
	depth = depth < 0 ? 0 : depth;
	pthread_mutex_lock(&lock);
	size_t i = 0;
	while (i < place_count &&
	       memcmp(places[i].frames, frames + OWN_FRAMES, sizeof(places[i].frames)))
		i++;
	if (i == PLACES) {
		lost++;
	} else {
		if (i == place_count) {
			memcpy(places[i].frames, frames + OWN_FRAMES, sizeof(places[i].frames));
			places[i].depth = depth;
			place_count++;
		}
		places[i].count++;
	}
	pthread_mutex_unlock(&lock);
	inside = false;
	errno = errnum;
}

void *malloc(size_t size)
{
	count();
	return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
	count();
	return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size)
{
	count();
	return __libc_realloc(block, size);
}

void *reallocarray(void *block, size_t number, size_t size)
{
	size_t bytes;
	count();
	if (__builtin_mul_overflow(number, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_realloc(block, bytes);
}

void *memalign(size_t alignment, size_t size)
{
	count();
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	count();
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	count();
	*block = __libc_memalign(alignment, size);
	return *block ? 0 : ENOMEM;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	count();
	return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

__attribute__((constructor)) static void prepare(void)
{
	void *frame;
	inside = true;
	backtrace(&frame, 1); /* loads what it needs */
	inside = false;
}

static void print_place(FILE *file, const struct place *place)
{
	fprintf(file, "%lu", place->count);
	for (int i = 0; i < place->depth; i++) {
		Dl_info info;
		if (dladdr(place->frames[i], &info) && info.dli_fname)
			fprintf(file, " %s+%#tx", info.dli_fname,
				(char *)place->frames[i] - (char *)info.dli_fbase);
		else
			fprintf(file, " ?");
	}
	fputc('\n', file);
}

__attribute__((destructor)) static void report(void)
{
	inside = true;
	const char *path = getenv("ALLOCATIONS");
	FILE *file = path ? fopen(path, "we") : NULL;
	if (!file)
		return;
	for (size_t i = 0; i < place_count; i++)
		print_place(file, &places[i]);
	if (lost)
		fprintf(file, "%lu\n", lost);
	fclose(file);
}
