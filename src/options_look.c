/* SPDX-License-Identifier: MIT */
/* options_look.c: the options of the commands that take a look: dump, doctor, replay, crosscheck. */
#include "option_row.h"

static struct error *set_reverse(const char *text, struct options *options,
				 struct option_words *words)
{
	options->reverse = true;
	return NULL;
}
static const struct option_row reverse = {
	"reverse", 0, OPTION_FLAG, NULL, "innermost frame first", set_reverse,
};

static struct error *check_dump(struct options *options, const struct option_words *words)
{
	struct error *err = option_no_words(words);
	return err ? err : option_check_choice(options);
}

const struct option_command option_dump = {
	.name = "dump",
	.command = COMMAND_DUMP,
	.usage = "pysample dump -p TARGET [--json] [--reverse]\n",
	.help = "print what every thread is doing now",
	.rows =
		(const struct option_row *const[]){
			&option_target,
			&option_children_of,
			&option_pid_file,
			&option_wait,
			&option_subprocesses,
			&option_tid,
			&option_thread_name,
			&option_native,
			&option_debug_dir,
			&option_full_paths,
			&option_nonblocking,
			&option_json,
			&reverse,
			NULL,
		},
	.check = check_dump,
};

static struct error *check_doctor(struct options *options, const struct option_words *words)
{
	return option_no_words(words);
}

const struct option_command option_doctor = {
	.name = "doctor",
	.command = COMMAND_DOCTOR,
	.usage = "pysample doctor [-p PID] [--json]\n",
	.help = "say what can be sampled here, and what stands in the way",
	.rows =
		(const struct option_row *const[]){
			&option_pid,
			&option_json,
			NULL,
		},
	.check = check_doctor,
};

static struct error *check_replay(struct options *options, const struct option_words *words)
{
	if (!words->rest_count)
		return error_create(ERROR_USAGE, "say which capsule files to replay");
	options->files = words->rest;
	return NULL;
}

const struct option_command option_replay = {
	.name = "replay",
	.command = COMMAND_REPLAY,
	.usage = "pysample replay FILE...\n",
	.help = "print the stacks in saved capsules",
	.rows =
		(const struct option_row *const[]){
			NULL,
		},
	.check = check_replay,
};

static struct error *check_crosscheck(struct options *options, const struct option_words *words)
{
	struct error *err = option_no_words(words);
	if (err)
		return err;
	if (!options->pid)
		return error_create(ERROR_USAGE, "say which process to look at: -p PID");
	options->idle = words->idle == 1;
	return NULL;
}

const struct option_command option_crosscheck = {
	.name = "crosscheck",
	.command = COMMAND_CROSSCHECK,
	.usage = "pysample crosscheck -p PID [-d TIME] [-F HZ]\n",
	.help = "compare native stacks with those that libunwind finds",
	.rows =
		(const struct option_row *const[]){
			&option_pid,
			&option_duration,
			&option_rate,
			&option_tid,
			&option_idle,
			NULL,
		},
	.check = check_crosscheck,
};
