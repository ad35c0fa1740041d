/* SPDX-License-Identifier: MIT */
/* handover.c: the windows of a recording on their way to a server. */
#include "handover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "push/resource.h"

/* One place that is pushed to. */
struct place {
	struct push_config config;
	struct endpoint endpoint;
	struct push *push;
};

DEFINE_VEC(struct resources, resources, struct attributes)

struct handover {
	const struct options *options;
	struct place *place;
	struct place
		*former; /* of before a reload: what waited for it is still on its way; or NULL */
	struct resources resources; /* by process of the window's profile */
	struct push_counts counts;  /* of places that are done with */
	uint64_t start_ns, due_ns;  /* of the window */
	uint64_t start_unix_ns;
};

static uint64_t unix_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void place_destroy(struct place *place)
{
	if (place->push)
		push_destroy(place->push);
	endpoint_deinit(&place->endpoint);
	push_config_deinit(&place->config);
	free(place);
}
DEFINE_CLEANUP(place_cleanup, struct place, place_destroy)

/* The URL of --push, else the file's, else the environment's. */
static struct error *find_endpoint(const struct options *options, struct place *place)
{
	const char *url = options->push_url ? options->push_url : place->config.url;
	if (url && strcmp(url, "env"))
		return error_prefix(endpoint_parse(url, &place->endpoint), "--push");
	bool base, grpc;
	struct error *err = push_config_environment_url(&url, &base, &grpc);
	if (err)
		return error_prefix(err, "--push");
	err = base || grpc ? endpoint_parse_base(url, grpc, &place->endpoint)
			   : endpoint_parse(url, &place->endpoint);
	return error_prefix(err, "OTEL_EXPORTER_OTLP_ENDPOINT");
}

static struct error *read_labels(const struct options *options, struct attributes *labels)
{
	vec_foreach (label, &options->labels) {
		struct error *err = attributes_set_pair(labels, *label);
		if (err)
			return error_prefix(err, "--label");
	}
	return resource_of_environment(labels);
}

static struct error *open_place(const struct options *options, push_config_key other, void *context,
				struct place **place_ret)
{
	_cleanup_(place_cleanup) struct place *place = calloc(1, sizeof(*place));
	if (!place)
		return error_no_memory();
	push_config_init(&place->config);
	struct error *err = push_config_environment(&place->config);
	if (!err && options->push_config)
		err = push_config_read(&place->config, options->push_config, other, context);
	if (!err)
		err = find_endpoint(options, place);
	if (!err)
		err = read_labels(options, &place->config.labels);
	if (!err)
		err = push_create(&place->endpoint, &place->config, &place->push);
	if (err)
		return err;
	*place_ret = no_cleanup(place);
	return NULL;
}

struct error *handover_create(const struct options *options, push_config_key other, void *context,
			      struct handover **handover_ret)
{
	struct handover *handover = calloc(1, sizeof(*handover));
	if (!handover)
		return error_no_memory();
	handover->options = options;
	struct error *err = open_place(options, other, context, &handover->place);
	if (err) {
		handover_destroy(handover);
		return err;
	}
	*handover_ret = handover;
	return NULL;
}

static void forget_resources(struct handover *handover)
{
	vec_foreach (resource, &handover->resources)
		attributes_deinit(resource);
	handover->resources.count = 0;
}

static void begin_window(struct handover *handover, uint64_t now_ns)
{
	handover->start_ns = now_ns;
	handover->start_unix_ns = unix_now_ns();
	handover->due_ns = now_ns + handover->options->push_window_ns;
}

struct error *handover_start(struct handover *handover, uint64_t now_ns)
{
	begin_window(handover, now_ns);
	return push_start(handover->place->push);
}

/* The resource of @process, empty at first. NULL without memory. */
static struct attributes *resource_of(struct handover *handover, uint32_t process)
{
	while (handover->resources.count <= process)
		if (!resources_append(&handover->resources))
			return NULL;
	return &handover->resources.items[process];
}

void handover_process(struct handover *handover, uint32_t process, const struct process *target)
{
	struct attributes *resource = resource_of(handover, process);
	if (!resource)
		return;
	attributes_deinit(resource);
	/* What was said on purpose goes before what is found. */
	if (attributes_add_all(resource, &handover->place->config.labels))
		resource_of_process(resource, target);
}

