/* SPDX-License-Identifier: MIT */
/*
 * tsd-probe.c: measures how this C library lays out thread-specific data.
 *
 * Makes real pthread keys, stores markers under them through the real API, and looks for these
 * below pthread_self(). Prints the row of src/python/tsd_layout.c that this C library needs:
 *
 *     LIBC CPU PTHREAD_BELOW FIRST_BLOCK SPECIFIC KEY_SIZE DATA TID NAME
 *
 *     cc -O1 -pthread -o tsd-probe contrib/tsd-probe.c && ./tsd-probe
 *
 * tests/live/test_tsd_probe.py compares it with the table.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

/*
 * Bytes that are looked at: glibc's struct pthread is longer, and what follows it may be unmapped,
 * since on x86-64 the static thread-locals are below the thread pointer, not above. musl's is
 * shorter; its slots may lie behind it, so the pointer to them is looked for first.
 */
#define WINDOW 1536

/* Enough keys to need a second block: 32 are in the first. */
#define KEYS       48
#define BLOCK_KEYS 32

/* Three keys: the stride between them tells the size of a slot from a coincidence. */
#define FIRST  0
#define SECOND 1
#define THIRD  2
#define FAR    40

struct row {
	const char *libc;
	long below;
	unsigned first_block, specific, key_size, data, tid;
};

static pthread_key_t keys[KEYS];

static void die(const char *what)
{
	fprintf(stderr, "tsd-probe: %s\n", what);
	exit(1);
}

static uintptr_t marker(int i)
{
	return UINT64_C(0x5e7a11ce00000000) | (uintptr_t)i << 8 | 0x5a;
}

static uintptr_t thread_pointer(void)
{
	uintptr_t value;
#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(value));
#elif defined(__aarch64__)
	__asm__("mrs %0, tpidr_el0" : "=r"(value));
#else
#error "say how the thread pointer is read"
#endif
	return value;
}

static const char *cpu(void)
{
#if defined(__x86_64__)
	return "x86-64";
#else
	return "aarch64";
#endif
}

/* A word at an address that may be none. */
static int peek(uintptr_t address, uintptr_t *value)
{
	struct iovec local = { value, sizeof(*value) },
		     remote = { (void *)address, sizeof(*value) };
	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof(*value);
}

/* Offset of the word @wanted in the window, −1 if it is not there. */
static long find_word(uintptr_t self, uintptr_t wanted)
{
	for (long offset = 0; offset < WINDOW; offset += (long)sizeof(uintptr_t)) {
		uintptr_t word;
		if (peek(self + (uintptr_t)offset, &word) && word == wanted)
			return offset;
	}
	return -1;
}

static unsigned find_tid(uintptr_t self)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	for (unsigned offset = 0; offset < WINDOW; offset += 4) {
		uintptr_t word;
		if (peek(self + offset, &word) && (uint32_t)word == tid)
			return offset;
	}
	die("the thread's id is not in struct pthread");
	return 0;
}

static void set(int i)
{
	if (pthread_setspecific(keys[i], (void *)marker(i)) != 0)
		die("pthread_setspecific failed");
}

static int is_marker(uintptr_t address, int i)
{
	uintptr_t value;
	return peek(address, &value) && value == marker(i);
}

static void expect_marker(uintptr_t value_address, int i)
{
	if (!is_marker(value_address, i))
		die("a marker is not where the other markers say");
}

/* The slots are in struct pthread itself. */
static void measure_blocks(uintptr_t self, struct row *row)
{
	long first = find_word(self, marker(FIRST)), third = find_word(self, marker(THIRD));
	if (first < 0 || third < 0)
		die("a marker of the first block is not in struct pthread");
	long stride = (third - first) / (long)(keys[THIRD] - keys[FIRST]);

	/* The second key has no value yet. A used slot's other word is its sequence number. */
	uintptr_t before = 0, after = 0;
	if (!peek(self + (uintptr_t)first - 8, &before) ||
	    !peek(self + (uintptr_t)first + 8, &after))
		die("struct pthread is not readable");
	if (stride != 16 || before == 0 || after != 0)
		die("a slot is not {sequence number, value}");
	set(SECOND);
	if (find_word(self, marker(SECOND)) != first + stride)
		die("the third key is not one stride from the others");

	row->key_size = (unsigned)stride;
	row->data = 8;
	row->first_block = (unsigned)(first - 8 - (long)keys[FIRST] * stride);

	/* specific[0] points to the first block, specific[1] to the one that the far key needs. */
	long specific = find_word(self, self + row->first_block);
	uintptr_t block;
	if (specific < 0 ||
	    !peek(self + (uintptr_t)specific + 8 * (keys[FAR] / BLOCK_KEYS), &block))
		die("no pointer to the first block in struct pthread");
	expect_marker(block + (uintptr_t)stride * (keys[FAR] % BLOCK_KEYS) + 8, FAR);
	row->libc = "glibc";
	row->specific = (unsigned)specific;
}

/* The slots are elsewhere, one word each, and struct pthread points to them. */
static int measure_pointer(uintptr_t self, struct row *row)
{
	for (unsigned offset = 0; offset < WINDOW; offset += 8) {
		uintptr_t slots;
		if (!peek(self + offset, &slots) || !is_marker(slots + 8 * keys[FIRST], FIRST) ||
		    !is_marker(slots + 8 * keys[THIRD], THIRD))
			continue;
		set(SECOND);
		expect_marker(slots + 8 * keys[SECOND], SECOND);
		expect_marker(slots + 8 * keys[FAR], FAR);
		row->libc = "musl";
		row->specific = offset;
		row->key_size = 8;
		return 1;
	}
	return 0;
}

static void *measure(void *argument)
{
	struct row *row = argument;
	uintptr_t self = (uintptr_t)pthread_self();
	set(FIRST);
	set(THIRD);
	set(FAR);
	row->below = (long)(thread_pointer() - self);
	row->tid = find_tid(self);
	if (!measure_pointer(self, row))
		measure_blocks(self, row);
	return NULL;
}

int main(void)
{
	for (int i = 0; i < KEYS; i++)
		if (pthread_key_create(&keys[i], NULL) != 0)
			die("pthread_key_create failed");
	if (keys[THIRD] >= BLOCK_KEYS || keys[THIRD] <= keys[FIRST] || keys[FAR] < BLOCK_KEYS)
		die("the keys are not numbered as expected");

	/* The main thread's struct pthread is made in another way than that of the others. */
	struct row in_main = { 0 }, in_thread = { 0 };
	pthread_t thread;
	measure(&in_main);
	if (pthread_create(&thread, NULL, measure, &in_thread) != 0 ||
	    pthread_join(thread, NULL) != 0)
		die("no second thread");
	if (strcmp(in_main.libc, in_thread.libc) != 0 || in_main.below != in_thread.below ||
	    in_main.first_block != in_thread.first_block ||
	    in_main.specific != in_thread.specific || in_main.tid != in_thread.tid)
		die("the main thread differs from another");

#ifdef __GLIBC__
	const char *version = gnu_get_libc_version();
#else
	const char *version = "";
#endif
	printf("%s %s %ld 0x%x 0x%x %u %u 0x%x %s %s\n", in_main.libc, cpu(), in_main.below,
	       in_main.first_block, in_main.specific, in_main.key_size, in_main.data, in_main.tid,
	       in_main.libc, version);
	return 0;
}
