/* SPDX-License-Identifier: MIT */
/*
 * session.c: THE sampling loop, over the processes of a recording.
 *
 * Each tick is a round over the crew (member.c: target → sampler → profile); at the end, and of each window, profile → writer →
 * output.
 */
#include "session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "base/clock.h"
#include "choice.h"
#include "crew.h"
#include "events.h"
#include "facts.h"
#include "handover.h"
#include "progress.h"
#include "recording.h"
#include "results.h"
#include "target/launch.h"
#include "windows.h"

struct session {
	const struct options *options;
	const struct session_view *view; /* NULL: the profile is written, or handed over */
	struct launch_inherited inherited;
	struct launch launch;
	bool launched;
	struct events events;
	struct recording recording;
	struct crew crew;
	struct results results;
	struct progress progress;
	uint64_t window_start_ns, window_end_ns; /* UINT64_MAX: the window does not end by itself */
	struct stats total;                      /* of all windows before */
	bool push_hangs;
	struct agent *agent; /* which processes, if it is not said once and for all; else NULL */
};

static void on_ended(void *data, pid_t tid, int status)
{
	struct session *session = data;
	if (!session->launched || tid != session->launch.pid)
		return;
	session->launch.ended = true;
	session->launch.status = status;
}

/* What is sampled from here on belongs to another window. */
static void begin_window(struct session *session, uint64_t now_ns)
{
	uint64_t window_ns = session->options->window_ns;
	session->window_start_ns = now_ns;
	session->window_end_ns =
		window_ns && !session->recording.handover ? now_ns + window_ns : UINT64_MAX;
}

/* The profile of the window that ends now; the recording goes on with an empty one. */
static struct error *turn(struct session *session, uint64_t now_ns, struct profile **profile_ret)
{
	struct recording *recording = &session->recording;
	ticker_forgive(&recording->ticker);
	return windows_turn(recording, &session->crew.members, session->window_start_ns, now_ns,
			    &session->total, profile_ret);
}

/* Hands what there is over and begins anew. A window that can not be made goes on with the next one. */
static void hand_over(struct session *session, uint64_t now_ns)
{
	struct recording *recording = &session->recording;
	struct profile *profile;
	_cleanup_error_ struct error *err = turn(session, now_ns, &profile);
	if (err) {
		stats_note(&recording->profile->stats, "a window was not pushed in time: %s",
			   err->message);
		return;
	}
	handover_window(recording->handover, profile, now_ns);
	profile_destroy(profile);
	begin_window(session, now_ns);
}

/* Writes what there is to the window's file and begins anew. */
static struct error *write_window(struct session *session, uint64_t now_ns, bool last)
{
	struct profile *profile;
	struct error *err = turn(session, now_ns, &profile);
	if (err)
		return err;
	err = results_write(&session->results, profile);
	profile_destroy(profile);
	begin_window(session, now_ns);
	crew_enter(&session->crew);
	return err || last ? err : results_open(&session->results);
}

static struct error *try_snapshot(struct session *session)
{
	struct recording *recording = &session->recording;
	_cleanup_profile_ struct profile *profile = NULL;
	struct error *err = results_check_early(&session->results);
	if (err)
		return err;
	ticker_forgive(&recording->ticker);
	recording->profile->stats.duration_ns = clock_now_ns() - session->window_start_ns;
	vec_foreach (member, &session->crew.members)
		member_settle(*member);
	err = symbolize_copy(recording->symbolize, session->options->native_mode,
			     recording->profile, &profile);
	return err ? err : results_write_early(&session->results, profile);
}

/* SIGUSR1: the window ends, or what there is so far is written. That it fails does not end the run. */
static struct error *write_early(struct session *session, uint64_t now_ns)
{
	if (session->view || session->recording.handover)
		return NULL;
	if (session->options->window_ns)
		return write_window(session, now_ns, false);
	_cleanup_error_ struct error *err = try_snapshot(session);
	if (!err)
		return NULL;
	progress_clear(&session->progress);
	fprintf(stderr, "pysample: %s\n", err->message);
	return NULL;
}

/* Settings that can not be taken change nothing. */
static void reload(struct session *session)
{
	struct agent *agent = session->agent;
	agent_begin_rules(agent);
	_cleanup_error_ struct error *err =
		handover_reload(session->recording.handover, agent_config, agent);
	agent_end_rules(agent, !err);
	fprintf(stderr, "pysample: %s%s\n",
		err ? "the settings stay as they were: " : "settings read again",
		err ? err->message : "");
	if (!err)
		crew_drop_unwanted(&session->crew);
}

