/* SPDX-License-Identifier: MIT */
/* main.c: picks the command. */
#include <stdio.h>

#include "crosscheck_run.h"
#include "diff.h"
#include "doctor.h"
#include "dump.h"
#include "options.h"
#include "replay.h"
#include "report.h"
#include "session.h"
#include "top.h"

static int run(const struct options *options)
{
	switch (options->command) {
	case COMMAND_RECORD:
	case COMMAND_AGENT:
		return session_record(options);
	case COMMAND_TOP:
		return top_run(options);
	case COMMAND_DUMP:
		return dump_run(options);
	case COMMAND_DOCTOR:
		return doctor_run(options->pid, options->json, stdout);
	case COMMAND_REPLAY:
		return replay_run(options);
	case COMMAND_CROSSCHECK:
		return crosscheck_run(options);
	case COMMAND_REPORT:
		return report_run(options);
	case COMMAND_DIFF:
		return diff_run(options);
	case COMMAND_HELP:
		options_print_help(options->help_on);
		return 0;
	case COMMAND_VERSION:
		puts("pysample " PACKAGE_VERSION);
		return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	_cleanup_error_ struct error *err = options_parse(argc, argv, &options);
	if (err) {
		fprintf(stderr, "pysample: %s (see pysample --help)\n", err->message);
		return 2;
	}
	return run(&options);
}
