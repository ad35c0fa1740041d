/* SPDX-License-Identifier: MIT */
/* options.c: command line → struct options; the text of --help. */
#include "options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option_value.h"

enum {
	OPTION_THREAD_NAME = 256,
	OPTION_GIL,
	OPTION_MODE,
	OPTION_IDLE,
	OPTION_NO_IDLE,
	OPTION_NO_LINE,
	OPTION_FULL_PATHS,
	OPTION_NO_JITTER,
	OPTION_NATIVE,
	OPTION_DEBUG_DIR,
	OPTION_UNWINDER,
	OPTION_NONBLOCKING,
	OPTION_WEIGHTS,
	OPTION_JSON,
	OPTION_REVERSE,
	OPTION_SAVE_CAPSULES,
	OPTION_CAPSULE_EVERY,
	OPTION_MAX_OVERHEAD,
};

#define IN_RECORD     (1u << COMMAND_RECORD)
#define IN_DUMP       (1u << COMMAND_DUMP)
#define IN_DOCTOR     (1u << COMMAND_DOCTOR)
#define IN_REPLAY     (1u << COMMAND_REPLAY)
#define IN_CROSSCHECK (1u << COMMAND_CROSSCHECK)
#define IN_ALL        (IN_RECORD | IN_DUMP | IN_DOCTOR | IN_REPLAY | IN_CROSSCHECK)

