/* SPDX-License-Identifier: MIT */
/* sampler.c: one thread → its Python stack. */
#include "sampler_grab.h"

#include <stdlib.h>

/* How often a thread is taken again because its stack was not wholly copied: it doubles each time. */
#define RETAKES_MAX 6

/* Looks at the same sleep before the cheaper ones begin. */
#define RESTS_MIN 8

static void forget_thread(void *data, struct thread *thread)
{
	struct sampled *sampled = thread->attached;
	if (!sampled)
		return;
	plan_vec_deinit(&sampled->plan);
	free(sampled->sleeps);
	free(sampled);
}

struct sampled *sampler_of(struct thread *thread)
{
	if (!thread->attached)
		thread->attached = calloc(1, sizeof(struct sampled));
	return thread->attached;
}

struct error *sampler_init(struct sampler *sampler, struct subject *subject, struct native *native,
			   bool nonblocking)
{
	*sampler = (struct sampler){
		.subject = subject,
		.native = native,
		.nonblocking = nonblocking,
	};
	snapshot_init(&sampler->snapshot);
	blocks_init(&sampler->twin);
	subject->threads.detach = forget_thread;
	sampler->capture = (struct capture){
		.stopper = subject->stopper,
		.live = &subject->live,
		.arch = subject->arch,
	};
	return NULL;
}

void sampler_deinit(struct sampler *sampler)
{
	snapshot_deinit(&sampler->snapshot);
	blocks_deinit(&sampler->twin);
	py_frames_vec_deinit(&sampler->frames);
	py_frames_vec_deinit(&sampler->again);
	sample_frames_deinit(&sampler->stack);
}

void sampler_round(struct sampler *sampler)
{
	sampler->lists_read = false;
	capture_forget(&sampler->capture, sampler->image_number != sampler->subject->image_number);
	sampler->image_number = sampler->subject->image_number;
	if (sampler->lists_stale)
		grab_read_lists(sampler);
}

void sampler_learn(struct sampler *sampler, struct thread *thread)
{
	struct sampled *sampled = sampler_of(thread);
	if (sampled)
		grab_learn_thread_pointer(sampler, thread, sampled);
}

void sampler_look(struct thread *thread, struct sampled *sampled, bool count,
		  struct activity *activity_ret)
{
	struct activity_files *files = &thread->files;
	if (sampled->rests >= RESTS_MIN && activity_rests(files, &sampled->resting)) {
		*activity_ret = sampled->resting;
		return;
	}
	struct activity now;
	activity_look(files, &now);
	bool asleep = now.state == ACTIVITY_BLOCKED || now.state == ACTIVITY_STOPPED;
	if (asleep && (count || files->schedstat_fd >= 0))
		activity_count(files, &now);
	/* The counts before and after this look are the same, so what it saw was so at the second one too. */
	bool same = asleep && activity_same_sleep(&sampled->resting, &now);
	sampled->rests = same ? sampled->rests + 1 : 0;
	sampled->resting = now;
	*activity_ret = now;
}

static struct capture_wants wants_of(const struct sampler *sampler, const struct grab *grab)
{
	return (struct capture_wants){
		.plan = &grab->sampled->plan,
		.registers = sampler->native || !grab->sampled->thread_pointer,
		.stack_bytes = sampler->native && !sampler->crosscheck
				       ? native_stack_bytes(grab->sampled->stack_need)
				       : 0,
		.maps = modules_maps(sampler->subject->modules),
	};
}

/*
 * The last look before a stop. A thread that ran a moment ago and sleeps now would get EINTR from some system calls; its stack is
 * still the one it had.
 */
static bool falls_asleep(struct thread *thread, struct activity *now)
{
	activity_look(&thread->files, now);
	if (now->state != ACTIVITY_BLOCKED || now->syscall == ACTIVITY_NO_SYSCALL)
		return false;
	activity_count(&thread->files, now);
	return true;
}

