/* SPDX-License-Identifier: MIT */
/* names.c: which thread is which. */
#include "names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "python/threadnames.h"
#include "target/memory_pages.h"

/* Threads may name themselves late, most of them soon after they start: a name is at most that old, at first and in the long run. */
#define REFRESH_NS_MIN NS_PER_S
#define REFRESH_NS_MAX (8 * NS_PER_S)
/* Where threads come and go, that is no reason to read all names at each tick. */
#define REFRESH_NS_CHANGED (100 * NS_PER_MS)

static void set_python_name(struct subject *subject, struct profile *profile, struct thread *thread,
			    const struct threadnames *names)
{
	struct sampled *sampled = thread->attached;
	if (!sampled || !sampled->thread_pointer)
		return;
	uint64_t self = sampled->thread_pointer -
			(subject->has_tsd_layout ? subject->tsd.pthread_below : 0);
	const char *name = threadnames_find(names, self);
	if (!name)
		return;
	snprintf(sampled->python_name, sizeof(sampled->python_name), "%s", name);
	if (profile && sampled->user_id)
		profile_thread_set_python_name(profile, (uint32_t)(sampled->user_id - 1), name);
}

void names_refresh(struct sampler *sampler, struct profile *profile)
{
	struct subject *subject = sampler->subject;
	subject_read_lists(subject);
	vec_foreach (thread, &subject->threads.list) {
		thread_read_name(*thread, subject->process);
		sampler_learn(sampler, *thread);
		struct sampled *sampled = (*thread)->attached;
		if (profile && sampled && sampled->user_id)
			profile_thread_set_kernel_name(profile, (uint32_t)(sampled->user_id - 1),
						       (*thread)->name);
	}
	_cleanup_memory_pages_ struct memory_pages pages;
	memory_pages_init(&pages, &subject->live.memory);
	for (size_t i = 0; i < subject->runtime_count; i++) {
		const struct subject_runtime *runtime = &subject->runtimes[i];
		vec_foreach (interp, &runtime->list.interps) {
			struct threadnames names;
			if (!threadnames_read(&pages.memory, &runtime->py.layout, *interp, &names))
				continue;
			vec_foreach (thread, &subject->threads.list)
				set_python_name(subject, profile, *thread, &names);
			threadnames_deinit(&names);
		}
	}
}

void names_refresh_if_due(struct sampler *sampler, struct profile *profile, uint64_t now_ns)
{
	struct subject *subject = sampler->subject;
	bool same_threads = subject->names_thread_count == subject->threads.list.count;
	uint64_t pause_ns = same_threads ? subject->names_pause_ns : REFRESH_NS_CHANGED;
	if (subject->names_pause_ns && now_ns - subject->names_read_ns < pause_ns)
		return;
	pause_ns = same_threads ? 2 * subject->names_pause_ns : REFRESH_NS_MIN;
	subject->names_pause_ns = pause_ns < REFRESH_NS_MAX ? pause_ns : REFRESH_NS_MAX;
	subject->names_read_ns = now_ns;
	subject->names_thread_count = subject->threads.list.count;
	names_refresh(sampler, profile);
}

bool names_is_wanted(const struct options *options, const struct thread *thread)
{
	if (!options->tids.count && !options->names.count)
		return true;
	vec_foreach (tid, &options->tids)
		if (*tid == thread->tid)
			return true;
	const struct sampled *sampled = thread->attached;
	vec_foreach (name, &options->names)
		if (!strcmp(*name, thread->name) ||
		    (sampled && !strcmp(*name, sampled->python_name)))
			return true;
	return false;
}

static bool is_package_dir(void *context, const char *dir)
{
	const struct subject *subject = context;
	char path[4096];
	if (!subject->process ||
	    snprintf(path, sizeof(path), "root%s/__init__.py", dir) >= (int)sizeof(path))
		return false;
	return !faccessat(subject->process->dir_fd, path, F_OK, 0);
}

struct path_rules names_path_rules(struct subject *subject)
{
	return (struct path_rules){ .is_package_dir = is_package_dir, .context = subject };
}
