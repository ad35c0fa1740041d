/* SPDX-License-Identifier: MIT */
/* jsonstream.c: a large JSON document written piece by piece. */
#include "write/jsonstream.h"

#include "base/strbuf.h"
#include "write/text.h"

static void next_item(struct jsonstream *json, const char *key)
{
	if (!json->first)
		fputc(',', json->stream);
	if (json->depth)
		fprintf(json->stream, "\n%*s", json->depth, "");
	json->first = false;
	if (key)
		fprintf(json->stream, "\"%s\": ", key);
}

void jsonstream_open(struct jsonstream *json, const char *key, char bracket)
{
	next_item(json, key);
	fputc(bracket, json->stream);
	json->depth++;
	json->first = true;
}

void jsonstream_close(struct jsonstream *json, char bracket)
{
	json->depth--;
	if (!json->first)
		fprintf(json->stream, "\n%*s", json->depth, "");
	fputc(bracket, json->stream);
	json->first = false;
	if (!json->depth)
		fputc('\n', json->stream);
}

void jsonstream_add(struct jsonstream *json, const char *key, json_t *value)
{
	if (!value) {
		json->failed = true;
		return;
	}
	next_item(json, key);
	/* What else can fail is the stream, whose state the caller of a writer looks at. */
	(void)json_dumpf(value, json->stream,
			 JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
	json_decref(value);
}

json_t *jsonstream_text(const char *text)
{
	if (!text)
		return json_null();
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	text_escape(&buf, text, TEXT_UTF8, NULL);
	strbuf_add(&buf, "", 0);
	return buf.failed ? NULL : json_string(buf.text);
}
