/* SPDX-License-Identifier: MIT */
/* sampler.c: one thread → its Python stack. */
#include "sampler.h"

#include <stdlib.h>

#include "base/clock.h"
#include "native_capsule.h"
#include "python/gil.h"
#include "snapshot/capsule.h"

/* No thread is in more interpreters at a time. */
#define SIBLINGS_MAX 64
/* A thread that is no Python one is looked for in the lists at least once in this many rounds. */
#define LISTS_PAUSE_MAX 127

/* How often a thread is taken again because its stack was not wholly copied: it doubles each time. */
#define RETAKES_MAX 6

/* What a grab works on. */
struct grab {
	struct sampler *sampler;
	struct thread *thread;
	struct sampled *sampled;
	struct py_frames *frames;
};

static void forget_thread(void *data, struct thread *thread)
{
	struct sampled *sampled = thread->attached;
	if (!sampled)
		return;
	plan_vec_deinit(&sampled->plan);
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
	py_frames_vec_deinit(&sampler->frames);
	py_frames_vec_deinit(&sampler->again);
	sample_frames_deinit(&sampler->stack);
}

static void read_lists(struct sampler *sampler)
{
	if (!sampler->lists_read && subject_read_lists(sampler->subject))
		sampler->lists_stale = false;
	sampler->lists_read = true;
}

void sampler_round(struct sampler *sampler)
{
	sampler->lists_read = false;
	capture_forget(&sampler->capture, sampler->image_number != sampler->subject->image_number);
	sampler->image_number = sampler->subject->image_number;
	if (sampler->lists_stale)
		read_lists(sampler);
}

static struct tsd_thread tsd_thread_of(const struct thread *thread, const struct sampled *sampled)
{
	return (struct tsd_thread){
		.pointer = sampled->thread_pointer,
		.tid = (uint32_t)thread->inner_tid,
	};
}

/* The thread id that the kernel gave the owner of @tstate; 0 if it can not be told. */
static uint32_t tid_of_tstate(struct subject *subject, const struct py_tstate *tstate)
{
	if (tstate->native_thread_id)
		return (uint32_t)tstate->native_thread_id;
	uint32_t tid;
	if (!subject->has_tsd_layout || !tstate->thread_id ||
	    !memory_read_u32(&subject->live.memory, tstate->thread_id + subject->tsd.tid, &tid))
		return 0;
	return tid;
}

/* The state of @thread in the interpreter's own lists; NULL if it has none there. */
static const struct py_tstate *find_in_lists(struct sampler *sampler, const struct thread *thread,
					     const struct sampled *sampled, size_t *runtime_ret)
{
	struct subject *subject = sampler->subject;
	for (size_t i = 0; i < subject->runtime_count; i++) {
		vec_foreach (tstate, &subject->runtimes[i].list.tstates) {
			bool same =
				sampled->thread_pointer && subject->has_tsd_layout
					? tstate->thread_id == sampled->thread_pointer -
								       subject->tsd.pthread_below
					: tid_of_tstate(subject, tstate) ==
						  (uint32_t)thread->inner_tid;
			if (same) {
				*runtime_ret = i;
				return tstate;
			}
		}
	}
	return NULL;
}

/* Before anything is held: what the lists say of a thread that was never held. */
static void learn_thread_pointer(struct sampler *sampler, struct thread *thread,
				 struct sampled *sampled)
{
	struct subject *subject = sampler->subject;
	if (sampled->thread_pointer)
		return;
	if (sampled->lists_wait) {
		sampled->lists_wait--;
		return;
	}
	read_lists(sampler);
	size_t runtime;
	const struct py_tstate *tstate = find_in_lists(sampler, thread, sampled, &runtime);
	if (!tstate || !tstate->thread_id) {
		sampled->lists_pause = sampled->lists_pause < LISTS_PAUSE_MAX
					       ? 2 * sampled->lists_pause + 1
					       : LISTS_PAUSE_MAX;
		sampled->lists_wait = sampled->lists_pause;
		return;
	}
	sampled->runtime = runtime;
	if (!subject->has_tsd_layout)
		return;
	sampled->thread_pointer = tstate->thread_id + subject->tsd.pthread_below;
}