/* One row an option: the parser, --help and the checks all come from here. */
static const struct row {
	struct option option;
	unsigned commands;
	const char *argument;
	const char *help;
} rows[] = {
	{ { "pid", required_argument, NULL, 'p' },
	  IN_RECORD | IN_DUMP | IN_DOCTOR | IN_CROSSCHECK,
	  "PID",
	  "the process to look at" },
	{ { "duration", required_argument, NULL, 'd' },
	  IN_RECORD | IN_CROSSCHECK,
	  "TIME",
	  "how long: 30s, 500ms, 2m, 1h (default: until it ends or Ctrl-C)" },
	{ { "rate", required_argument, NULL, 'F' },
	  IN_RECORD | IN_CROSSCHECK,
	  "HZ",
	  "samples a second of each thread (default: 100)" },
	{ { "max-overhead", required_argument, NULL, OPTION_MAX_OVERHEAD },
	  IN_RECORD,
	  "SHARE",
	  "lower the rate so that no thread is held longer, as in 1%" },
	{ { "output", required_argument, NULL, 'o' },
	  IN_RECORD,
	  "FILE",
	  "write there; the ending chooses the format (default: standard output)" },
	{ { "format", required_argument, NULL, 'f' },
	  IN_RECORD,
	  "NAME",
	  "collapsed, json or speedscope" },
	{ { "threads", no_argument, NULL, 't' },
	  IN_RECORD,
	  NULL,
	  "put an outermost frame for each thread" },
	{ { "tid", required_argument, NULL, 'T' },
	  IN_RECORD | IN_DUMP | IN_CROSSCHECK,
	  "TID",
	  "only this thread (may be given again)" },
	{ { "thread-name", required_argument, NULL, OPTION_THREAD_NAME },
	  IN_RECORD | IN_DUMP,
	  "NAME",
	  "only threads of this name, Python's or the kernel's" },
	{ { "gil", no_argument, NULL, OPTION_GIL },
	  IN_RECORD,
	  NULL,
	  "only samples of threads that hold the GIL" },
	{ { "mode", required_argument, NULL, OPTION_MODE },
	  IN_RECORD,
	  "MODE",
	  "what a sample weighs: wall, cpu, offcpu or gil (default: wall)" },
	{ { "native", optional_argument, NULL, OPTION_NATIVE },
	  IN_RECORD | IN_DUMP,
	  "[=HOW]",
	  "C frames too: fold (default), full or leaf" },
	{ { "debug-dir", required_argument, NULL, OPTION_DEBUG_DIR },
	  IN_RECORD | IN_DUMP,
	  "DIR",
	  "look for separate debug files there too" },
	{ { "unwinder", required_argument, NULL, OPTION_UNWINDER },
	  IN_RECORD,
	  "NAME",
	  "with --native: table (default) or libunwind, which is slow" },
	{ { "idle", no_argument, NULL, OPTION_IDLE },
	  IN_RECORD | IN_CROSSCHECK,
	  NULL,
	  "sleeping threads too" },
	{ { "no-idle", no_argument, NULL, OPTION_NO_IDLE },
	  IN_RECORD,
	  NULL,
	  "only threads that run (default, but for --mode offcpu)" },
	{ { "no-line", no_argument, NULL, OPTION_NO_LINE },
	  IN_RECORD,
	  NULL,
	  "group by function instead of line" },
	{ { "full-paths", no_argument, NULL, OPTION_FULL_PATHS },
	  IN_RECORD | IN_DUMP,
	  NULL,
	  "files as the program names them" },
	{ { "weights", required_argument, NULL, OPTION_WEIGHTS },
	  IN_RECORD,
	  "UNIT",
	  "what collapsed stacks count: samples or ns" },
	{ { "no-jitter", no_argument, NULL, OPTION_NO_JITTER },
	  IN_RECORD,
	  NULL,
	  "sample at exact intervals" },
	{ { "nonblocking", no_argument, NULL, OPTION_NONBLOCKING },
	  IN_RECORD | IN_DUMP,
	  NULL,
	  "never stop a thread; what can not be trusted is left out" },
	{ { "save-capsules", required_argument, NULL, OPTION_SAVE_CAPSULES },
	  IN_RECORD,
	  "DIR",
	  "save stopped threads for 'pysample replay'" },
	{ { "capsule-every", required_argument, NULL, OPTION_CAPSULE_EVERY },
	  IN_RECORD,
	  "N",
	  "save only each Nth sample (default: 1)" },
	{ { "json", no_argument, NULL, OPTION_JSON },
	  IN_DUMP | IN_DOCTOR,
	  NULL,
	  "JSON instead of text" },
	{ { "reverse", no_argument, NULL, OPTION_REVERSE },
	  IN_DUMP,
	  NULL,
	  "innermost frame first" },
	{ { "quiet", no_argument, NULL, 'q' }, IN_RECORD, NULL, "no progress and no summary" },
	{ { "help", no_argument, NULL, 'h' }, IN_ALL, NULL, "this text" },
	{ { "version", no_argument, NULL, 'V' }, IN_ALL, NULL, "the version of pysample" },
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static const struct {
	const char *name;
	enum command command;
} commands[] = {
	{ "record", COMMAND_RECORD },         { "dump", COMMAND_DUMP },
	{ "doctor", COMMAND_DOCTOR },         { "replay", COMMAND_REPLAY },
	{ "crosscheck", COMMAND_CROSSCHECK },
};

void options_print_help(void)
{
	fputs("Usage: pysample [record] -p PID [-d TIME] [-F HZ] [-o FILE] [OPTION]...\n"
	      "       pysample [record] [OPTION]... -- PROGRAM [ARGUMENT]...\n"
	      "       pysample dump -p PID [--json] [--reverse]\n"
	      "       pysample doctor [-p PID] [--json]\n"
	      "       pysample replay FILE...\n"
	      "       pysample crosscheck -p PID [-d TIME] [-F HZ]\n"
	      "\n"
	      "Samples the Python stacks of a running process, without a change to it.\n"
	      "\n"
	      "  record  collect stacks for a while and write a profile (default)\n"
	      "  dump    print what every thread is doing now\n"
	      "  doctor  say what can be sampled here, and what stands in the way\n"
	      "  replay  print the stacks in saved capsules\n"
	      "  crosscheck\n"
	      "          compare native stacks with those that libunwind finds\n"
	      "\n"
	      "Options:\n",
	      stdout);
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct row *row = &rows[i];
		char left[64], letter[8] = "    ";
		if (isalpha(row->option.val) && row->option.val < 256)
			snprintf(letter, sizeof(letter), "-%c, ", row->option.val);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, row->option.name,
			 row->argument && row->option.has_arg == required_argument ? " " : "",
			 row->argument ? row->argument : "");
		printf("  %-26s %s\n", left, row->help);
	}
	fputs("\n"
	      "Exit status: 0 done (the target's end is no error), 1 failed, 2 wrong usage;\n"
	      "with a launched PROGRAM its own.\n",
	      stdout);
}

