/* SPDX-License-Identifier: MIT */
/* crew.c: the processes of a recording. */
#include "crew.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "events.h"

/* Each is some descriptors and a few hundred kilobytes of ours. */
#define MEMBERS_MAX 1000
/* New processes are looked into between two ticks for as long as this, one at least. */
#define LOOK_NS (4 * NS_PER_MS)

/* Two descriptors a thread: the usual soft limit of 1024 is soon reached. */
static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void crew_init(struct crew *crew, struct recording *recording, bool follows)
{
	*crew = (struct crew){ .recording = recording, .follows = follows };
	raise_file_limit();
	if (crew->follows)
		family_init(&crew->family);
}

void crew_deinit(struct crew *crew)
{
	vec_foreach (member, &crew->members)
		member_close(*member);
	members_deinit(&crew->members);
	if (crew->follows)
		family_deinit(&crew->family);
}

static struct error *open_member(struct crew *crew, pid_t pid, pid_t parent,
				 struct member **member_ret)
{
	struct member **slot = members_append(&crew->members);
	if (!slot)
		return error_no_memory();
	crew->members.count--;
	struct error *err = member_open(crew->recording, pid, parent, slot);
	if (!err)
		*member_ret = *slot;
	return err;
}

static struct error *add_root(struct crew *crew, pid_t pid, bool launched)
{
	struct member *member;
	struct error *err = open_member(crew, pid, 0, &member);
	if (err)
		return err;
	crew->members.count++;
	if (crew->follows && !family_add(&crew->family, pid, true))
		return error_no_memory();
	if (launched)
		return NULL;
	err = member_try_attach(member);
	/* What has no Python itself may start some that have. */
	if (err || crew->recording->options->native || crew->follows)
		return err;
	return member_await_python(member);
}

struct error *crew_add(struct crew *crew, pid_t pid, bool launched)
{
	struct error *err = add_root(crew, pid, launched);
	if (err)
		return err;
	struct member *member = crew->members.items[crew->members.count - 1];
	return member_enter(member, PROFILE_NONE) ? NULL : error_no_memory();
}

struct error *crew_add_parent(struct crew *crew, pid_t pid)
{
	struct roster_row row;
	if (!roster_look(pid, &row))
		return error_create(ERROR_GONE, "there is no process %d", (int)pid);
	return family_add(&crew->family, pid, false) ? NULL : error_no_memory();
}

/* A process that cannot be looked at, or has no Python, is no failure here: it was not asked for. */
static void try_relative(struct crew *crew, struct relative *relative)
{
	struct member *member;
	bool starting = false;
	if (crew->members.count >= MEMBERS_MAX) {
		if (!crew->is_full)
			stats_note(&crew->recording->profile->stats,
				   "no more than %d processes were sampled at a time", MEMBERS_MAX);
		crew->is_full = true;
	} else {
		_cleanup_error_ struct error *err =
			open_member(crew, relative->pid, relative->parent, &member);
		if (!err && member->subject->runtime_count) {
			crew->members.count++;
			family_take(relative);
			return;
		}
		if (!err) {
			starting = member->subject->python_error->errnum == EAGAIN;
			member_close(member);
		}
	}
	family_leave(&crew->family, relative, starting, clock_now_ns());
}

/* @alone: it runs on without a Python. @err: why it is dropped, if not for its end. */
static void drop(struct crew *crew, size_t index, bool alone, const struct error *err)
{
	struct member *member = crew->members.items[index];
	if (crew->follows)
		family_drop(&crew->family, member->pid, alone);
	if (crew->recording->symbolize)
		ticker_forgive(&crew->recording->ticker);
	member_settle(member);
	if (crew->agent)
		agent_drop(crew->agent, member->pid, err);
	member_close(member);
	crew->members.items[index] = crew->members.items[--crew->members.count];
}

/* Processes that came up, for the agent. */
static void add_found(struct crew *crew, uint64_t now_ns)
{
	const struct agent_pids *pids = agent_scan(crew->agent, now_ns);
	vec_foreach (pid, pids) {
		struct member *member;
		_cleanup_error_ struct error *err = open_member(crew, *pid, 0, &member);
		if (!err) {
			crew->members.count++;
			/* Nobody has asked for this one: without a Python it is dropped, and looked at again. */
			member->is_root = false;
		}
		if (!err && (err = member_try_attach(member)))
			drop(crew, crew->members.count - 1, false, err);
		else if (err)
			agent_drop(crew->agent, *pid, err);
		ticker_forgive(&crew->recording->ticker);
	}
}

void crew_look(struct crew *crew)
{
	struct relative *relative;
	if (!crew->follows)
		return;
	uint64_t start_ns = clock_now_ns(), now_ns = start_ns;
	family_look(&crew->family, start_ns);
	while (now_ns - start_ns < LOOK_NS && (relative = family_due(&crew->family, now_ns))) {
		ticker_forgive(&crew->recording->ticker);
		try_relative(crew, relative);
		now_ns = clock_now_ns();
	}
}

uint64_t crew_next_look_ns(const struct crew *crew)
{
	return crew->follows ? family_next_ns(&crew->family) : UINT64_MAX;
}

/* Why the Python in it can not be sampled; NULL if there is none, or none yet. */
static const struct error *why_not(const struct member *member)
{
	const struct error *err = member->subject->python_error;
	return err && err->code != ERROR_NOT_PYTHON ? err : NULL;
}

void crew_round(struct crew *crew, uint64_t tick_ns)
{
	stop_collect(&crew->recording->stopper);
	for (size_t i = 0; i < crew->members.count && !events_signal();) {
		struct member *member = crew->members.items[i];
		enum member_state state = member_round(member, tick_ns);
		if (state == MEMBER_LIVES)
			i++;
		else
			drop(crew, i, state == MEMBER_NOT_PYTHON, why_not(member));
	}
	budget_next_tick(&crew->recording->budget);
	if (crew->agent)
		add_found(crew, tick_ns);
}

static bool has_root(const struct crew *crew)
{
	vec_foreach (member, &crew->members)
		if ((*member)->is_root)
			return true;
	return false;
}

bool crew_is_over(const struct crew *crew, bool roots_only)
{
	if (roots_only)
		return !has_root(crew);
	return !crew->members.count && (!crew->follows || family_is_over(&crew->family));
}

void crew_enter(struct crew *crew)
{
	vec_foreach (member, &crew->members)
		if ((*member)->is_root)
			member_enter(*member, PROFILE_NONE);
}

void crew_drop_unwanted(struct crew *crew)
{
	for (size_t i = 0; i < crew->members.count;)
		if (agent_wants(crew->agent, crew->members.items[i]->pid))
			i++;
		else
			drop(crew, i, false, NULL);
}
