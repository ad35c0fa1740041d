/* SPDX-License-Identifier: MIT */
/* attributes.c: pairs of a key and a text or number. */
#include "push/attributes.h"

#include <ctype.h>
#include <string.h>

#include "write/text.h"

void attributes_deinit(struct attributes *attributes)
{
	vec_foreach (attribute, attributes) {
		free(attribute->key);
		free(attribute->text);
	}
	attributes_vec_deinit(attributes);
}

/* A valid copy of the first @size bytes; a character that is cut is left out by the caller's escape, as bytes of it. */
static char *clean(const char *text, size_t size)
{
	char cut[ATTRIBUTE_MAX + 1];
	if (size > ATTRIBUTE_MAX)
		size = ATTRIBUTE_MAX;
	memcpy(cut, text, size);
	cut[size] = '\0';
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	text_escape(&buf, cut, TEXT_LINE, NULL);
	return strbuf_steal(&buf);
}

static struct attribute *find(const struct attributes *attributes, const char *key)
{
	vec_foreach (attribute, attributes)
		if (!strcmp(attribute->key, key))
			return attribute;
	return NULL;
}

static bool set(struct attributes *attributes, const char *key_text, char *value, int64_t number)
{
	_cleanup_free_ char *text = value;
	_cleanup_free_ char *key = clean(key_text, strlen(key_text));
	if (!key || !key[0])
		return false;
	struct attribute *attribute = find(attributes, key);
	if (!attribute) {
		if (attributes->count >= ATTRIBUTES_MAX)
			return false;
		attribute = attributes_vec_append(attributes);
		if (!attribute)
			return false;
		attribute->key = no_cleanup(key);
	}
	free(attribute->text);
	attribute->text = no_cleanup(text);
	attribute->number = number;
	return true;
}

bool attributes_set(struct attributes *attributes, const char *key, const char *text)
{
	char *value = clean(text, strlen(text));
	return value && set(attributes, key, value, 0);
}

bool attributes_set_number(struct attributes *attributes, const char *key, int64_t number)
{
	return set(attributes, key, NULL, number);
}

bool attributes_add(struct attributes *attributes, const char *key, const char *text)
{
	if (!text || !text[0] || find(attributes, key))
		return true;
	return attributes_set(attributes, key, text);
}

const struct attribute *attributes_get(const struct attributes *attributes, const char *key)
{
	return find(attributes, key);
}

bool attributes_add_all(struct attributes *attributes, const struct attributes *more)
{
	vec_foreach (attribute, more) {
		if (find(attributes, attribute->key))
			continue;
		if (attribute->text
			    ? !attributes_set(attributes, attribute->key, attribute->text)
			    : !attributes_set_number(attributes, attribute->key, attribute->number))
			return false;
	}
	return true;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. A NUL would end the text early and stays as it was written. */
static void decode_percents(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++) {
		if (from[0] == '%' && hex(from[1]) >= 0 && hex(from[2]) >= 0 &&
		    (hex(from[1]) || hex(from[2]))) {
			*to++ = (char)(hex(from[1]) << 4 | hex(from[2]));
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

char *attributes_trim(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	size_t length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}

struct error *attributes_parse(struct attributes *attributes, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	if (!copy)
		return error_no_memory();
	for (char *rest = copy, *part; (part = strsep(&rest, ","));) {
		part = attributes_trim(part);
		if (!*part)
			continue;
		char *equals = strchr(part, '=');
		if (!equals)
			return error_create(ERROR_USAGE, "a part is not KEY=VALUE");
		*equals = '\0';
		char *key = attributes_trim(part), *value = attributes_trim(equals + 1);
		decode_percents(value);
		if (!*key)
			return error_create(ERROR_USAGE, "a part has no key");
		if (!find(attributes, key) && !attributes_set(attributes, key, value))
			return error_create(ERROR_OTHER, "more than %d attributes", ATTRIBUTES_MAX);
	}
	return NULL;
}

struct error *attributes_set_pair(struct attributes *attributes, const char *pair)
{
	const char *equals = strchr(pair, '=');
	if (!equals || equals == pair)
		return error_create(ERROR_USAGE, "%s is not KEY=VALUE", pair);
	_cleanup_free_ char *key = strndup(pair, (size_t)(equals - pair));
	if (!key)
		return error_no_memory();
	if (!attributes_set(attributes, key, equals + 1))
		return error_create(ERROR_OTHER, "more than %d attributes", ATTRIBUTES_MAX);
	return NULL;
}