/* What only the profile knows. */
static void complete(const struct profile *profile, uint32_t number, struct attributes *resource)
{
	const struct profile_process *process = &profile->processes.items[number];
	if (!attributes_get(resource, "process.pid"))
		attributes_set_number(resource, "process.pid", process->pid);
	attributes_add(resource, "process.runtime.version", process->python_version);
	if (process->python_version)
		attributes_add(resource, "process.runtime.name", "cpython");
	attributes_add(resource, "service.name", profile_process_name(profile, number));
}

void handover_window(struct handover *handover, const struct profile *profile, uint64_t now_ns)
{
	struct push_window window = {
		.start_unix_ns = handover->start_unix_ns,
		.duration_ns = now_ns - handover->start_ns,
	};
	/* An id that is not random is better than a recording that waits for one. */
	if (getrandom(window.id, sizeof(window.id), GRND_NONBLOCK) != sizeof(window.id))
		memcpy(window.id, &now_ns, sizeof(now_ns));
	size_t count = profile->processes.count;
	if (!count || resource_of(handover, (uint32_t)count - 1)) {
		for (uint32_t i = 0; i < count; i++)
			complete(profile, i, &handover->resources.items[i]);
		push_window(handover->place->push, profile, &window, handover->resources.items);
	}
	forget_resources(handover);
	begin_window(handover, now_ns);
}

bool handover_due(const struct handover *handover, uint64_t now_ns)
{
	return now_ns >= handover->due_ns;
}

static void add_counts(struct push_counts *sum, const struct push_counts *counts)
{
	sum->windows += counts->windows;
	sum->samples += counts->samples;
	sum->bytes += counts->bytes;
	sum->retries += counts->retries;
	for (size_t i = 0; i < PUSH_LOSSES; i++) {
		sum->lost_windows[i] += counts->lost_windows[i];
		sum->lost_samples[i] += counts->lost_samples[i];
	}
	if (counts->message[0])
		memcpy(sum->message, counts->message, sizeof(sum->message));
}

/* False if its thread hangs; the place is then left as it is. */
static bool finish_place(struct handover *handover, struct place **place, uint64_t timeout_ns)
{
	if (!*place)
		return true;
	struct push_counts counts;
	bool ended = push_finish((*place)->push, timeout_ns, &counts);
	add_counts(&handover->counts, &counts);
	if (ended)
		place_destroy(*place);
	*place = NULL;
	return ended;
}

struct error *handover_reload(struct handover *handover, push_config_key other, void *context)
{
	struct place *place;
	struct error *err = open_place(handover->options, other, context, &place);
	if (err)
		return err;
	err = push_start(place->push);
	if (err) {
		place_destroy(place);
		return err;
	}
	/* One that has not even got rid of what waited before the last reload: its thread is left behind if it hangs. */
	finish_place(handover, &handover->former, 0);
	handover->former = handover->place;
	push_close(handover->former->push);
	handover->place = place;
	return NULL;
}

bool handover_finish(struct handover *handover)
{
	uint64_t until_ns = clock_now_ns() + handover->options->push_timeout_ns;
	bool ended = finish_place(handover, &handover->place, handover->options->push_timeout_ns);
	uint64_t now_ns = clock_now_ns();
	return !(finish_place(handover, &handover->former,
			      now_ns < until_ns ? until_ns - now_ns : 0) &&
		 ended);
}

void handover_print(const struct handover *handover, FILE *stream)
{
	const struct push_counts *counts = &handover->counts;
	bool lost = false;
	fprintf(stream, "pushed %" PRIu64 " windows with %" PRIu64 " samples, %" PRIu64 " bytes",
		counts->windows, counts->samples, counts->bytes);
	if (counts->retries)
		fprintf(stream, ", %" PRIu64 " tries failed", counts->retries);
	fputc('\n', stream);
	for (size_t i = 0; i < PUSH_LOSSES; i++) {
		if (!counts->lost_windows[i] && !counts->lost_samples[i])
			continue;
		lost = true;
		fprintf(stream, "not pushed: %" PRIu64 " windows with %" PRIu64 " samples: %s\n",
			counts->lost_windows[i], counts->lost_samples[i],
			push_loss_text((enum push_loss)i));
	}
	if ((lost || counts->retries) && counts->message[0])
		fprintf(stream, "the last push that failed: %s\n", counts->message);
}

void handover_destroy(struct handover *handover)
{
	if (handover->place)
		place_destroy(handover->place);
	if (handover->former)
		place_destroy(handover->former);
	forget_resources(handover);
	resources_deinit(&handover->resources);
	free(handover);
}