struct parsed {
	int idle; /* -1: not said */
	const char *format;
};

static struct error *apply(int value, const char *argument, struct options *options,
			   struct parsed *parsed)
{
	switch (value) {
	case 'p':
		return option_value_id("process", argument, &options->pid);
	case 'd':
		return option_value_duration(argument, &options->duration_ns);
	case 'F':
		return option_value_rate(argument, &options->rate_hz);
	case OPTION_MAX_OVERHEAD:
		return option_value_share(argument, &options->max_overhead);
	case 'o':
		options->output = argument;
		return NULL;
	case 'f':
		parsed->format = argument;
		return NULL;
	case 't':
		options->writing.threads = true;
		return NULL;
	case OPTION_NATIVE:
		options->native = true;
		return option_value_native(argument, &options->native_mode);
	case OPTION_UNWINDER:
		return option_value_unwinder(argument, &options->libunwind);
	case OPTION_DEBUG_DIR: {
		const char **dir = name_filter_append(&options->debug_dirs);
		if (!dir)
			return error_no_memory();
		*dir = argument;
		return NULL;
	}
	case 'T': {
		pid_t *tid = tid_filter_append(&options->tids);
		return tid ? option_value_id("thread", argument, tid) : error_no_memory();
	}
	case OPTION_THREAD_NAME: {
		const char **name = name_filter_append(&options->names);
		if (!name)
			return error_no_memory();
		*name = argument;
		return NULL;
	}
	case OPTION_GIL:
		options->gil = true;
		return NULL;
	case OPTION_MODE:
		return option_value_mode(argument, &options->mode);
	case OPTION_IDLE:
	case OPTION_NO_IDLE:
		parsed->idle = value == OPTION_IDLE;
		return NULL;
	case OPTION_NO_LINE:
		options->writing.no_line = true;
		return NULL;
	case OPTION_FULL_PATHS:
		options->writing.full_paths = true;
		return NULL;
	case OPTION_WEIGHTS:
		return option_value_weights(argument, &options->writing.weights);
	case OPTION_NO_JITTER:
		options->jitter = false;
		return NULL;
	case OPTION_NONBLOCKING:
		options->nonblocking = true;
		return NULL;
	case OPTION_SAVE_CAPSULES:
		options->capsules = argument;
		return NULL;
	case OPTION_CAPSULE_EVERY:
		return option_value_every(argument, &options->capsule_every);
	case OPTION_JSON:
		options->json = true;
		return NULL;
	case OPTION_REVERSE:
		options->reverse = true;
		return NULL;
	case 'q':
		options->quiet = true;
		return NULL;
	case 'h':
		options->command = COMMAND_HELP;
		return NULL;
	case 'V':
		options->command = COMMAND_VERSION;
		return NULL;
	default:
		return error_create(ERROR_USAGE, "unknown option");
	}
}

/* What getopt_long complained about, in our words. */
static struct error *complaint(int value, int argc, char **argv)
{
	const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "?";
	if (value == ':' && optopt < 256 && optopt && word[0] == '-' && word[1] != '-')
		return error_create(ERROR_USAGE, "option -%c needs a value", optopt);
	if (value == ':')
		return error_create(ERROR_USAGE, "option %s needs a value", word);
	if (optopt && optopt < 256 && isprint(optopt) && strncmp(word, "--", 2))
		return error_create(ERROR_USAGE, "there is no option -%c", optopt);
	return error_create(ERROR_USAGE, "there is no option %s, or it takes no value", word);
}

static const struct row *find_row(int value)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (rows[i].option.val == value)
			return &rows[i];
	return NULL;
}