/* A signal asks us to end; SIGHUP asks an agent for something else. */
static bool must_end(struct session *session)
{
	if (session->agent && events_signal() == SIGHUP) {
		events_clear_signal();
		reload(session);
	}
	return events_signal();
}

static struct session_moment moment_of(struct session *session, bool over)
{
	return (struct session_moment){
		.recording = &session->recording,
		.members = &session->crew.members,
		.paths = results_path_rules(&session->crew.members),
		.now_ns = clock_now_ns(),
		.over = over,
	};
}

/* False: who looks on has seen enough. */
static bool show(struct session *session, bool over)
{
	if (!session->view)
		return true;
	struct session_moment moment = moment_of(session, over);
	return session->view->look(session->view->data, &moment);
}

/* When to wake up at the latest. */
static uint64_t wake_ns(const struct session *session, uint64_t now_ns, uint64_t tick_ns)
{
	uint64_t wake_ns = crew_next_look_ns(&session->crew);
	if (session->view && wake_ns > now_ns + SESSION_VIEW_NS)
		wake_ns = now_ns + SESSION_VIEW_NS;
	return wake_ns < tick_ns ? wake_ns : tick_ns;
}

enum sleep { SLEEP_OVER, SLEEP_ENDED, SLEEP_ENOUGH };

/* Sleeps until @tick_ns, or until we are told to end: SLEEP_ENDED if the process has ended. */
static enum sleep sleep_until(struct session *session, uint64_t tick_ns)
{
	uint64_t now_ns = clock_now_ns();
	struct stopper *stopper = &session->recording.stopper;
	/* Even when there is nothing to wait for: signals come through only here. */
	do {
		bool children = session->launched || stopper->pending.count;
		uint64_t until_ns = wake_ns(session, now_ns, tick_ns);
		if (events_wait(&session->events, now_ns < until_ns ? until_ns - now_ns : 0,
				children))
			return SLEEP_ENDED;
		stop_collect(stopper);
		crew_look(&session->crew);
		now_ns = clock_now_ns();
		if (now_ns < tick_ns && !show(session, false))
			return SLEEP_ENOUGH;
	} while (now_ns < tick_ns && !events_signal());
	return SLEEP_OVER;
}

static void begin_run(struct session *session, uint64_t start_ns)
{
	const struct options *options = session->options;
	struct recording *recording = &session->recording;
	struct stats *stats = &recording->profile->stats;
	/* Unless asked not to, the kernel lets a sleeper wait up to 50 µs longer. A launched program has its own setting by now. */
	prctl(PR_SET_TIMERSLACK, 1);
	ticker_init(&recording->ticker, options->rate_hz, options->jitter, start_ns,
		    options->duration_ns);
	budget_init(&recording->budget, options->max_overhead, start_ns);
	progress_init(&session->progress, options, !session->view, start_ns);
	stats->interval_ns = recording->ticker.period_ns;
	stats->late_ns = recording->ticker.period_ns / 2;
	ticker_limit(&recording->ticker, budget_period_ns(&recording->budget));
	recording->start_ns = start_ns;
	recording->previous_tick_ns = start_ns;
	begin_window(session, start_ns);
}

static uint64_t samples_so_far(const struct session *session)
{
	return session->total.samples + session->recording.profile->stats.samples;
}

static bool is_over(const struct session *session)
{
	const struct options *options = session->options;
	if (options->samples && samples_so_far(session) >= options->samples)
		return true;
	bool launched_ended = session->launched && session->launch.ended;
	if (session->agent)
		return false;
	return crew_is_over(&session->crew, options->until_exit) ||
	       (launched_ended && options->until_exit);
}

/* What is done between two ticks. */
static struct error *between_ticks(struct session *session, uint64_t now_ns)
{
	struct recording *recording = &session->recording;
	progress_show(&session->progress, &recording->profile->stats, samples_so_far(session),
		      session->crew.members.count, now_ns);
	if (recording->handover && handover_due(recording->handover, now_ns))
		hand_over(session, now_ns);
	if (now_ns >= session->window_end_ns)
		return write_window(session, now_ns, false);
	return events_snapshot_asked() ? write_early(session, now_ns) : NULL;
}

