/* SPDX-License-Identifier: MIT */
/* settings.c: how to push: what a file and the environment say. */
#include "push/settings.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/clock.h"

#define FILE_MAX_BYTES    (64 * 1024)
#define HEADERS_MAX       32
#define REQUEST_TIMEOUT_S 10
#define QUEUE_DEFAULT     30
#define QUEUE_MAX         10000

void push_config_init(struct push_config *config)
{
	*config = (struct push_config){
		.gzip = true,
		.timeout_ns = REQUEST_TIMEOUT_S * NS_PER_S,
		.queue = QUEUE_DEFAULT,
	};
}

/* What may be a password is not left in freed memory. */
static void forget(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void push_config_deinit(struct push_config *config)
{
	vec_foreach (header, &config->headers)
		forget(*header);
	push_headers_deinit(&config->headers);
	attributes_deinit(&config->labels);
	free(config->url);
	free(config->ca_file);
	free(config->client_cert);
	free(config->client_key);
	*config = (struct push_config){ 0 };
}

/* The place of header @name; NULL if there is none yet. */
static char **find_header(const struct push_config *config, const char *name)
{
	size_t length = strlen(name);
	vec_foreach (header, &config->headers)
		if (!strncasecmp(*header, name, length) && (*header)[length] == ':')
			return header;
	return NULL;
}

/* RFC 9110 §5.6.2: the characters of a header's name. */
static bool is_token(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("!#$%&'*+-.^_`|~", text[i]))
			return false;
	return size;
}

static struct error *add_header(struct push_config *config, const char *name, const char *prefix,
				const char *value)
{
	if (!is_token(name, strlen(name)))
		return error_create(ERROR_USAGE,
				    "a header's name has a character that can not be in one");
	for (const char *p = value; *p; p++)
		if (((unsigned char)*p < ' ' && *p != '\t') || *p == '\x7f')
			return error_create(ERROR_USAGE, "a header has a control character");
	char *text;
	if (asprintf(&text, "%s: %s%s", name, prefix, value) < 0)
		return error_no_memory();
	char **header = find_header(config, name);
	if (!header && config->headers.count < HEADERS_MAX)
		header = push_headers_append(&config->headers);
	if (!header) {
		forget(text);
		return error_create(ERROR_USAGE, "more than %d headers", HEADERS_MAX);
	}
	forget(*header);
	*header = text;
	return NULL;
}

static struct error *set_header(struct push_config *config, const char *value)
{
	const char *colon = strchr(value, ':');
	if (!colon)
		return error_create(ERROR_USAGE, "a header is written NAME: VALUE");
	_cleanup_free_ char *name = strndup(value, (size_t)(colon - value));
	if (!name)
		return error_no_memory();
	for (colon++; *colon == ' '; colon++)
		;
	return add_header(config, name, "", colon);
}

static struct error *set_tenant(struct push_config *config, const char *value)
{
	return add_header(config, "X-Scope-OrgID", "", value);
}

static struct error *set_bearer(struct push_config *config, const char *value)
{
	return add_header(config, "Authorization", "Bearer ", value);
}

