/* SPDX-License-Identifier: MIT */
/*
 * unwind: how long the unwinding of a stack takes.
 *
 *   bench/unwind PID [SNAPSHOTS]
 *   bench/unwind CAPSULE...
 *
 * Takes snapshots of the threads of a process that run, 200 if not said otherwise, and in the same stops lets libunwind walk over
 * ptrace, if pysample was built with it. Then walks over the snapshots: the first one with nothing known yet, and all of them again
 * and again. With capsules (docs/formats.md) it does the same without a process. Times are CPU times of this process, system calls
 * included.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "native.h"
#include "snapshot/capsule.h"
#include "snapshot/capture.h"
#include "subject.h"
#include "unwind/crosscheck.h"

#define SNAPSHOTS_DEFAULT 200
#define STACK_BYTES       ((size_t)256 << 10)
#define INTERVAL_NS       (5 * NS_PER_MS)
#define WARM_NS           (2 * NS_PER_S)
#define TRIES_MAX         4000

struct bench {
	struct stopper stopper;
	struct subject *subject;
	struct capture capture;
	struct snapshot *snapshots;
	size_t count, wanted;
	struct code_map *map;
	struct native_frames frames;
	struct crosscheck *crosscheck; /* NULL: built without */
	struct native_frames theirs;
	uint64_t their_ns, their_frames, their_first_ns;
	size_t their_first_frames;
};

static uint64_t cpu_ns(void)
{
	struct timespec at;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (uint64_t)at.tv_sec * NS_PER_S + (uint64_t)at.tv_nsec;
}

/* The first walk of libunwind's is its cold one: it keeps rules from then on. */
static enum reason grab(void *data, struct snapshot *snapshot)
{
	struct bench *bench = data;
	if (!bench->crosscheck)
		return REASON_OK;
	bench->theirs.count = 0;
	uint64_t start_ns = cpu_ns();
	crosscheck_walk(bench->crosscheck, snapshot->tid, &snapshot->registers, bench->map,
			&bench->theirs, NULL);
	uint64_t ns = cpu_ns() - start_ns;
	if (!bench->count) {
		bench->their_first_ns = ns;
		bench->their_first_frames = bench->theirs.count;
		return REASON_OK;
	}
	bench->their_ns += ns;
	bench->their_frames += bench->theirs.count;
	return REASON_OK;
}

static void take(struct bench *bench, struct thread *thread)
{
	struct activity now = { 0 };
	struct plan plan = { 0 };
	struct capture_wants wants = {
		.plan = &plan,
		.registers = true,
		.stack_bytes = STACK_BYTES,
		.maps = modules_maps(bench->subject->modules),
	};
	activity_look(&thread->files, &now);
	if (now.state != ACTIVITY_RUNNING || bench->count == bench->wanted ||
	    stop_is_pending(&bench->stopper, thread->tid))
		return;
	struct snapshot *snapshot = &bench->snapshots[bench->count];
	if (!capture_held(&bench->capture, thread, &wants, grab, bench, snapshot))
		bench->count++;
}

static void take_all(struct bench *bench)
{
	const struct timespec pause = { .tv_nsec = INTERVAL_NS };
	for (int i = 0; i < TRIES_MAX && bench->count < bench->wanted; i++) {
		if (subject_update(bench->subject) == SUBJECT_ENDED)
			return;
		error_destroy(modules_update(bench->subject->modules));
		stop_collect(&bench->stopper);
		vec_foreach (thread, &bench->subject->threads.list)
			take(bench, *thread);
		nanosleep(&pause, NULL);
	}
}

struct walk_sum {
	uint64_t frames, complete, walks;
};

static void walk_one(struct bench *bench, size_t number, struct walk_sum *sum)
{
	struct snapshot *snapshot = &bench->snapshots[number];
	uint64_t used;
	bench->frames.count = 0;
	enum reason end = walk(bench->map, bench->subject->arch, &snapshot->registers,
			       &snapshot->blocks.memory, &bench->frames, &used);
	sum->frames += bench->frames.count;
	sum->complete += !end;
	sum->walks++;
}

static double each(uint64_t ns, uint64_t number)
{
	return number ? (double)ns / (double)number : 0;
}

