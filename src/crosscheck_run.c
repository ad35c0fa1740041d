/* SPDX-License-Identifier: MIT */
/* crosscheck_run.c: compares native stacks with libunwind's, in the same stops. */
#include "crosscheck_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "crosscheck_report.h"
#include "native.h"
#include "snapshot/capture.h"
#include "subject.h"
#include "ticker.h"
#include "unwind/crosscheck.h"

#define DURATION_DEFAULT_NS (10 * NS_PER_S)
/* Between two looks at the mappings. */
#define MAPS_NS (100 * NS_PER_MS)
/* A copy of the stack that was too short is made again, longer. */
#define ATTEMPTS 8

/* What is kept for a thread. */
struct checked {
	uint64_t stack_need;
};

struct check {
	const struct options *options;
	struct stopper stopper;
	struct subject *subject;
	struct native native;
	struct capture capture;
	struct snapshot snapshot;
	struct crosscheck *crosscheck;
	struct native_frames theirs;
	struct crosscheck_places places;
	enum reason their_end;
	struct crosscheck_report report;
	uint64_t maps_ns, generation;
	size_t maps_threads;
};

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
	stop_signal = number;
}

static void forget_thread(void *data, struct thread *thread)
{
	free(thread->attached);
}

/* Inside the stop: libunwind walks while our copy is being made, and that is all that has to be done here. */
static enum reason grab(void *data, struct snapshot *snapshot)
{
	struct check *check = data;
	check->theirs.count = check->places.count = 0;
	check->their_end = crosscheck_walk(check->crosscheck, snapshot->tid, &snapshot->registers,
					   check->native.map, &check->theirs, &check->places);
	return REASON_OK;
}

/* Mappings change with libraries that are loaded and with threads, whose stacks are mappings. */
static void refresh(struct check *check, bool maps_too)
{
	struct subject *subject = check->subject;
	uint64_t now_ns = clock_now_ns();
	if (maps_too || now_ns >= check->maps_ns ||
	    check->maps_threads != subject->threads.list.count) {
		check->maps_ns = now_ns + MAPS_NS;
		check->maps_threads = subject->threads.list.count;
		error_destroy(modules_update(subject->modules));
	}
	error_destroy(native_refresh(&check->native, now_ns));
	if (check->generation == modules_generation(subject->modules))
		return;
	check->generation = modules_generation(subject->modules);
	crosscheck_forget(check->crosscheck);
}

/* Of a thread that has started since, not all of the stack was copied: where it ends was not known. */
static bool is_stack_known(const struct check *check)
{
	uint64_t sp;
	return !arch_register_get(&check->snapshot.registers, check->subject->arch->sp, &sp) ||
	       maps_find(modules_maps(check->subject->modules), sp);
}

struct question {
	const struct crosscheck *crosscheck;
	uint64_t address;
	bool answer;
};

static enum reason ask(void *data, struct snapshot *snapshot)
{
	struct question *question = data;
	question->answer = crosscheck_knows(question->crosscheck, snapshot->tid, question->address);
	return REASON_OK;
}

/* It can be asked in a stop only, and is only where the walks differ. Not to be found out: then the difference counts. */
static bool they_know(struct check *check, struct thread *thread)
{
	struct agreement agreement = agreement_of(&check->native.frames, &check->theirs);
	if (agreement.kind == AGREEMENT_FULL || !agreement.at)
		return true;
	struct question question = {
		.crosscheck = check->crosscheck,
		.address = check->native.frames.items[agreement.at - 1].address,
		.answer = true,
	};
	struct capture_wants nothing = { .plan = &(struct plan){ 0 } };
	capture_held(&check->capture, thread, &nothing, ask, &question, &check->snapshot);
	return question.answer;
}

static enum reason compare_once(struct check *check, struct thread *thread, struct checked *checked)
{
	struct capture_wants wants = {
		.plan = &(struct plan){ 0 },
		.registers = true,
		.stack_bytes = native_stack_bytes(checked->stack_need),
		.maps = modules_maps(check->subject->modules),
	};
	enum reason reason =
		capture_held(&check->capture, thread, &wants, grab, check, &check->snapshot);
	if (reason) {
		check->report.counts.not_held += reason != REASON_THREAD_GONE;
		return REASON_OK;
	}
	reason = native_walk(&check->native, &check->snapshot, &checked->stack_need);
	if (reason && !is_stack_known(check)) {
		refresh(check, true);
		return REASON_STACK_CUT;
	}
	/* A library that was loaded since: the copy is good, only the mappings were not known. */
	if (reason == REASON_NO_CODE) {
		refresh(check, true);
		reason = native_walk(&check->native, &check->snapshot, &checked->stack_need);
	}
	if (reason == REASON_STACK_CUT)
		return reason;
	struct crosscheck_pair pair = {
		.they_know = they_know(check, thread),
		.ours = &check->native.frames,
		.theirs = &check->theirs,
		.places = &check->places,
		.our_end = reason,
		.their_end = check->their_end,
	};
	return crosscheck_report_add(&check->report, &check->native, &pair) ? REASON_OK
									    : REASON_NO_MEMORY;
}

