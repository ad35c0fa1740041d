/* SPDX-License-Identifier: MIT */
/* options.c: command line → struct options; the text of --help. */
#include "options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option_row.h"

/* The first is the default. */
static const struct option_command *const commands[] = {
	&option_record, &option_top,        &option_agent,  &option_dump, &option_doctor,
	&option_replay, &option_crosscheck, &option_report, &option_diff,
};

static const struct option_row *const every_command[] = { &option_help, &option_version, NULL };

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))
#define ROWS_MAX      128
/* What getopt_long answers for options without a letter: this and the row's number. */
#define NO_LETTER 256

/* Rows of distinct names, and the same as getopt_long wants them. */
struct rows {
	const struct option_row *rows[ROWS_MAX];
	size_t count;
	struct option longs[ROWS_MAX + 1];
	char letters[3 * ROWS_MAX + 3];
};

static const struct option_row *find_row(const struct option_row *const *rows, const char *name)
{
	for (; *rows; rows++)
		if (!strcmp((*rows)->name, name))
			return *rows;
	return NULL;
}

static void add_row(struct rows *rows, const struct option_row *row)
{
	static const int arguments[] = {
		[OPTION_FLAG] = no_argument,
		[OPTION_VALUE] = required_argument,
		[OPTION_OPTIONAL] = optional_argument,
	};
	for (size_t i = 0; i < rows->count; i++)
		if (!strcmp(rows->rows[i]->name, row->name))
			return;
	if (rows->count == ROWS_MAX)
		return;
	int value = row->letter ? row->letter : NO_LETTER + (int)rows->count;
	rows->longs[rows->count] = (struct option){ row->name, arguments[row->value], NULL, value };
	rows->rows[rows->count++] = row;
	if (row->letter) {
		size_t at = strlen(rows->letters);
		rows->letters[at] = row->letter;
		if (row->value == OPTION_VALUE)
			rows->letters[at + 1] = ':';
	}
}

/* The rows of @command, or with NULL those of all. */
static void collect_rows(const struct option_command *command, struct rows *rows_ret)
{
	*rows_ret = (struct rows){ .letters = "+:" };
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		for (size_t j = 0; commands[i]->rows[j]; j++)
			if (!command || command == commands[i])
				add_row(rows_ret, commands[i]->rows[j]);
	for (size_t i = 0; every_command[i]; i++)
		add_row(rows_ret, every_command[i]);
}

static void print_row(const struct option_row *row)
{
	char left[64], letter[8] = "    ", argument[32] = "";
	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	if (row->value == OPTION_VALUE)
		snprintf(argument, sizeof(argument), " %s", row->argument);
	if (row->value == OPTION_OPTIONAL)
		snprintf(argument, sizeof(argument), "[=%s]", row->argument);
	snprintf(left, sizeof(left), "%s--%s%s", letter, row->name, argument);
	printf("  %-26s %s\n", left, row->help);
}

static void print_usage(const struct option_command *only)
{
	const char *before = "Usage:";
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (only && only != commands[i])
			continue;
		for (const char *line = commands[i]->usage; *line; line = strchr(line, '\n') + 1) {
			printf("%-6s %.*s", before, (int)(strchr(line, '\n') + 1 - line), line);
			before = "";
		}
	}
}

static void print_commands(void)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		bool fits = strlen(commands[i]->name) < 8;
		printf(fits ? "  %-7s %s\n" : "  %s\n          %s\n", commands[i]->name,
		       commands[i]->help);
	}
}

static const struct option_command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

void options_print_help(const char *name)
{
	const struct option_command *command = name ? find_command(name) : NULL;
	print_usage(command);
	if (command) {
		printf("\nThe command %s: %s.\n", command->name, command->help);
	} else {
		puts("\nSamples the Python stacks of a running process, without a change to it.\n");
		print_commands();
	}

	puts("\nOptions:");
	struct rows rows;
	collect_rows(command, &rows);
	for (size_t i = 0; i < rows.count; i++)
		print_row(rows.rows[i]);
	puts("\n"
	     "Exit status: 0 done (the target's end is no error), 1 failed, 2 wrong usage;\n"
	     "with a launched PROGRAM its own.");
}

/* What getopt_long complained about, in our words. */
static struct error *complaint(int value, int argc, char **argv)
{
	const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "?";
	if (value == ':' && optopt < NO_LETTER && optopt && word[0] == '-' && word[1] != '-')
		return error_create(ERROR_USAGE, "option -%c needs a value", optopt);
	if (value == ':')
		return error_create(ERROR_USAGE, "option %s needs a value", word);
	if (optopt && optopt < NO_LETTER && isprint(optopt) && strncmp(word, "--", 2))
		return error_create(ERROR_USAGE, "there is no option -%c", optopt);
	return error_create(ERROR_USAGE, "there is no option %s, or it takes no value", word);
}

/* All commands' options are known to the parser: one that is not this command's is told so. */
static struct error *parse_words(const struct option_command *command, int argc, char **argv,
				 struct options *options, struct option_words *words)
{
	struct rows all;
	collect_rows(NULL, &all);

	/* Without the plus, words that are no options are moved to the end. */
	const char *letters = all.letters + command->files_first;
	int value, index;
	opterr = 0;
	optind = 1;
	while ((value = getopt_long(argc, argv, letters, all.longs, NULL)) != -1) {
		for (index = 0; all.longs[index].name && all.longs[index].val != value; index++)
			;
		const char *name = all.longs[index].name;
		if (!name)
			return complaint(value, argc, argv);
		const struct option_row *row = find_row(command->rows, name);
		if (!row)
			row = find_row(every_command, name);
		if (!row)
			return error_create(ERROR_USAGE, "--%s does not go with this command",
					    name);
		struct error *err = row->apply(optarg, options, words);
		if (err)
			return err;
	}
	return NULL;
}

static bool wants_text(const struct options *options)
{
	return options->command == COMMAND_HELP || options->command == COMMAND_VERSION;
}

static struct error *parse_all(int argc, char **argv, struct options *options)
{
	const struct option_command *command = argc > 1 ? find_command(argv[1]) : NULL;
	if (command) {
		options->help_on = command->name;
		argv++;
		argc--;
	} else {
		command = commands[0];
	}
	options->command = command->command;

	struct option_words words = { .idle = -1 };
	struct error *err = parse_words(command, argc, argv, options, &words);
	if (err || wants_text(options))
		return err;
	words.rest = argv + optind;
	words.rest_count = optind < argc ? (size_t)(argc - optind) : 0;
	words.after_dashes = optind > 1 && !strcmp(argv[optind - 1], "--");
	if (options->mode == PROFILE_GIL_ONLY)
		options->gil = true;
	return command->check(options, &words);
}

struct error *options_parse(int argc, char **argv, struct options *options_ret)
{
	struct options options = {
		.rate_hz = RATE_DEFAULT,
		.jitter = true,
		.report = { .lines = REPORT_LINES_DEFAULT, .min_share = 0.01 },
	};
	struct error *err = parse_all(argc, argv, &options);
	if (err) {
		options_deinit(&options);
		return err;
	}
	*options_ret = options;
	return NULL;
}

void options_deinit(struct options *options)
{
	words_deinit(&options->choice.given);
	tid_filter_deinit(&options->tids);
	name_filter_deinit(&options->names);
	name_filter_deinit(&options->debug_dirs);
	name_filter_deinit(&options->labels);
	name_filter_deinit(&options->agent_names);
	name_filter_deinit(&options->agent_users);
	name_filter_deinit(&options->agent_cgroups);
}
