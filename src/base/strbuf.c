/* SPDX-License-Identifier: MIT */
/* strbuf.c: a string that grows. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void strbuf_deinit(struct strbuf *buf)
{
	free(buf->text);
	*buf = (struct strbuf){ 0 };
}

static bool strbuf_reserve(struct strbuf *buf, size_t extra)
{
	size_t need;
	if (buf->failed || __builtin_add_overflow(buf->length, extra, &need) ||
	    __builtin_add_overflow(need, 1, &need) ||
	    !vec_reserve_((void **)&buf->text, &buf->capacity, need, 1)) {
		buf->failed = true;
		return false;
	}
	return true;
}

void strbuf_add(struct strbuf *buf, const void *data, size_t size)
{
	if (!strbuf_reserve(buf, size))
		return;
	if (size)
		memcpy(buf->text + buf->length, data, size);
	buf->length += size;
	buf->text[buf->length] = '\0';
}

void strbuf_adds(struct strbuf *buf, const char *text)
{
	strbuf_add(buf, text, strlen(text));
}

void strbuf_addc(struct strbuf *buf, char c)
{
	strbuf_add(buf, &c, 1);
}

void strbuf_addf(struct strbuf *buf, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	char *text;
	int length = vasprintf(&text, format, ap);
	va_end(ap);
	if (length < 0) {
		buf->failed = true;
		return;
	}
	strbuf_add(buf, text, (size_t)length);
	free(text);
}

void strbuf_add_codepoint(struct strbuf *buf, unsigned codepoint)
{
	uint8_t utf8[4];
	size_t size;
	if (codepoint < 0x80) {
		utf8[0] = (uint8_t)codepoint;
		size = 1;
	} else if (codepoint < 0x800) {
		utf8[0] = (uint8_t)(0xc0 | codepoint >> 6);
		utf8[1] = (uint8_t)(0x80 | (codepoint & 0x3f));
		size = 2;
	} else if (codepoint < 0x10000) {
		utf8[0] = (uint8_t)(0xe0 | codepoint >> 12);
		utf8[1] = (uint8_t)(0x80 | (codepoint >> 6 & 0x3f));
		utf8[2] = (uint8_t)(0x80 | (codepoint & 0x3f));
		size = 3;
	} else {
		utf8[0] = (uint8_t)(0xf0 | (codepoint >> 18 & 0x07));
		utf8[1] = (uint8_t)(0x80 | (codepoint >> 12 & 0x3f));
		utf8[2] = (uint8_t)(0x80 | (codepoint >> 6 & 0x3f));
		utf8[3] = (uint8_t)(0x80 | (codepoint & 0x3f));
		size = 4;
	}
	strbuf_add(buf, utf8, size);
}

void strbuf_reset(struct strbuf *buf)
{
	buf->length = 0;
	buf->failed = false;
	if (buf->text)
		buf->text[0] = '\0';
}

char *strbuf_steal(struct strbuf *buf)
{
	if (!buf->text)
		strbuf_add(buf, "", 0);
	char *text = buf->failed ? NULL : no_cleanup(buf->text);
	strbuf_deinit(buf);
	return text;
}
