/* SPDX-License-Identifier: MIT */
/*
 * stages: each stage of the work on a sample, over saved capsules, to be counted from outside.
 *
 *   bench/stages CAPSULE...
 *   bench/stages --build
 *
 * Everything is loaded first; then each stage is one call of a function stage_NAME, so that a tool that counts by function (bench/
 * instructions has callgrind do it) counts that stage alone. "cold" is the first time, with nothing known yet; "warm" is WARM_ROUNDS
 * times the same again. What a stage is given does not depend on the stages before it going well: an unusable capsule is an error.
 * --build prints how the program was built, a word and its value a line.
 */
#include <gnu/libc-version.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "merge/merge.h"
#include "native.h"
#include "python/code.h"
#include "python/frames.h"
#include "python/layout.h"
#include "python/lines.h"
#include "snapshot/capsule.h"
#include "unwind/walk.h"

#define WARM_ROUNDS 10

/* A function of its own for callgrind, with its own name. */
#ifdef __clang__
#define STAGE __attribute__((noinline)) static void
#else
#define STAGE __attribute__((noinline, noclone)) static void
#endif

DEFINE_VEC(struct range_bytes, range_bytes_vec, uint8_t *)

/* A capsule and what the stages make of it. */
struct item {
	const char *path;
	struct capsule capsule;
	struct memory *memory;
	const struct arch *arch;
	struct subject subject; /* empty: a capsule has no process */
	struct native native;   /* of capsules with code: map, loops, frames */
	struct py_layout layout;
	struct py_frames python;
	enum reason python_end, native_end;
	struct code_cache *codes;
	struct sample_frames resolved;
	struct range_bytes
		ranges; /* a frame's code_ranges, as they are read again after each sample */
	struct merged_vec merged;
	struct collector collector;
	uint32_t thread;
};

struct bench {
	struct item *items;
	size_t count;
	struct profile *profile;
	struct symbolize *symbolize;
	size_t failures;
};

static void fail(struct bench *bench, const struct item *item, const char *what)
{
	if (!bench->failures++)
		fprintf(stderr, "stages: %s: %s\n", item->path, what);
}

/* ---- the stages ---- */

static void unwind(struct bench *bench)
{
	for (size_t i = 0; i < bench->count; i++) {
		struct item *item = &bench->items[i];
		uint64_t used;
		if (!item->native.map)
			continue;
		item->native.frames.count = 0;
		item->native_end =
			walk(item->native.map, item->arch, &item->capsule.snapshot.registers,
			     item->memory, &item->native.frames, &used);
		if (!item->native.frames.count)
			fail(bench, item, "no native frames");
	}
}

static void walk_python(struct bench *bench)
{
	for (size_t i = 0; i < bench->count; i++) {
		struct item *item = &bench->items[i];
		struct py_tstate tstate;
		if (!item->capsule.has_python)
			continue;
		item->python.count = 0;
		item->python_end = frames_read_tstate(item->memory, &item->layout,
						      item->capsule.python.tstate, &tstate);
		if (!item->python_end)
			item->python_end =
				frames_walk(item->memory, &item->layout, &tstate, &item->python);
		if (item->python_end)
			fail(bench, item, "no Python frames");
	}
}

static bool resolve(struct item *item, const struct py_frame *frame, bool again)
{
	struct sample_frame *out = sample_frames_append(&item->resolved);
	if (!out || code_cache_get(item->codes, item->memory, frame->code, &out->code) ||
	    code_line(out->code, frame->lasti, &out->line))
		return false;
	if (out->line == LINE_NONE)
		out->line = out->code->firstlineno;
	out->entry = frame->entry;
	const uint8_t *bytes = again ? item->ranges.items[item->resolved.count - 1] : NULL;
	return !again || code_cache_validate(item->codes, out->code, bytes);
}

static void resolve_all(struct bench *bench, bool again)
{
	for (size_t i = 0; i < bench->count; i++) {
		struct item *item = &bench->items[i];
		item->resolved.count = 0;
		vec_foreach (frame, &item->python)
			if (!resolve(item, frame, again))
				fail(bench, item, "a code object cannot be read");
	}
}

