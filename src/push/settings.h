/* SPDX-License-Identifier: MIT */
/*
 * settings.h: how to push: what the file of --push-config and the environment say.
 *
 * The file may hold secrets: it must be a regular file of this program's user or root that nobody else may read or write. Nothing
 * of it is repeated in a message but a line's number and its key.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "push/attributes.h"

#define PUSH_WINDOW_NS  (10 * NS_PER_S)
#define PUSH_TIMEOUT_NS (5 * NS_PER_S)

DEFINE_VEC(struct push_headers, push_headers, char *)

struct push_config {
	char *url;                   /* NULL: not said here */
	struct push_headers headers; /* "Name: value" */
	struct attributes labels;
	char *ca_file, *client_cert, *client_key; /* NULL: libcurl's */
	bool insecure;                            /* the server's certificate is not checked */
	bool gzip;
	uint64_t timeout_ns; /* of one request */
	unsigned queue;      /* windows that wait at most */
};

/* The defaults. */
void push_config_init(struct push_config *config);
void push_config_deinit(struct push_config *config);
static inline void push_config_cleanup(struct push_config *config)
{
	push_config_deinit(config);
}
#define _cleanup_push_config_ _cleanup_(push_config_cleanup)

/*
 * What a line "KEY = VALUE" that is not about pushing does: a struct error is the line's. NULL where there is no such key:
 * *known_ret is then false.
 */
typedef struct error *(*push_config_key)(void *context, const char *key, const char *value,
					 bool *known_ret);

/* Reads @path. @other, which may be NULL, is asked for keys that are not ours. ERROR_USAGE says what is wrong with it. */
struct error *push_config_read(struct push_config *config, const char *path, push_config_key other,
			       void *context);
/* The same for its text. For tests, and for what is read. */
struct error *push_config_parse(struct push_config *config, char *text, push_config_key other,
				void *context);

/* What OTEL_EXPORTER_OTLP_… say, to be read before the file, which goes before it. ERROR_USAGE names a variable that can not be understood. */
struct error *push_config_environment(struct push_config *config);
/* Where to push by these variables; *base_ret if the protocol's path is to be appended. ERROR_USAGE if none says it. */
struct error *push_config_environment_url(const char **url_ret, bool *base_ret, bool *grpc_ret);
