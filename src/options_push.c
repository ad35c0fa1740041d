/* SPDX-License-Identifier: MIT */
/* options_push.c: the options of handing profiles over to a server. */
#include "base/clock.h"
#include "option_row.h"
#include "option_value.h"

static struct error *set_url(const char *text, struct options *options, struct option_words *words)
{
	options->push = true;
	options->push_url = text;
	return NULL;
}
const struct option_row option_push = {
	"push",
	0,
	OPTION_VALUE,
	"URL",
	"hand the profile over while it is made: http:, grpc:, pyroscope+http:, env",
	set_url,
};

static struct error *set_config(const char *text, struct options *options,
				struct option_words *words)
{
	options->push_config = text;
	return NULL;
}
const struct option_row option_push_config = {
	"push-config",
	0,
	OPTION_VALUE,
	"FILE",
	"headers, tokens and certificates for the push; nobody else may read it",
	set_config,
};

static struct error *set_window(const char *text, struct options *options,
				struct option_words *words)
{
	return option_value_duration(text, &options->push_window_ns);
}
const struct option_row option_push_window = {
	"push-window", 0, OPTION_VALUE, "TIME", "what is handed over at once (default: 10s)",
	set_window,
};

static struct error *set_timeout(const char *text, struct options *options,
				 struct option_words *words)
{
	return option_value_duration(text, &options->push_timeout_ns);
}
const struct option_row option_push_timeout = {
	"push-timeout",
	0,
	OPTION_VALUE,
	"TIME",
	"how long the last ones may take at the end (default: 5s)",
	set_timeout,
};

static struct error *set_label(const char *text, struct options *options,
			       struct option_words *words)
{
	const char **label = name_filter_append(&options->labels);
	if (!label)
		return error_no_memory();
	*label = text;
	return NULL;
}
const struct option_row option_label = {
	"label",   0, OPTION_VALUE, "KEY=VALUE", "say this of what is pushed (may be given again)",
	set_label,
};

struct error *option_check_push(const struct options *options)
{
	if (!options->push && (options->push_config || options->push_window_ns ||
			       options->push_timeout_ns || options->labels.count))
		return error_create(
			ERROR_USAGE,
			"--push-config, --push-window, --push-timeout and --label go with --push");
	if (options->push && options->output)
		return error_create(ERROR_USAGE, "--push hands the profile over instead of writing "
						 "a file: it does not go with -o");
	if (options->push_window_ns && options->push_window_ns < NS_PER_S)
		return error_create(ERROR_USAGE, "a window of --push-window is at least 1s");
	return NULL;
}

void option_push_defaults(struct options *options)
{
	if (!options->push_window_ns)
		options->push_window_ns = 10 * NS_PER_S;
	if (!options->push_timeout_ns)
		options->push_timeout_ns = 5 * NS_PER_S;
}
