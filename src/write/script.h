/* SPDX-License-Identifier: MIT */
/*
 * script.h: data for a script inside an HTML page, as JSON.
 *
 * Texts of the target are escaped as text.h says, and then so that no text can end the script element or begin a comment in it:
 * "<", ">", "&" and the line ends that only JSON allows are written \uHHHH. Failures are sticky: the caller looks at failed once at
 * the end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "aggregate/profile.h"
#include "base/strbuf.h"

struct script {
	FILE *stream;
	struct strbuf buf;
	bool failed; /* out of memory */
};

void script_deinit(struct script *script);
/* Text of our own: brackets, commas, keys. */
void script_raw(struct script *script, const char *text);
/* A string; null for NULL. */
void script_text(struct script *script, const char *text);
void script_number(struct script *script, uint64_t number);
/* The same after text of our own. */
void script_add_text(struct script *script, const char *key, const char *text);
void script_add_number(struct script *script, const char *key, uint64_t number);
/* An array of strings; null where nothing is known. */
void script_argv(struct script *script, const struct profile_argv *argv);

/*
 * Writes the part of @page before the line "@data" (true), or the one after it. @page is a file of src/write/page/ that the build
 * has put into the program.
 */
void script_page(const char *page, bool before, FILE *stream);
