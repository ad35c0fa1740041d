/* SPDX-License-Identifier: MIT */
/* member.c: one process of a recording. */
#include "member.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "events.h"
#include "facts.h"
#include "names.h"
#include "target/diagnosis.h"

/* How long a process that was given by its id may take to become a Python. */
#define STARTUP_NS (300 * NS_PER_MS)
/* Between two looks for a Python in a process that has none yet. */
#define FIND_NS_MIN (2 * NS_PER_MS)
#define FIND_NS_MAX (200 * NS_PER_MS)
/* With native frames: between two looks at the mappings. */
#define MAPS_NS (100 * NS_PER_MS)

static void on_held(void *data, uint64_t asked_ns, uint64_t held_ns, uint64_t released_ns)
{
	struct recording *recording = data;
	stats_stop(&recording->profile->stats, released_ns - asked_ns, released_ns - held_ns);
	budget_spend(&recording->budget, released_ns - asked_ns);
}

static struct error *open_stages(struct member *member)
{
	struct recording *recording = member->recording;
	const struct options *options = recording->options;
	struct error *err = subject_open(member->pid, &recording->stopper, &member->subject);
	if (err)
		return err;
	if (options->format && options->format->wants_sources)
		sources_add(&recording->sources, member->subject->process);
	native_init(&member->native, member->subject);
	err = sampler_init(&member->sampler, member->subject,
			   options->native ? &member->native : NULL, options->nonblocking);
	if (!err && options->libunwind)
		err = crosscheck_create(member->subject->arch, &member->crosscheck);
	if (err)
		return err;
	member->sampler.crosscheck = member->crosscheck;
	member->sampler.capture.held = on_held;
	member->sampler.capture.held_data = recording;
	if (!options->native)
		return NULL;
	error_destroy(rootfs_open(member->subject->process, &member->root));
	member->collector.native = &member->native;
	member->collector.symbolize = recording->symbolize;
	return NULL;
}

struct error *member_open(struct recording *recording, pid_t pid, pid_t parent_pid,
			  struct member **member_ret)
{
	_cleanup_member_ struct member *member = calloc(1, sizeof(*member));
	if (!member)
		return error_no_memory();
	member->recording = recording;
	member->root.fd = -1;
	member->pid = pid;
	member->parent_pid = parent_pid;
	member->is_root = !parent_pid;
	member->process = PROFILE_NONE;
	member->find_interval_ns = FIND_NS_MIN;
	struct error *err = open_stages(member);
	if (!err)
		*member_ret = no_cleanup(member);
	return err;
}

void member_close(struct member *member)
{
	if (member->subject) {
		sampler_deinit(&member->sampler);
		native_deinit(&member->native);
	}
	if (member->crosscheck)
		crosscheck_destroy(member->crosscheck);
	if (member->subject)
		subject_close(member->subject);
	collector_deinit(&member->collector);
	if (member->root.fd >= 0)
		rootfs_close(&member->root);
	free(member);
}

/* For those that the profile is handed over to. */
static void describe(const struct member *member)
{
	struct handover *handover = member->recording->handover;
	if (handover && member->process != PROFILE_NONE)
		handover_process(handover, member->process, member->subject->process);
}

bool member_enter(struct member *member, uint32_t parent)
{
	struct profile *profile = member->recording->profile;
	if (member->process != PROFILE_NONE)
		return true;
	member->process = profile_process(profile, member->pid, parent);
	facts_of_process(profile, member->process, member->subject);
	describe(member);
	return member->process != PROFILE_NONE;
}

/* The profile's number of the process with id @pid, the last one that had it. */
static uint32_t find_process(const struct profile *profile, pid_t pid)
{
	for (size_t i = profile->processes.count; pid > 0 && i-- > 0;)
		if (profile->processes.items[i].pid == pid)
			return (uint32_t)i;
	return PROFILE_NONE;
}