static void print_tables(struct bench *bench)
{
	const struct cfi_table *seen[256];
	size_t count = 0;
	printf("\n%-44s %9s %9s %9s %7s\n", "rows compiled", "functions", "ranges", "rows",
	       "bytes");
	for (size_t i = 0; i < bench->count; i++) {
		struct walk_sum sum = { 0 };
		walk_one(bench, i, &sum);
		vec_foreach (frame, &bench->frames) {
			const struct code_place *place = code_map_find(bench->map, frame->address);
			size_t k = 0;
			while (k < count && seen[k] != place->table)
				k++;
			if (!place->table || k < count || count == sizeof(seen) / sizeof(seen[0]))
				continue;
			seen[count++] = place->table;
			struct cfi_table_stats stats;
			cfi_table_stats(place->table, &stats);
			const char *path = place->module ? place->module->path : "[vdso]";
			size_t length = strlen(path);
			printf("%-44s %9zu %9zu %9zu %7zu\n",
			       path + (length > 44 ? length - 44 : 0), stats.functions,
			       stats.ranges, stats.rows, stats.bytes);
		}
	}
}

static struct error *measure(struct bench *bench)
{
	struct subject *subject = bench->subject;
	struct walk_sum first = { 0 }, rest = { 0 }, warm = { 0 };
	struct error *err = code_map_create(subject->modules, subject->process,
					    &subject->live.memory, subject->arch, &bench->map);
	if (err)
		return err;
	uint64_t start_ns = cpu_ns();
	code_map_refresh(bench->map, clock_now_ns());
	uint64_t ready_ns = cpu_ns();
	walk_one(bench, 0, &first);
	uint64_t cold_ns = cpu_ns();
	for (size_t i = 1; i < bench->count; i++)
		walk_one(bench, i, &rest);

	uint64_t warm_start_ns = cpu_ns(), warm_ns;
	do {
		for (size_t i = 0; i < bench->count; i++)
			walk_one(bench, i, &warm);
		warm_ns = cpu_ns() - warm_start_ns;
	} while (warm_ns < WARM_NS);

	printf("%zu snapshots, %.1f frames each, %.1f %% complete\n\n", bench->count,
	       each(warm.frames, warm.walks), 100 * each(warm.complete, warm.walks));
	printf("mappings and vdso     %12.0f ns\n", (double)(ready_ns - start_ns));
	printf("first stack           %12.0f ns, %" PRIu64 " frames, %.0f ns a frame\n",
	       (double)(cold_ns - ready_ns), first.frames, each(cold_ns - ready_ns, first.frames));
	printf("warm                  %12.1f ns a frame, %.0f ns a stack\n",
	       each(warm_ns, warm.frames), each(warm_ns, warm.walks));
	if (bench->crosscheck) {
		printf("libunwind, first      %12.0f ns, %zu frames\n",
		       (double)bench->their_first_ns, bench->their_first_frames);
		printf("libunwind, warm       %12.1f ns a frame\n",
		       each(bench->their_ns, bench->their_frames));
		printf("ratio                 %12.1f times, first stack %.1f times\n",
		       each(bench->their_ns, bench->their_frames) / each(warm_ns, warm.frames),
		       each(bench->their_first_ns, cold_ns - ready_ns));
	}
	print_tables(bench);
	return NULL;
}

/* ---- capsules ---- */

struct loaded {
	struct capsule capsule;
	struct code_map *map;
	const struct arch *arch;
};

static struct error *load(const char *path, struct loaded *loaded)
{
	capsule_init(&loaded->capsule);
	struct error *err = capsule_load(path, &loaded->capsule);
	if (err)
		return err;
	loaded->arch = arch_by_machine(loaded->capsule.machine);
	if (!loaded->arch || !loaded->capsule.has_code)
		return error_create(ERROR_UNSUPPORTED, "%s has no native frames", path);
	return code_map_create_recorded(&loaded->capsule.code,
					&loaded->capsule.snapshot.blocks.memory, loaded->arch,
					&loaded->map);
}

static void walk_capsule(struct loaded *loaded, struct native_frames *frames, struct walk_sum *sum)
{
	uint64_t used;
	frames->count = 0;
	enum reason end = walk(loaded->map, loaded->arch, &loaded->capsule.snapshot.registers,
			       &loaded->capsule.snapshot.blocks.memory, frames, &used);
	sum->frames += frames->count;
	sum->complete += !end;
	sum->walks++;
}