void sampler_learn(struct sampler *sampler, struct thread *thread)
{
	struct sampled *sampled = sampler_of(thread);
	if (sampled)
		learn_thread_pointer(sampler, thread, sampled);
}

/* The thread state of @grab's thread in runtime @number by TSD; 0 with REASON_NO_THREAD_STATE if it has none. */
static enum reason read_by_source(struct grab *grab, size_t number, uint64_t *tstate_ret)
{
	struct subject_runtime *runtime = &grab->sampler->subject->runtimes[number];
	struct sampled *sampled = grab->sampled;
	struct memory *memory = &grab->sampler->snapshot.blocks.memory;
	if (!runtime->has_source || !sampled->thread_pointer)
		return REASON_NO_THREAD_STATE;

	uint64_t slot = number == sampled->runtime ? sampled->slot : 0;
	if (!slot) {
		struct tsd_thread thread = tsd_thread_of(grab->thread, sampled);
		enum reason reason =
			tstate_source_address(&runtime->source, memory, &thread, &slot);
		if (reason)
			return reason;
	}
	uint64_t tstate;
	if (!memory_read_u64(memory, slot, &tstate))
		return REASON_MEMORY_FAULT;
	if (!tstate)
		return REASON_NO_THREAD_STATE;
	sampled->runtime = number;
	sampled->slot = slot;
	*tstate_ret = tstate;
	return REASON_OK;
}

static bool is_known_interp(const struct subject_runtime *runtime, uint64_t interp)
{
	vec_foreach (known, &runtime->list.interps)
		if (*known == interp)
			return true;
	return false;
}

/*
 * Thread → thread state. TSD first, in the runtime where the thread was last found; the lists where TSD is not to be had. A state
 * that belongs to no interpreter of the runtime is refused: the lists were read at most a tick ago.
 */
static enum reason find_tstate(struct grab *grab, struct py_tstate *tstate_ret)
{
	struct sampler *sampler = grab->sampler;
	struct subject *subject = sampler->subject;
	struct memory *memory = &sampler->snapshot.blocks.memory;
	enum reason reason = REASON_NO_THREAD_STATE;
	uint64_t address = 0;
	for (size_t i = 0; i < subject->runtime_count && !address; i++) {
		size_t number = (grab->sampled->runtime + i) % subject->runtime_count;
		enum reason found = read_by_source(grab, number, &address);
		if (found != REASON_NO_THREAD_STATE)
			reason = found;
	}
	if (!address && reason == REASON_NO_THREAD_STATE) {
		size_t number;
		const struct py_tstate *listed =
			find_in_lists(sampler, grab->thread, grab->sampled, &number);
		if (!listed || subject->runtimes[number].has_source)
			return reason;
		grab->sampled->runtime = number;
		address = listed->address;
	}
	if (!address)
		return reason;

	struct subject_runtime *runtime = &subject->runtimes[grab->sampled->runtime];
	reason = frames_read_tstate(memory, &runtime->py.layout, address, tstate_ret);
	if (reason)
		return reason;
	if (!is_known_interp(runtime, tstate_ret->interp)) {
		sampler->lists_stale = true;
		return REASON_BAD_THREAD_STATE;
	}
	return REASON_OK;
}

/*
 * Frames of the thread's states in other interpreters: one that called into a sub-interpreter has frames in both, and the whole
 * stack is the one on top of the other.
 */
static enum reason walk_siblings(struct grab *grab, const struct subject_runtime *runtime)
{
	struct sampler *sampler = grab->sampler;
	struct memory *memory = &sampler->snapshot.blocks.memory;
	unsigned siblings = 0;
	vec_foreach (listed, &runtime->list.tstates) {
		struct py_tstate sibling;
		if (listed->thread_id != sampler->tstate.thread_id ||
		    listed->interp == sampler->tstate.interp ||
		    listed->address == sampler->tstate.address)
			continue;
		/* A state that ended since the lists were read is not looked at, nor its address's next owner. */
		if (frames_read_tstate(memory, &runtime->py.layout, listed->address, &sibling) ||
		    sibling.thread_id != listed->thread_id || sibling.interp != listed->interp)
			continue;
		if (++siblings > SIBLINGS_MAX || grab->frames->count > FRAMES_MAX)
			return REASON_DEPTH_LIMIT;
		enum reason reason =
			frames_walk(memory, &runtime->py.layout, &sibling, grab->frames);
		if (reason)
			return reason;
		sampler->gil = sampler->gil ||
			       (sibling.frame && gil_is_held_by(memory, &runtime->py, &sibling));
	}
	return REASON_OK;
}

