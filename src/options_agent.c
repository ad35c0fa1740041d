/* SPDX-License-Identifier: MIT */
/* options_agent.c: the options of agent. */
#include "option_row.h"

static struct error *append(struct name_filter *list, const char *text)
{
	const char **item = name_filter_append(list);
	if (!item)
		return error_no_memory();
	*item = text;
	return NULL;
}

static struct error *set_name(const char *text, struct options *options, struct option_words *words)
{
	return append(&options->agent_names, text);
}
static const struct option_row name = {
	"name",
	0,
	OPTION_VALUE,
	"PATTERN",
	"only processes with such a name (may be given again)",
	set_name,
};

static struct error *set_user(const char *text, struct options *options, struct option_words *words)
{
	return append(&options->agent_users, text);
}
static const struct option_row user = {
	"user",   0, OPTION_VALUE, "USER", "only processes of this user (may be given again)",
	set_user,
};

static struct error *set_cgroup(const char *text, struct options *options,
				struct option_words *words)
{
	return append(&options->agent_cgroups, text);
}
static const struct option_row cgroup = {
	"cgroup",
	0,
	OPTION_VALUE,
	"PATTERN",
	"only processes in such a cgroup (may be given again)",
	set_cgroup,
};

static const struct option_row *const rows[] = {
	&name,
	&user,
	&cgroup,
	&option_duration,
	&option_rate,
	&option_max_overhead,
	&option_gil,
	&option_mode,
	&option_native,
	&option_debug_dir,
	&option_idle,
	&option_nonblocking,
	&option_push,
	&option_push_config,
	&option_push_window,
	&option_push_timeout,
	&option_label,
	&option_quiet,
	NULL,
};

static struct error *check(struct options *options, const struct option_words *words)
{
	struct error *err = option_no_words(words);
	if (err)
		return err;
	/* Where to may be said by the file or the environment as well. */
	options->push = true;
	err = option_check_push(options);
	if (err)
		return err;
	option_push_defaults(options);
	if (!words->rate)
		options->rate_hz = RATE_AGENT;
	options->idle = words->idle == 1 || options->mode == PROFILE_OFFCPU;
	return option_pick_format(options, words);
}

const struct option_command option_agent = {
	.name = "agent",
	.command = COMMAND_AGENT,
	.usage = "pysample agent --push URL [--name PATTERN] [--user USER] [--cgroup PATTERN]\n",
	.help = "profile all Python processes at a low rate and hand that over",
	.rows = rows,
	.check = check,
};