static enum reason capture(struct sampler *sampler, struct grab *grab, const struct activity *now)
{
	struct capture_wants wants = wants_of(sampler, grab);
	bool asleep = now->state == ACTIVITY_BLOCKED || now->state == ACTIVITY_STOPPED;
	if (asleep && !sampler->crosscheck)
		return capture_asleep(&sampler->capture, grab->thread, now, &wants, grab_stack,
				      grab, &sampler->snapshot);
	if (sampler->nonblocking)
		return grab_unstopped(grab);
	struct activity again;
	if (!sampler->hold && !sampler->crosscheck && falls_asleep(grab->thread, &again)) {
		enum reason reason = capture_asleep(&sampler->capture, grab->thread, &again, &wants,
						    grab_stack, grab, &sampler->snapshot);
		if (reason != REASON_MOVED)
			return reason;
	}
	return capture_held(&sampler->capture, grab->thread, &wants, grab_stack, grab,
			    &sampler->snapshot);
}

/*
 * A thread known to run no Python is asked again without a stop: eight bytes tell. False: it still runs none.
 */
static bool may_be_python(struct sampler *sampler, struct thread *thread, struct sampled *sampled)
{
	struct subject *subject = sampler->subject;
	if (!sampled->never_python || !sampled->thread_pointer)
		return true;
	bool asked = false;
	for (size_t i = 0; i < subject->runtime_count; i++) {
		const struct subject_runtime *runtime = &subject->runtimes[i];
		if (!runtime->has_source)
			continue;
		struct tsd_thread where = grab_tsd_thread(thread, sampled);
		uint64_t tstate;
		asked = true;
		if (tstate_source_read(&runtime->source, &subject->live.memory, &where, &tstate) !=
		    REASON_NO_THREAD_STATE)
			return true;
	}
	return !asked;
}

static enum reason take(struct sampler *sampler, struct thread *thread, struct sampled *sampled,
			const struct activity *now)
{
	struct grab grab = {
		.sampler = sampler,
		.thread = thread,
		.sampled = sampled,
		.frames = &sampler->frames,
	};
	enum reason end = capture(sampler, &grab, now);
	/* Nothing was copied where there was no hold: then the old plan is still the best guess. */
	if (sampler->snapshot.blocks.list.count)
		blocks_learn(&sampler->snapshot.blocks, &sampled->plan);
	return end;
}

static bool is_usable(enum reason taken)
{
	return !taken || taken == REASON_DEPTH_LIMIT;
}

/* A sleeper was held for a register: the next time that it sleeps there it need not be. @slept is what was known of it before. */
static void remember_sleep(struct sampler *sampler, struct sampled *sampled,
			   const struct arch_registers *slept)
{
	if (!sampled->sleeps)
		sampled->sleeps = calloc(1, sizeof(*sampled->sleeps));
	if (sampled->sleeps)
		sleep_memory_keep(sampled->sleeps, sampler->subject->arch, slept,
				  &sampler->snapshot.registers, &sampler->native->frames);
}

/* Walks a sleeper's copy with the registers that it had in the same place. Not REASON_OK: it has to be held. */
static enum reason walk_remembered(struct sampler *sampler, struct sampled *sampled,
				   enum reason end)
{
	struct arch_registers *registers = &sampler->snapshot.registers;
	const struct sleep_place *place =
		sampled->sleeps
			? sleep_memory_find(sampled->sleeps, sampler->subject->arch, registers)
			: NULL;
	if (!place)
		return end;
	struct arch_registers slept = *registers;
	*registers = place->registers;
	registers->code_mask = slept.code_mask;
	struct native *native = sampler->native;
	enum reason again = native_walk(native, &sampler->snapshot, &sampled->stack_need);
	if (!again && sleep_place_matches(place, &native->frames))
		return again;

	/* Not proved to be this sleep's: no frame that was found by them may stay. What they lacked is worth copying all the same. */
	struct memory_range missing = native->missing;
	*registers = slept;
	end = native_walk(native, &sampler->snapshot, &sampled->stack_need);
	if (again != REASON_STACK_CUT)
		return end;
	native->missing = missing;
	return again;
}