/* True in *over_ret: there is nothing left to sample. False: it was to end. */
static struct error *run(struct session *session, bool *over_ret)
{
	struct recording *recording = &session->recording;
	struct error *err = NULL;
	enum sleep sleep = SLEEP_OVER;
	uint64_t tick_ns, skipped;
	begin_run(session, clock_now_ns());

	while (!err && !must_end(session) && !is_over(session) &&
	       ticker_next(&recording->ticker, clock_now_ns(), &tick_ns, &skipped)) {
		struct stats *stats = &recording->profile->stats;
		stats->skipped += skipped;
		sleep = sleep_until(session, tick_ns);
		if (sleep != SLEEP_OVER || must_end(session))
			break;
		uint64_t now_ns = clock_now_ns();
		if (!budget_affords(&recording->budget, now_ns)) {
			stats->skipped++;
			continue;
		}
		stats_tick(stats, now_ns - tick_ns);
		if (session->launched)
			launch_poll(&session->launch);
		crew_round(&session->crew, now_ns);
		recording->previous_tick_ns = now_ns;
		ticker_limit(&recording->ticker, budget_period_ns(&recording->budget));
		if (!show(session, false)) {
			sleep = SLEEP_ENOUGH;
			break;
		}
		err = between_ticks(session, now_ns);
	}
	recording->profile->stats.duration_ns = clock_now_ns() - session->window_start_ns;
	progress_clear(&session->progress);
	*over_ret = sleep == SLEEP_ENDED || (sleep == SLEEP_OVER && is_over(session));
	return err;
}

/* Starts the program, if there is one to start. */
static struct error *launch(struct session *session)
{
	struct error *err =
		launch_start(session->options->program, &session->inherited, &session->launch);
	if (err)
		return err;
	session->launched = true;
	return crew_add(&session->crew, session->launch.pid, true);
}

/* Signals come through only in the waits of the loop, and this is before it. */
static bool is_stopped(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t pending;
	sigpending(&pending);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigismember(&pending, numbers[i]))
			return true;
	return events_signal();
}

static struct error *add_targets(struct session *session)
{
	const struct choice *choice = &session->options->choice;
	struct pids pids = { 0 };
	if (session->options->program)
		return launch(session);
	struct error *err = choice_resolve(choice, is_stopped, &pids);
	vec_foreach (pid, &pids)
		if (!err)
			err = crew_add(&session->crew, *pid, false);
	pids_deinit(&pids);
	if (!err && choice->children_of)
		err = crew_add_parent(&session->crew, choice->children_of);
	return err;
}

/* Where there is one process and no other to come, its end wakes us. */
static void watch(struct session *session)
{
	const struct crew *crew = &session->crew;
	bool one = crew->members.count == 1 && !crew->follows;
	events_watch(&session->events, one ? crew->members.items[0]->pid : 0);
}

static void wait_delay(struct session *session)
{
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + session->options->delay_ns;
	for (; now_ns < end_ns && !events_signal(); now_ns = clock_now_ns())
		if (events_wait(&session->events, end_ns - now_ns, session->launched))
			return;
}

static struct error *begin_profile(struct session *session)
{
	struct recording *recording = &session->recording;
	const struct options *options = session->options;
	struct error *err = profile_create(&recording->profile);
	if (!err && options->native)
		err = symbolize_create(&recording->symbolize);
	if (err)
		return err;
	recording->wants_cpu = options->mode == PROFILE_CPU || options->mode == PROFILE_OFFCPU ||
			       !options->format || strcmp(options->format->name, "collapsed");
	facts_of_run(recording->profile, options);
	return NULL;
}

/* The state at the end stays to be seen until that is enough. */
static void show_end(struct session *session)
{
	/* Its end would end each wait. */
	events_deinit(&session->events);
	while (!events_signal() && show(session, true))
		events_wait(&session->events, SESSION_VIEW_NS, false);
}

static struct error *run_for_view(struct session *session)
{
	const struct session_view *view = session->view;
	struct session_moment moment = moment_of(session, false);
	bool over = false;
	struct error *err = view->begin(view->data, &moment);
	if (!err)
		err = run(session, &over);
	if (!err && over)
		show_end(session);
	view->end(view->data);
	return err;
}

