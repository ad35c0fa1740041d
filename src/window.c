/* SPDX-License-Identifier: MIT */
/* window.c: the files of a recording that writes more than one. */
#include "window.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/strbuf.h"

/* Where the ending of @path begins: the format's longest one that it has, else the last dot of its name, else its end. */
static size_t ending_of(const char *path, const struct writer *format)
{
	size_t length = strlen(path), at = length;
	for (const char *const *ending = format->endings; *ending; ending++) {
		size_t size = strlen(*ending);
		if (size < length && length - size < at && !strcmp(path + length - size, *ending))
			at = length - size;
	}
	const char *name = path_base(path);
	const char *dot = strrchr(name, '.');
	if (at == length && dot && dot > name)
		at = (size_t)(dot - path);
	return at;
}

char *window_path(const char *pattern, const struct writer *format, unsigned number, time_t start)
{
	struct strbuf path = { 0 };
	char text[32] = "";
	struct tm tm;
	bool told = false;
	if (gmtime_r(&start, &tm))
		strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
	for (const char *p = pattern; *p; p++) {
		bool time = p[0] == '%' && p[1] == 't', count = p[0] == '%' && p[1] == 'n';
		if (time)
			strbuf_adds(&path, text);
		else if (count)
			strbuf_addf(&path, "%u", number);
		else
			strbuf_addc(&path, *p);
		p += time || count;
		told |= time || count;
	}
	if (!told) {
		size_t at = ending_of(pattern, format);
		strbuf_reset(&path);
		strbuf_add(&path, pattern, at);
		strbuf_addf(&path, ".%u%s", number, pattern + at);
	}
	if (path.failed) {
		strbuf_deinit(&path);
		return NULL;
	}
	return strbuf_steal(&path);
}