static void compare(struct check *check, struct thread *thread)
{
	struct activity now = { 0 };
	activity_look(&thread->files, &now);
	if (now.state == ACTIVITY_ENDED ||
	    (now.state != ACTIVITY_RUNNING && !check->options->idle) ||
	    stop_is_pending(&check->stopper, thread->tid))
		return;
	if (!thread->attached)
		thread->attached = calloc(1, sizeof(struct checked));
	if (!thread->attached)
		return;
	for (int i = 0; i < ATTEMPTS; i++) {
		if (compare_once(check, thread, thread->attached) != REASON_STACK_CUT)
			return;
	}
	check->report.counts.cut++;
}

static bool is_wanted(const struct options *options, const struct thread *thread)
{
	vec_foreach (tid, &options->tids)
		if (*tid == thread->tid)
			return true;
	return !options->tids.count;
}

static void run(struct check *check)
{
	const struct options *options = check->options;
	struct ticker ticker;
	uint64_t tick_ns, skipped;
	ticker_init(&ticker, options->rate_hz, options->jitter, clock_now_ns(),
		    options->duration_ns ? options->duration_ns : DURATION_DEFAULT_NS);
	while (!stop_signal && ticker_next(&ticker, clock_now_ns(), &tick_ns, &skipped)) {
		struct timespec at = { .tv_sec = (time_t)(tick_ns / NS_PER_S),
				       .tv_nsec = (long)(tick_ns % NS_PER_S) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		enum subject_change change = subject_update(check->subject);
		if (change == SUBJECT_ENDED)
			return;
		if (change == SUBJECT_EXECUTED)
			crosscheck_forget(check->crosscheck);
		refresh(check, false);
		stop_collect(&check->stopper);
		vec_foreach (thread, &check->subject->threads.list)
			if (!stop_signal && is_wanted(options, *thread))
				compare(check, *thread);
	}
}

static struct error *open_subject(struct check *check)
{
	struct error *err = crosscheck_create(arch_host(), &check->crosscheck);
	if (!err)
		err = subject_open(check->options->pid, &check->stopper, &check->subject);
	if (err)
		return err;
	struct subject *subject = check->subject;
	subject->threads.detach = forget_thread;
	native_init(&check->native, subject);
	check->capture = (struct capture){
		.stopper = &check->stopper,
		.live = &subject->live,
		.arch = subject->arch,
	};
	check->generation = UINT64_MAX;
	return NULL;
}

static struct error *print(const struct check *check)
{
	const struct crosscheck_counts *counts = &check->report.counts;
	_cleanup_strbuf_ struct strbuf text = { 0 };
	crosscheck_report_print(&check->report, &text);
	if (text.failed)
		return error_no_memory();
	if (fputs(text.text, stdout) < 0 || fflush(stdout))
		return error_create(ERROR_OTHER, "cannot write to standard output");
	if (!counts->stops)
		return error_create(ERROR_OTHER,
				    "no thread of process %d was running: nothing was compared",
				    (int)check->options->pid);
	if (counts->guessed_frames > counts->frames)
		return error_create(ERROR_OTHER, "too little was compared: libunwind does not find "
						 "the unwind information of "
						 "most of the code");
	return NULL;
}

static void check_deinit(struct check *check)
{
	native_deinit(&check->native);
	crosscheck_report_deinit(&check->report);
	native_frames_vec_deinit(&check->theirs);
	crosscheck_places_vec_deinit(&check->places);
	snapshot_deinit(&check->snapshot);
	if (check->crosscheck)
		crosscheck_destroy(check->crosscheck);
	if (check->subject)
		subject_close(check->subject);
	stopper_deinit(&check->stopper);
}

int crosscheck_run(const struct options *options)
{
	struct check check = { .options = options };
	struct sigaction action = { .sa_handler = on_signal };
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	snapshot_init(&check.snapshot);
	stopper_init(&check.stopper);
	_cleanup_error_ struct error *err = open_subject(&check);
	if (!err) {
		run(&check);
		err = print(&check);
	}
	if (err)
		fprintf(stderr, "pysample: %s\n", err->message);
	bool enough = crosscheck_report_percent(&check.report) >= CROSSCHECK_ENOUGH;
	check_deinit(&check);
	return err || !enough ? 1 : 0;
}
