/* SPDX-License-Identifier: MIT */
/* queue.c: windows that wait to be sent. */
#include "push/queue.h"

#include <pthread.h>
#include <stdlib.h>

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct queue_item *items; /* a ring */
	unsigned first, count, items_max;
	size_t bytes, bytes_max;
	bool closed;
	uint64_t dropped, dropped_samples;
};

void queue_item_deinit(struct queue_item *item)
{
	free(item->body);
	*item = (struct queue_item){ 0 };
}

struct error *queue_create(unsigned items_max, size_t bytes_max, struct queue **queue_ret)
{
	struct queue *queue = calloc(1, sizeof(*queue));
	struct queue_item *items = calloc(items_max, sizeof(*items));
	if (!queue || !items) {
		free(queue);
		free(items);
		return error_no_memory();
	}
	queue->items = items;
	queue->items_max = items_max;
	queue->bytes_max = bytes_max;
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->changed, NULL);
	*queue_ret = queue;
	return NULL;
}

static struct queue_item pop(struct queue *queue)
{
	struct queue_item item = queue->items[queue->first];
	queue->first = (queue->first + 1) % queue->items_max;
	queue->count--;
	queue->bytes -= item.size;
	return item;
}

static void drop_oldest(struct queue *queue)
{
	struct queue_item item = pop(queue);
	queue->dropped++;
	queue->dropped_samples += item.samples;
	queue_item_deinit(&item);
}

void queue_destroy(struct queue *queue)
{
	while (queue->count)
		drop_oldest(queue);
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->mutex);
	free(queue->items);
	free(queue);
}

void queue_put(struct queue *queue, struct queue_item item)
{
	pthread_mutex_lock(&queue->mutex);
	while (queue->count &&
	       (queue->count == queue->items_max || queue->bytes + item.size > queue->bytes_max))
		drop_oldest(queue);
	queue->items[(queue->first + queue->count) % queue->items_max] = item;
	queue->count++;
	queue->bytes += item.size;
	pthread_cond_signal(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
}

bool queue_take(struct queue *queue, struct queue_item *item_ret)
{
	pthread_mutex_lock(&queue->mutex);
	while (!queue->count && !queue->closed)
		pthread_cond_wait(&queue->changed, &queue->mutex);
	bool has = queue->count;
	if (has)
		*item_ret = pop(queue);
	pthread_mutex_unlock(&queue->mutex);
	return has;
}

void queue_close(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	queue->closed = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
}

void queue_dropped(struct queue *queue, uint64_t *items_ret, uint64_t *samples_ret)
{
	pthread_mutex_lock(&queue->mutex);
	*items_ret = queue->dropped;
	*samples_ret = queue->dropped_samples;
	pthread_mutex_unlock(&queue->mutex);
}