/* Native frames of the copy, ours or libunwind's. */
static enum reason walk_copy(struct sampler *sampler, struct sampled *sampled)
{
	if (sampler->crosscheck)
		return sampler->crosscheck_end;
	enum reason end = native_walk(sampler->native, &sampler->snapshot, &sampled->stack_need);
	bool lacks = end == REASON_UNKNOWN_REGISTER && sampler->snapshot.kind == SNAPSHOT_ASLEEP;
	return lacks ? walk_remembered(sampler, sampled, end) : end;
}

/*
 * The native frames of what was taken. Where more of the stack is needed it is taken again; a sleeper whose walk needs more than sp
 * and pc is held after all, once. Otherwise as take.
 */
static enum reason walk_native(struct sampler *sampler, struct thread *thread,
			       struct sampled *sampled, const struct activity *now,
			       enum reason taken, enum reason *end_ret)
{
	const struct activity running = { .state = ACTIVITY_RUNNING };
	struct arch_registers slept = { 0 };
	for (int i = 0; is_usable(taken); i++) {
		enum reason end = walk_copy(sampler, sampled);
		*end_ret = end;
		if (!end && slept.known && sampler->snapshot.kind == SNAPSHOT_HELD)
			remember_sleep(sampler, sampled, &slept);
		capture_forget(&sampler->capture, sampler->native->lost);
		bool cut = end == REASON_STACK_CUT,
		     asleep = sampler->snapshot.kind == SNAPSHOT_ASLEEP;
		if (!end || end == REASON_DEPTH_LIMIT || i == RETAKES_MAX || !(cut || asleep) ||
		    sampler->nonblocking || sampler->crosscheck)
			break;
		plan_add(&sampled->plan, &sampler->native->missing);
		sampler->hold = !cut;
		if (sampler->hold)
			slept = sampler->snapshot.registers;
		taken = take(sampler, thread, sampled, cut && asleep ? now : &running);
		sampler->hold = false;
	}
	return taken;
}

static void sweep_codes(struct subject *subject)
{
	for (size_t i = 0; i < subject->runtime_count; i++)
		code_cache_sweep(subject->runtimes[i].codes);
}

enum reason sampler_take(struct sampler *sampler, struct thread *thread, const struct activity *now,
			 struct sample *sample_ret)
{
	struct subject *subject = sampler->subject;
	struct sampled *sampled = sampler_of(thread);
	if (!sampled)
		return REASON_NO_MEMORY;
	if (!subject->runtime_count && !sampler->native)
		return REASON_NO_THREAD_STATE;
	if (sampled->runtime >= subject->runtime_count)
		sampled->runtime = 0;
	if (!sampler->native && !may_be_python(sampler, thread, sampled))
		return REASON_NO_THREAD_STATE;

	sweep_codes(subject);
	grab_learn_thread_pointer(sampler, thread, sampled);
	enum reason end = take(sampler, thread, sampled, now);
	struct sample sample = { 0 };
	bool has_native = sampler->native && sampler->snapshot.kind != SNAPSHOT_RUNNING;
	if (has_native)
		end = walk_native(sampler, thread, sampled, now, end, &sample.native_end);
	sampled->never_python = end == REASON_NO_THREAD_STATE;
	if (!is_usable(end))
		return end;

	sample.end = end;
	if (has_native) {
		sample.native = sampler->native->frames.items;
		sample.native_count = sampler->native->frames.count;
	}
	if (sampler->python) {
		sample.runtime = &subject->runtimes[sampled->runtime];
		enum reason reason =
			resolve_frames(&subject->live, sample.runtime, &sampler->frames,
				       sampler->snapshot.kind == SNAPSHOT_HELD, &sampler->stack);
		if (reason)
			return reason;
		sample.frames = sampler->stack.items;
		sample.count = sampler->stack.count;
		sample.gil = sampler->gil;
		sample.tstate = sampler->tstate.address;
	}
	*sample_ret = sample;
	return REASON_OK;
}
