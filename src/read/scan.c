/* SPDX-License-Identifier: MIT */
/* scan.c: a cursor over JSON text. */
#include "read/scan.h"

#include <string.h>

struct scan scan_make(const char *text, size_t size)
{
	return (struct scan){ .start = text, .pos = text, .end = text + size };
}

bool scan_fail(struct scan *scan, const char *wrong)
{
	if (!scan->wrong) {
		scan->wrong = wrong;
		scan->wrong_at = scan->pos;
	}
	return false;
}

struct error *scan_error(const struct scan *scan)
{
	if (scan->no_memory)
		return error_no_memory();
	if (!scan->wrong)
		return NULL;
	size_t line = 1;
	const char *line_start = scan->start;
	for (const char *p = scan->start; (p = memchr(p, '\n', (size_t)(scan->wrong_at - p)));) {
		line_start = ++p;
		line++;
	}
	return error_create(ERROR_CORRUPT, "line %zu, column %zu: %s", line,
			    (size_t)(scan->wrong_at - line_start) + 1, scan->wrong);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

char scan_peek(struct scan *scan)
{
	if (scan->wrong)
		return '\0';
	while (scan->pos < scan->end && is_blank(*scan->pos))
		scan->pos++;
	return scan->pos < scan->end ? *scan->pos : '\0';
}

static bool at_end(struct scan *scan)
{
	return scan->pos >= scan->end;
}

bool scan_char(struct scan *scan, char c)
{
	if (scan_peek(scan) == c && !at_end(scan)) {
		scan->pos++;
		return true;
	}
	if (at_end(scan))
		return scan_fail(scan, "the file ends in the middle");
	switch (c) {
	case '{':
		return scan_fail(scan, "an object is expected here");
	case '[':
		return scan_fail(scan, "an array is expected here");
	case ':':
		return scan_fail(scan, "a colon is expected here");
	case ',':
		return scan_fail(scan, "a comma is expected here");
	default:
		return scan_fail(scan, "the end of an array or object is expected here");
	}
}

bool scan_open(struct scan *scan, char bracket)
{
	return scan_char(scan, bracket);
}

bool scan_more(struct scan *scan, bool *first, char bracket)
{
	if (scan->wrong)
		return false;
	if (scan_peek(scan) == bracket) {
		scan->pos++;
		return false;
	}
	if (*first) {
		*first = false;
		return at_end(scan) ? scan_fail(scan, "the file ends in the middle") : true;
	}
	return scan_char(scan, ',');
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits of \uXXXX. */
static bool scan_unit(struct scan *scan, unsigned *unit_ret)
{
	unsigned unit = 0;
	for (int i = 0; i < 4; i++) {
		int digit = at_end(scan) ? -1 : digit_value(*scan->pos);
		if (digit < 0)
			return scan_fail(scan, "\\u needs four hexadecimal digits");
		unit = unit << 4 | (unsigned)digit;
		scan->pos++;
	}
	*unit_ret = unit;
	return true;
}

static bool scan_codepoint(struct scan *scan, struct strbuf *text)
{
	unsigned high, low;
	if (!scan_unit(scan, &high))
		return false;
	if (!high)
		return scan_fail(scan, "a text has the character U+0000");
	if (high < 0xd800 || high > 0xdfff) {
		strbuf_add_codepoint(text, high);
		return true;
	}
	if (high > 0xdbff || scan->end - scan->pos < 2 || scan->pos[0] != '\\' ||
	    scan->pos[1] != 'u')
		return scan_fail(scan, "half a surrogate pair");
	scan->pos += 2;
	if (!scan_unit(scan, &low))
		return false;
	if (low < 0xdc00 || low > 0xdfff)
		return scan_fail(scan, "half a surrogate pair");
	strbuf_add_codepoint(text, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
	return true;
}

static bool scan_escape(struct scan *scan, struct strbuf *text)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	char c = at_end(scan) ? '\0' : *scan->pos;
	const char *name = c ? strchr(names, c) : NULL;
	if (!name && c != 'u')
		return scan_fail(scan, "an escape that JSON does not have");
	scan->pos++;
	if (!name)
		return scan_codepoint(scan, text);
	strbuf_addc(text, values[name - names]);
	return true;
}

bool scan_string(struct scan *scan, struct strbuf *text)
{
	if (scan_peek(scan) != '"')
		return scan_fail(scan, "a string is expected here");
	scan->pos++;
	strbuf_reset(text);
	/* So that the empty text is one too. */
	strbuf_add(text, "", 0);
	for (;;) {
		const char *from = scan->pos;
		while (scan->pos < scan->end && (unsigned char)*scan->pos >= 0x20 &&
		       *scan->pos != '"' && *scan->pos != '\\')
			scan->pos++;
		strbuf_add(text, from, (size_t)(scan->pos - from));
		if (at_end(scan))
			return scan_fail(scan, "the file ends in a string");
		char c = *scan->pos;
		if ((unsigned char)c < 0x20)
			return scan_fail(scan, "a control character in a string");
		scan->pos++;
		if (c == '"')
			break;
		if (!scan_escape(scan, text))
			return false;
	}
	if (!text->failed)
		return true;
	scan->no_memory = true;
	return scan_fail(scan, "no memory");
}

bool scan_key(struct scan *scan, struct strbuf *key)
{
	return scan_string(scan, key) && scan_char(scan, ':');
}

static bool take_word(struct scan *scan, const char *word)
{
	size_t size = strlen(word);
	scan_peek(scan);
	if (scan->wrong || (size_t)(scan->end - scan->pos) < size ||
	    memcmp(scan->pos, word, size) != 0)
		return false;
	scan->pos += size;
	return true;
}

bool scan_null(struct scan *scan, bool *null_ret)
{
	*null_ret = take_word(scan, "null");
	return !scan->wrong;
}

bool scan_bool(struct scan *scan, bool *value_ret)
{
	bool yes = take_word(scan, "true");
	if (!yes && !take_word(scan, "false"))
		return scan_fail(scan, "true or false is expected here");
	*value_ret = yes;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool scan_number(struct scan *scan, uint64_t max, uint64_t *value_ret)
{
	if (!is_digit(scan_peek(scan)))
		return scan_fail(scan, "a whole number is expected here");
	const char *from = scan->pos;
	uint64_t value = 0;
	for (; !at_end(scan) && is_digit(*scan->pos); scan->pos++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*scan->pos - '0'), &value))
			return scan_fail(scan, "a number that is too large");
	}
	if ((*from == '0' && scan->pos - from > 1) ||
	    (!at_end(scan) && strchr(".eE", *scan->pos) && *scan->pos))
		return scan_fail(scan, "a whole number is expected here");
	if (value > max)
		return scan_fail(scan, "a number that is too large");
	*value_ret = value;
	return true;
}