/* The profile's number of @thread, given when it is first needed. */
static uint32_t thread_id(struct member *member, struct thread *thread, struct sampled *sampled)
{
	struct profile *profile = member->recording->profile;
	if (!sampled->user_id) {
		if (!member_enter(member, find_process(profile, member->parent_pid)))
			return PROFILE_NONE;
		thread_read_name(thread, member->subject->process);
		uint32_t id = profile_thread(profile, member->process, thread->tid, thread->name);
		if (id == PROFILE_NONE)
			return PROFILE_NONE;
		sampled->user_id = (uint64_t)id + 1;
	}
	return (uint32_t)(sampled->user_id - 1);
}

static void count_sample(struct member *member, struct thread *thread, struct sampled *sampled,
			 uint64_t wall_ns, uint64_t cpu_ns)
{
	if (member->recording->options->gil && !(sampled->user_flags & PROFILE_GIL))
		return;
	profile_count(member->recording->profile, thread_id(member, thread, sampled),
		      (uint32_t)sampled->user_stack, sampled->user_end, sampled->user_flags,
		      wall_ns, cpu_ns);
}

static void note_take(struct member *member, enum reason reason)
{
	struct stats *stats = &member->recording->profile->stats;
	if (reason == REASON_STOP_TIMEOUT)
		stats_count(stats, STATS_UNSTOPPABLE, 1);
	if (member->sampler.snapshot.kind == SNAPSHOT_ASLEEP && !reason)
		stats_count(stats, STATS_SLEEPERS_UNSTOPPED, 1);
}

static struct debuginfo_places places_of(const struct member *member)
{
	const struct name_filter *dirs = &member->recording->options->debug_dirs;
	return (struct debuginfo_places){
		.root_fd = member->root.fd,
		.dirs = dirs->items,
		.dir_count = dirs->count,
	};
}

/* One capsule a file: DIR/PID-TID-NUMBER.json. A folder that can not be written ends the saving, not the run. */
static void save_capsule(struct member *member, const struct thread *thread,
			 const struct sample *sample)
{
	struct recording *recording = member->recording;
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "%s/%d-%d-%u.json", recording->options->capsules, (int)member->pid,
		     (int)thread->tid, recording->capsule_number++) < 0) {
		path = NULL;
		return;
	}
	struct rootfs root;
	const struct name_filter *dirs = &recording->options->debug_dirs;
	struct debuginfo_places places =
		native_places(member->subject->process, dirs->items, dirs->count, &root);
	_cleanup_error_ struct error *err =
		sampler_save(&member->sampler, thread, sample, &places, path);
	rootfs_close(&root);
	if (!err)
		return;
	stats_note(&recording->profile->stats, "capsules were not saved any more: %s",
		   err->message);
	recording->capsules_failed = true;
}

static bool wants_capsule(struct recording *recording)
{
	return recording->options->capsules && !recording->capsules_failed &&
	       recording->sample_number++ % recording->options->capsule_every == 0;
}

/* Takes a thread's stack anew. Fills the sampled's user fields; true if there is one. */
static bool take(struct member *member, struct thread *thread, struct sampled *sampled,
		 const struct activity *now)
{
	struct profile *profile = member->recording->profile;
	struct sampler *sampler = &member->sampler;
	struct sample sample;
	sampler->snapshot.kind = SNAPSHOT_RUNNING;
	sampler->snapshot.released_ns = 0;
	sampler->keep_codes = wants_capsule(member->recording);
	enum reason reason = sampler_take(sampler, thread, now, &sample);
	note_take(member, reason);
	if (!reason && sampler->keep_codes)
		save_capsule(member, thread, &sample);
	if (reason == REASON_NO_THREAD_STATE || reason == REASON_THREAD_GONE)
		return false;
	if (!reason && !sample.count && !sample.native_count)
		/* Between two Python calls, as when it starts or ends: there is no Python to show. */
		return false;
	uint32_t stack = PROFILE_NONE;
	enum reason end = REASON_OK;
	if (!reason)
		reason = collect_stack(&member->collector, profile, &sample, &stack, &end);
	if (reason) {
		/* What an exec tore is no loss of ours: it is noticed at the next tick. */
		if (memory_live_same_image(&member->subject->live))
			stats_loss(&profile->stats, reason);
		return false;
	}
	sampled->user_stack = stack;
	sampled->user_end = end;
	sampled->user_flags = (sample.gil ? PROFILE_GIL : 0) |
			      (now->state == ACTIVITY_RUNNING ? 0 : PROFILE_IDLE);
	return true;
}

