/* SPDX-License-Identifier: MIT */
/*
 * text.h: text of a target made safe to write, reversibly.
 *
 * One rule for all formats: a byte that cannot stand for itself is written \xHH (two lower-case
 * hexadecimal digits), and backslashes directly before an xHH, written so or there from the start,
 * are doubled. Other text is left as it is. To reverse it, look at every run of backslashes before
 * an xHH: the half of them, rounded down, were there; if their number was odd, xHH is a byte. The
 * result is in UTF-8 wherever the target's text was valid.
 */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"

enum text_style {
	TEXT_UTF8, /* bytes that are not UTF-8 are escaped (also surrogates) */
	TEXT_LINE, /* and all bytes of control characters, C1 ones and U+2028, U+2029: fits on a
		      line, harmless on a terminal */
};

/* Appends @text. ASCII characters that are in @also are escaped too; it may be NULL, and has no
 * backslash. */
void text_escape(struct strbuf *buf, const char *text, enum text_style style, const char *also);
/*
 * Appends a frame as one element of a collapsed stack: "NAME (FILE:LINE)", without ":LINE" if @line
 * is 0, without the parentheses if @file is NULL. The last " (" is the one before the file, and the
 * last ":" of it is the one before the line.
 */
void text_add_frame(struct strbuf *buf, const char *name, const char *file, uint32_t line);
/* Appends the outermost frame of a process: "process PID (NAME)". */
void text_add_process(struct strbuf *buf, int pid, const char *name);
/* Appends the outermost frame of a thread: "thread TID (NAME)". */
void text_add_thread(struct strbuf *buf, int tid, const char *name);
