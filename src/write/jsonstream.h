/* SPDX-License-Identifier: MIT */
/*
 * jsonstream.h: a large JSON document written piece by piece.
 *
 * Only the value at hand is in memory. Arrays and objects of the document's upper levels are opened
 * and closed here, one line an item; the values in them are jansson's. Failures are sticky: the
 * caller looks at failed once at the end.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

struct jsonstream {
	FILE *stream;
	int depth;
	bool first;  /* nothing was written yet in the innermost array or object */
	bool failed; /* out of memory */
};

/* Opens with '{' or '[' and closes with '}' or ']'. @key is NULL for the document and for items of
 * an array. */
void jsonstream_open(struct jsonstream *json, const char *key, char bracket);
void jsonstream_close(struct jsonstream *json, char bracket);
/* Writes @value and releases it; NULL is taken for failed memory. */
void jsonstream_add(struct jsonstream *json, const char *key, json_t *value);
/* A string of the target, escaped as text.h says; null for NULL. */
json_t *jsonstream_text(const char *text);