/* RFC 4648 §4. */
static char *base64(const char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t size = strlen(text);
	char *out = malloc((size + 2) / 3 * 4 + 1), *to = out;
	for (size_t i = 0; out && i < size; i += 3) {
		unsigned bits = 0;
		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 | (i + j < size ? (unsigned char)text[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			*to++ = i + j <= size ? digits[bits >> (18 - 6 * j) & 63] : '=';
	}
	if (out)
		*to = '\0';
	return out;
}

/* "USER:PASSWORD" */
static struct error *set_basic(struct push_config *config, const char *value)
{
	if (!strchr(value, ':'))
		return error_create(ERROR_USAGE, "basic is written USER:PASSWORD");
	char *encoded = base64(value);
	if (!encoded)
		return error_no_memory();
	struct error *err = add_header(config, "Authorization", "Basic ", encoded);
	forget(encoded);
	return err;
}

static struct error *set_text(char **text, const char *value)
{
	char *copy = strdup(value);
	if (!copy)
		return error_no_memory();
	free(*text);
	*text = copy;
	return NULL;
}

static struct error *set_url(struct push_config *config, const char *value)
{
	return set_text(&config->url, value);
}

static struct error *set_ca(struct push_config *config, const char *value)
{
	return set_text(&config->ca_file, value);
}

static struct error *set_cert(struct push_config *config, const char *value)
{
	return set_text(&config->client_cert, value);
}

static struct error *set_key(struct push_config *config, const char *value)
{
	return set_text(&config->client_key, value);
}

static struct error *set_insecure(struct push_config *config, const char *value)
{
	if (strcmp(value, "yes") && strcmp(value, "no"))
		return error_create(ERROR_USAGE, "it is yes or no");
	config->insecure = !strcmp(value, "yes");
	return NULL;
}

static struct error *set_compression(struct push_config *config, const char *value)
{
	if (strcmp(value, "gzip") && strcmp(value, "none"))
		return error_create(ERROR_USAGE, "it is gzip or none");
	config->gzip = !strcmp(value, "gzip");
	return NULL;
}

/* A whole number of 1 to @most. */
static struct error *parse_count(const char *value, unsigned most, unsigned *count_ret)
{
	char *end;
	errno = 0;
	unsigned long count = isdigit((unsigned char)value[0]) ? strtoul(value, &end, 10) : 0;
	if (!count || errno || count > most || *end)
		return error_create(ERROR_USAGE, "it is a whole number from 1 to %u", most);
	*count_ret = (unsigned)count;
	return NULL;
}

static struct error *set_queue(struct push_config *config, const char *value)
{
	return parse_count(value, QUEUE_MAX, &config->queue);
}

static struct error *set_timeout(struct push_config *config, const char *value)
{
	unsigned seconds;
	struct error *err = parse_count(value, 3600, &seconds);
	if (!err)
		config->timeout_ns = seconds * NS_PER_S;
	return err;
}

static struct error *set_label(struct push_config *config, const char *value)
{
	return attributes_set_pair(&config->labels, value);
}

static const struct {
	const char *key;
	struct error *(*set)(struct push_config *config, const char *value);
} keys[] = {
	{ "push", set_url },
	{ "header", set_header },
	{ "tenant", set_tenant },
	{ "bearer-token", set_bearer },
	{ "basic", set_basic },
	{ "ca-file", set_ca },
	{ "client-cert", set_cert },
	{ "client-key", set_key },
	{ "insecure", set_insecure },
	{ "compression", set_compression },
	{ "request-timeout", set_timeout },
	{ "queue", set_queue },
	{ "label", set_label },
};

static struct error *set_key_value(struct push_config *config, const char *key, const char *value,
				   push_config_key other, void *context)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(keys[i].key, key))
			return keys[i].set(config, value);
	bool known = false;
	struct error *err = other ? other(context, key, value, &known) : NULL;
	return err || known ? err : error_create(ERROR_USAGE, "there is no such key");
}

/* Repeats a key only if it looks like one: what stands there by mistake may be a secret. */
static bool is_key(const char *key)
{
	return strspn(key, "abcdefghijklmnopqrstuvwxyz-") == strlen(key) && strlen(key) < 24;
}

struct error *push_config_parse(struct push_config *config, char *text, push_config_key other,
				void *context)
{
	unsigned number = 0;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		number++;
		line = attributes_trim(line);
		if (!*line || *line == '#')
			continue;
		char *equals = strchr(line, '=');
		if (!equals)
			return error_create(ERROR_USAGE, "line %u is not KEY = VALUE", number);
		*equals = '\0';
		char *key = attributes_trim(line), *value = attributes_trim(equals + 1);
		struct error *err = *value ? set_key_value(config, key, value, other, context)
					   : error_create(ERROR_USAGE, "it has no value");
		if (err)
			return error_prefix(err, "line %u, %s", number,
					    is_key(key) ? key : "the key");
	}
	return NULL;
}

