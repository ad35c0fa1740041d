/* SPDX-License-Identifier: MIT */
/* options_record.c: the options of record. */
#include <string.h>

#include "option_row.h"
#include "option_value.h"

static struct error *set_overhead(const char *text, struct options *options,
				  struct option_words *words)
{
	return option_value_share(text, &options->max_overhead);
}
const struct option_row option_max_overhead = {
	"max-overhead",
	0,
	OPTION_VALUE,
	"SHARE",
	"lower the rate so that no thread is held longer, as in 1%",
	set_overhead,
};

static struct error *set_gil(const char *text, struct options *options, struct option_words *words)
{
	options->gil = true;
	return NULL;
}
const struct option_row option_gil = {
	"gil", 0, OPTION_FLAG, NULL, "only samples of threads that hold the GIL", set_gil,
};

static struct error *set_mode(const char *text, struct options *options, struct option_words *words)
{
	return option_value_mode(text, &options->mode);
}
const struct option_row option_mode = {
	"mode",
	0,
	OPTION_VALUE,
	"MODE",
	"what a sample weighs: wall, cpu, offcpu or gil (default: wall)",
	set_mode,
};

static struct error *set_unwinder(const char *text, struct options *options,
				  struct option_words *words)
{
	return option_value_unwinder(text, &options->libunwind);
}
static const struct option_row unwinder = {
	"unwinder",
	0,
	OPTION_VALUE,
	"NAME",
	"with --native: table (default) or libunwind, which is slow",
	set_unwinder,
};

static struct error *set_no_idle(const char *text, struct options *options,
				 struct option_words *words)
{
	words->idle = 0;
	return NULL;
}
static const struct option_row no_idle = {
	"no-idle",   0, OPTION_FLAG, NULL, "only threads that run (default, but for --mode offcpu)",
	set_no_idle,
};

static struct error *set_no_jitter(const char *text, struct options *options,
				   struct option_words *words)
{
	options->jitter = false;
	return NULL;
}
static const struct option_row no_jitter = {
	"no-jitter", 0, OPTION_FLAG, NULL, "sample at exact intervals", set_no_jitter,
};

static struct error *set_capsules(const char *text, struct options *options,
				  struct option_words *words)
{
	options->capsules = text;
	return NULL;
}
static const struct option_row save_capsules = {
	"save-capsules", 0, OPTION_VALUE, "DIR", "save stopped threads for 'pysample replay'",
	set_capsules,
};

static struct error *set_every(const char *text, struct options *options,
			       struct option_words *words)
{
	return option_value_every(text, &options->capsule_every);
}
static const struct option_row capsule_every = {
	"capsule-every", 0, OPTION_VALUE, "N", "save only each Nth sample (default: 1)", set_every,
};

static struct error *set_delay(const char *text, struct options *options,
			       struct option_words *words)
{
	return option_value_duration(text, &options->delay_ns);
}
static const struct option_row delay = {
	"delay", 0, OPTION_VALUE, "TIME", "wait so long before the first sample", set_delay,
};

static struct error *set_until_exit(const char *text, struct options *options,
				    struct option_words *words)
{
	options->until_exit = true;
	return NULL;
}
static const struct option_row until_exit = {
	"until-exit",
	0,
	OPTION_FLAG,
	NULL,
	"until the target ends, even if what it started runs on",
	set_until_exit,
};

static struct error *set_samples(const char *text, struct options *options,
				 struct option_words *words)
{
	return option_value_count("samples", text, &options->samples);
}
static const struct option_row samples = {
	"samples", 0, OPTION_VALUE, "N", "until so many samples were taken", set_samples,
};

static struct error *set_window(const char *text, struct options *options,
				struct option_words *words)
{
	return option_value_duration(text, &options->window_ns);
}
static const struct option_row window = {
	"window",
	0,
	OPTION_VALUE,
	"TIME",
	"a file for each such time: %t in its name is when, %n which",
	set_window,
};

