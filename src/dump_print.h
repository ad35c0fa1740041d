/* SPDX-License-Identifier: MIT */
/* dump_print.h: threads and their stacks as text or JSON. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "aggregate/profile.h"
#include "base/error.h"
#include "base/reason.h"
#include "base/vec.h"
#include "write/writer.h"

struct dump_thread {
	pid_t tid;
	char name[16];         /* the kernel's */
	char python_name[128]; /* "" if it has none */
	const char *state;     /* "running", "waiting", "stopped" */
	char syscall[32];      /* that it waits in; "" if none */
	bool python;           /* it has a thread state */
	bool gil;
	enum reason lost; /* why there is no stack, REASON_OK if there is one */
	uint32_t stack;   /* in the profile; PROFILE_NONE: no frames */
	enum reason end;
};

DEFINE_VEC(struct dump_threads, dump_threads, struct dump_thread)

/* The profile holds the facts and the stacks. @reverse: innermost frame first. */
struct error *dump_print_text(const struct profile *profile, const struct dump_threads *threads,
			      const struct writer_options *options, bool reverse, FILE *out);
struct error *dump_print_json(const struct profile *profile, const struct dump_threads *threads,
			      const struct writer_options *options, bool reverse, FILE *out);
