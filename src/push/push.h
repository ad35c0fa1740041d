/* SPDX-License-Identifier: MIT */
/*
 * push.h: profiles handed over to a server while the recording goes on.
 *
 * The thread that samples encodes a window and queues it; everything that waits for a network is done by a thread of its own, which
 * takes no signals and shares nothing with the sampling but the queue. What the server does not take is tried again with growing
 * pauses where that can help, and is lost, with its reason, where not.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "aggregate/profile.h"
#include "base/error.h"
#include "push/attributes.h"
#include "push/endpoint.h"
#include "push/settings.h"
#include "push/window.h"

/* Why samples that were recorded are not on the server. */
enum push_loss {
	PUSH_LOST_QUEUE,   /* newer ones took their place */
	PUSH_LOST_REFUSED, /* the server refused them for good */
	PUSH_LOST_PARTLY,  /* it took a window and refused these of it */
	PUSH_LOST_TRIES,   /* it was tried for too long */
	PUSH_LOST_END,     /* the time for the last ones was over */
	PUSH_LOST_MEMORY,  /* no memory, or larger than is sent at once */
	PUSH_LOSSES,
};

struct push_counts {
	uint64_t windows, samples, bytes; /* taken by the server */
	uint64_t retries;
	uint64_t lost_windows[PUSH_LOSSES], lost_samples[PUSH_LOSSES];
	char message[160]; /* the last thing that went wrong; "" for nothing */
};

struct push;

/*
 * Loads what is needed; @endpoint and @config must outlive the push. Fails where libcurl is missing; that a server can not be reached
 * is no failure.
 */
struct error *push_create(const struct endpoint *endpoint, const struct push_config *config,
			  struct push **push_ret);
/* Starts the thread: not before all processes are forked. */
struct error *push_start(struct push *push);
/* Hands @profile over; @resources describe its processes, by number. Never waits for the network. */
void push_window(struct push *push, const struct profile *profile, const struct push_window *window,
		 const struct attributes *resources);
/* Nothing more will be handed over; what waits is still sent. */
void push_close(struct push *push);
/*
 * Gives the thread @timeout_ns for what waits and counts the rest as lost. False: the thread still hangs in a library a second later and
 * can not be ended; *@push then stays as it is and the program must end by _exit.
 */
bool push_finish(struct push *push, uint64_t timeout_ns, struct push_counts *counts_ret);
/* Of one that was not started, or after push_finish has returned true. */
void push_destroy(struct push *push);

const char *push_loss_text(enum push_loss loss);