static bool is_eval(const void *data, size_t native)
{
	const struct item *item = data;
	return evalmap_is_eval(&item->native.evals, item->native.frames.items[native].address);
}

static bool is_entry(const void *data, size_t python)
{
	const struct item *item = data;
	return item->python.items[python].entry;
}

static void merge_all(struct bench *bench)
{
	for (size_t i = 0; i < bench->count; i++) {
		struct item *item = &bench->items[i];
		struct merge_input input = {
			.native_count = item->native.frames.count,
			.python_count = item->python.count,
			.native_complete = !item->native_end,
			.data = item,
			.is_eval = is_eval,
			.is_entry = is_entry,
		};
		if (input.native_count && merge(&input, &item->merged) == MERGE_NO_MEMORY)
			fail(bench, item, "no memory");
	}
}

static void aggregate(struct bench *bench)
{
	for (size_t i = 0; i < bench->count; i++) {
		struct item *item = &bench->items[i];
		struct sample sample = {
			.frames = item->resolved.items,
			.count = item->resolved.count,
			.native = item->native.frames.items,
			.native_count = item->native.frames.count,
			.native_end = item->native_end,
		};
		uint32_t stack = PROFILE_NONE;
		enum reason end = REASON_OK;
		if (collect_stack(&item->collector, bench->profile, &sample, &stack, &end) ||
		    profile_count(bench->profile, item->thread, stack, end, 0, 1, 1))
			fail(bench, item, "a stack cannot be kept");
	}
}

STAGE stage_unwind_cold(struct bench *bench)
{
	unwind(bench);
}

STAGE stage_unwind_warm(struct bench *bench)
{
	for (int i = 0; i < WARM_ROUNDS; i++)
		unwind(bench);
}

STAGE stage_python_frames(struct bench *bench)
{
	for (int i = 0; i < WARM_ROUNDS; i++)
		walk_python(bench);
}

STAGE stage_code_cold(struct bench *bench)
{
	resolve_all(bench, false);
}

STAGE stage_code_warm(struct bench *bench)
{
	for (int i = 0; i < WARM_ROUNDS; i++)
		resolve_all(bench, true);
}

STAGE stage_merge(struct bench *bench)
{
	for (int i = 0; i < WARM_ROUNDS; i++)
		merge_all(bench);
}

STAGE stage_aggregate_cold(struct bench *bench)
{
	aggregate(bench);
}

STAGE stage_aggregate_warm(struct bench *bench)
{
	for (int i = 0; i < WARM_ROUNDS; i++)
		aggregate(bench);
}

/* ---- set-up ---- */

static struct error *load_python(struct item *item)
{
	const struct capsule_python *python = &item->capsule.python;
	struct error *err = py_layout_select((py_version)python->version, item->capsule.machine,
					     python->debug_build, (uint32_t)python->ob_head_extra,
					     item->memory, python->runtime_address, &item->layout);
	return err ? err : code_cache_create(&item->layout, python->code_type, &item->codes);
}

/* Its names are not in a capsule as the collector wants them: only Python frames are counted then. */
static bool has_generated_code(const struct capsule_code *code)
{
	vec_foreach (function, &code->functions)
		if (function->kind == CODE_GENERATED)
			return true;
	return false;
}

static struct error *load_native(struct item *item)
{
	const struct capsule_code *code = &item->capsule.code;
	item->arch = arch_by_machine(item->capsule.machine);
	if (!item->arch)
		return error_create(ERROR_UNSUPPORTED, "no unwinding of its code");
	if (has_generated_code(code))
		return NULL;
	vec_foreach (function, &code->functions) {
		struct eval_range *range =
			function->eval ? eval_ranges_append(&item->native.evals.ranges) : NULL;
		if (range)
			*range = (struct eval_range){ function->start, function->end };
	}
	return code_map_create_recorded(code, item->memory, item->arch, &item->native.map);
}

