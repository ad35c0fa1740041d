/* SPDX-License-Identifier: MIT */
/*
 * stacks: what a profile of very many stacks costs.
 *
 *   bench/stacks SHAPE [COUNT [FORMAT]]
 *
 * Feeds COUNT distinct stacks of 200 frames, a million if not said otherwise, to a profile, one sample each, and prints what was kept
 * and used at each power of ten. With FORMAT it writes the profile to /dev/null afterwards. No process is profiled: a million different
 * stacks are more than a run sees. The shapes:
 *
 *   leaves  a thousand stacks of 199 frames that share nothing, and any of a thousand frames called by them
 *   walk    a recursion that goes on from the stack before: the innermost eight frames, on average, are others
 *   apart   nothing shared but by chance; ends at the limit of a profile
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregate/profile.h"
#include "base/clock.h"
#include "base/hash.h"
#include "write/writer.h"

#define DEPTH     200
#define FUNCTIONS 1000
#define PREFIXES  1000
#define WALK_MEAN 8

struct bench {
	struct profile *profile;
	uint32_t frames[FUNCTIONS];
	uint32_t stack[DEPTH];
	uint64_t count;
	uint64_t random;
	uint64_t ns; /* of profile_add alone */
};

typedef void make_fn(struct bench *bench, uint64_t number);

static uint64_t cpu_ns(void)
{
	struct timespec at;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (uint64_t)at.tv_sec * NS_PER_S + (uint64_t)at.tv_nsec;
}

static uint32_t any_frame(struct bench *bench)
{
	return bench->frames[hash_mix(++bench->random) % FUNCTIONS];
}

/* The same prefix has the same frames each time; 7919 is prime, so that no pair comes twice. */
static void make_leaves(struct bench *bench, uint64_t number)
{
	uint64_t pair = number * 7919 % ((uint64_t)PREFIXES * FUNCTIONS);
	bench->random = pair % PREFIXES * DEPTH;
	for (size_t i = 0; i < DEPTH - 1; i++)
		bench->stack[i] = any_frame(bench);
	bench->stack[DEPTH - 1] = bench->frames[pair / PREFIXES];
}

static void make_walk(struct bench *bench, uint64_t number)
{
	size_t fresh = number ? 2 : DEPTH;
	while (fresh < DEPTH && hash_mix(++bench->random) % (WALK_MEAN - 1))
		fresh++;
	for (size_t i = DEPTH - fresh; i < DEPTH; i++)
		bench->stack[i] = any_frame(bench);
}

static void make_apart(struct bench *bench, uint64_t number)
{
	(void)number;
	for (size_t i = 0; i < DEPTH; i++)
		bench->stack[i] = any_frame(bench);
}

static const struct shape {
	const char *name;
	make_fn *make;
} shapes[] = {
	{ "leaves", make_leaves },
	{ "walk", make_walk },
	{ "apart", make_apart },
};

/* A line of /proc/self/status, in bytes; 0 if it is not there. */
static uint64_t status_bytes(const char *key)
{
	char line[128];
	_cleanup_fclose_ FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, strlen(key)))
			return strtoull(line + strlen(key), NULL, 10) << 10;
	}
	return 0;
}

static double mb(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

static void print_line(const struct bench *bench, uint64_t fed, const char *what)
{
	const struct profile *profile = bench->profile;
	printf("%9" PRIu64 " %9zu %9zu %9" PRIu64 " %8.2f %8.0f %9.1f %9.1f  %s\n", fed,
	       profile->samples.count, profile->stacks.count, stats_lost(&profile->stats),
	       (double)bench->ns / 1e9, (double)bench->ns / (double)fed, mb(status_bytes("VmRSS:")),
	       mb(status_bytes("VmHWM:")), what);
	fflush(stdout);
}

static void feed(struct bench *bench, make_fn *make)
{
	uint32_t thread =
		profile_thread(bench->profile, profile_process(bench->profile, 1, PROFILE_NONE), 1,
			       "main");
	uint64_t next = 10;
	for (uint64_t i = 0; i < bench->count; i++) {
		make(bench, i);
		uint64_t start_ns = cpu_ns();
		profile_add(bench->profile, thread, bench->stack, DEPTH, REASON_OK, 0, NS_PER_MS,
			    NS_PER_MS);
		bench->ns += cpu_ns() - start_ns;
		if (i + 1 == next || i + 1 == bench->count) {
			print_line(bench, i + 1, "fed");
			next *= 10;
		}
	}
}

static struct error *write_out(struct bench *bench, const char *format)
{
	const struct writer *writer;
	struct writer_options options = { 0 };
	struct error *err = writer_by_name(format, &writer);
	if (err)
		return err;
	_cleanup_fclose_ FILE *stream = fopen("/dev/null", "we");
	if (!stream)
		return error_create(ERROR_OTHER, "/dev/null cannot be opened");
	uint64_t start_ns = cpu_ns();
	err = writer->write(bench->profile, &options, stream);
	bench->ns = cpu_ns() - start_ns;
	if (!err)
		print_line(bench, bench->count, format);
	return err;
}

static struct error *run(const struct shape *shape, uint64_t count, const char *format)
{
	_cleanup_profile_ struct profile *profile = NULL;
	struct error *err = profile_create(&profile);
	if (err)
		return err;
	struct bench bench = { .profile = profile, .count = count };
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "function_%" PRIu32, i);
		uint32_t function =
			profile_function(profile, name, "module.py", i + 1, PROFILE_PYTHON);
		bench.frames[i] = profile_frame(profile, function, i + 2);
	}
	printf("%9s %9s %9s %9s %8s %8s %9s %9s\n", "stacks", "samples", "nodes", "lost", "CPU s",
	       "ns each", "RSS MB", "peak MB");
	feed(&bench, shape->make);
	return format ? write_out(&bench, format) : NULL;
}

static const struct shape *shape_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (!strcmp(shapes[i].name, name))
			return &shapes[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct shape *shape = argc > 1 ? shape_by_name(argv[1]) : NULL;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	if (!shape || !count || argc > 4) {
		fputs("usage: bench/stacks leaves|walk|apart [COUNT [FORMAT]]\n", stderr);
		return 2;
	}
	_cleanup_error_ struct error *err = run(shape, count, argc > 3 ? argv[3] : NULL);
	if (err)
		fprintf(stderr, "stacks: %s\n", err->message);
	return err ? 1 : 0;
}
