/* SPDX-License-Identifier: MIT */
/*
 * post.h: one request to a server, and what its answer means.
 *
 * A poster belongs to one thread. Its time for a request is bounded, and the request can be broken off from another thread.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "push/settings.h"
#include "push/curl.h"
#include "push/endpoint.h"

enum post_outcome {
	POST_TAKEN,   /* a part of it perhaps not: see rejected */
	POST_RETRY,   /* not now: no connection, no answer in time, or the server says so */
	POST_REFUSED, /* it would be refused again */
};

struct post_result {
	enum post_outcome outcome;
	uint64_t retry_after_ns; /* 0: the server did not say */
	int64_t rejected;        /* samples that the server says it did not take */
	size_t sent_bytes;       /* of the body, as sent */
	char message[160];       /* what the server or libcurl says; without control characters */
};

struct poster;

/* @curl and @config must outlive it; @stop, once true, breaks a request off within about a second. */
struct error *poster_create(const struct curl *curl, const struct endpoint *endpoint,
			    const struct push_config *config, const atomic_bool *stop,
			    struct poster **poster_ret);
void poster_destroy(struct poster *poster);

/* Sends @size bytes of @body, compressed if the configuration says so. */
void post_send(struct poster *poster, const void *body, size_t size,
	       struct post_result *result_ret);

/* What HTTP status @status or (with @grpc_status not negative) gRPC's means. For tests as well. */
enum post_outcome post_outcome(long status, int grpc_status);
