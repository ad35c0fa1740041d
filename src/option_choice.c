/* SPDX-License-Identifier: MIT */
/* option_choice.c: the options that say which processes are looked at. */
#include <string.h>

#include "option_row.h"
#include "option_value.h"

static struct error *add_target(const char *text, struct options *options,
				struct option_words *words)
{
	const char **given = words_append(&options->choice.given);
	if (!given)
		return error_no_memory();
	*given = text;
	pid_t pid;
	if (*text && text[strspn(text, "0123456789")] == '\0')
		return option_value_id("process", text, &pid);
	return *text ? NULL : error_create(ERROR_USAGE, "-p needs a process id or a name");
}
const struct option_row option_target = {
	"pid",
	'p',
	OPTION_VALUE,
	"TARGET",
	"the process to look at, by id or name (may be given again)",
	add_target,
};

static struct error *set_children_of(const char *text, struct options *options,
				     struct option_words *words)
{
	return option_value_id("process", text, &options->choice.children_of);
}
const struct option_row option_children_of = {
	"children-of",   0, OPTION_VALUE, "PID", "the Python processes below this one",
	set_children_of,
};

static struct error *set_pid_file(const char *text, struct options *options,
				  struct option_words *words)
{
	options->choice.pid_file = text;
	return NULL;
}
const struct option_row option_pid_file = {
	"pid-file", 0, OPTION_VALUE, "FILE", "the process whose id is in this file", set_pid_file,
};

static struct error *set_wait(const char *text, struct options *options, struct option_words *words)
{
	options->choice.wait = text;
	if (!*text || strchr(text, '/'))
		return error_create(ERROR_USAGE, "--wait needs the name of a process, not \"%s\"",
				    text);
	return NULL;
}
const struct option_row option_wait = {
	"wait", 0, OPTION_VALUE, "NAME", "the process of this name, when it has started", set_wait,
};

static struct error *set_subprocesses(const char *text, struct options *options,
				      struct option_words *words)
{
	options->choice.subprocesses = true;
	return NULL;
}
const struct option_row option_subprocesses = {
	"subprocesses",   0, OPTION_FLAG, NULL, "the Python processes that they start, too",
	set_subprocesses,
};

struct error *option_check_choice(const struct options *options)
{
	bool chosen = choice_is_made(&options->choice);
	if (!chosen && !options->program)
		return error_create(ERROR_USAGE,
				    options->command == COMMAND_DUMP
					    ? "say which process to dump: -p PID"
					    : "say what to profile: -p PID, or -- PROGRAM");
	if (chosen && options->program)
		return error_create(ERROR_USAGE,
				    "a process that runs and -- PROGRAM do not go together");
	return NULL;
}
