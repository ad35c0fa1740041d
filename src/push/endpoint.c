/* SPDX-License-Identifier: MIT */
/* endpoint.c: the URL of --push → what is posted where. */
#include "push/endpoint.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define URL_MAX        2048
#define OTLP_PATH      "/v1development/profiles"
#define GRPC_PATH      "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define PYROSCOPE_PATH "/push.v1.PusherService/Push"
#define GRPC_PORT      ":4317"

static const struct scheme {
	const char *prefix;
	enum push_protocol protocol;
	const char *transport;
} schemes[] = {
	{ "http://", PUSH_OTLP_HTTP, "http" },
	{ "https://", PUSH_OTLP_HTTP, "https" },
	{ "grpc://", PUSH_OTLP_GRPC, "http" },
	{ "grpcs://", PUSH_OTLP_GRPC, "https" },
	{ "pyroscope+http://", PUSH_PYROSCOPE, "http" },
	{ "pyroscope+https://", PUSH_PYROSCOPE, "https" },
};

static const struct scheme *find_scheme(const char *url)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (!strncasecmp(url, schemes[i].prefix, strlen(schemes[i].prefix)))
			return &schemes[i];
	return NULL;
}

static struct error *check_text(const char *url)
{
	if (strlen(url) > URL_MAX)
		return error_create(ERROR_USAGE, "the URL is longer than %d bytes", URL_MAX);
	for (const char *p = url; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == '\x7f' || *p == '#' || *p == '\\')
			return error_create(ERROR_USAGE,
					    "the URL has a character that can not be in one");
	return NULL;
}

/* The host with its port, then the path: both parts of @rest. */
static struct error *split(const char *rest, size_t *host_size_ret)
{
	size_t size = strcspn(rest, "/?");
	if (!size || rest[0] == ':')
		return error_create(ERROR_USAGE, "the URL has no host");
	if (memchr(rest, '@', size))
		return error_create(ERROR_USAGE, "a user or password in the URL would be seen by "
						 "all: it belongs in --push-config");
	*host_size_ret = size;
	return NULL;
}

/* An address of IPv6 has colons of its own, in brackets. */
static bool has_port(const char *host, size_t size)
{
	const char *bracket = memchr(host, ']', size);
	const char *from = bracket ? bracket : host;
	return memchr(from, ':', size - (size_t)(from - host));
}

static struct error *make(const struct scheme *scheme, enum push_protocol protocol,
			  const char *rest, bool append, struct endpoint *endpoint_ret)
{
	size_t host_size = 0;
	struct error *err = split(rest, &host_size);
	if (err)
		return err;
	const char *path = rest + host_size, *port = "", *more = "";
	int path_size = (int)strlen(path);
	bool bare = !path[0] || !strcmp(path, "/");
	switch (protocol) {
	case PUSH_OTLP_HTTP:
		more = bare || append ? OTLP_PATH : "";
		break;
	case PUSH_OTLP_GRPC:
		if (!bare)
			return error_create(ERROR_USAGE, "a URL for gRPC has no path");
		port = has_port(rest, host_size) ? "" : GRPC_PORT;
		more = GRPC_PATH;
		break;
	case PUSH_PYROSCOPE:
		more = PYROSCOPE_PATH;
		break;
	}
	if (more[0] && path_size && path[path_size - 1] == '/')
		path_size--;
	char *url;
	if (asprintf(&url, "%s://%.*s%s%.*s%s", scheme->transport, (int)host_size, rest, port,
		     path_size, path, more) < 0)
		return error_no_memory();
	*endpoint_ret = (struct endpoint){ .protocol = protocol, .url = url };
	return NULL;
}

struct error *endpoint_parse(const char *url, struct endpoint *endpoint_ret)
{
	struct error *err = check_text(url);
	if (err)
		return err;
	const struct scheme *scheme = find_scheme(url);
	if (!scheme)
		return error_create(ERROR_USAGE,
				    "the URL must begin with http://, https://, grpc://, grpcs://, "
				    "pyroscope+http:// or pyroscope+https://");
	return make(scheme, scheme->protocol, url + strlen(scheme->prefix), false, endpoint_ret);
}

struct error *endpoint_parse_base(const char *url, bool grpc, struct endpoint *endpoint_ret)
{
	struct error *err = check_text(url);
	if (err)
		return err;
	const struct scheme *scheme = find_scheme(url);
	if (!scheme || scheme->protocol != PUSH_OTLP_HTTP)
		return error_create(ERROR_USAGE, "the URL must begin with http:// or https://");
	return make(scheme, grpc ? PUSH_OTLP_GRPC : PUSH_OTLP_HTTP, url + strlen(scheme->prefix),
		    true, endpoint_ret);
}

void endpoint_deinit(struct endpoint *endpoint)
{
	free(endpoint->url);
	*endpoint = (struct endpoint){ 0 };
}
