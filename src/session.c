/* SPDX-License-Identifier: MIT */
/*
 * session.c: THE sampling loop, over the processes of a recording.
 *
 * Each tick is a round over the members (member.c: target → sampler → profile); at the end profile → writer → output.
 */
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent.h"
#include "base/clock.h"
#include "events.h"
#include "facts.h"
#include "handover.h"
#include "member.h"
#include "names.h"
#include "progress.h"
#include "recording.h"
#include "target/launch.h"
#include "windows.h"
#include "write/output.h"

struct session {
	const struct options *options;
	const struct session_view *view; /* NULL: the profile is written at the end */
	struct launch_inherited inherited;
	struct launch launch;
	bool launched;
	struct events events;
	struct output *output;
	struct recording recording;
	struct members members;
	struct progress progress;
	/* With --push: */
	uint64_t window_ns; /* when the current window began */
	struct stats total; /* of all windows before */
	bool push_hangs;
	struct agent *agent; /* which processes, if it is not said once and for all; else NULL */
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

/* @err: why, if it is not its end. */
static void drop_member(struct session *session, size_t index, const struct error *err)
{
	struct member *member = session->members.items[index];
	member_settle(member);
	if (session->agent)
		agent_drop(session->agent, member->pid, err);
	member_close(member);
	session->members.items[index] = session->members.items[--session->members.count];
}

/* Processes that came up, for the agent. */
static void add_found(struct session *session, uint64_t now_ns)
{
	const struct agent_pids *pids = agent_scan(session->agent, now_ns);
	vec_foreach (pid, pids) {
		struct member **slot = members_append(&session->members);
		if (!slot)
			return;
		session->members.count--;
		_cleanup_error_ struct error *err = member_open(&session->recording, *pid, 0, slot);
		if (!err)
			session->members.count++;
		if (!err && (err = member_try_attach(*slot)))
			drop_member(session, session->members.count - 1, err);
		else if (err)
			agent_drop(session->agent, *pid, err);
		ticker_forgive(&session->recording.ticker);
	}
}

/* False: there is nothing left to sample. */
static bool round_of_samples(struct session *session, uint64_t tick_ns)
{
	struct recording *recording = &session->recording;
	stop_collect(&recording->stopper);
	for (size_t i = 0; i < session->members.count && !events_signal();) {
		if (member_round(session->members.items[i], tick_ns))
			i++;
		else
			drop_member(session, i, NULL);
	}
	budget_next_tick(&recording->budget);
	if (session->agent)
		add_found(session, tick_ns);
	return session->members.count > 0 || session->agent;
}

static bool is_package_dir(void *context, const char *dir)
{
	const struct members *members = context;
	vec_foreach (member, members) {
		struct path_rules rules = names_path_rules((*member)->subject);
		if (rules.is_package_dir(rules.context, dir))
			return true;
	}
	return false;
}

static struct path_rules path_rules(struct session *session)
{
	return (struct path_rules){ is_package_dir, &session->members };
}

static struct session_moment moment_of(struct session *session, bool over)
{
	return (struct session_moment){
		.recording = &session->recording,
		.members = &session->members,
		.paths = path_rules(session),
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

static uint64_t longest_sleep_ns(const struct session *session, uint64_t now_ns, uint64_t tick_ns)
{
	uint64_t ns = now_ns < tick_ns ? tick_ns - now_ns : 0;
	return session->view && ns > SESSION_VIEW_NS ? SESSION_VIEW_NS : ns;
}

enum sleep { SLEEP_OVER, SLEEP_ENDED, SLEEP_ENOUGH };

/* Sleeps until @tick_ns, or until we are told to end: SLEEP_ENDED if the process has ended. */
static enum sleep sleep_until(struct session *session, uint64_t tick_ns)
{
	uint64_t now_ns = clock_now_ns();
	/* Even when there is nothing to wait for: signals come through only here. */
	do {
		bool children = session->launched || session->recording.stopper.pending.count;
		if (events_wait(&session->events, longest_sleep_ns(session, now_ns, tick_ns),
				children))
			return SLEEP_ENDED;
		stop_collect(&session->recording.stopper);
		now_ns = clock_now_ns();
		if (now_ns < tick_ns && !show(session, false))
			return SLEEP_ENOUGH;
	} while (now_ns < tick_ns && !events_signal());
	return SLEEP_OVER;
}

/* Hands what there is over and begins anew. A window that can not be made goes on with the next one. */
static void hand_over(struct session *session, uint64_t now_ns)
{
	struct recording *recording = &session->recording;
	struct profile *profile;
	_cleanup_error_ struct error *err =
		windows_turn(recording, &session->members, session->window_ns, now_ns,
			     &session->total, &profile);
	if (err) {
		stats_note(&recording->profile->stats, "a window was not pushed in time: %s",
			   err->message);
		return;
	}
	handover_window(recording->handover, profile, now_ns);
	profile_destroy(profile);
	session->window_ns = now_ns;
	ticker_forgive(&recording->ticker);
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
	for (size_t i = 0; !err && i < session->members.count;) {
		if (agent_wants(agent, session->members.items[i]->pid))
			i++;
		else
			drop_member(session, i, NULL);
	}
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
	progress_init(&session->progress, options->quiet || session->view, start_ns);
	stats->interval_ns = recording->ticker.period_ns;
	stats->late_ns = recording->ticker.period_ns / 2;
	ticker_limit(&recording->ticker, budget_period_ns(&recording->budget));
	recording->start_ns = start_ns;
	session->window_ns = start_ns;
	recording->previous_tick_ns = start_ns;
}

/* True: there is nothing left to sample. False: it was to end. */
static bool run(struct session *session)
{
	struct recording *recording = &session->recording;
	uint64_t tick_ns, skipped;
	enum sleep sleep = SLEEP_OVER;
	begin_run(session, clock_now_ns());

	while (!must_end(session) &&
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
		if (session->launched && launch_poll(&session->launch))
			break;
		if (!round_of_samples(session, now_ns)) {
			sleep = SLEEP_ENDED;
			break;
		}
		recording->previous_tick_ns = now_ns;
		ticker_limit(&recording->ticker, budget_period_ns(&recording->budget));
		progress_show(&session->progress, stats, now_ns);
		if (recording->handover && handover_due(recording->handover, now_ns))
			hand_over(session, now_ns);
		if (!show(session, false))
			break;
	}
	recording->profile->stats.duration_ns = clock_now_ns() - session->window_ns;
	facts_of_rate(recording->profile, &recording->ticker, &recording->budget);
	progress_clear(&session->progress);
	return sleep == SLEEP_ENDED;
}

/* Starts the program if there is one to start: the id of the process to profile. */
static struct error *find_target(struct session *session, pid_t *pid_ret)
{
	const struct options *options = session->options;
	*pid_ret = options->pid;
	if (!options->program)
		return NULL;
	struct error *err = launch_start(options->program, &session->inherited, &session->launch);
	if (err)
		return err;
	session->launched = true;
	*pid_ret = session->launch.pid;
	return NULL;
}

static struct error *add_root(struct session *session, pid_t pid)
{
	struct member **slot = members_append(&session->members);
	if (!slot)
		return error_no_memory();
	session->members.count--;
	struct error *err = member_open(&session->recording, pid, 0, slot);
	if (err)
		return err;
	session->members.count++;
	if (session->launched)
		return NULL;
	err = member_try_attach(*slot);
	if (err || session->options->native)
		return err;
	return member_await_python(*slot);
}

static struct error *write_profile(struct session *session)
{
	struct writer_options writing = session->options->writing;
	writing.paths = path_rules(session);
	writing.sources = sources_reader(&session->recording.sources);
	struct error *err = session->options->format->write(session->recording.profile, &writing,
							    output_stream(session->output));
	return err ? err : output_commit(no_cleanup(session->output));
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
			       strcmp(options->format->name, "collapsed");
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
	struct error *err = view->begin(view->data, &moment);
	if (!err && run(session))
		show_end(session);
	return err;
}

static struct error *run_for_file(struct session *session)
{
	run(session);
	struct error *err = windows_finish(&session->recording, &session->members);
	return err ? err : write_profile(session);
}

static struct error *run_for_push(struct session *session)
{
	struct error *err = handover_start(session->recording.handover, clock_now_ns());
	if (err)
		return err;
	run(session);
	hand_over(session, clock_now_ns());
	session->push_hangs = handover_finish(session->recording.handover);
	return NULL;
}

static void print_summary(struct session *session)
{
	struct handover *handover = session->recording.handover;
	stats_add(&session->total, &session->recording.profile->stats);
	stats_print_summary(&session->total, stderr);
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
	if (session->view)
		session->view->end(session->view->data);
	if (!session->options->quiet && !(err && session->view))
		print_summary(session);
	return err;
}

static struct error *record(struct session *session)
{
	const struct options *options = session->options;
	pid_t pid = 0;
	struct error *err = NULL;
	if (options->push)
		err = handover_create(options, NULL, NULL, &session->recording.handover);
	else if (!session->view)
		err = output_open(options->output, &session->output);
	if (!err)
		err = begin_profile(session);
	if (!err)
		err = find_target(session, &pid);
	if (!err)
		err = add_root(session, pid);
	if (err)
		return err;
	events_watch(&session->events, pid);
	vec_foreach (member, &session->members)
		member_enter(*member, PROFILE_NONE);
	if (session->launched && (err = launch_go(&session->launch)))
		return error_prefix(err, "%s", options->program[0]);

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
	agent_end_rules(session->agent, true);
	return run_and_finish(session);
}

static void session_deinit(struct session *session)
{
	struct recording *recording = &session->recording;
	vec_foreach (member, &session->members)
		member_close(*member);
	members_deinit(&session->members);
	if (recording->symbolize)
		symbolize_destroy(recording->symbolize);
	if (recording->profile)
		profile_destroy(recording->profile);
	stats_deinit(&session->total);
	if (recording->handover && !session->push_hangs)
		handover_destroy(recording->handover);
	if (session->agent)
		agent_destroy(session->agent);
	if (session->output)
		output_abort(session->output);
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
		.launch = { .go_fd = -1, .failed_fd = -1 },
	};
	launch_remember(&session.inherited);
	stopper_init(&session.recording.stopper);
	session.recording.stopper.ended = on_ended;
	session.recording.stopper.ended_data = &session;
	events_init(&session.events, &session.inherited);
	raise_file_limit();

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