/*
 * Where the key does not follow a swap, the thread may run a state that was made since the lists were read: its frames would be
 * missing.
 */
static bool runs_unlisted_state(const struct grab *grab, const struct subject_runtime *runtime)
{
	const struct sampler *sampler = grab->sampler;
	struct memory *memory = &grab->sampler->snapshot.blocks.memory;
	uint64_t current = gil_current(memory, &runtime->py);
	struct py_tstate tstate;
	if (!current || current == sampler->tstate.address ||
	    frames_read_tstate(memory, &runtime->py.layout, current, &tstate) ||
	    tstate.thread_id != sampler->tstate.thread_id)
		return false;
	vec_foreach (listed, &runtime->list.tstates)
		if (listed->address == current && listed->interp == tstate.interp)
			return false;
	return true;
}

static enum reason walk_thread(struct grab *grab, const struct subject_runtime *runtime)
{
	struct sampler *sampler = grab->sampler;
	struct memory *memory = &sampler->snapshot.blocks.memory;
	const struct py_layout *layout = &runtime->py.layout;
	bool others = runtime->list.interps.count > 1;
	sampler->gil = gil_is_held_by(memory, &runtime->py, &sampler->tstate);
	if (!layout->key_follows_swap && runs_unlisted_state(grab, runtime)) {
		sampler->lists_stale = true;
		return REASON_BAD_THREAD_STATE;
	}

	enum reason reason = REASON_OK;
	if (others && !layout->key_follows_swap)
		reason = walk_siblings(grab, runtime);
	if (!reason)
		reason = frames_walk(memory, layout, &sampler->tstate, grab->frames);
	if (!reason && others && layout->key_follows_swap)
		reason = walk_siblings(grab, runtime);
	return reason;
}

/* All that a replay will ask for is touched once through the blocks. */
static enum reason grab_for_capsule(struct grab *grab, const struct subject_runtime *runtime)
{
	const struct py_runtime *py = &runtime->py;
	struct memory *memory = &grab->sampler->snapshot.blocks.memory;
	struct py_layout layout;
	struct error *err =
		py_layout_select(py->version, py->machine, py->debug_build, py->ob_head_extra,
				 memory, py->runtime_address, &layout);
	error_destroy(err);
	if (err)
		return REASON_MEMORY_FAULT;
	uint64_t last = 0;
	vec_foreach (frame, grab->frames) {
		if (frame->code == last)
			continue;
		last = frame->code;
		_cleanup_code_ struct code *code = NULL;
		enum reason reason =
			code_read(memory, &py->layout, py->code_type, frame->code, &code);
		if (reason)
			return reason;
	}
	return REASON_OK;
}

/* Inside the stop: code objects that the cache does not know, or can not be trusted with, are read now. */
static enum reason grab_codes(struct grab *grab, const struct subject_runtime *runtime)
{
	struct sampler *sampler = grab->sampler;
	/* Not through the blocks: these bytes are needed once, and would be planned for again. */
	struct memory *memory = &sampler->subject->live.memory;
	const struct py_frame *last = NULL;
	vec_foreach (frame, grab->frames) {
		if (last && frame->code == last->code) {
			frame->checked = last->checked;
			continue;
		}
		last = frame;
		const struct code *code;
		enum reason reason;
		size_t known = code_cache_count(runtime->codes);
		frame->checked = code_cache_is_volatile(runtime->codes, frame->code);
		if (frame->checked)
			reason = code_cache_get_checked(runtime->codes, memory, frame->code, &code);
		else
			reason = code_cache_get(runtime->codes, memory, frame->code, &code);
		if (reason)
			return reason;
		frame->checked = frame->checked || code_cache_count(runtime->codes) > known;
	}
	return REASON_OK;
}

