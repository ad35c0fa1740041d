/* SPDX-License-Identifier: MIT */
/*
 * strbuf.h: a string that grows.
 *
 * A zeroed strbuf is empty. Failures are sticky: after one append without memory, failed is set, later appends do nothing, and
 * the caller checks once at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "base/cleanup.h"

struct strbuf {
	char *text; /* NUL-terminated once something was appended; NULL while empty */
	size_t length;
	size_t capacity;
	bool failed;
};

void strbuf_deinit(struct strbuf *buf);
static inline void strbuf_cleanup(struct strbuf *buf)
{
	strbuf_deinit(buf);
}
#define _cleanup_strbuf_ _cleanup_(strbuf_cleanup)

void strbuf_add(struct strbuf *buf, const void *data, size_t size);
void strbuf_adds(struct strbuf *buf, const char *text);
void strbuf_addc(struct strbuf *buf, char c);
void strbuf_addf(struct strbuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends a Unicode scalar value as UTF-8; surrogates too, as three bytes (CPython's surrogatepass). */
void strbuf_add_codepoint(struct strbuf *buf, unsigned codepoint);
/* Empties it and keeps its memory. */
void strbuf_reset(struct strbuf *buf);
/* The text (never NULL unless failed), owned by the caller; the buffer is empty afterwards. */
char *strbuf_steal(struct strbuf *buf);
