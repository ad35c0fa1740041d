/* SPDX-License-Identifier: MIT */
/*
 * scratch.h: for tests that make files with the system's own tools.
 *
 * A directory per test program, removed at its end. What a machine lacks is printed, and the test
 * that needs it is skipped.
 */
#pragma once

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/image.h"

static char scratch_dir[64];

/* Group set-up and tear-down. */
static int scratch_make(void **state)
{
	snprintf(scratch_dir, sizeof(scratch_dir), "/tmp/pysample-test-XXXXXX");
	return mkdtemp(scratch_dir) ? 0 : -1;
}

__attribute__((format(printf, 1, 2))) static bool scratch_run(const char *format, ...)
{
	char *command = NULL, *full = NULL;
	va_list arguments;
	va_start(arguments, format);
	bool ok = vasprintf(&command, format, arguments) >= 0;
	va_end(arguments);
	ok = ok && asprintf(&full, "cd %s && %s", scratch_dir, command) >= 0 && !system(full);
	free(command);
	free(full);
	return ok;
}

static int scratch_remove(void **state)
{
	return scratch_run("cd / && rm -rf %s", scratch_dir) ? 0 : -1;
}

/* True if all of @tools (blank-separated) are there; prints what is not. */
static inline bool scratch_has(const char *tools)
{
	return scratch_run("for tool in %s; do command -v $tool >/dev/null || "
			   "{ echo \"skipped: there is no $tool here\" >&2; exit 1; }; done",
			   tools);
}

static inline void scratch_write(const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", scratch_dir, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static inline struct image *scratch_open(const char *name)
{
	char path[128];
	struct image *image = NULL;
	snprintf(path, sizeof(path), "%s/%s", scratch_dir, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_null(image_open(fd, path, &image));
	return image;
}
