/* SPDX-License-Identifier: MIT */
/* text.c: text of a target made safe to write, reversibly. */
#include "write/text.h"

#include <stdbool.h>
#include <string.h>

/*
 * Bytes of the UTF-8 sequence at @p (Unicode, table 3-7: well-formed byte sequences) and its code
 * point; 0 if it is none. A NUL ends every sequence early, so a string is never overrun.
 */
static size_t utf8_decode(const unsigned char *p, uint32_t *codepoint_ret)
{
	if (p[0] < 0x80) {
		*codepoint_ret = p[0];
		return 1;
	}

	size_t size;
	uint32_t codepoint, lowest;
	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		size = 2;
		codepoint = p[0] & 0x1f;
		lowest = 0x80;
	} else if ((p[0] & 0xf0) == 0xe0) {
		size = 3;
		codepoint = p[0] & 0x0f;
		lowest = 0x800;
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		size = 4;
		codepoint = p[0] & 0x07;
		lowest = 0x10000;
	} else {
		return 0;
	}
	for (size_t i = 1; i < size; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		codepoint = codepoint << 6 | (p[i] & 0x3f);
	}
	if (codepoint < lowest || codepoint > 0x10ffff ||
	    (codepoint >= 0xd800 && codepoint <= 0xdfff))
		return 0;
	*codepoint_ret = codepoint;
	return size;
}

/* Control characters and what some readers take for the end of a line. */
static bool breaks_line(uint32_t codepoint)
{
	return codepoint < 0x20 || (codepoint >= 0x7f && codepoint <= 0x9f) ||
	       codepoint == 0x2028 || codepoint == 0x2029;
}

static void escape_bytes(struct strbuf *buf, const unsigned char *p, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < size; i++) {
		char escaped[] = { '\\', 'x', digits[p[i] >> 4], digits[p[i] & 0xf] };
		strbuf_add(buf, escaped, sizeof(escaped));
	}
}

struct escape {
	enum text_style style;
	const char *also;           /* bytes to be escaped too, or NULL */
	const unsigned char *place; /* one place to be escaped too, or NULL */
};

/* Bytes to be escaped at @p, which is not the end; 0 if what is there can stand for itself,
 * @size_ret bytes then. */
static size_t escaped_at(const struct escape *escape, const unsigned char *p, size_t *size_ret)
{
	uint32_t codepoint;
	size_t size = utf8_decode(p, &codepoint);
	if (!size)
		return 1;
	*size_ret = size;
	bool escaped = p == escape->place ||
		       (escape->style == TEXT_LINE && breaks_line(codepoint)) ||
		       (escape->also && codepoint < 0x80 && strchr(escape->also, (int)codepoint));
	return escaped ? size : 0;
}

static bool is_digit(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* True if backslashes before @p must be doubled: what is written next looks like the rest of an
 * escape, or is one. */
static bool looks_escaped(const struct escape *escape, const unsigned char *p)
{
	size_t size;
	if (p[0] == 'x' && is_digit(p[1]) && is_digit(p[2]))
		return true;
	return *p && escaped_at(escape, p, &size);
}

static void add_escaped(struct strbuf *buf, const struct escape *escape, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	while (*p) {
		if (*p == '\\') {
			size_t run = strspn((const char *)p, "\\");
			strbuf_add(buf, p, run);
			if (looks_escaped(escape, p + run))
				strbuf_add(buf, p, run);
			p += run;
			continue;
		}
		size_t size = 0;
		size_t escaped = escaped_at(escape, p, &size);
		if (escaped)
			escape_bytes(buf, p, escaped);
		else
			strbuf_add(buf, p, size);
		p += escaped ? escaped : size;
	}
}

void text_escape(struct strbuf *buf, const char *text, enum text_style style, const char *also)
{
	const struct escape escape = { .style = style, .also = also };
	add_escaped(buf, &escape, text);
}

/*
 * A stack ends with a blank and a number, and readers that know differential profiles look for a
 * second number before it: the blank of a name that ends so is escaped.
 */
static void text_add_bare(struct strbuf *buf, const char *name)
{
	struct escape escape = { .style = TEXT_LINE, .also = ";" };
	const char *end = name + strlen(name);
	const char *number = end;
	while (number > name && strchr("0123456789.", number[-1]))
		number--;
	if (number > name && number < end && number[-1] == ' ')
		escape.place = (const unsigned char *)number - 1;
	add_escaped(buf, &escape, name);
}

void text_add_frame(struct strbuf *buf, const char *name, const char *file, uint32_t line)
{
	if (!file) {
		text_add_bare(buf, name);
		return;
	}
	text_escape(buf, name, TEXT_LINE, ";");
	strbuf_adds(buf, " (");
	text_escape(buf, file, TEXT_LINE, ";:(");
	if (line)
		strbuf_addf(buf, ":%u", line);
	strbuf_addc(buf, ')');
}

static void add_numbered(struct strbuf *buf, const char *what, int number, const char *name)
{
	strbuf_addf(buf, "%s %d (", what, number);
	text_escape(buf, name, TEXT_LINE, ";");
	strbuf_addc(buf, ')');
}

void text_add_process(struct strbuf *buf, int pid, const char *name)
{
	add_numbered(buf, "process", pid, name);
}

void text_add_thread(struct strbuf *buf, int tid, const char *name)
{
	add_numbered(buf, "thread", tid, name);
}
