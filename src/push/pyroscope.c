/* SPDX-License-Identifier: MIT */
/*
 * pyroscope.c: profile → a PushRequest of Pyroscope's push service.
 *
 *   PushRequest  1 series {1 labels {1 name, 2 value}*, 2 samples {1 raw_profile, 2 ID}}
 */
#include "push/pyroscope.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "write/pprof.h"

#define LABEL_NAME_MAX 128

static void add_label(struct pb *pb, const char *name, const char *value)
{
	size_t mark = pb_begin(pb, 1);
	pb_string(pb, 1, name);
	pb_string(pb, 2, value);
	pb_end(pb, mark);
}

/* Names of labels have letters, digits, "_" and ".". */
static void add_attribute(struct pb *pb, const struct attribute *attribute)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
	char name[LABEL_NAME_MAX], number[24];
	snprintf(name, sizeof(name), "%s", attribute->key);
	for (char *p = name; *(p += strspn(p, allowed));)
		*p = '_';
	snprintf(number, sizeof(number), "%lld", (long long)attribute->number);
	add_label(pb, !strcmp(name, "service.name") ? "service_name" : name,
		  attribute->text ? attribute->text : number);
}

/* The type that servers show: "process_cpu" is what other agents call CPU time. */
static const char *name_of_mode(enum profile_mode mode)
{
	return mode == PROFILE_CPU ? "process_cpu" : profile_mode_name(mode);
}

/* As 8-4-4-4-12 digits. */
static void add_id(struct pb *pb, const struct push_window *window, uint32_t process)
{
	char text[40];
	size_t at = 0;
	for (size_t i = 0; i < sizeof(window->id); i++) {
		uint8_t byte = window->id[i];
		if (i < sizeof(process))
			byte ^= (uint8_t)(process >> 8 * i);
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%02x", byte);
	}
	pb_string(pb, 2, text);
}

/* @profile with the samples of one process only: the rest is shared, and only read. */
static bool filter(const struct profile *profile, uint32_t process, struct profile_samples *samples)
{
	vec_foreach (sample, &profile->samples) {
		if (!sample->count || profile->threads.items[sample->thread].process != process)
			continue;
		struct profile_sample *copy = profile_samples_append(samples);
		if (!copy)
			return false;
		*copy = *sample;
	}
	return true;
}

static struct error *add_process(const struct profile *profile, const struct push_window *window,
				 uint32_t process, const struct attributes *resource,
				 const struct profile_samples *samples, struct pb *pb)
{
	static const struct writer_options options = { .full_paths = true };
	_cleanup_pb_ struct pb raw = { 0 };
	char start[32] = "";
	time_t start_s = (time_t)(window->start_unix_ns / NS_PER_S);
	struct tm tm;
	if (gmtime_r(&start_s, &tm))
		strftime(start, sizeof(start), "%Y-%m-%dT%H:%M:%SZ", &tm);
	struct profile part = *profile;
	part.samples = *samples;
	part.stats.duration_ns = window->duration_ns;
	part.facts.start_time = start;
	struct error *err = pprof_encode(&part, &options, &raw);
	if (err)
		return err;
	size_t series = pb_begin(pb, 1);
	add_label(pb, "__name__", name_of_mode(profile->facts.mode));
	vec_foreach (attribute, resource)
		add_attribute(pb, attribute);
	size_t mark = pb_begin(pb, 2);
	pb_bytes(pb, 1, raw.data, raw.size);
	add_id(pb, window, process);
	pb_end(pb, mark);
	pb_end(pb, series);
	return NULL;
}

struct error *pyroscope_encode(const struct profile *profile, const struct push_window *window,
			       const struct attributes *resources, struct pb *pb,
			       uint64_t *samples_ret)
{
	uint64_t count = 0;
	for (uint32_t i = 0; i < profile->processes.count; i++) {
		_cleanup_(profile_samples_deinit) struct profile_samples samples = { 0 };
		if (!filter(profile, i, &samples))
			return error_no_memory();
		if (!samples.count)
			continue;
		vec_foreach (sample, &samples)
			count += sample->count;
		struct error *err = add_process(profile, window, i, &resources[i], &samples, pb);
		if (err)
			return err;
	}
	*samples_ret = count;
	return pb->failed ? error_no_memory() : NULL;
}