/* Asleep since its last sample: that one is counted once more. */
static bool still_asleep(const struct sampled *sampled, const struct activity *now)
{
	return sampled->has_last && activity_same_sleep(&sampled->last, now);
}

/* CPU time since it was last asked for; 0 the first time. */
static uint64_t cpu_since_last(struct sampled *sampled, const struct activity *now)
{
	uint64_t last = sampled->user_cpu_ns;
	sampled->user_cpu_ns = now->cpu_ns;
	return last && now->cpu_ns > last ? now->cpu_ns - last : 0;
}

static void sample_thread(struct member *member, struct thread *thread, uint64_t now_ns)
{
	struct recording *recording = member->recording;
	struct sampled *sampled = sampler_of(thread);
	if (!sampled)
		return;
	if (!sampled->user_time_ns)
		sampled->user_time_ns = recording->previous_tick_ns;
	uint64_t since_ns = sampled->user_time_ns, seen_ns = now_ns;
	sampled->user_time_ns = now_ns;

	struct activity now;
	bool idle = recording->options->idle;
	sampler_look(thread, sampled, idle, &now);
	if (now.state == ACTIVITY_ENDED)
		return;
	bool asleep = now.state != ACTIVITY_RUNNING;
	/* Counted when the stop was given up; until it has stopped and was let go there is nothing more to try. */
	if (!asleep && stop_is_pending(&recording->stopper, thread->tid))
		return;
	if (asleep && !idle)
		return;

	bool has;
	if (asleep && still_asleep(sampled, &now)) {
		has = true;
		stats_count(&recording->profile->stats, STATS_SLEEPERS_REPEATED, 1);
	} else {
		has = take(member, thread, sampled, &now);
		/* A thread without a processor stops when it has one again, and is until then where it is found. */
		if (member->sampler.snapshot.kind == SNAPSHOT_HELD &&
		    member->sampler.snapshot.released_ns)
			seen_ns = member->sampler.snapshot.held_ns;
		sampled->user_time_ns = seen_ns;
	}
	/* After the stop: the kernel brings a running thread's counter up to date only when it is switched out. */
	if (!asleep && recording->wants_cpu)
		activity_count(&thread->files, &now);
	sampled->has_last = has && asleep;
	sampled->last = now;
	uint64_t cpu_ns = cpu_since_last(sampled, &now);
	if (has)
		count_sample(member, thread, sampled, seen_ns - since_ns, cpu_ns);
}

/* Python in a process that had none so far, looked for less and less often. */
static void find_python(struct member *member, uint64_t now_ns)
{
	struct recording *recording = member->recording;
	if (member->subject->runtime_count || now_ns < member->find_ns)
		return;
	ticker_forgive(&recording->ticker);
	if (subject_find_python(member->subject)) {
		facts_of_python(recording->profile, member->process, member->subject);
		return;
	}
	member->find_interval_ns = member->find_interval_ns * 2 < FIND_NS_MAX
					   ? member->find_interval_ns * 2
					   : FIND_NS_MAX;
	member->find_ns = clock_now_ns() + member->find_interval_ns;
}

static void resolve_names(struct member *member)
{
	struct debuginfo_places places = places_of(member);
	symbolize_resolve(member->recording->symbolize, &places);
}

void member_name_frames(struct member *member)
{
	struct debuginfo_places places = places_of(member);
	ticker_forgive(&member->recording->ticker);
	symbolize_resolve_new(member->recording->symbolize, &places);
}

/* Mappings change with libraries that are loaded and with threads, whose stacks are mappings. */
static void refresh_native(struct member *member, uint64_t now_ns)
{
	struct subject *subject = member->subject;
	struct recording *recording = member->recording;
	if (!recording->options->native)
		return;
	if (now_ns >= member->maps_ns || subject->threads.list.count != member->maps_threads) {
		member->maps_ns = now_ns + MAPS_NS;
		member->maps_threads = subject->threads.list.count;
		error_destroy(modules_update(subject->modules));
	}
	if (symbolize_is_full(recording->symbolize)) {
		ticker_forgive(&recording->ticker);
		resolve_names(member);
	}
	error_destroy(native_refresh(&member->native, now_ns));
	if (member->crosscheck &&
	    member->crosscheck_generation != modules_generation(subject->modules))
		crosscheck_forget(member->crosscheck);
	member->crosscheck_generation = modules_generation(subject->modules);
}

