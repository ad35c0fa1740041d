/* SPDX-License-Identifier: MIT */
/* post.c: one request to a server, and what its answer means. */
#include "push/post.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "push/otlp.h"
#include "base/gzip.h"

/* More of an answer is not read. */
#define ANSWER_MAX    4096
#define GRPC_PREFIX   5
#define RETRY_MAX_S   3600
#define CONNECT_PARTS 2 /* connecting may take this part of the time */

struct poster {
	const struct curl *curl;
	const struct push_config *config;
	const atomic_bool *stop;
	enum push_protocol protocol;
	void *easy;
	struct curl_slist *headers;
	char error_text[CURL_ERROR_SIZE];
	char answer[ANSWER_MAX];
	size_t answer_size;
	int grpc_status; /* -1: none came */
	char grpc_message[160];
};

static size_t on_body(char *data, size_t size, size_t count, void *user)
{
	struct poster *poster = user;
	size_t room = sizeof(poster->answer) - poster->answer_size;
	size_t take = count < room ? count : room;
	memcpy(poster->answer + poster->answer_size, data, take);
	poster->answer_size += take;
	/* A body that goes on and on is broken off. */
	return take || !count ? count : 0;
}

static bool header_is(const char *data, size_t size, const char *name, const char **value_ret,
		      size_t *value_size_ret)
{
	size_t length = strlen(name);
	if (size <= length || strncasecmp(data, name, length) || data[length] != ':')
		return false;
	const char *value = data + length + 1, *end = data + size;
	while (value < end && isspace((unsigned char)*value))
		value++;
	while (end > value && isspace((unsigned char)end[-1]))
		end--;
	*value_ret = value;
	*value_size_ret = (size_t)(end - value);
	return true;
}

/* Trailers come this way too. */
static size_t on_header(char *data, size_t size, size_t count, void *user)
{
	struct poster *poster = user;
	const char *value;
	size_t length;
	if (header_is(data, count, "grpc-status", &value, &length)) {
		char number[8];
		snprintf(number, sizeof(number), "%.*s", (int)(length < 7 ? length : 7), value);
		char *end;
		long status = strtol(number, &end, 10);
		poster->grpc_status =
			end != number && status >= 0 && status < 1000 ? (int)status : 2;
	} else if (header_is(data, count, "grpc-message", &value, &length)) {
		size_t most = sizeof(poster->grpc_message) - 1;
		snprintf(poster->grpc_message, sizeof(poster->grpc_message), "%.*s",
			 (int)(length < most ? length : most), value);
	}
	return count;
}

static int on_progress(void *user, long long a, long long b, long long c, long long d)
{
	const struct poster *poster = user;
	return atomic_load(poster->stop);
}

static bool add_header(struct poster *poster, const char *text)
{
	struct curl_slist *list = poster->curl->slist_append(poster->headers, text);
	if (list)
		poster->headers = list;
	return list;
}

static struct error *add_headers(struct poster *poster)
{
	static const char *const types[] = {
		[PUSH_OTLP_HTTP] = "Content-Type: application/x-protobuf",
		[PUSH_OTLP_GRPC] = "Content-Type: application/grpc",
		[PUSH_PYROSCOPE] = "Content-Type: application/proto",
	};
	bool grpc = poster->protocol == PUSH_OTLP_GRPC;
	bool ok = add_header(poster, types[poster->protocol]) &&
		  /* Not an extra round trip to ask whether the body is welcome. */
		  add_header(poster, "Expect:");
	if (grpc)
		ok = ok && add_header(poster, "TE: trailers");
	if (poster->config->gzip)
		ok = ok &&
		     add_header(poster, grpc ? "grpc-encoding: gzip" : "Content-Encoding: gzip");
	vec_foreach (header, &poster->config->headers)
		ok = ok && add_header(poster, *header);
	return ok ? NULL : error_no_memory();
}

static struct error *lacking(void)
{
	return error_create(ERROR_UNSUPPORTED,
			    "this libcurl lacks what is needed for the push (HTTP/2 or TLS)");
}

