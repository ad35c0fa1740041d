/* SPDX-License-Identifier: MIT */
/* dump.c: every thread once. */
#include "dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "choice.h"
#include "collect.h"
#include "dump_print.h"
#include "facts.h"
#include "names.h"
#include "sampler.h"
#include "subject.h"

/* A sleeper that wakes up under the reading is looked at again; one that does so this often is reported as it is. */
#define ATTEMPTS 20

struct dump {
	const struct options *options;
	struct subject *subject;
	struct sampler sampler;
	struct native native;
	struct symbolize *symbolize; /* with native frames */
	struct profile *profile;
	struct collector collector;
	struct dump_threads threads;
};

static void describe(const struct dump *dump, const struct activity *now, struct dump_thread *out)
{
	out->state = now->state == ACTIVITY_RUNNING   ? "running"
		     : now->state == ACTIVITY_STOPPED ? "stopped"
						      : "waiting";
	if (now->state != ACTIVITY_BLOCKED || now->syscall == ACTIVITY_NO_SYSCALL)
		return;
	const char *name = dump->subject->arch->syscall_name(now->syscall);
	if (name)
		snprintf(out->syscall, sizeof(out->syscall), "%s", name);
	else
		snprintf(out->syscall, sizeof(out->syscall), "system call %ld", now->syscall);
}

/* False: the thread has ended. */
static bool look_at(struct dump *dump, struct thread *thread, struct dump_thread *out)
{
	struct activity now = { 0 };
	struct sample sample;
	enum reason reason = REASON_OK;
	for (int i = 0; i < ATTEMPTS; i++) {
		sampler_round(&dump->sampler);
		activity_look(&thread->files, &now);
		if (now.state == ACTIVITY_ENDED)
			return false;
		activity_count(&thread->files, &now);
		if (now.state == ACTIVITY_BLOCKED)
			activity_look_closely(&thread->files, &now);
		if (now.state == ACTIVITY_ENDED)
			return false;
		reason = sampler_take(&dump->sampler, thread, &now, &sample);
		if (reason != REASON_MOVED && reason != REASON_CODE_CHANGED)
			break;
	}
	if (reason == REASON_THREAD_GONE)
		return false;
	describe(dump, &now, out);
	out->python = reason != REASON_NO_THREAD_STATE;
	out->stack = PROFILE_NONE;
	if (!reason) {
		out->python = sample.runtime != NULL;
		out->gil = sample.gil;
		reason = collect_stack(&dump->collector, dump->profile, &sample, &out->stack,
				       &out->end);
	}
	if (reason != REASON_NO_THREAD_STATE)
		out->lost = reason;
	return true;
}

static struct error *look_at_all(struct dump *dump)
{
	vec_foreach (thread, &dump->subject->threads.list)
		sampler_of(*thread);
	vec_foreach (entry, &dump->subject->threads.list) {
		struct thread *thread = *entry;
		struct dump_thread out = { 0 };
		if (dump->options->tids.count && !names_is_wanted(dump->options, thread))
			continue;
		if (!look_at(dump, thread, &out))
			continue;
		struct dump_thread *kept = dump_threads_append(&dump->threads);
		if (!kept)
			return error_no_memory();
		*kept = out;
		kept->tid = thread->tid;
	}
	return NULL;
}

/* Names come last: the way to a thread's name goes through its thread pointer. */
static void add_names(struct dump *dump)
{
	names_refresh(&dump->sampler, NULL);
	size_t kept = 0;
	vec_foreach (out, &dump->threads) {
		vec_foreach (entry, &dump->subject->threads.list) {
			const struct sampled *sampled = (*entry)->attached;
			if ((*entry)->tid != out->tid)
				continue;
			memcpy(out->name, (*entry)->name, sizeof(out->name));
			if (sampled)
				memcpy(out->python_name, sampled->python_name,
				       sizeof(out->python_name));
			if (names_is_wanted(dump->options, *entry))
				dump->threads.items[kept++] = *out;
			break;
		}
	}
	dump->threads.count = kept;
}

static struct error *begin_native(struct dump *dump)
{
	struct error *err = native_refresh(&dump->native, clock_now_ns());
	if (!err)
		err = symbolize_create(&dump->symbolize);
	dump->collector.native = &dump->native;
	dump->collector.symbolize = dump->symbolize;
	return err;
}

static struct error *name_native_frames(struct dump *dump)
{
	const struct name_filter *dirs = &dump->options->debug_dirs;
	struct rootfs root;
	struct debuginfo_places places =
		native_places(dump->subject->process, dirs->items, dirs->count, &root);
	symbolize_resolve(dump->symbolize, &places);
	rootfs_close(&root);

