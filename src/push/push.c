/* SPDX-License-Identifier: MIT */
/* push.c: profiles handed over to a server while the recording goes on. */
#include "push/push.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "push/curl.h"
#include "push/otlp.h"
#include "push/post.h"
#include "push/pyroscope.h"
#include "push/queue.h"

/* What waits, and one request: collectors take 20 MiB. */
#define QUEUE_BYTES_MAX   ((size_t)64 << 20)
#define REQUEST_BYTES_MAX ((size_t)16 << 20)
/* A window that could not be delivered for so long is given up. */
#define TRY_MAX_NS         (300 * NS_PER_S)
#define BACKOFF_MIN_NS     NS_PER_S
#define BACKOFF_MAX_NS     (60 * NS_PER_S)
#define BACKOFF_CLOSING_NS (500 * NS_PER_MS)
/* After the time is over: until a request notices that it is broken off. */
#define GRACE_NS (1500 * NS_PER_MS)
#define NICENESS 10

struct push {
	struct endpoint endpoint; /* not owned */
	struct curl curl;
	struct poster *poster;
	struct queue *queue;
	pthread_t thread;
	uint64_t seed;
	atomic_bool stop;      /* break off what is on its way */
	pthread_mutex_t mutex; /* of what is below */
	pthread_cond_t changed;
	bool closing; /* nothing more will come */
	bool ended;
	struct push_counts counts;
};

static void count_loss(struct push *push, enum push_loss loss, uint64_t windows, uint64_t samples,
		       const char *message)
{
	pthread_mutex_lock(&push->mutex);
	push->counts.lost_windows[loss] += windows;
	push->counts.lost_samples[loss] += samples;
	if (message && *message)
		snprintf(push->counts.message, sizeof(push->counts.message), "%s", message);
	pthread_mutex_unlock(&push->mutex);
}

static void count_taken(struct push *push, const struct queue_item *item,
			const struct post_result *result)
{
	uint64_t rejected = (uint64_t)result->rejected < item->samples ? (uint64_t)result->rejected
								       : item->samples;
	pthread_mutex_lock(&push->mutex);
	push->counts.windows++;
	push->counts.samples += item->samples - rejected;
	push->counts.bytes += result->sent_bytes;
	pthread_mutex_unlock(&push->mutex);
	if (rejected)
		count_loss(push, PUSH_LOST_PARTLY, 0, rejected, result->message);
}

static void count_retry(struct push *push, const char *message)
{
	pthread_mutex_lock(&push->mutex);
	push->counts.retries++;
	if (*message)
		snprintf(push->counts.message, sizeof(push->counts.message), "%s", message);
	pthread_mutex_unlock(&push->mutex);
}

/* Between a half and the whole of @ns: many clients of one server must not come back together. */
static uint64_t jitter(struct push *push, uint64_t ns)
{
	push->seed = push->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ns / 2 + (push->seed >> 33) % (ns / 2 + 1);
}

/* Sleeps @ns. The beginning of the end ends it early, unless the server has asked for the pause; the end itself always. */
static void push_pause(struct push *push, uint64_t ns, bool asked_for)
{
	uint64_t end_ns = clock_now_ns() + ns;
	struct timespec end = { .tv_sec = (time_t)(end_ns / NS_PER_S),
				.tv_nsec = (long)(end_ns % NS_PER_S) };
	pthread_mutex_lock(&push->mutex);
	bool was_closing = push->closing;
	while (!atomic_load(&push->stop) && clock_now_ns() < end_ns &&
	       (asked_for || push->closing == was_closing))
		pthread_cond_timedwait(&push->changed, &push->mutex, &end);
	pthread_mutex_unlock(&push->mutex);
}

static bool is_closing(struct push *push)
{
	pthread_mutex_lock(&push->mutex);
	bool closing = push->closing;
	pthread_mutex_unlock(&push->mutex);
	return closing;
}

/* Sends @item, again if need be. */
static void deliver(struct push *push, const struct queue_item *item)
{
	uint64_t started_ns = clock_now_ns(), backoff_ns = BACKOFF_MIN_NS;
	while (!atomic_load(&push->stop)) {
		struct post_result result;
		post_send(push->poster, item->body, item->size, &result);
		if (result.outcome == POST_TAKEN) {
			count_taken(push, item, &result);
			return;
		}
		if (result.outcome == POST_REFUSED) {
			count_loss(push, PUSH_LOST_REFUSED, 1, item->samples, result.message);
			return;
		}
		count_retry(push, result.message);
		if (is_closing(push))
			backoff_ns = BACKOFF_CLOSING_NS;
		uint64_t pause_ns = jitter(push, backoff_ns);
		bool asked_for = result.retry_after_ns > pause_ns;
		if (asked_for)
			pause_ns = result.retry_after_ns;
		if (clock_now_ns() + pause_ns - started_ns > TRY_MAX_NS) {
			count_loss(push, PUSH_LOST_TRIES, 1, item->samples, NULL);
			return;
		}
		backoff_ns = backoff_ns * 2 < BACKOFF_MAX_NS ? backoff_ns * 2 : BACKOFF_MAX_NS;
		push_pause(push, pause_ns, asked_for);
	}
	count_loss(push, PUSH_LOST_END, 1, item->samples, NULL);
}

