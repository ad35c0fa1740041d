/* SPDX-License-Identifier: MIT */
/*
 * option_row.h: the options of each command, as tables.
 *
 * A row is one option: the parser, --help and the checks come from it. A command lists the rows it takes; what several commands
 * take alike is one row that each of them lists. Rows of the same name take a value alike, whichever command they belong to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "options.h"

enum option_value {
	OPTION_FLAG,     /* --name */
	OPTION_VALUE,    /* --name VALUE */
	OPTION_OPTIONAL, /* --name[=VALUE] */
};

/* What was said and is not yet an option's value, or depends on what else was said. */
struct option_words {
	int idle;  /* -1: not said */
	bool rate; /* said */
	const char *format;
	char **rest; /* the words that are no options, NULL-terminated */
	size_t rest_count;
	bool after_dashes; /* they come after -- */
};

struct option_row {
	const char *name;
	char letter; /* 0: none */
	enum option_value value;
	const char *argument; /* what --help calls the value; NULL: there is none */
	const char *help;
	/* @text: the value, NULL where there is none. ERROR_USAGE says what is wrong with it. */
	struct error *(*apply)(const char *text, struct options *options,
			       struct option_words *words);
};

struct option_command {
	const char *name;
	enum command command;
	const char *usage; /* lines of --help */
	const char *help;
	const struct option_row *const *rows; /* besides --help and --version; the last is NULL */
	bool files_first;                     /* options may come after the other words too */
	/* What the words mean together, once all are read. ERROR_USAGE. */
	struct error *(*check)(struct options *options, const struct option_words *words);
};

extern const struct option_command option_record, option_top, option_dump, option_doctor,
	option_replay, option_crosscheck, option_agent, option_report, option_diff;

/* Rows that several commands list. */
extern const struct option_row option_pid, option_duration, option_rate, option_output,
	option_format, option_threads, option_no_line, option_weights, option_tid,
	option_thread_name, option_native, option_debug_dir, option_idle, option_full_paths,
	option_nonblocking, option_json, option_quiet, option_help, option_version, option_push,
	option_push_config, option_push_window, option_push_timeout, option_label, option_gil,
	option_mode, option_max_overhead;

/* Rows of the choice of processes (option_choice.c), and what they mean together. */
extern const struct option_row option_target, option_children_of, option_pid_file, option_wait,
	option_subprocesses;
struct error *option_check_choice(const struct options *options);

/* Sets options->format from -f or else the ending of the output. */
struct error *option_pick_format(struct options *options, const struct option_words *words);
/* For commands that take no words besides options. */
struct error *option_no_words(const struct option_words *words);
/* What the options of --push mean together, and what they are where nothing was said. */
struct error *option_check_push(const struct options *options);
void option_push_defaults(struct options *options);
