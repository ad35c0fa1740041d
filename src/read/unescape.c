/* SPDX-License-Identifier: MIT */
/* unescape.c: takes back what text_escape of write/text.h did. */
#include "read/unescape.h"

#include <string.h>

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte of an xHH at @p; -1 if there is none. */
static int escaped_byte(const char *p, const char *end)
{
	if (end - p < 3 || *p != 'x' || digit_value(p[1]) < 0 || digit_value(p[2]) < 0)
		return -1;
	return digit_value(p[1]) << 4 | digit_value(p[2]);
}

void unescape_add(struct strbuf *buf, const char *text, size_t size)
{
	const char *end = text + size;
	while (text < end) {
		const char *slash = memchr(text, '\\', (size_t)(end - text));
		strbuf_add(buf, text, (size_t)((slash ? slash : end) - text));
		if (!slash)
			return;
		const char *rest = slash;
		while (rest < end && *rest == '\\')
			rest++;
		size_t run = (size_t)(rest - slash);
		int byte = escaped_byte(rest, end);
		text = rest;
		/* Half of them were there; the odd one says that xHH is a byte. */
		if (byte >= 0 && (run % 2 == 0 || byte > 0)) {
			strbuf_add(buf, slash, run / 2);
			if (run % 2) {
				strbuf_addc(buf, (char)byte);
				text = rest + 3;
			}
			continue;
		}
		strbuf_add(buf, slash, run);
	}
}
