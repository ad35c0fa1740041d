/* SPDX-License-Identifier: MIT */
/*
 * fake_python.c MODE VERSION: has the symbols of a CPython and memory behind them that no CPython has.
 *
 * MODE: random (any bytes), cyclic (every word points into the same memory, often to itself), huge (words that are large
 * as lengths), changing (cyclic, rewritten by a second thread all the time), zero. Ends with 7 on SIGTERM.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS (64 * 1024)

/* One block for everything: the runtime is at its start, pointers lead into it. */
__attribute__((section(".PyRuntime"), visibility("default"), aligned(4096)))
uint64_t _PyRuntime[WORDS] = { 1 };
__attribute__((visibility("default"))) unsigned int Py_Version;
__attribute__((visibility("default"))) void *_PyThreadState_Current = _PyRuntime;
__attribute__((visibility("default"))) void *interp_head = _PyRuntime;
__attribute__((visibility("default"))) int autoTLSkey = 3;
__attribute__((visibility("default"))) uint64_t PyCode_Type[64];
__attribute__((visibility("default"))) uint64_t PyUnicode_Type[64];
__attribute__((visibility("default"))) uint64_t PyString_Type[64];
__attribute__((visibility("default"))) uint64_t PyBytes_Type[64];
__attribute__((visibility("default"))) uint64_t PyFrame_Type[64];

static char version_text[64];

__attribute__((visibility("default"))) const char *Py_GetVersion(void)
{
	return version_text;
}

__attribute__((visibility("default"))) int Py_IsInitialized(void)
{
	return 1;
}

__attribute__((visibility("default"))) void *PyGILState_GetThisThreadState(void)
{
	return _PyRuntime;
}

static uint64_t seed = 88172645463325252;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t word(const char *mode)
{
	static const uint64_t large[] = { 0x7fffffffffffffff, 0xffffffffffffffff, 0x7fffffff,
					  0xffffffff, 1ull << 40 };
	uint64_t inside = (uint64_t)&_PyRuntime[next() % (WORDS - 64)];

	switch (*mode) {
	case 'r':
		return next();
	case 'z':
		return 0;
	case 'h':
		return next() % 2 ? inside : large[next() % 5];
	default:
		return next() % 8 ? inside : next() % 64;
	}
}

static void fill(const char *mode, size_t from)
{
	for (size_t i = from; i < WORDS; i++)
		_PyRuntime[i] = word(mode);
}

/* The head of debug offsets: cookie, version, not free-threaded; what follows is left to the mode. */
static void fill_head(unsigned hex)
{
	memcpy(_PyRuntime, "xdebugpy", 8);
	_PyRuntime[1] = hex;
	_PyRuntime[2] = 0;
	for (size_t i = 3; i < 160; i++)
		_PyRuntime[i] = next() % 64 * 8;
}

static void *change(void *mode)
{
	for (;;) {
		_PyRuntime[160 + next() % (WORDS - 160)] = word(mode);
		if (next() % 1024 == 0)
			usleep(10);
	}
	return NULL;
}

static void end(int number)
{
	(void)number;
	_exit(7);
}

int main(int argc, char **argv)
{
	unsigned major, minor;
	pthread_t thread;

	if (argc != 3 || sscanf(argv[2], "%u.%u", &major, &minor) != 2)
		return 2;
	signal(SIGTERM, end);
	snprintf(version_text, sizeof(version_text),
		 "%u.%u.1 (main, Jan  1 2024, 00:00:00) [GCC 12.2.0]", major, minor);
	Py_Version = major << 24 | minor << 16 | 0x1f0;
	fill(argv[1], 0);
	if (major == 3 && minor >= 13)
		fill_head(Py_Version);
	if (*argv[1] == 'c' && argv[1][1] == 'h' &&
	    pthread_create(&thread, NULL, change, argv[1]) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
