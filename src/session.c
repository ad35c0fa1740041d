/* SPDX-License-Identifier: MIT */
/*
 * session.c: THE sampling loop.
 *
 * target → sampler (capture, frames, functions and lines) → profile → writer → output. This file names every stage in order and
 * nothing else does.
 */
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "budget.h"
#include "collect.h"
#include "events.h"
#include "facts.h"
#include "names.h"
#include "native.h"
#include "progress.h"
#include "sampler.h"
#include "subject.h"
#include "target/diagnosis.h"
#include "target/launch.h"
#include "ticker.h"
#include "write/output.h"

/* How long a process that was given by its id may take to become a Python. */
#define STARTUP_NS (300 * NS_PER_MS)
/* Between two looks for a Python in a process that has none yet. */
#define FIND_NS_MIN (2 * NS_PER_MS)
#define FIND_NS_MAX (200 * NS_PER_MS)
/* With native frames: between two looks at the mappings. */
#define MAPS_NS (100 * NS_PER_MS)

struct session {
	const struct options *options;
	struct stopper stopper;
	struct launch_inherited inherited;
	struct launch launch;
	bool launched;
	struct events events;
	struct output *output;
	struct subject *subject;
	struct sampler sampler;
	struct native native;
	struct crosscheck *crosscheck; /* with --unwinder=libunwind */
	uint64_t crosscheck_generation;
	struct symbolize *symbolize;
	uint64_t maps_ns;
	size_t maps_threads;
	struct profile *profile;
	uint32_t process; /* in the profile */
	struct ticker ticker;
	struct budget budget;
	struct progress progress;
	uint64_t previous_tick_ns;
	uint64_t find_ns, find_interval_ns;
	struct collector collector;
	bool wants_cpu;
	uint64_t sample_number;
	unsigned capsule_number;
	bool capsules_failed;
};

/* Two descriptors a thread: the usual soft limit of 1024 is soon reached. */
static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void on_ended(void *data, pid_t tid, int status)
{
	struct session *session = data;
	if (!session->launched || tid != session->launch.pid)
		return;
	session->launch.ended = true;
	session->launch.status = status;
}

/* The profile's number of @thread, given when it is first needed. */
static uint32_t thread_id(struct session *session, struct thread *thread, struct sampled *sampled)
{
	if (!sampled->user_id) {
		thread_read_name(thread, session->subject->process);
		uint32_t id = profile_thread(session->profile, session->process, thread->tid,
					     thread->name);
		if (id == PROFILE_NONE)
			return PROFILE_NONE;
		sampled->user_id = (uint64_t)id + 1;
	}
	return (uint32_t)(sampled->user_id - 1);
}

static void count_sample(struct session *session, struct thread *thread, struct sampled *sampled,
			 uint64_t wall_ns, uint64_t cpu_ns)
{
	if (session->options->gil && !(sampled->user_flags & PROFILE_GIL))
		return;
	profile_count(session->profile, thread_id(session, thread, sampled),
		      (uint32_t)sampled->user_stack, sampled->user_end, sampled->user_flags,
		      wall_ns, cpu_ns);
}

static void on_held(void *data, uint64_t asked_ns, uint64_t held_ns, uint64_t released_ns)
{
	struct session *session = data;
	stats_stop(&session->profile->stats, released_ns - asked_ns, released_ns - held_ns);
	budget_spend(&session->budget, released_ns - asked_ns);
}

static void note_take(struct session *session, enum reason reason)
{
	struct stats *stats = &session->profile->stats;
	if (reason == REASON_STOP_TIMEOUT)
		stats_count(stats, STATS_UNSTOPPABLE, 1);
	if (session->sampler.snapshot.kind == SNAPSHOT_ASLEEP && !reason)
		stats_count(stats, STATS_SLEEPERS_UNSTOPPED, 1);
}

static struct debuginfo_places open_places(const struct session *session, struct rootfs *root)
{
	const struct name_filter *dirs = &session->options->debug_dirs;
	return native_places(session->subject->process, dirs->items, dirs->count, root);
}