static struct error *read_private(const char *path, char **text_ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	if (fd < 0 || fstat(fd, &status))
		return error_create(ERROR_USAGE, "it can not be read: %s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return error_create(ERROR_USAGE, "it is not a regular file");
	if (status.st_uid != geteuid() && status.st_uid)
		return error_create(ERROR_USAGE, "it belongs to another user");
	if (status.st_mode & 077)
		return error_create(ERROR_USAGE,
				    "others may read or write it: chmod 600 keeps its secrets");
	if (status.st_size > FILE_MAX_BYTES)
		return error_create(ERROR_USAGE, "it is larger than %d bytes", FILE_MAX_BYTES);
	char *text = malloc(FILE_MAX_BYTES + 1);
	if (!text)
		return error_no_memory();
	size_t size = 0;
	ssize_t got;
	while (size < FILE_MAX_BYTES && (got = read(fd, text + size, FILE_MAX_BYTES - size)) > 0)
		size += (size_t)got;
	text[size] = '\0';
	if (strlen(text) != size) {
		forget(text);
		return error_create(ERROR_USAGE, "it is not a text");
	}
	*text_ret = text;
	return NULL;
}

struct error *push_config_read(struct push_config *config, const char *path, push_config_key other,
			       void *context)
{
	char *text = NULL;
	struct error *err = read_private(path, &text);
	if (!err) {
		size_t size = strlen(text);
		err = push_config_parse(config, text, other, context);
		/* The parser has cut it into pieces. */
		explicit_bzero(text, size);
		free(text);
	}
	return err && err->code == ERROR_USAGE ? error_prefix(err, "%s", path) : err;
}

/* OTEL_EXPORTER_OTLP_PROFILES_@name, else OTEL_EXPORTER_OTLP_@name; NULL for neither, or empty ones. */
static const char *variable(const char *name)
{
	static const char *const prefixes[] = { "OTEL_EXPORTER_OTLP_PROFILES_",
						"OTEL_EXPORTER_OTLP_" };
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		char full[64];
		snprintf(full, sizeof(full), "%s%s", prefixes[i], name);
		const char *value = getenv(full);
		if (value && *value)
			return value;
	}
	return NULL;
}

static struct error *headers_of_environment(struct push_config *config)
{
	const char *text = variable("HEADERS");
	_cleanup_attributes_ struct attributes parsed = { 0 };
	struct error *err = text ? attributes_parse(&parsed, text) : NULL;
	if (err)
		return error_prefix(err, "OTEL_EXPORTER_OTLP_HEADERS");
	vec_foreach (header, &parsed) {
		err = add_header(config, header->key, "", header->text);
		if (err)
			return error_prefix(err, "OTEL_EXPORTER_OTLP_HEADERS");
	}
	return NULL;
}

static struct error *file_of_environment(const char *name, char **path)
{
	const char *value = variable(name);
	return value ? set_text(path, value) : NULL;
}

struct error *push_config_environment(struct push_config *config)
{
	struct error *err = headers_of_environment(config);
	if (!err)
		err = file_of_environment("CERTIFICATE", &config->ca_file);
	if (!err)
		err = file_of_environment("CLIENT_CERTIFICATE", &config->client_cert);
	if (!err)
		err = file_of_environment("CLIENT_KEY", &config->client_key);
	const char *compression = variable("COMPRESSION");
	if (!err && compression)
		err = error_prefix(set_compression(config, compression),
				   "OTEL_EXPORTER_OTLP_COMPRESSION");
	const char *timeout = variable("TIMEOUT");
	unsigned ms;
	if (!err && timeout) {
		err = error_prefix(parse_count(timeout, 3600 * 1000, &ms),
				   "OTEL_EXPORTER_OTLP_TIMEOUT");
		if (!err)
			config->timeout_ns = ms * NS_PER_MS;
	}
	return err;
}

struct error *push_config_environment_url(const char **url_ret, bool *base_ret, bool *grpc_ret)
{
	const char *own = getenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT");
	const char *base = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
	const char *protocol = variable("PROTOCOL");
	if (protocol && strcmp(protocol, "grpc") && strcmp(protocol, "http/protobuf"))
		return error_create(
			ERROR_USAGE,
			"OTEL_EXPORTER_OTLP_PROTOCOL is neither http/protobuf nor grpc");
	bool has_own = own && *own;
	if (!has_own && (!base || !*base))
		return error_create(ERROR_USAGE, "neither OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT nor "
						 "OTEL_EXPORTER_OTLP_ENDPOINT is set");
	*url_ret = has_own ? own : base;
	*base_ret = !has_own;
	*grpc_ret = protocol && !strcmp(protocol, "grpc");
	return NULL;
}