static struct error *set_options(struct poster *poster, const char *url)
{
	const struct push_config *config = poster->config;
	int (*set)(void *, int, ...) = poster->curl->easy_setopt;
	void *easy = poster->easy;
	long timeout_ms = (long)(config->timeout_ns / NS_PER_MS);
	long verify = !config->insecure;
	int bad = set(easy, CURL_URL, url);
	bad |= set(easy, CURL_PROTOCOLS, (long)CURL_PROTOCOLS_HTTP_HTTPS);
	bad |= set(easy, CURL_NOSIGNAL, 1L);
	bad |= set(easy, CURL_POST, 1L);
	bad |= set(easy, CURL_HTTPHEADER, poster->headers);
	bad |= set(easy, CURL_USERAGENT, PACKAGE_NAME "/" PACKAGE_VERSION);
	bad |= set(easy, CURL_ERRORBUFFER, poster->error_text);
	bad |= set(easy, CURL_WRITEFUNCTION, on_body);
	bad |= set(easy, CURL_WRITEDATA, poster);
	bad |= set(easy, CURL_HEADERFUNCTION, on_header);
	bad |= set(easy, CURL_HEADERDATA, poster);
	bad |= set(easy, CURL_NOPROGRESS, 0L);
	bad |= set(easy, CURL_XFERINFOFUNCTION, on_progress);
	bad |= set(easy, CURL_XFERINFODATA, poster);
	bad |= set(easy, CURL_TIMEOUT_MS, timeout_ms);
	bad |= set(easy, CURL_CONNECTTIMEOUT_MS, timeout_ms / CONNECT_PARTS + 1);
	bad |= set(easy, CURL_SSL_VERIFYPEER, verify);
	if (config->ca_file)
		bad |= set(easy, CURL_CAINFO, config->ca_file);
	if (config->client_cert)
		bad |= set(easy, CURL_SSLCERT, config->client_cert);
	if (config->client_key)
		bad |= set(easy, CURL_SSLKEY, config->client_key);
	if (poster->protocol != PUSH_OTLP_GRPC)
		return bad ? lacking() : NULL;
	/* libcurl 7.88 fails on the second request over a connection of HTTP/2 with prior knowledge. */
	bad |= set(easy, CURL_FORBID_REUSE, 1L);
	bad |= set(easy, CURL_HTTP_VERSION,
		   !strncmp(url, "https:", 6) ? CURL_HTTP_2_TLS : CURL_HTTP_2_PRIOR_KNOWLEDGE);
	return bad ? lacking() : NULL;
}

struct error *poster_create(const struct curl *curl, const struct endpoint *endpoint,
			    const struct push_config *config, const atomic_bool *stop,
			    struct poster **poster_ret)
{
	struct poster *poster = calloc(1, sizeof(*poster));
	if (!poster)
		return error_no_memory();
	poster->curl = curl;
	poster->config = config;
	poster->stop = stop;
	poster->protocol = endpoint->protocol;
	poster->easy = curl->easy_init();
	struct error *err = poster->easy ? add_headers(poster) : error_no_memory();
	if (!err)
		err = set_options(poster, endpoint->url);
	if (err) {
		poster_destroy(poster);
		return err;
	}
	*poster_ret = poster;
	return NULL;
}

void poster_destroy(struct poster *poster)
{
	if (poster->easy)
		poster->curl->easy_cleanup(poster->easy);
	poster->curl->slist_free_all(poster->headers);
	free(poster);
}

/* A byte that says whether it is compressed, and four with the size, the highest first. NULL without memory. */
static uint8_t *frame_grpc(const uint8_t *body, size_t size, bool gzip)
{
	if (size > UINT32_MAX)
		return NULL;
	uint8_t *framed = malloc(GRPC_PREFIX + size);
	if (!framed)
		return NULL;
	framed[0] = gzip;
	for (size_t i = 1; i < GRPC_PREFIX; i++)
		framed[i] = (uint8_t)(size >> 8 * (GRPC_PREFIX - 1 - i));
	memcpy(framed + GRPC_PREFIX, body, size);
	return framed;
}

enum post_outcome post_outcome(long status, int grpc_status)
{
	switch (status) {
	case 200 ... 299:
		break;
	case 429:
	case 502:
	case 503:
	case 504:
		return POST_RETRY;
	default:
		return POST_REFUSED;
	}
	switch (grpc_status) {
	case -1:
	case 0:
		return POST_TAKEN;
	case 1:  /* CANCELLED */
	case 4:  /* DEADLINE_EXCEEDED */
	case 8:  /* RESOURCE_EXHAUSTED, gRPC's 429 */
	case 10: /* ABORTED */
	case 11: /* OUT_OF_RANGE */
	case 14: /* UNAVAILABLE */
	case 15: /* DATA_LOSS */
		return POST_RETRY;
	default:
		return POST_REFUSED;
	}
}