static struct error *load(struct bench *bench, const char *path, struct item *item)
{
	item->path = path;
	capsule_init(&item->capsule);
	item->memory = &item->capsule.snapshot.blocks.memory;
	native_init(&item->native, &item->subject);
	struct error *err = capsule_load(path, &item->capsule);
	if (!err && item->capsule.has_python)
		err = load_python(item);
	if (!err && item->capsule.has_code)
		err = load_native(item);
	if (err)
		return error_prefix(err, "%s", path);
	item->collector.native = &item->native;
	item->collector.symbolize = bench->symbolize;
	item->thread =
		profile_thread(bench->profile, profile_process(bench->profile, 1, PROFILE_NONE), 1,
			       item->capsule.name);
	return NULL;
}

/* In a capsule a range may lie in two pieces: byte by byte. */
static bool read_ranges(struct item *item, const struct code *code)
{
	uint8_t **bytes = range_bytes_vec_append(&item->ranges);
	if (!bytes)
		return false;
	*bytes = malloc(code->ranges_bytes);
	size_t count, used = 0;
	const struct memory_range *ranges = code_ranges(code, &count);
	bool ok = *bytes != NULL;
	for (size_t i = 0; ok && i < count; i++)
		for (size_t k = 0; ok && k < ranges[i].size; k++)
			ok = memory_read(item->memory, ranges[i].address + k, *bytes + used++, 1);
	return ok;
}

static void read_all_ranges(struct bench *bench)
{
	for (size_t i = 0; i < bench->count; i++)
		vec_foreach (frame, &bench->items[i].resolved)
			if (!read_ranges(&bench->items[i], frame->code))
				fail(bench, &bench->items[i], "a code object is not whole");
}

static void unload(struct item *item)
{
	vec_foreach (bytes, &item->ranges)
		free(*bytes);
	range_bytes_vec_deinit(&item->ranges);
	collector_deinit(&item->collector);
	merged_vec_deinit(&item->merged);
	sample_frames_deinit(&item->resolved);
	py_frames_vec_deinit(&item->python);
	if (item->codes)
		code_cache_destroy(item->codes);
	native_deinit(&item->native);
	capsule_deinit(&item->capsule);
}

static struct error *run(struct bench *bench, char **paths)
{
	struct error *err = profile_create(&bench->profile);
	if (!err)
		err = symbolize_create(&bench->symbolize);
	for (size_t i = 0; !err && paths[i]; i++, bench->count++)
		err = load(bench, paths[i], &bench->items[i]);
	if (err)
		return err;
	stage_unwind_cold(bench);
	stage_unwind_warm(bench);
	stage_python_frames(bench);
	stage_code_cold(bench);
	read_all_ranges(bench);
	if (bench->failures)
		return error_create(ERROR_OTHER, "a stage failed");
	stage_code_warm(bench);
	stage_merge(bench);
	stage_aggregate_cold(bench);
	stage_aggregate_warm(bench);
	return NULL;
}

static void print_build(void)
{
#ifdef __clang__
	puts("compiler clang " __clang_version__);
#else
	puts("compiler gcc " __VERSION__);
#endif
	printf("arch %s\n", BUILD_CPU);
	printf("flags %s\n", BUILD_FLAGS);
	printf("libc %s\n", gnu_get_libc_version());
	/* What make and configure were told: the compiler's own macros do not say it for all of them. */
	printf("sanitizers %s\n", *BUILD_SANITIZERS ? BUILD_SANITIZERS : "none");
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: bench/stages CAPSULE...\n       bench/stages --build\n", stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--build")) {
		print_build();
		return 0;
	}
	/* Its hash tables have a random seed otherwise, by which the heap comes out differently each time. */
	json_object_seed(1);
	struct bench bench = { .items = calloc((size_t)argc, sizeof(struct item)) };
	_cleanup_error_ struct error *err = bench.items ? run(&bench, argv + 1) : error_no_memory();
	if (err)
		fprintf(stderr, "stages: %s\n", err->message);
	for (size_t i = 0; bench.items && i < (size_t)argc; i++)
		if (bench.items[i].path)
			unload(&bench.items[i]);
	if (bench.symbolize)
		symbolize_destroy(bench.symbolize);
	if (bench.profile)
		profile_destroy(bench.profile);
	free(bench.items);
	return err || bench.failures ? 1 : 0;
}