static void sample_threads(struct member *member, uint64_t tick_ns)
{
	struct recording *recording = member->recording;
	sampler_round(&member->sampler);
	vec_foreach (thread, &member->subject->threads.list) {
		if (events_signal())
			break;
		if (names_is_wanted(recording->options, *thread))
			sample_thread(member, *thread, tick_ns);
		budget_next_thread(&recording->budget);
	}
}

enum member_state member_round(struct member *member, uint64_t tick_ns)
{
	struct recording *recording = member->recording;
	struct subject *subject = member->subject;
	recording->stopper.leader = member->pid;
	switch (subject_update(subject)) {
	case SUBJECT_ENDED:
		return MEMBER_ENDED;
	case SUBJECT_EXECUTED:
		ticker_forgive(&recording->ticker);
		member->find_interval_ns = FIND_NS_MIN;
		member->find_ns = 0;
		if (subject->runtime_count)
			facts_of_python(recording->profile, member->process, subject);
		describe(member);
		break;
	case SUBJECT_SAME:
		break;
	}
	if (!member->is_root && !subject->runtime_count)
		return MEMBER_NOT_PYTHON;
	find_python(member, tick_ns);
	refresh_native(member, tick_ns);
	names_refresh_if_due(&member->sampler, recording->profile, clock_now_ns());
	sample_threads(member, tick_ns);
	return MEMBER_LIVES;
}

struct error *member_await_python(struct member *member)
{
	uint64_t deadline_ns = clock_now_ns() + STARTUP_NS;
	struct subject *subject = member->subject;
	while (!subject->runtime_count && subject->python_error->code == ERROR_NOT_PYTHON &&
	       clock_now_ns() < deadline_ns && !events_signal()) {
		struct timespec pause = { .tv_nsec = 10 * (long)NS_PER_MS };
		nanosleep(&pause, NULL);
		if (subject_update(subject) == SUBJECT_ENDED)
			return error_create(ERROR_GONE, "process %d ended before the first sample",
					    (int)member->pid);
		subject_find_python(subject);
	}
	if (subject->runtime_count)
		return NULL;
	return error_create(subject->python_error->code, "process %d: %s", (int)member->pid,
			    subject->python_error->message);
}

struct error *member_try_attach(struct member *member)
{
	const struct subject *subject = member->subject;
	if (member->recording->options->nonblocking)
		return NULL;
	pid_t tid = subject->process->tid;
	int errnum = stop_probe(tid);
	if (!errnum || errnum == ESRCH)
		return NULL;
	return diagnosis_explain_attach(subject->process, tid, errnum);
}

void member_settle(struct member *member)
{
	struct recording *recording = member->recording;
	struct stats *stats = &recording->profile->stats;
	const struct subject *subject = member->subject;
	if (recording->symbolize)
		resolve_names(member);
	recording->mismatches += member->collector.mismatches;
	member->collector.mismatches = 0;
	/* A child that ends is no loss, and what is tried in vain in its last moment says nothing. */
	bool gone = subject->lost && !member->is_root;
	if (subject->lost && !gone)
		stats_note(stats, "after an exec: %s", subject->lost->message);
	if (subject->python_error && !recording->options->native && member->is_root)
		stats_note(stats, "no Python was sampled: %s", subject->python_error->message);
	if (!gone)
		facts_of_reads(recording->profile, &member->subject->live);
	names_refresh(&member->sampler, recording->profile);
}

void member_forget(struct member *member)
{
	member->process = PROFILE_NONE;
	if (member->recording->options->native)
		member->collector.symbolize = member->recording->symbolize;
	memset(member->collector.cache, 0, sizeof(member->collector.cache));
	vec_foreach (thread, &member->subject->threads.list) {
		struct sampled *sampled = (*thread)->attached;
		if (!sampled)
			continue;
		sampled->user_id = 0;
		sampled->has_last = false;
	}
}