static void measure_capsules(struct loaded *loaded, size_t count)
{
	struct native_frames frames = { 0 };
	struct walk_sum first = { 0 }, warm = { 0 };
	uint64_t start_ns = cpu_ns(), ns;
	for (size_t i = 0; i < count; i++)
		walk_capsule(&loaded[i], &frames, &first);
	uint64_t cold_ns = cpu_ns() - start_ns;
	start_ns = cpu_ns();
	do {
		for (size_t i = 0; i < count; i++)
			walk_capsule(&loaded[i], &frames, &warm);
		ns = cpu_ns() - start_ns;
	} while (ns < WARM_NS);
	printf("%zu capsules, %.1f frames each, %.1f %% complete\n\n", count,
	       each(warm.frames, warm.walks), 100 * each(warm.complete, warm.walks));
	printf("first stacks          %12.0f ns a frame\n", each(cold_ns, first.frames));
	printf("warm                  %12.1f ns a frame, %.0f ns a stack\n", each(ns, warm.frames),
	       each(ns, warm.walks));
	native_frames_vec_deinit(&frames);
}

static struct error *run_capsules(char **paths, size_t count)
{
	struct loaded *loaded = calloc(count, sizeof(*loaded));
	struct error *err = loaded ? NULL : error_no_memory();
	size_t done = 0;
	for (; !err && done < count; done++)
		err = load(paths[done], &loaded[done]);
	if (!err)
		measure_capsules(loaded, count);
	for (size_t i = 0; i < done; i++) {
		if (loaded[i].map)
			code_map_destroy(loaded[i].map);
		capsule_deinit(&loaded[i].capsule);
	}
	free(loaded);
	return err;
}

/* ---- a process ---- */

static struct error *run(struct bench *bench, pid_t pid)
{
	struct error *err = subject_open(pid, &bench->stopper, &bench->subject);
	if (err)
		return err;
	struct subject *subject = bench->subject;
	bench->capture = (struct capture){
		.stopper = &bench->stopper,
		.live = &subject->live,
		.arch = subject->arch,
	};
	error_destroy(crosscheck_create(subject->arch, &bench->crosscheck));
	bench->snapshots = calloc(bench->wanted, sizeof(*bench->snapshots));
	if (!bench->snapshots)
		return error_no_memory();
	for (size_t i = 0; i < bench->wanted; i++)
		snapshot_init(&bench->snapshots[i]);
	take_all(bench);
	if (!bench->count)
		return error_create(ERROR_OTHER, "no thread of process %d runs", (int)pid);
	return measure(bench);
}

static void bench_deinit(struct bench *bench)
{
	for (size_t i = 0; bench->snapshots && i < bench->wanted; i++)
		snapshot_deinit(&bench->snapshots[i]);
	free(bench->snapshots);
	native_frames_vec_deinit(&bench->frames);
	native_frames_vec_deinit(&bench->theirs);
	if (bench->crosscheck)
		crosscheck_destroy(bench->crosscheck);
	if (bench->map)
		code_map_destroy(bench->map);
	if (bench->subject)
		subject_close(bench->subject);
	stopper_deinit(&bench->stopper);
}

static struct error *run_process(pid_t pid, size_t wanted)
{
	struct bench bench = { .wanted = wanted };
	stopper_init(&bench.stopper);
	struct error *err = run(&bench, pid);
	bench_deinit(&bench);
	return err;
}

int main(int argc, char **argv)
{
	size_t wanted = argc == 3 ? (size_t)atol(argv[2]) : SNAPSHOTS_DEFAULT;
	int pid = argc > 1 ? atoi(argv[1]) : 0;
	if (argc < 2 || (pid > 0 && (argc > 3 || !wanted))) {
		fputs("usage: bench/unwind PID [SNAPSHOTS]\n       bench/unwind CAPSULE...\n",
		      stderr);
		return 2;
	}
	_cleanup_error_ struct error *err =
		pid > 0 ? run_process(pid, wanted) : run_capsules(argv + 1, (size_t)argc - 1);
	if (err)
		fprintf(stderr, "unwind: %s\n", err->message);
	return err ? 1 : 0;
}