static struct error *run_for_file(struct session *session)
{
	bool over;
	struct error *err = run(session, &over);
	if (err)
		return err;
	if (session->options->window_ns)
		return write_window(session, clock_now_ns(), true);
	facts_of_rate(&session->recording.profile->stats, &session->recording);
	err = windows_finish(&session->recording, &session->crew.members);
	return err ? err : results_write(&session->results, session->recording.profile);
}

static struct error *run_for_push(struct session *session)
{
	bool over;
	struct error *err = handover_start(session->recording.handover, clock_now_ns());
	if (!err)
		err = run(session, &over);
	if (err)
		return err;
	hand_over(session, clock_now_ns());
	session->push_hangs = handover_finish(session->recording.handover);
	return NULL;
}

static void print_summary(struct session *session)
{
	struct handover *handover = session->recording.handover;
	stats_add(&session->total, &session->recording.profile->stats);
	facts_of_rate(&session->total, &session->recording);
	stats_print_summary(&session->total, stderr);
	if (session->results.number)
		fprintf(stderr, "  windows          %u\n", session->results.number);
	if (session->agent)
		agent_print(session->agent, stderr);
	if (handover)
		handover_print(handover, stderr);
}

static struct error *run_and_finish(struct session *session)
{
	struct error *err = session->view                 ? run_for_view(session)
			    : session->recording.handover ? run_for_push(session)
							  : run_for_file(session);
	if (!session->options->quiet && !(err && session->view))
		print_summary(session);
	return err;
}

static struct error *record(struct session *session)
{
	const struct options *options = session->options;
	struct error *err = NULL;
	if (options->push)
		err = handover_create(options, NULL, NULL, &session->recording.handover);
	else if (!session->view)
		err = results_open(&session->results);
	if (!err)
		err = begin_profile(session);
	if (!err)
		err = add_targets(session);
	if (err)
		return err;
	watch(session);
	if (session->launched && (err = launch_go(&session->launch)))
		return error_prefix(err, "%s", options->program[0]);
	wait_delay(session);
	return run_and_finish(session);
}

/* All processes that come up, until it is told to end. */
static struct error *record_found(struct session *session)
{
	const struct options *options = session->options;
	struct error *err = agent_create(options, &session->agent);
	if (!err)
		err = handover_create(options, agent_config, session->agent,
				      &session->recording.handover);
	if (!err)
		err = begin_profile(session);
	if (err)
		return err;
	session->crew.agent = session->agent;
	agent_end_rules(session->agent, true);
	return run_and_finish(session);
}

static void session_deinit(struct session *session)
{
	struct recording *recording = &session->recording;
	crew_deinit(&session->crew);
	if (recording->symbolize)
		symbolize_destroy(recording->symbolize);
	if (recording->profile)
		profile_destroy(recording->profile);
	stats_deinit(&session->total);
	if (recording->handover && !session->push_hangs)
		handover_destroy(recording->handover);
	if (session->agent)
		agent_destroy(session->agent);
	results_deinit(&session->results);
	sources_deinit(&recording->sources);
	stopper_deinit(&recording->stopper);
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
		stop_collect(&session->recording.stopper);
	}
	return launch_exit_status(launch);
}

static int session_run(const struct options *options, const struct session_view *view)
{
	struct session session = {
		.options = options,
		.view = view,
		.recording = { .options = options },
		.results = { .options = options,
			     .members = &session.crew.members,
			     .sources = &session.recording.sources },
		.launch = { .go_fd = -1, .failed_fd = -1 },
	};
	struct recording *recording = &session.recording;
	launch_remember(&session.inherited);
	stopper_init(&recording->stopper);
	recording->stopper.ended = on_ended;
	recording->stopper.ended_data = &session;
	events_init(&session.events, &session.inherited);
	crew_init(&session.crew, recording,
		  options->choice.subprocesses || options->choice.children_of);

	_cleanup_error_ struct error *err =
		options->command == COMMAND_AGENT ? record_found(&session) : record(&session);
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
	if (session.push_hangs) {
		/* What is run at an exit could wait for the thread, or take from it what it uses. */
		fflush(NULL);
		_exit(status);
	}
	return status;
}

int session_record(const struct options *options)
{
	return session_run(options, NULL);
}

int session_show(const struct options *options, const struct session_view *view)
{
	return session_run(options, view);
}
