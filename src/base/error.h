/* SPDX-License-Identifier: MIT */
/*
 * error.h: what failed, in words a person can act on.
 *
 * A function that can fail where a person will read the message (set-up, files, options) returns struct error *, NULL being
 * success; the caller owns it. Where a sample or a frame is lost on the hot path, enum reason (reason.h) is used instead and
 * nothing is allocated.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include "base/cleanup.h"

enum error_code {
	ERROR_OTHER,       /* the message says all there is */
	ERROR_USAGE,       /* the command line is wrong: exit status 2 */
	ERROR_ERRNO,       /* a system call failed: see errnum */
	ERROR_NO_MEMORY,   /* the one error that is never allocated */
	ERROR_FAULT,       /* memory of the target is not readable */
	ERROR_GONE,        /* the process or thread has ended or is another program now */
	ERROR_PERMISSION,  /* the system does not let us look at the target */
	ERROR_NOT_PYTHON,  /* no initialised CPython in the process (yet) */
	ERROR_UNSUPPORTED, /* refused by name: an unmeasured version, shape, C library or CPU */
	ERROR_CORRUPT,     /* foreign bytes that contradict themselves */
};

struct error {
	enum error_code code;
	int errnum;    /* errno of the failed call, 0 if there was none */
	char *message; /* one line, no full stop, no newline */
};

/* A new error. Never NULL: without memory the static ERROR_NO_MEMORY object is returned. */
struct error *error_create(enum error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* ERROR_ERRNO (ERROR_NO_MEMORY for ENOMEM); ": " and the words for @errnum are appended. */
struct error *error_errno(int errnum, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
struct error *error_no_memory(void);
/* Accepts NULL and the static object. */
void error_destroy(struct error *err);
DEFINE_CLEANUP(error_cleanup, struct error, error_destroy)
#define _cleanup_error_ _cleanup_(error_cleanup)

/* Puts "PREFIX: " before the message of @err and returns it. NULL stays NULL. */
struct error *error_prefix(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* True, and *@err released and set to NULL, if *@err is an error of @code: turns an expected failure into control flow. */
bool error_catch(struct error **err, enum error_code code);
