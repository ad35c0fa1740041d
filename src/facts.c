/* SPDX-License-Identifier: MIT */
/* facts.c: what was profiled and how. */
#include "facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A command line longer than this is not kept. */
#define CMDLINE_MAX ((size_t)1 << 20)
/* The kernel keeps 15 bytes of a name. */
#define NAME_MAX_SIZE 64

static void set_argv(struct profile_argv *fact, const struct process *process)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	_cleanup_error_ struct error *err =
		process_read_file(process, "cmdline", CMDLINE_MAX, &text, &size);
	if (!err)
		profile_fact_argv(fact, text, size);
}

static void set_own_argv(struct profile_argv *fact)
{
	struct process *self = NULL;
	_cleanup_error_ struct error *err = process_open(getpid(), &self);
	if (err)
		return;
	set_argv(fact, self);
	process_close(self);
}

void facts_of_run(struct profile *profile, const struct options *options)
{
	struct profile_facts *facts = &profile->facts;
	facts->mode = options->mode;
	profile_fact(&facts->tool_version, PACKAGE_VERSION);
	set_own_argv(&facts->tool_argv);
	char text[32];
	time_t now = time(NULL);
	struct tm tm;
	if (gmtime_r(&now, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		profile_fact(&facts->start_time, text);
}

static void set_name(char **fact, const struct process *process)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	_cleanup_error_ struct error *err =
		process_read_file(process, "comm", NAME_MAX_SIZE, &text, &size);
	if (err)
		return;
	text[strcspn(text, "\n")] = '\0';
	profile_fact(fact, text);
}

static void set_executable(char **fact, const struct process *process)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_error_ struct error *err = process_read_link(process, "exe", &path);
	if (!err)
		profile_fact(fact, path);
}

void facts_of_process(struct profile *profile, uint32_t id, const struct subject *subject)
{
	if (id == PROFILE_NONE)
		return;
	struct profile_process *facts = &profile->processes.items[id];
	set_name(&facts->name, subject->process);
	set_argv(&facts->argv, subject->process);
	set_executable(&facts->executable, subject->process);
	facts_of_python(profile, id, subject);
}

void facts_of_python(struct profile *profile, uint32_t id, const struct subject *subject)
{
	if (id == PROFILE_NONE || !subject->runtime_count)
		return;
	struct profile_process *facts = &profile->processes.items[id];
	const struct subject_runtime *runtime = &subject->runtimes[0];
	set_name(&facts->name, subject->process);
	set_argv(&facts->argv, subject->process);
	/* What was launched was pysample itself at first. */
	set_executable(&facts->executable, subject->process);
	profile_fact(&facts->python_version, runtime->py.version_text);
	profile_fact(&facts->runtime, runtime->py.module->path);
	profile_fact(&facts->found_by, runtime->py.found_by);
	profile_fact(&facts->layout, py_layout_origin_name(runtime->py.layout.origin));
	if (runtime->has_source) {
		profile_fact(&facts->thread_source, runtime->source.origin);
		return;
	}
	_cleanup_free_ char *text = NULL;
	if (asprintf(&text, "the interpreter's list of thread states (%s)",
		     runtime->source_error ? runtime->source_error : "no thread-specific data") < 0)
		text = NULL;
	if (text)
		profile_fact(&facts->thread_source, text);
}

void facts_of_rate(struct stats *stats, const struct recording *recording)
{
	const struct budget *budget = &recording->budget;
	const struct ticker *ticker = &recording->ticker;
	uint64_t time_ns = recording->previous_tick_ns - recording->start_ns;
	if (budget->share > 0)
		stats_note(stats,
			   "--max-overhead %.4g%%: no thread was held for more than %.2g %% of the "
			   "time",
			   100 * budget->share,
			   time_ns ? 100 * (double)budget->held_ns / (double)time_ns : 0);
	else if (ticker->longest_period_ns > ticker->asked_period_ns)
		stats_note(stats,
			   "the rate could not be kept and was lowered to %.4g Hz for a while",
			   1e9 / (double)ticker->longest_period_ns);
}

void facts_of_reads(struct profile *profile, struct memory_live *live)
{
	static const enum stats_counter counters[] = {
		[MEMORY_VM_READV] = STATS_READS_VM,
		[MEMORY_PROC_MEM] = STATS_READS_MEM,
		[MEMORY_PEEK] = STATS_READS_PEEK,
	};
	stats_count(&profile->stats, counters[live->method], live->calls);
	live->calls = 0;
	if (live->method != MEMORY_VM_READV)
		stats_note(&profile->stats,
			   "process_vm_readv is not to be had here: memory was read by %s",
			   memory_method_name(live->method));
}
