/* SPDX-License-Identifier: MIT */
/* script.c: data for a script inside an HTML page, as JSON. */
#include "write/script.h"

#include <string.h>

#include "write/text.h"

#define DATA_LINE "@data\n"

void script_deinit(struct script *script)
{
	strbuf_deinit(&script->buf);
}

void script_raw(struct script *script, const char *text)
{
	fputs_unlocked(text, script->stream);
}

/* Bytes of the UTF-8 sequence at @p that must not stand in a script; its code point. The text is valid UTF-8. */
static size_t hidden(const char *p, unsigned *codepoint_ret)
{
	if (!strncmp(p, "\xe2\x80\xa8", 3) || !strncmp(p, "\xe2\x80\xa9", 3)) {
		*codepoint_ret = 0x2000U | (unsigned char)p[2] % 0x40;
		return 3;
	}
	*codepoint_ret = (unsigned char)*p;
	return (unsigned char)*p < 0x20 || strchr("<>&\"\\'", *p) ? 1 : 0;
}

static void write_json(const char *text, FILE *stream)
{
	putc_unlocked('"', stream);
	while (*text) {
		unsigned codepoint;
		size_t size = hidden(text, &codepoint);
		if (size)
			fprintf(stream, "\\u%04x", codepoint);
		else
			putc_unlocked(*text, stream);
		text += size ? size : 1;
	}
	putc_unlocked('"', stream);
}

void script_text(struct script *script, const char *text)
{
	if (!text) {
		script_raw(script, "null");
		return;
	}
	strbuf_reset(&script->buf);
	text_escape(&script->buf, text, TEXT_UTF8, NULL);
	strbuf_add(&script->buf, "", 0);
	if (script->buf.failed)
		script->failed = true;
	else
		write_json(script->buf.text, script->stream);
}

void script_number(struct script *script, uint64_t number)
{
	char digits[20];
	char *p = digits + sizeof(digits);
	do {
		*--p = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	fwrite_unlocked(p, 1, (size_t)(digits + sizeof(digits) - p), script->stream);
}

void script_add_text(struct script *script, const char *key, const char *text)
{
	script_raw(script, key);
	script_text(script, text);
}

void script_add_number(struct script *script, const char *key, uint64_t number)
{
	script_raw(script, key);
	script_number(script, number);
}

void script_argv(struct script *script, const struct profile_argv *argv)
{
	if (!argv->bytes) {
		script_raw(script, "null");
		return;
	}
	script_raw(script, "[");
	for (size_t at = 0; at < argv->size; at += strlen(argv->bytes + at) + 1) {
		script_raw(script, at ? "," : "");
		script_text(script, argv->bytes + at);
	}
	script_raw(script, "]");
}

void script_page(const char *page, bool before, FILE *stream)
{
	const char *data = strstr(page, "\n" DATA_LINE);
	const char *after = data + strlen("\n" DATA_LINE);
	if (before)
		fwrite(page, 1, (size_t)(data + 1 - page), stream);
	else
		fputs(after, stream);
}
