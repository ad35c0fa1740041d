/* SPDX-License-Identifier: MIT */
/* options.h: the command line as a struct. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "aggregate/profile.h"
#include "aggregate/symbolize.h"
#include "base/error.h"
#include "base/vec.h"
#include "choice.h"
#include "write/writer.h"

enum command {
	COMMAND_RECORD,
	COMMAND_TOP,
	COMMAND_DUMP,
	COMMAND_DOCTOR,
	COMMAND_REPLAY,
	COMMAND_CROSSCHECK,
	COMMAND_REPORT,
	COMMAND_AGENT,
	COMMAND_DIFF,
	COMMAND_HELP,
	COMMAND_VERSION,
};

DEFINE_VEC(struct tid_filter, tid_filter, pid_t)
DEFINE_VEC(struct name_filter, name_filter, const char *)

#define RATE_DEFAULT 100
#define RATE_AGENT   19
#define RATE_MAX     10000

#define REPORT_LINES_DEFAULT 20

/* report and diff */
struct report_options {
	pid_t pid;      /* 0: all processes of the file */
	unsigned lines; /* of a table; 0: all */
	bool by_total;  /* the order of a table; else own */
	bool tree;
	double min_share;
	const char *callers; /* NULL: a table */
	bool convert;        /* to options.format */
	bool absolute;       /* diff: weights, not shares */
};

struct options {
	enum command command;
	const char *help_on;  /* help: the command that was named, or NULL */
	pid_t pid;            /* doctor, crosscheck; 0: none given */
	struct choice choice; /* the other commands: which processes */
	char **program;       /* what is launched, NULL-terminated; NULL: nothing */
	char **files;         /* replay, report, diff: NULL-terminated */
	uint64_t duration_ns; /* 0: until the target ends or a signal comes */
	uint64_t delay_ns;    /* before the first sample */
	uint64_t window_ns;   /* a file for each; 0: one for all */
	uint64_t samples;     /* enough; 0: any number */
	bool until_exit;      /* of the processes that were asked for, whatever their children do */
	double rate_hz;
	double max_overhead; /* of a thread's time that it may be held; 0: not limited */
	const char *output;  /* NULL: standard output */
	const struct writer *format;
	enum profile_mode mode;
	bool idle;       /* idle threads too */
	bool count_idle; /* top: their time counts from the start on */
	bool gil;        /* only threads that hold the GIL */
	bool jitter;
	bool native;    /* native frames too */
	bool libunwind; /* and they are those that libunwind finds */
	enum symbolize_mode native_mode;
	struct name_filter debug_dirs;
	bool nonblocking;
	bool quiet;
	bool json;    /* dump, doctor, report */
	bool reverse; /* dump: innermost frame first */
	struct writer_options writing;
	struct tid_filter tids;
	struct name_filter names;
	const char *capsules; /* folder for capsules, NULL: none */
	unsigned capsule_every;
	struct report_options report;
	bool push;
	const char *push_url;    /* NULL: the file's or the environment's */
	const char *push_config; /* a file, NULL: none */
	uint64_t push_window_ns, push_timeout_ns;
	struct name_filter labels; /* KEY=VALUE */
	/* agent: patterns; none: all */
	struct name_filter agent_names, agent_users, agent_cgroups;
};

/* Parses @argv, which must outlive the struct. ERROR_USAGE says what is wrong with which word. */
struct error *options_parse(int argc, char **argv, struct options *options_ret);
void options_deinit(struct options *options);
static inline void options_cleanup(struct options *options)
{
	options_deinit(options);
}
#define _cleanup_options_ _cleanup_(options_cleanup)

/* The text of --help, of one command or with NULL of all. */
void options_print_help(const char *command);
