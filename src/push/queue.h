/* SPDX-License-Identifier: MIT */
/*
 * queue.h: windows that wait to be sent, between the thread that samples and the one that pushes.
 *
 * Bounded in number and bytes: what comes when it is full takes the place of the oldest. Putting something in never waits for more
 * than the other thread's look at the list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct queue_item {
	uint8_t *body; /* owned */
	size_t size;
	uint64_t samples;
};

void queue_item_deinit(struct queue_item *item);

struct queue;

struct error *queue_create(unsigned items_max, size_t bytes_max, struct queue **queue_ret);
void queue_destroy(struct queue *queue);

/* Takes over @item. How many older ones had to go for it is added to the count of queue_dropped. */
void queue_put(struct queue *queue, struct queue_item item);
/*
 * Waits until there is something, or until queue_close: then what is left comes first. False: closed and empty. The item is the
 * caller's.
 */
bool queue_take(struct queue *queue, struct queue_item *item_ret);
/* Nothing is put in any more. */
void queue_close(struct queue *queue);
/* Items and their samples that were dropped for newer ones so far. */
void queue_dropped(struct queue *queue, uint64_t *items_ret, uint64_t *samples_ret);
