/* SPDX-License-Identifier: MIT */
/*
 * scan.h: a cursor over JSON text (RFC 8259) that builds no tree.
 *
 * A profile of a long run has millions of small arrays: each is read where it stands. What is read must be there; the first thing
 * that is wrong is remembered with its place, everything after it fails, and the caller looks once at the end. Nothing recurses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

/* Deepest nesting that scan_skip goes through. */
#define SCAN_DEPTH_MAX 64

struct scan {
	const char *start;
	const char *pos;
	const char *end;
	const char *wrong;    /* what is wrong; NULL: nothing so far */
	const char *wrong_at; /* where */
	bool no_memory;
};

/* @text stays the caller's and must outlive the scan. */
struct scan scan_make(const char *text, size_t size);
/* Remembers @wrong (a literal) if it is the first; always false. */
bool scan_fail(struct scan *scan, const char *wrong);
/* What was wrong: "line 3, column 7: WRONG". NULL if nothing was. */
struct error *scan_error(const struct scan *scan);

/* The first character of the next value, past blanks; '\0' at the end. */
char scan_peek(struct scan *scan);
/* Takes '{' or '['. */
bool scan_open(struct scan *scan, char bracket);
/*
 * True if there is another item before the closing bracket, which is taken when it comes. For a loop:
 * for (bool first = scan_open(scan, '['); scan_more(scan, &first, ']');)
 */
bool scan_more(struct scan *scan, bool *first, char bracket);
/* A member's name and the colon, into @key. */
bool scan_key(struct scan *scan, struct strbuf *key);
/* A string with its escapes undone, as UTF-8, into @text. One that holds U+0000 or half a surrogate pair is refused. */
bool scan_string(struct scan *scan, struct strbuf *text);
/* null → @null_ret true; anything else is left for the next call. */
bool scan_null(struct scan *scan, bool *null_ret);
bool scan_bool(struct scan *scan, bool *value_ret);
/* A whole number from 0 to @max. */
bool scan_number(struct scan *scan, uint64_t max, uint64_t *value_ret);
/* The comma between the items of an array of known length, or its closing bracket. */
bool scan_char(struct scan *scan, char c);
/* Any value, checked as far as its form goes. */
bool scan_skip(struct scan *scan);
/* True if nothing but blanks is left. */
bool scan_done(struct scan *scan);