	size_t count = dump->threads.count;
	_cleanup_free_ uint32_t *stacks = calloc(count + 1, sizeof(*stacks));
	if (!stacks)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		stacks[i] = dump->threads.items[i].stack;
	struct error *err = symbolize_rewrite_stacks(dump->symbolize, dump->options->native_mode,
						     &dump->profile, stacks, count);
	for (size_t i = 0; !err && i < count; i++)
		dump->threads.items[i].stack = stacks[i];
	return err;
}

static struct error *dump_process(struct dump *dump, pid_t pid, struct stopper *stopper)
{
	const struct options *options = dump->options;
	struct error *err = subject_open(pid, stopper, &dump->subject);
	if (err)
		return err;
	struct subject *subject = dump->subject;
	if (!subject->runtime_count && !options->native)
		return error_create(subject->python_error->code, "process %d: %s", (int)pid,
				    subject->python_error->message);
	native_init(&dump->native, subject);
	err = sampler_init(&dump->sampler, subject, options->native ? &dump->native : NULL,
			   options->nonblocking);
	if (!err)
		err = profile_create(&dump->profile);
	if (err)
		return err;
	facts_of_run(dump->profile, options);
	uint32_t id = profile_process(dump->profile, pid, PROFILE_NONE);
	if (id == PROFILE_NONE)
		return error_no_memory();
	facts_of_process(dump->profile, id, subject);
	if (options->native)
		err = begin_native(dump);
	if (!err)
		err = look_at_all(dump);
	if (!err && options->native)
		err = name_native_frames(dump);
	if (!err)
		add_names(dump);
	return err;
}

static void dump_deinit(struct dump *dump)
{
	if (dump->subject) {
		sampler_deinit(&dump->sampler);
		native_deinit(&dump->native);
	}
	if (dump->symbolize)
		symbolize_destroy(dump->symbolize);
	if (dump->subject)
		subject_close(dump->subject);
	if (dump->profile)
		profile_destroy(dump->profile);
	collector_deinit(&dump->collector);
	dump_threads_deinit(&dump->threads);
}

static struct error *print(const struct dump *dump, bool first, bool list)
{
	const struct options *options = dump->options;
	struct writer_options writing = options->writing;
	writing.paths = names_path_rules(dump->subject);
	if (options->json && list)
		fputs(first ? "[\n" : ",\n", stdout);
	else if (!first)
		fputs("\n", stdout);
	return (options->json ? dump_print_json : dump_print_text)(dump->profile, &dump->threads,
								   &writing, options->reverse,
								   stdout);
}

/*
 * One process after the other. Of those that were not asked for by themselves, what cannot be looked at is left out: the first
 * @asked of them were.
 */
static struct error *dump_all(const struct options *options, const struct pids *pids, size_t asked,
			      struct stopper *stopper)
{
	bool list = !choice_is_one_process(&options->choice), first = true;
	for (size_t i = 0; i < pids->count; i++) {
		struct dump dump = { .options = options };
		struct error *err = dump_process(&dump, pids->items[i], stopper);
		bool dumped = !err;
		if (dumped)
			err = print(&dump, first, list);
		dump_deinit(&dump);
		if (err && (dumped || (i < asked && !options->choice.subprocesses)))
			return err;
		error_destroy(err);
		first &= !dumped;
	}
	if (first && pids->count == 1)
		return error_create(ERROR_NOT_PYTHON, "process %d: there is no Python to look at",
				    (int)pids->items[0]);
	if (first && !(options->json && list))
		return error_create(ERROR_NOT_PYTHON, "there is no Python process among these");
	if (options->json && list)
		fputs(first ? "[]\n" : "]\n", stdout);
	return NULL;
}

static bool never(void)
{
	return false;
}

static struct error *dump_choice(const struct options *options, struct stopper *stopper)
{
	const struct choice *choice = &options->choice;
	struct pids pids = { 0 };
	struct error *err = choice_resolve(choice, never, &pids);
	size_t asked = pids.count;
	if (!err && (choice->subprocesses || choice->children_of))
		err = choice_add_descendants(&pids, choice->children_of);
	if (!err)
		err = dump_all(options, &pids, asked, stopper);
	pids_deinit(&pids);
	return err;
}

int dump_run(const struct options *options)
{
	struct stopper stopper;
	stopper_init(&stopper);
	_cleanup_error_ struct error *err = dump_choice(options, &stopper);
	if (!err && fflush(stdout))
		err = error_create(ERROR_OTHER, "cannot write to standard output");
	if (err)
		fprintf(stderr, "pysample: %s\n", err->message);
	stopper_deinit(&stopper);
	return !err ? 0 : err->code == ERROR_USAGE ? 2 : 1;
}