static bool may_retry(int code)
{
	switch (code) {
	case CURL_COULDNT_RESOLVE_PROXY:
	case CURL_COULDNT_RESOLVE_HOST:
	case CURL_COULDNT_CONNECT:
	case CURL_HTTP2:
	case CURL_PARTIAL_FILE:
	case CURL_OPERATION_TIMEDOUT:
	case CURL_SSL_CONNECT_ERROR:
	case CURL_ABORTED_BY_CALLBACK:
	case CURL_GOT_NOTHING:
	case CURL_SEND_ERROR:
	case CURL_RECV_ERROR:
	case CURL_HTTP2_STREAM:
		return true;
	default:
		return false;
	}
}

/* The first line of @text, for a terminal. */
static void set_message(struct post_result *result, const char *what, const char *text, size_t size)
{
	size_t at = (size_t)snprintf(result->message, sizeof(result->message), "%s%s", what,
				     size ? ": " : "");
	for (size_t i = 0; i < size && at + 1 < sizeof(result->message); i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '\n' || c == '\r')
			break;
		result->message[at++] = c >= ' ' && c < 0x7f ? (char)c : '?';
		result->message[at] = '\0';
	}
}

static void read_answer(struct poster *poster, struct post_result *result)
{
	long status = 0;
	long long retry_after_s = 0;
	poster->curl->easy_getinfo(poster->easy, CURL_RESPONSE_CODE, &status);
	poster->curl->easy_getinfo(poster->easy, CURL_RETRY_AFTER, &retry_after_s);
	bool grpc = poster->protocol == PUSH_OTLP_GRPC;
	/* An answer without a status is none of gRPC. */
	int grpc_status = !grpc ? -1 : poster->grpc_status < 0 ? 2 : poster->grpc_status;
	result->outcome = post_outcome(status, grpc_status);
	if (retry_after_s > 0)
		result->retry_after_ns =
			(uint64_t)(retry_after_s < RETRY_MAX_S ? retry_after_s : RETRY_MAX_S) *
			NS_PER_S;
	char what[32];
	if (result->outcome == POST_TAKEN && poster->protocol != PUSH_PYROSCOPE) {
		size_t skip = grpc ? GRPC_PREFIX : 0, size;
		const char *message;
		if (poster->answer_size < skip)
			return;
		result->rejected = otlp_rejected(poster->answer + skip, poster->answer_size - skip,
						 &message, &size);
		if (size)
			set_message(result, "the server", message, size);
	} else if (result->outcome == POST_TAKEN) {
		return;
	} else if (grpc && status == 200) {
		snprintf(what, sizeof(what), "gRPC status %d", grpc_status);
		set_message(result, what, poster->grpc_message, strlen(poster->grpc_message));
	} else {
		snprintf(what, sizeof(what), "HTTP status %ld", status);
		set_message(result, what, poster->answer, poster->answer_size);
	}
}

static struct post_result perform(struct poster *poster, const uint8_t *body, size_t size)
{
	struct post_result result = { .outcome = POST_RETRY, .sent_bytes = size };
	poster->answer_size = 0;
	poster->grpc_status = -1;
	poster->grpc_message[0] = '\0';
	poster->error_text[0] = '\0';
	poster->curl->easy_setopt(poster->easy, CURL_POSTFIELDSIZE_LARGE, (long long)size);
	poster->curl->easy_setopt(poster->easy, CURL_POSTFIELDS, body);
	int code = poster->curl->easy_perform(poster->easy);
	if (!code) {
		read_answer(poster, &result);
		return result;
	}
	const char *text =
		poster->error_text[0] ? poster->error_text : poster->curl->easy_strerror(code);
	set_message(&result, "no answer", text, strlen(text));
	result.outcome = may_retry(code) ? POST_RETRY : POST_REFUSED;
	return result;
}

void post_send(struct poster *poster, const void *body, size_t size, struct post_result *result_ret)
{
	_cleanup_free_ uint8_t *packed = NULL;
	_cleanup_free_ uint8_t *framed = NULL;
	const uint8_t *bytes = body;
	bool gzip = poster->config->gzip, ok = true;
	if (gzip) {
		_cleanup_error_ struct error *err = gzip_compress(body, size, &packed, &size);
		ok = !err;
		bytes = packed;
	}
	if (ok && poster->protocol == PUSH_OTLP_GRPC) {
		framed = frame_grpc(bytes, size, gzip);
		ok = framed;
		bytes = framed;
		size += GRPC_PREFIX;
	}
	if (ok) {
		*result_ret = perform(poster, bytes, size);
		return;
	}
	*result_ret = (struct post_result){ .outcome = POST_REFUSED };
	set_message(result_ret, "out of memory", "", 0);
}