static enum reason grab_stack(void *data, struct snapshot *snapshot)
{
	struct grab *grab = data;
	struct sampler *sampler = grab->sampler;
	if (snapshot->registers.has_thread_pointer)
		grab->sampled->thread_pointer = snapshot->registers.thread_pointer;
	grab->frames->count = 0;
	if (sampler->crosscheck) {
		sampler->native->frames.count = 0;
		sampler->crosscheck_end =
			crosscheck_walk(sampler->crosscheck, snapshot->tid, &snapshot->registers,
					sampler->native->map, &sampler->native->frames, NULL);
	}

	sampler->gil = false;
	sampler->python = false;
	enum reason reason = find_tstate(grab, &sampler->tstate);
	if (reason == REASON_NO_THREAD_STATE && sampler->native)
		return REASON_OK;
	if (reason)
		return reason;
	sampler->python = true;
	const struct subject_runtime *runtime = &sampler->subject->runtimes[grab->sampled->runtime];
	reason = walk_thread(grab, runtime);
	if (reason && reason != REASON_DEPTH_LIMIT)
		return reason;
	enum reason codes = grab_codes(grab, runtime);
	if (!codes && sampler->keep_codes)
		codes = grab_for_capsule(grab, runtime);
	return codes ? codes : reason;
}

static bool same_chain(const struct py_frames *a, const struct py_frames *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->items[i].address != b->items[i].address ||
		    a->items[i].code != b->items[i].code)
			return false;
	return true;
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

/* Two walks in a row that agree are believed; the second one has the newer lines. */
static enum reason take_running(struct sampler *sampler, struct grab *grab)
{
	struct capture_wants wants = wants_of(sampler, grab);
	wants.stack_bytes = 0;
	enum reason reason = capture_running(&sampler->capture, grab->thread, &wants, grab_stack,
					     grab, &sampler->snapshot);
	if (reason && reason != REASON_DEPTH_LIMIT)
		return reason;
	blocks_learn(&sampler->snapshot.blocks, &grab->sampled->plan);
	grab->frames = &sampler->again;
	enum reason again = capture_running(&sampler->capture, grab->thread, &wants, grab_stack,
					    grab, &sampler->snapshot);
	if (again != reason)
		return again ? again : REASON_MOVED;
	if (!same_chain(&sampler->frames, &sampler->again))
		return REASON_MOVED;
	struct py_frames frames = sampler->frames;
	sampler->frames = sampler->again;
	sampler->again = frames;
	return reason;
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
		return take_running(sampler, grab);
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
		struct tsd_thread where = tsd_thread_of(thread, sampled);
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

/*
 * The native frames of what was taken. Where more of the stack is needed it is taken again; a sleeper whose walk needs more than sp
 * and pc is held after all, once. Otherwise as take.
 */
static enum reason walk_native(struct sampler *sampler, struct thread *thread,
			       struct sampled *sampled, const struct activity *now,
			       enum reason taken, enum reason *end_ret)
{
	const struct activity running = { .state = ACTIVITY_RUNNING };
	for (int i = 0; is_usable(taken); i++) {
		enum reason end = sampler->crosscheck
					  ? sampler->crosscheck_end
					  : native_walk(sampler->native, &sampler->snapshot,
							&sampled->stack_need);
		*end_ret = end;
		capture_forget(&sampler->capture, sampler->native->lost);
		bool cut = end == REASON_STACK_CUT,
		     asleep = sampler->snapshot.kind == SNAPSHOT_ASLEEP;
		if (!end || end == REASON_DEPTH_LIMIT || i == RETAKES_MAX || !(cut || asleep) ||
		    sampler->nonblocking || sampler->crosscheck)
			break;
		plan_add(&sampled->plan, &sampler->native->missing);
		sampler->hold = !cut;
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
	learn_thread_pointer(sampler, thread, sampled);
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