static struct error *parse_words(int argc, char **argv, struct options *options,
				 struct parsed *parsed)
{
	struct option table[ROW_COUNT + 1] = { 0 };
	char letters[4 * ROW_COUNT + 3] = "+:";
	for (size_t i = 0; i < ROW_COUNT; i++) {
		table[i] = rows[i].option;
		if (rows[i].option.val < 256) {
			size_t at = strlen(letters);
			letters[at] = (char)rows[i].option.val;
			if (rows[i].option.has_arg)
				letters[at + 1] = ':';
		}
	}

	enum command command = options->command;
	int value;
	opterr = 0;
	optind = 1;
	while ((value = getopt_long(argc, argv, letters, table, NULL)) != -1) {
		const struct row *row = find_row(value);
		if (!row)
			return complaint(value, argc, argv);
		if (!(row->commands & 1u << command))
			return error_create(ERROR_USAGE, "--%s does not go with this command",
					    row->option.name);
		struct error *err = apply(value, optarg, options, parsed);
		if (err)
			return err;
	}
	return NULL;
}

static bool wants_text(const struct options *options)
{
	return options->command == COMMAND_HELP || options->command == COMMAND_VERSION;
}

static struct error *check_record(struct options *options, const struct parsed *parsed)
{
	if (!options->pid && !options->program)
		return error_create(ERROR_USAGE, "say what to profile: -p PID, or -- PROGRAM");
	if (options->pid && options->program)
		return error_create(ERROR_USAGE, "-p PID and -- PROGRAM do not go together");
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

	if (options->mode == PROFILE_OFFCPU && parsed->idle == 0)
		return error_create(ERROR_USAGE, "--no-idle leaves nothing for --mode offcpu");
	options->idle = parsed->idle == -1 ? options->mode == PROFILE_OFFCPU : parsed->idle;
	if (options->mode == PROFILE_GIL_ONLY)
		options->gil = true;
	return parsed->format ? writer_by_name(parsed->format, &options->format)
			      : writer_by_ending(options->output, &options->format);
}

static struct error *check(struct options *options, const struct parsed *parsed, int argc,
			   char **argv, bool after_dashes)
{
	char **rest = argv + optind;
	if (wants_text(options))
		return NULL;
	if (options->command == COMMAND_REPLAY) {
		if (optind >= argc)
			return error_create(ERROR_USAGE, "say which capsule files to replay");
		options->files = rest;
		return NULL;
	}
	if (options->command == COMMAND_RECORD) {
		if (optind < argc && after_dashes)
			options->program = rest;
		else if (optind < argc)
			return error_create(
				ERROR_USAGE,
				"unexpected word %s: a program to launch comes after --", rest[0]);
		return check_record(options, parsed);
	}
	if (optind < argc)
		return error_create(ERROR_USAGE, "unexpected word %s", rest[0]);
	if (options->command == COMMAND_DUMP && !options->pid)
		return error_create(ERROR_USAGE, "say which process to dump: -p PID");
	options->idle = parsed->idle == 1;
	if (options->command == COMMAND_CROSSCHECK && !options->pid)
		return error_create(ERROR_USAGE, "say which process to look at: -p PID");
	return NULL;
}

static struct error *parse_all(int argc, char **argv, struct options *options)
{
	struct parsed parsed = { .idle = -1 };
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		options->command = commands[i].command;
		argv++;
		argc--;
		break;
	}
	struct error *err = parse_words(argc, argv, options, &parsed);
	if (err)
		return err;
	bool after_dashes = optind > 1 && !strcmp(argv[optind - 1], "--");
	return check(options, &parsed, argc, argv, after_dashes);
}

struct error *options_parse(int argc, char **argv, struct options *options_ret)
{
	struct options options = {
		.command = COMMAND_RECORD,
		.rate_hz = RATE_DEFAULT,
		.jitter = true,
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
	tid_filter_deinit(&options->tids);
	name_filter_deinit(&options->names);
	name_filter_deinit(&options->debug_dirs);
}