static const struct option_row *const rows[] = {
	&option_target,
	&option_children_of,
	&option_pid_file,
	&option_wait,
	&option_subprocesses,
	&delay,
	&option_duration,
	&until_exit,
	&samples,
	&window,
	&option_rate,
	&option_max_overhead,
	&option_output,
	&option_format,
	&option_threads,
	&option_tid,
	&option_thread_name,
	&option_gil,
	&option_mode,
	&option_native,
	&option_debug_dir,
	&unwinder,
	&option_idle,
	&no_idle,
	&option_no_line,
	&option_full_paths,
	&option_weights,
	&no_jitter,
	&option_nonblocking,
	&save_capsules,
	&capsule_every,
	&option_push,
	&option_push_config,
	&option_push_window,
	&option_push_timeout,
	&option_label,
	&option_quiet,
	NULL,
};

static struct error *take_program(struct options *options, const struct option_words *words)
{
	if (!words->rest_count)
		return NULL;
	if (!words->after_dashes)
		return error_create(ERROR_USAGE,
				    "unexpected word %s: a program to launch comes after --",
				    words->rest[0]);
	options->program = words->rest;
	return NULL;
}

static struct error *check(struct options *options, const struct option_words *words)
{
	struct error *err = take_program(options, words);
	if (err)
		return err;
	err = option_check_choice(options);
	if (err)
		return err;
	if (options->until_exit && options->duration_ns)
		return error_create(ERROR_USAGE, "--until-exit and --duration do not go together");
	if (options->window_ns && options->push)
		return error_create(ERROR_USAGE,
				    "--window and --push do not go together: see --push-window");
	if (options->window_ns && (!options->output || !strcmp(options->output, "-")))
		return error_create(ERROR_USAGE, "--window writes several files: it needs -o FILE");
	if (options->libunwind && !options->native)
		return error_create(ERROR_USAGE, "--unwinder goes with --native");
	if (options->libunwind && options->nonblocking)
		return error_create(
			ERROR_USAGE,
			"libunwind needs stopped threads: it does not go with --nonblocking");
	if (options->capsule_every && !options->capsules)
		return error_create(ERROR_USAGE, "--capsule-every goes with --save-capsules");
	if (!options->capsule_every)
		options->capsule_every = 1;

	if (options->mode == PROFILE_OFFCPU && words->idle == 0)
		return error_create(ERROR_USAGE, "--no-idle leaves nothing for --mode offcpu");
	options->idle = words->idle == -1 ? options->mode == PROFILE_OFFCPU : words->idle;
	err = option_check_push(options);
	if (err)
		return err;
	option_push_defaults(options);
	return option_pick_format(options, words);
}

const struct option_command option_record = {
	.name = "record",
	.command = COMMAND_RECORD,
	.usage = "pysample [record] -p TARGET [-d TIME] [-F HZ] [-o FILE] [OPTION]...\n"
		 "pysample [record] [OPTION]... -- PROGRAM [ARGUMENT]...\n",
	.help = "collect stacks for a while and write a profile (default)",
	.rows = rows,
	.check = check,
};

static const struct option_row *const top_rows[] = {
	&option_target,       &option_children_of, &option_pid_file, &option_wait,
	&option_subprocesses, &option_duration,    &option_rate,     &option_max_overhead,
	&option_tid,          &option_thread_name, &option_gil,      &option_mode,
	&option_native,       &option_debug_dir,   &option_idle,     &option_full_paths,
	&no_jitter,           &option_nonblocking, &option_quiet,    NULL,
};

static struct error *check_top(struct options *options, const struct option_words *words)
{
	struct error *err = option_no_words(words);
	if (err)
		return err;
	err = option_check_choice(options);
	if (err)
		return err;
	/* Its threads are shown with their states. */
	options->idle = true;
	options->count_idle = words->idle == 1 || options->mode == PROFILE_OFFCPU;
	return option_pick_format(options, words);
}

const struct option_command option_top = {
	.name = "top",
	.command = COMMAND_TOP,
	.usage = "pysample top -p TARGET [-F HZ] [--native] [OPTION]...\n",
	.help = "show the busiest functions and threads, live",
	.rows = top_rows,
	.check = check_top,
};
