/* SPDX-License-Identifier: MIT */
/* option_row.c: the options that several commands take. */
#include "option_row.h"

#include "option_value.h"

static struct error *set_pid(const char *text, struct options *options, struct option_words *words)
{
	return option_value_id("process", text, &options->pid);
}
const struct option_row option_pid = {
	"pid", 'p', OPTION_VALUE, "PID", "the process to look at", set_pid,
};

static struct error *set_duration(const char *text, struct options *options,
				  struct option_words *words)
{
	return option_value_duration(text, &options->duration_ns);
}
const struct option_row option_duration = {
	"duration",
	'd',
	OPTION_VALUE,
	"TIME",
	"how long: 30s, 500ms, 2m, 1h (default: until it ends or Ctrl-C)",
	set_duration,
};

static struct error *set_rate(const char *text, struct options *options, struct option_words *words)
{
	words->rate = true;
	return option_value_rate(text, &options->rate_hz);
}
const struct option_row option_rate = {
	"rate",
	'F',
	OPTION_VALUE,
	"HZ",
	"samples a second of each thread (default: 100; agent: 19)",
	set_rate,
};

static struct error *set_output(const char *text, struct options *options,
				struct option_words *words)
{
	options->output = text;
	return NULL;
}
const struct option_row option_output = {
	"output",
	'o',
	OPTION_VALUE,
	"FILE",
	"write there; the ending chooses the format (default: standard output)",
	set_output,
};

static struct error *set_format(const char *text, struct options *options,
				struct option_words *words)
{
	words->format = text;
	return NULL;
}
const struct option_row option_format = {
	"format",
	'f',
	OPTION_VALUE,
	"NAME",
	"collapsed, json, speedscope, pprof, gecko, flamegraph, heatmap or svg",
	set_format,
};

static struct error *set_threads(const char *text, struct options *options,
				 struct option_words *words)
{
	options->writing.threads = true;
	return NULL;
}
const struct option_row option_threads = {
	"threads", 't', OPTION_FLAG, NULL, "put an outermost frame for each thread", set_threads,
};

static struct error *set_no_line(const char *text, struct options *options,
				 struct option_words *words)
{
	options->writing.no_line = true;
	return NULL;
}
const struct option_row option_no_line = {
	"no-line", 0, OPTION_FLAG, NULL, "group by function instead of line", set_no_line,
};

static struct error *set_weights(const char *text, struct options *options,
				 struct option_words *words)
{
	return option_value_weights(text, &options->writing.weights);
}
const struct option_row option_weights = {
	"weights",   0, OPTION_VALUE, "UNIT", "what collapsed stacks count: samples or ns",
	set_weights,
};

static struct error *add_tid(const char *text, struct options *options, struct option_words *words)
{
	pid_t *tid = tid_filter_append(&options->tids);
	return tid ? option_value_id("thread", text, tid) : error_no_memory();
}
const struct option_row option_tid = {
	"tid", 'T', OPTION_VALUE, "TID", "only this thread (may be given again)", add_tid,
};

static struct error *add(struct name_filter *names, const char *text)
{
	const char **name = name_filter_append(names);
	if (!name)
		return error_no_memory();
	*name = text;
	return NULL;
}

static struct error *add_thread_name(const char *text, struct options *options,
				     struct option_words *words)
{
	return add(&options->names, text);
}
const struct option_row option_thread_name = {
	"thread-name",
	0,
	OPTION_VALUE,
	"NAME",
	"only threads of this name, Python's or the kernel's",
	add_thread_name,
};

static struct error *set_native(const char *text, struct options *options,
				struct option_words *words)
{
	options->native = true;
	return option_value_native(text, &options->native_mode);
}
const struct option_row option_native = {
	"native",   0, OPTION_OPTIONAL, "HOW", "C frames too: fold (default), full or leaf",
	set_native,
};

static struct error *add_debug_dir(const char *text, struct options *options,
				   struct option_words *words)
{
	return add(&options->debug_dirs, text);
}
const struct option_row option_debug_dir = {
	"debug-dir",   0, OPTION_VALUE, "DIR", "look for separate debug files there too",
	add_debug_dir,
};

static struct error *set_idle(const char *text, struct options *options, struct option_words *words)
{
	words->idle = 1;
	return NULL;
}
const struct option_row option_idle = {
	"idle", 0, OPTION_FLAG, NULL, "sleeping threads too", set_idle,
};

static struct error *set_full_paths(const char *text, struct options *options,
				    struct option_words *words)
{
	options->writing.full_paths = true;
	return NULL;
}
const struct option_row option_full_paths = {
	"full-paths", 0, OPTION_FLAG, NULL, "files as the program names them", set_full_paths,
};

static struct error *set_nonblocking(const char *text, struct options *options,
				     struct option_words *words)
{
	options->nonblocking = true;
	return NULL;
}
const struct option_row option_nonblocking = {
	"nonblocking",
	0,
	OPTION_FLAG,
	NULL,
	"never stop a thread; what can not be trusted is left out",
	set_nonblocking,
};

static struct error *set_json(const char *text, struct options *options, struct option_words *words)
{
	options->json = true;
	return NULL;
}
const struct option_row option_json = {
	"json", 0, OPTION_FLAG, NULL, "JSON instead of text", set_json,
};

static struct error *set_quiet(const char *text, struct options *options,
			       struct option_words *words)
{
	options->quiet = true;
	return NULL;
}
const struct option_row option_quiet = {
	"quiet", 'q', OPTION_FLAG, NULL, "no progress and no summary", set_quiet,
};

static struct error *set_help(const char *text, struct options *options, struct option_words *words)
{
	options->command = COMMAND_HELP;
	return NULL;
}
const struct option_row option_help = {
	"help", 'h', OPTION_FLAG, NULL, "this text; after a command, what that takes", set_help,
};

static struct error *set_version(const char *text, struct options *options,
				 struct option_words *words)
{
	options->command = COMMAND_VERSION;
	return NULL;
}
const struct option_row option_version = {
	"version", 'V', OPTION_FLAG, NULL, "the version of pysample", set_version,
};

struct error *option_pick_format(struct options *options, const struct option_words *words)
{
	return words->format ? writer_by_name(words->format, &options->format)
			     : writer_by_ending(options->output, &options->format);
}

struct error *option_no_words(const struct option_words *words)
{
	if (!words->rest_count)
		return NULL;
	return error_create(ERROR_USAGE, "unexpected word %s", words->rest[0]);
}