static void skip_digits(struct scan *scan)
{
	while (!at_end(scan) && is_digit(*scan->pos))
		scan->pos++;
}

static bool skip_number(struct scan *scan)
{
	if (*scan->pos == '-')
		scan->pos++;
	const char *from = scan->pos;
	skip_digits(scan);
	if (scan->pos == from)
		return scan_fail(scan, "a value is expected here");
	if (!at_end(scan) && *scan->pos == '.') {
		scan->pos++;
		skip_digits(scan);
	}
	if (!at_end(scan) && (*scan->pos == 'e' || *scan->pos == 'E')) {
		scan->pos++;
		if (!at_end(scan) && (*scan->pos == '+' || *scan->pos == '-'))
			scan->pos++;
		skip_digits(scan);
	}
	return true;
}

static bool skip_string(struct scan *scan)
{
	for (scan->pos++; !at_end(scan) && *scan->pos != '"'; scan->pos++)
		if (*scan->pos == '\\')
			scan->pos++;
	if (at_end(scan)) {
		scan->pos = scan->end;
		return scan_fail(scan, "the file ends in a string");
	}
	scan->pos++;
	return true;
}

/* A value that is neither an array nor an object. */
static bool skip_plain(struct scan *scan)
{
	char c = scan_peek(scan);
	if (c == '"')
		return skip_string(scan);
	if (take_word(scan, "true") || take_word(scan, "false") || take_word(scan, "null"))
		return true;
	if (at_end(scan))
		return scan_fail(scan, "the file ends in the middle");
	return skip_number(scan);
}

bool scan_skip(struct scan *scan)
{
	char closing[SCAN_DEPTH_MAX];
	size_t depth = 0;
	bool first = false;
	do {
		char c = scan_peek(scan);
		if (c == '{' || c == '[') {
			if (depth == SCAN_DEPTH_MAX)
				return scan_fail(scan, "nested too deeply");
			closing[depth++] = c == '{' ? '}' : ']';
			scan->pos++;
			first = true;
		} else if (!skip_plain(scan)) {
			return false;
		}
		/* Up to the next value, out of all that ends here. */
		while (depth && !scan_more(scan, &first, closing[depth - 1])) {
			if (scan->wrong)
				return false;
			depth--;
			first = false;
		}
		if (depth && closing[depth - 1] == '}' &&
		    (scan_peek(scan) != '"' || !skip_string(scan) || !scan_char(scan, ':')))
			return scan_fail(scan, "a member's name is expected here");
	} while (depth);
	return !scan->wrong;
}

bool scan_done(struct scan *scan)
{
	scan_peek(scan);
	return !scan->wrong && at_end(scan);
}