/* One capsule a file: DIR/PID-TID-NUMBER.json. A folder that can not be written ends the saving, not the run. */
static void save_capsule(struct session *session, const struct thread *thread,
			 const struct sample *sample)
{
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "%s/%d-%d-%u.json", session->options->capsules,
		     (int)session->subject->process->pid, (int)thread->tid,
		     session->capsule_number++) < 0) {
		path = NULL;
		return;
	}
	struct rootfs root;
	struct debuginfo_places places = open_places(session, &root);
	_cleanup_error_ struct error *err =
		sampler_save(&session->sampler, thread, sample, &places, path);
	rootfs_close(&root);
	if (!err)
		return;
	stats_note(&session->profile->stats, "capsules were not saved any more: %s", err->message);
	session->capsules_failed = true;
}

static bool wants_capsule(struct session *session)
{
	return session->options->capsules && !session->capsules_failed &&
	       session->sample_number++ % session->options->capsule_every == 0;
}

/* Takes a thread's stack anew. Fills the sampled's user fields; true if there is one. */
static bool take(struct session *session, struct thread *thread, struct sampled *sampled,
		 const struct activity *now)
{
	struct sample sample;
	session->sampler.snapshot.kind = SNAPSHOT_RUNNING;
	session->sampler.snapshot.released_ns = 0;
	session->sampler.keep_codes = wants_capsule(session);
	enum reason reason = sampler_take(&session->sampler, thread, now, &sample);
	note_take(session, reason);
	if (!reason && session->sampler.keep_codes)
		save_capsule(session, thread, &sample);
	if (reason == REASON_NO_THREAD_STATE || reason == REASON_THREAD_GONE)
		return false;
	if (!reason && !sample.count && !sample.native_count)
		/* Between two Python calls, as when it starts or ends: there is no Python to show. */
		return false;
	uint32_t stack = PROFILE_NONE;
	enum reason end = REASON_OK;
	if (!reason)
		reason =
			collect_stack(&session->collector, session->profile, &sample, &stack, &end);
	if (reason) {
		/* What an exec tore is no loss of ours: it is noticed at the next tick. */
		if (memory_live_same_image(&session->subject->live))
			stats_loss(&session->profile->stats, reason);
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

static void sample_thread(struct session *session, struct thread *thread, uint64_t now_ns)
{
	struct sampled *sampled = sampler_of(thread);
	if (!sampled)
		return;
	if (!sampled->user_time_ns)
		sampled->user_time_ns = session->previous_tick_ns;
	uint64_t since_ns = sampled->user_time_ns, seen_ns = now_ns;
	sampled->user_time_ns = now_ns;

	struct activity now;
	sampler_look(thread, sampled, session->options->idle, &now);
	if (now.state == ACTIVITY_ENDED)
		return;
	bool asleep = now.state != ACTIVITY_RUNNING;
	/* Counted when the stop was given up; until it has stopped and was let go there is nothing more to try. */
	if (!asleep && stop_is_pending(&session->stopper, thread->tid))
		return;
	if (asleep && !session->options->idle)
		return;

	bool has;
	if (asleep && still_asleep(sampled, &now)) {
		has = true;
		stats_count(&session->profile->stats, STATS_SLEEPERS_REPEATED, 1);
	} else {
		has = take(session, thread, sampled, &now);
		/* A thread without a processor stops when it has one again, and is until then where it is found. */
		if (session->sampler.snapshot.kind == SNAPSHOT_HELD &&
		    session->sampler.snapshot.released_ns)
			seen_ns = session->sampler.snapshot.held_ns;
		sampled->user_time_ns = seen_ns;
	}
	/* After the stop: the kernel brings a running thread's counter up to date only when it is switched out. */
	if (!asleep && session->wants_cpu)
		activity_count(&thread->files, &now);
	sampled->has_last = has && asleep;
	sampled->last = now;
	uint64_t cpu_ns = cpu_since_last(sampled, &now);
	if (has)
		count_sample(session, thread, sampled, seen_ns - since_ns, cpu_ns);
}

/* Python in a process that had none so far, looked for less and less often. */
static void find_python(struct session *session, uint64_t now_ns)
{
	if (session->subject->runtime_count || now_ns < session->find_ns)
		return;
	ticker_forgive(&session->ticker);
	if (subject_find_python(session->subject)) {
		facts_of_python(session->profile, session->process, session->subject);
		return;
	}
	session->find_interval_ns = session->find_interval_ns * 2 < FIND_NS_MAX
					    ? session->find_interval_ns * 2
					    : FIND_NS_MAX;
	session->find_ns = clock_now_ns() + session->find_interval_ns;
}

static void resolve_names(struct session *session)
{
	struct rootfs root;
	struct debuginfo_places places = open_places(session, &root);
	symbolize_resolve(session->symbolize, &places);
	rootfs_close(&root);
}

/* Mappings change with libraries that are loaded and with threads, whose stacks are mappings. */
static void refresh_native(struct session *session, uint64_t now_ns)
{
	struct subject *subject = session->subject;
	if (!session->options->native)
		return;
	if (now_ns >= session->maps_ns || subject->threads.list.count != session->maps_threads) {
		session->maps_ns = now_ns + MAPS_NS;
		session->maps_threads = subject->threads.list.count;
		error_destroy(modules_update(subject->modules));
	}
	if (symbolize_is_full(session->symbolize)) {
		ticker_forgive(&session->ticker);
		resolve_names(session);
	}
	error_destroy(native_refresh(&session->native, now_ns));
	if (session->crosscheck &&
	    session->crosscheck_generation != modules_generation(subject->modules))
		crosscheck_forget(session->crosscheck);
	session->crosscheck_generation = modules_generation(subject->modules);
}

/* False: there is nothing left to sample. */
static bool round_of_samples(struct session *session, uint64_t tick_ns)
{
	switch (subject_update(session->subject)) {
	case SUBJECT_ENDED:
		return false;
	case SUBJECT_EXECUTED:
		ticker_forgive(&session->ticker);
		session->find_interval_ns = FIND_NS_MIN;
		session->find_ns = 0;
		if (session->subject->runtime_count)
			facts_of_python(session->profile, session->process, session->subject);
		break;
	case SUBJECT_SAME:
		break;
	}
	find_python(session, tick_ns);
	refresh_native(session, tick_ns);
	stop_collect(&session->stopper);
	names_refresh_if_due(&session->sampler, session->profile, clock_now_ns());

	sampler_round(&session->sampler);
	vec_foreach (thread, &session->subject->threads.list) {
		if (events_signal())
			break;
		if (names_is_wanted(session->options, *thread))
			sample_thread(session, *thread, tick_ns);
		budget_next_thread(&session->budget);
	}
	budget_next_tick(&session->budget);
	return true;
}

/* Sleeps until @tick_ns, or until we are told to end. True if the process has ended. */
static bool sleep_until(struct session *session, uint64_t tick_ns)
{
	uint64_t now_ns = clock_now_ns();
	/* Even when there is nothing to wait for: signals come through only here. */
	do {
		bool children = session->launched || session->stopper.pending.count;
		if (events_wait(&session->events, now_ns < tick_ns ? tick_ns - now_ns : 0,
				children))
			return true;
		stop_collect(&session->stopper);
		now_ns = clock_now_ns();
	} while (now_ns < tick_ns && !events_signal());
	return false;
}

static void run(struct session *session)
{
	const struct options *options = session->options;
	struct stats *stats = &session->profile->stats;
	uint64_t start_ns = clock_now_ns(), tick_ns, skipped;
	/* Unless asked not to, the kernel lets a sleeper wait up to 50 µs longer. A launched program has its own setting by now. */
	prctl(PR_SET_TIMERSLACK, 1);
	ticker_init(&session->ticker, options->rate_hz, options->jitter, start_ns,
		    options->duration_ns);
	budget_init(&session->budget, options->max_overhead, start_ns);
	progress_init(&session->progress, options->quiet, start_ns);
	stats->interval_ns = session->ticker.period_ns;
	ticker_limit(&session->ticker, budget_period_ns(&session->budget));
	stats->late_ns = session->ticker.period_ns / 2;
	session->previous_tick_ns = start_ns;
	session->find_interval_ns = FIND_NS_MIN;

	while (!events_signal() &&
	       ticker_next(&session->ticker, clock_now_ns(), &tick_ns, &skipped)) {
		stats->skipped += skipped;
		if (sleep_until(session, tick_ns) || events_signal())
			break;
		uint64_t now_ns = clock_now_ns();
		if (!budget_affords(&session->budget, now_ns)) {
			stats->skipped++;
			continue;
		}
		stats_tick(stats, now_ns - tick_ns);
		if (session->launched && launch_poll(&session->launch))
			break;
		if (!round_of_samples(session, now_ns))
			break;
		session->previous_tick_ns = now_ns;
		ticker_limit(&session->ticker, budget_period_ns(&session->budget));
		progress_show(&session->progress, stats, now_ns);
	}
	stats->duration_ns = clock_now_ns() - start_ns;
	facts_of_rate(session->profile, &session->ticker, &session->budget);
	progress_clear(&session->progress);
}

static struct error *find_python_at_start(struct session *session)
{
	uint64_t deadline_ns = clock_now_ns() + STARTUP_NS;
	struct subject *subject = session->subject;
	while (!subject->runtime_count && subject->python_error->code == ERROR_NOT_PYTHON &&
	       clock_now_ns() < deadline_ns && !events_signal()) {
		struct timespec pause = { .tv_nsec = 10 * (long)NS_PER_MS };
		nanosleep(&pause, NULL);
		if (subject_update(subject) == SUBJECT_ENDED)
			return error_create(ERROR_GONE, "process %d ended before the first sample",
					    (int)session->options->pid);
		subject_find_python(subject);
	}
	if (subject->runtime_count)
		return NULL;
	return error_create(subject->python_error->code, "process %d: %s",
			    (int)session->options->pid, subject->python_error->message);
}

/* Whether a thread can be held at all is found out before the run, not by a profile without samples. */
static struct error *try_attach(struct session *session)
{
	struct subject *subject = session->subject;
	if (session->options->nonblocking)
		return NULL;
	pid_t tid = subject->process->tid;
	int errnum = stop_probe(tid);
	if (!errnum || errnum == ESRCH)
		return NULL;
	return diagnosis_explain_attach(subject->process, tid, errnum);
}

static struct error *open_subject(struct session *session)
{
	const struct options *options = session->options;
	pid_t pid = options->pid;
	if (options->program) {
		struct error *err =
			launch_start(options->program, &session->inherited, &session->launch);
		if (err)
			return err;
		session->launched = true;
		pid = session->launch.pid;
	}
	struct error *err = subject_open(pid, &session->stopper, &session->subject);
	if (err)
		return err;
	events_watch(&session->events, pid);
	native_init(&session->native, session->subject);
	err = sampler_init(&session->sampler, session->subject,
			   options->native ? &session->native : NULL, options->nonblocking);
	if (!err && options->libunwind)
		err = crosscheck_create(session->subject->arch, &session->crosscheck);
	session->sampler.crosscheck = session->crosscheck;
	session->sampler.capture.held = on_held;
	session->sampler.capture.held_data = session;
	if (err || session->launched)
		return err;
	err = try_attach(session);
	if (err || options->native)
		return err;
	return find_python_at_start(session);
}

static struct error *write_profile(struct session *session)
{
	struct writer_options writing = session->options->writing;
	writing.paths = names_path_rules(session->subject);
	struct error *err = session->options->format->write(session->profile, &writing,
							    output_stream(session->output));
	return err ? err : output_commit(no_cleanup(session->output));
}

static struct error *name_native_frames(struct session *session)
{
	if (!session->symbolize)
		return NULL;
	resolve_names(session);
	if (session->collector.mismatches)
		stats_note(&session->profile->stats,
			   "native and Python frames did not fit together in %" PRIu64 " samples",
			   session->collector.mismatches);
	return symbolize_rewrite(session->symbolize, session->options->native_mode,
				 &session->profile);
}

static struct error *record(struct session *session)
{
	const struct options *options = session->options;
	struct error *err = output_open(options->output, &session->output);
	if (!err)
		err = profile_create(&session->profile);
	if (!err)
		err = open_subject(session);
	if (err)
		return err;
	session->wants_cpu = options->mode == PROFILE_CPU || options->mode == PROFILE_OFFCPU ||
			     strcmp(options->format->name, "collapsed");
	facts_of_run(session->profile, options);
	session->process =
		profile_process(session->profile, session->subject->process->pid, PROFILE_NONE);
	facts_of_process(session->profile, session->process, session->subject);
	if (session->launched && (err = launch_go(&session->launch)))
		return error_prefix(err, "%s", options->program[0]);

	if (options->native) {
		err = symbolize_create(&session->symbolize);
		if (err)
			return err;
		session->collector.native = &session->native;
		session->collector.symbolize = session->symbolize;
	}
	run(session);
	err = name_native_frames(session);
	if (err)
		return err;
	if (session->subject->lost)
		stats_note(&session->profile->stats, "after an exec: %s",
			   session->subject->lost->message);
	if (session->subject->python_error && !options->native)
		stats_note(&session->profile->stats, "no Python was sampled: %s",
			   session->subject->python_error->message);
	facts_of_reads(session->profile, &session->subject->live);
	names_refresh(&session->sampler, session->profile);
	err = write_profile(session);
	if (!options->quiet)
		stats_print_summary(&session->profile->stats, stderr);
	return err;
}

static void session_deinit(struct session *session)
{
	sampler_deinit(&session->sampler);
	native_deinit(&session->native);
	if (session->crosscheck)
		crosscheck_destroy(session->crosscheck);
	if (session->symbolize)
		symbolize_destroy(session->symbolize);
	if (session->subject)
		subject_close(session->subject);
	if (session->profile)
		profile_destroy(session->profile);
	if (session->output)
		output_abort(session->output);
	collector_deinit(&session->collector);
	stopper_deinit(&session->stopper);
	events_deinit(&session->events);
}

/*
 * The launched program outlives the recording: it is waited for, and gets what ends us. Threads that are still on their way to a
 * stop are let go meanwhile.
 */
static int finish_launched(struct session *session)
{
	struct launch *launch = &session->launch;
	while (!launch_poll(launch)) {
		if (events_signal() == SIGTERM || events_signal() == SIGHUP)
			kill(launch->pid, events_signal());
		events_clear_signal();
		events_wait(&session->events, NS_PER_S, true);
		stop_collect(&session->stopper);
	}
	return launch_exit_status(launch);
}

int session_record(const struct options *options)
{
	struct session session = {
		.options = options,
		.launch = { .go_fd = -1, .failed_fd = -1 },
	};
	launch_remember(&session.inherited);
	stopper_init(&session.stopper);
	session.stopper.ended = on_ended;
	session.stopper.ended_data = &session;
	events_init(&session.events, &session.inherited);
	raise_file_limit();

	_cleanup_error_ struct error *err = record(&session);
	if (err) {
		progress_clear(&session.progress);
		fprintf(stderr, "pysample: %s\n", err->message);
	}
	int status = err ? (err->code == ERROR_USAGE ? 2 : 1) : 0;
	launch_deinit(&session.launch);
	if (session.launched) {
		int program = finish_launched(&session);
		status = status ? status : program;
	}
	session_deinit(&session);
	return status;
}