static void *run(void *data)
{
	struct push *push = data;
	/* Of this thread alone: what waits for a network makes room for what must be on time. */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS);
	struct queue_item item;
	while (queue_take(push->queue, &item)) {
		deliver(push, &item);
		queue_item_deinit(&item);
	}
	pthread_mutex_lock(&push->mutex);
	push->ended = true;
	pthread_cond_signal(&push->changed);
	pthread_mutex_unlock(&push->mutex);
	return NULL;
}

struct error *push_start(struct push *push)
{
	sigset_t all, before;
	sigfillset(&all);
	/* The thread inherits the mask: signals are the sampling's. */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int errnum = pthread_create(&push->thread, NULL, run, push);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errnum ? error_errno(errnum, "cannot start the thread that pushes") : NULL;
}

static void init_locks(struct push *push)
{
	pthread_condattr_t attributes;
	pthread_mutex_init(&push->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&push->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

struct error *push_create(const struct endpoint *endpoint, const struct push_config *config,
			  struct push **push_ret)
{
	struct push *push = calloc(1, sizeof(*push));
	if (!push)
		return error_no_memory();
	push->endpoint = *endpoint;
	init_locks(push);
	if (getrandom(&push->seed, sizeof(push->seed), GRND_NONBLOCK) != sizeof(push->seed))
		push->seed = clock_now_ns();
	struct error *err = curl_load(&push->curl);
	if (!err)
		err = queue_create(config->queue, QUEUE_BYTES_MAX, &push->queue);
	if (!err)
		err = poster_create(&push->curl, endpoint, config, &push->stop, &push->poster);
	if (err) {
		push_destroy(push);
		return err;
	}
	*push_ret = push;
	return NULL;
}

void push_destroy(struct push *push)
{
	if (push->poster)
		poster_destroy(push->poster);
	if (push->queue)
		queue_destroy(push->queue);
	pthread_cond_destroy(&push->changed);
	pthread_mutex_destroy(&push->mutex);
	free(push);
}

void push_window(struct push *push, const struct profile *profile, const struct push_window *window,
		 const struct attributes *resources)
{
	_cleanup_pb_ struct pb pb = { 0 };
	uint64_t samples = 0;
	_cleanup_error_ struct error *err =
		push->endpoint.protocol == PUSH_PYROSCOPE
			? pyroscope_encode(profile, window, resources, &pb, &samples)
			: otlp_encode(profile, window, resources, &pb, &samples);
	if (err || pb.size > REQUEST_BYTES_MAX) {
		count_loss(push, PUSH_LOST_MEMORY, 1, samples,
			   err ? err->message : "a window is larger than is sent at once");
		return;
	}
	/* A server has no use for a window in which nothing was seen. */
	if (!samples)
		return;
	queue_put(push->queue, (struct queue_item){
				       .body = pb.data,
				       .size = pb.size,
				       .samples = samples,
			       });
	pb = (struct pb){ 0 };
}

static void get_counts(struct push *push, struct push_counts *counts_ret)
{
	uint64_t windows, samples;
	queue_dropped(push->queue, &windows, &samples);
	pthread_mutex_lock(&push->mutex);
	*counts_ret = push->counts;
	pthread_mutex_unlock(&push->mutex);
	counts_ret->lost_windows[PUSH_LOST_QUEUE] += windows;
	counts_ret->lost_samples[PUSH_LOST_QUEUE] += samples;
}

/* Until the thread has ended, or @ns are over. */
static bool wait_for_end(struct push *push, uint64_t ns)
{
	uint64_t end_ns = clock_now_ns() + ns;
	struct timespec end = { .tv_sec = (time_t)(end_ns / NS_PER_S),
				.tv_nsec = (long)(end_ns % NS_PER_S) };
	pthread_mutex_lock(&push->mutex);
	while (!push->ended && clock_now_ns() < end_ns)
		pthread_cond_timedwait(&push->changed, &push->mutex, &end);
	bool ended = push->ended;
	pthread_mutex_unlock(&push->mutex);
	return ended;
}

static void wake(struct push *push)
{
	pthread_mutex_lock(&push->mutex);
	push->closing = true;
	pthread_cond_broadcast(&push->changed);
	pthread_mutex_unlock(&push->mutex);
}

void push_close(struct push *push)
{
	queue_close(push->queue);
	wake(push);
}

bool push_finish(struct push *push, uint64_t timeout_ns, struct push_counts *counts_ret)
{
	push_close(push);
	bool ended = wait_for_end(push, timeout_ns);
	if (!ended) {
		atomic_store(&push->stop, true);
		wake(push);
		ended = wait_for_end(push, GRACE_NS);
	}
	if (ended)
		pthread_join(push->thread, NULL);
	else
		count_loss(push, PUSH_LOST_END, 1, 0, "the thread that pushes hangs in a library");
	get_counts(push, counts_ret);
	return ended;
}

const char *push_loss_text(enum push_loss loss)
{
	static const char *const texts[PUSH_LOSSES] = {
		[PUSH_LOST_QUEUE] = "the queue was full",
		[PUSH_LOST_REFUSED] = "refused by the server",
		[PUSH_LOST_PARTLY] = "refused in part by the server",
		[PUSH_LOST_TRIES] = "tried for too long",
		[PUSH_LOST_END] = "not sent in time at the end",
		[PUSH_LOST_MEMORY] = "too large or no memory",
	};
	return texts[loss];
}
