/* SPDX-License-Identifier: MIT */
/* json.c: all that a profile knows, in the schema of docs/formats.md. */
#include "write/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "write/jsonstream.h"

/* Changes when a reader of the older files would misread a newer one; new members alone do not
 * change it. */
#define SCHEMA_VERSION 2

static json_t *json_id(uint32_t id)
{
	return id == PROFILE_NONE ? json_null() : json_integer(id);
}

static json_t *json_u64(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *json_argv(const struct profile_argv *argv)
{
	if (!argv->bytes)
		return json_null();
	json_t *array = json_array();
	for (size_t at = 0; array && at < argv->size; at += strlen(argv->bytes + at) + 1) {
		if (json_array_append_new(array, jsonstream_text(argv->bytes + at)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* Only reasons that occurred. */
static json_t *json_reasons(const uint64_t counts[REASON_COUNT_])
{
	json_t *object = json_object();
	for (size_t i = 0; object && i < REASON_COUNT_; i++) {
		if (!counts[i])
			continue;
		if (json_object_set_new(object, reason_name((enum reason)i), json_u64(counts[i]))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static void add_quantile(struct jsonstream *json, const char *key,
			 const struct histogram *histogram, unsigned permille)
{
	jsonstream_add(json, key, json_u64(histogram_quantile(histogram, permille)));
}

static void add_histogram(struct jsonstream *json, const char *key,
			  const struct histogram *histogram)
{
	jsonstream_open(json, key, '{');
	jsonstream_add(json, "count", json_u64(histogram->total));
	jsonstream_add(json, "sum", json_u64(histogram->sum));
	add_quantile(json, "p50", histogram, 500);
	add_quantile(json, "p90", histogram, 900);
	add_quantile(json, "p99", histogram, 990);
	jsonstream_add(json, "max", json_u64(histogram->max));
	jsonstream_open(json, "buckets", '[');
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (histogram->counts[i])
			jsonstream_add(json, NULL,
				       json_pack("[o,o]", json_u64(histogram_bucket_low(i)),
						 json_u64(histogram->counts[i])));
	jsonstream_close(json, ']');
	jsonstream_close(json, '}');
}

static void add_tool(struct jsonstream *json, const struct profile *profile)
{
	jsonstream_open(json, "tool", '{');
	jsonstream_add(json, "name", json_string("pysample"));
	jsonstream_add(json, "version", jsonstream_text(profile->facts.tool_version));
	jsonstream_add(json, "argv", json_argv(&profile->facts.tool_argv));
	jsonstream_close(json, '}');
}

static json_t *json_process(const struct profile_process *process)
{
	return json_pack("{s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "pid", (int)process->pid,
			 "parent", json_id(process->parent), "name", jsonstream_text(process->name),
			 "argv", json_argv(&process->argv), "executable",
			 jsonstream_text(process->executable), "python_version",
			 jsonstream_text(process->python_version), "runtime",
			 jsonstream_text(process->runtime), "found_by",
			 jsonstream_text(process->found_by), "layout",
			 jsonstream_text(process->layout), "thread_source",
			 jsonstream_text(process->thread_source));
}

static void add_processes(struct jsonstream *json, const struct profile *profile)
{
	jsonstream_open(json, "processes", '[');
	vec_foreach (process, &profile->processes)
		jsonstream_add(json, NULL, json_process(process));
	jsonstream_close(json, ']');
}

static void add_options(struct jsonstream *json, const struct profile *profile,
			const struct writer_options *options)
{
	jsonstream_open(json, "options", '{');
	jsonstream_add(json, "mode", json_string(profile_mode_name(profile->facts.mode)));
	jsonstream_add(json, "interval_ns", json_u64(profile->stats.interval_ns));
	jsonstream_add(json, "full_paths", json_boolean(options->full_paths));
	jsonstream_close(json, '}');
}

static void add_stats(struct jsonstream *json, const struct stats *stats)
{
	jsonstream_open(json, "stats", '{');
	jsonstream_add(json, "ticks", json_u64(stats->ticks));
	jsonstream_add(json, "late", json_u64(stats->late));
	jsonstream_add(json, "skipped", json_u64(stats->skipped));
	jsonstream_add(json, "rate_hz", json_real((double)stats_rate_mhz(stats) / 1000));
	jsonstream_add(json, "samples", json_u64(stats->samples));
	jsonstream_add(json, "complete", json_u64(stats->complete));
	jsonstream_add(json, "cut", json_reasons(stats->cut));
	for (size_t i = 0; i < STATS_COUNTERS; i++)
		jsonstream_add(json, stats_counter_name((enum stats_counter)i),
			       json_u64(stats->counters[i]));
	add_histogram(json, "stop_ns", &stats->stop_ns);
	add_histogram(json, "hold_ns", &stats->hold_ns);
	add_histogram(json, "lateness_ns", &stats->lateness_ns);
	jsonstream_open(json, "notes", '[');
	for (unsigned i = 0; i < stats->note_count; i++)
		jsonstream_add(json, NULL, jsonstream_text(stats->notes[i]));
	jsonstream_close(json, ']');
	jsonstream_close(json, '}');
}

static void add_threads(struct jsonstream *json, const struct profile *profile)
{
	jsonstream_open(json, "threads", '[');
	vec_foreach (thread, &profile->threads)
		jsonstream_add(json, NULL,
			       json_pack("{s:o,s:i,s:o,s:o}", "process", json_id(thread->process),
					 "tid", (int)thread->tid, "kernel_name",
					 jsonstream_text(thread->kernel_name), "python_name",
					 jsonstream_text(thread->python_name)));
	jsonstream_close(json, ']');
}

static void add_functions(struct jsonstream *json, const struct profile *profile,
			  const char *const *files)
{
	const struct intern *strings = &profile->strings;
	jsonstream_open(json, "functions", '[');
	vec_foreach (function, &profile->functions) {
		bool has_file = function->file != PROFILE_NONE;
		const char *file = has_file ? intern_text(strings, function->file) : NULL;
		const char *short_file = has_file ? files[function->file] : NULL;
		jsonstream_add(json, NULL,
			       json_pack("{s:o,s:o,s:o,s:o,s:s}", "name",
					 jsonstream_text(intern_text(strings, function->name)),
					 "file", jsonstream_text(file), "short_file",
					 jsonstream_text(short_file), "line",
					 json_integer(function->firstlineno), "kind",
					 profile_kind_name(function->kind)));
	}
	jsonstream_close(json, ']');
}

static void add_frames(struct jsonstream *json, const struct profile *profile)
{
	jsonstream_open(json, "frames", '[');
	vec_foreach (frame, &profile->frames)
		jsonstream_add(json, NULL,
			       json_pack("[o,o]", json_integer(frame->function),
					 json_integer(frame->line)));
	jsonstream_close(json, ']');
}

static void add_stacks(struct jsonstream *json, const struct profile *profile)
{
	jsonstream_open(json, "stacks", '[');
	vec_foreach (stack, &profile->stacks)
		jsonstream_add(json, NULL,
			       json_pack("[o,o]", json_id(stack->parent),
					 json_integer(stack->frame)));
	jsonstream_close(json, ']');
}

static void add_samples(struct jsonstream *json, const struct profile *profile)
{
	jsonstream_open(json, "samples", '[');
	vec_foreach (sample, &profile->samples) {
		if (ferror(json->stream))
			break;
		const char *state = sample->flags & PROFILE_IDLE ? "idle" : "active";
		jsonstream_add(json, NULL,
			       json_pack("{s:o,s:o,s:s,s:b,s:s,s:o,s:o,s:o}", "thread",
					 json_integer(sample->thread), "stack",
					 json_id(sample->stack), "state", state, "gil",
					 !!(sample->flags & PROFILE_GIL), "end",
					 reason_name((enum reason)sample->end), "count",
					 json_u64(sample->count), "wall_ns",
					 json_u64(sample->wall_ns), "cpu_ns",
					 json_u64(sample->cpu_ns)));
	}
	jsonstream_close(json, ']');
}

static struct error *json_write(const struct profile *profile, const struct writer_options *options,
				FILE *stream)
{
	_cleanup_free_ const char **files = NULL;
	struct error *err = writer_files(profile, options, &files);
	if (err)
		return err;

	struct jsonstream json = { .stream = stream, .first = true };
	jsonstream_open(&json, NULL, '{');
	jsonstream_add(&json, "format", json_string("pysample"));
	jsonstream_add(&json, "version", json_integer(SCHEMA_VERSION));
	add_tool(&json, profile);
	add_processes(&json, profile);
	jsonstream_add(&json, "start_time", jsonstream_text(profile->facts.start_time));
	jsonstream_add(&json, "duration_ns", json_u64(profile->stats.duration_ns));
	add_options(&json, profile, options);
	add_stats(&json, &profile->stats);
	jsonstream_add(&json, "losses", json_reasons(profile->stats.lost));
	add_threads(&json, profile);
	add_functions(&json, profile, files);
	add_frames(&json, profile);
	add_stacks(&json, profile);
	add_samples(&json, profile);
	jsonstream_close(&json, '}');
	return json.failed ? error_no_memory() : NULL;
}

const struct writer json_writer = {
	.name = "json",
	.description = "everything: stacks, threads, times in ns, losses, facts of target and run",
	.endings = (const char *const[]){ ".json", NULL },
	.write = json_write,
};
