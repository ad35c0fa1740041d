/* SPDX-License-Identifier: MIT */
/* endpoint.h: the URL of --push → what is posted where. */
#pragma once

#include "base/error.h"

enum push_protocol {
	PUSH_OTLP_HTTP,
	PUSH_OTLP_GRPC,
	PUSH_PYROSCOPE,
};

struct endpoint {
	enum push_protocol protocol;
	char *url; /* for curl: http or https, with the path */
};

/*
 * http(s)://HOST[:PORT][/PATH]: OTLP over HTTP; without a path that of the protocol.
 * grpc(s)://HOST[:PORT]: OTLP over gRPC; port 4317 if none is given.
 * pyroscope+http(s)://HOST[:PORT][/PREFIX]: pprof to Pyroscope's push service.
 * ERROR_USAGE for anything else, also for a user or password in the URL: those belong in a file. The message does not repeat the URL.
 */
struct error *endpoint_parse(const char *url, struct endpoint *endpoint_ret);
/* The same for the base URL in OTEL_EXPORTER_OTLP_ENDPOINT: the protocol's path is appended to its own. */
struct error *endpoint_parse_base(const char *url, bool grpc, struct endpoint *endpoint_ret);
void endpoint_deinit(struct endpoint *endpoint);
