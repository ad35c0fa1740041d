/* SPDX-License-Identifier: MIT */
/*
 * curl.h: libcurl, loaded when something is to be pushed and not before.
 *
 * Its interface is stable: numbers of options and results never change within libcurl.so.4, so neither its header nor a link to it is
 * needed. Only what is used here is declared.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

#define CURL_OBJECT   10000
#define CURL_FUNCTION 20000
#define CURL_OFF      30000

enum curl_option {
	CURL_WRITEDATA = CURL_OBJECT + 1,
	CURL_URL = CURL_OBJECT + 2,
	CURL_ERRORBUFFER = CURL_OBJECT + 10,
	CURL_WRITEFUNCTION = CURL_FUNCTION + 11,
	CURL_POSTFIELDS = CURL_OBJECT + 15,
	CURL_USERAGENT = CURL_OBJECT + 18,
	CURL_HTTPHEADER = CURL_OBJECT + 23,
	CURL_SSLCERT = CURL_OBJECT + 25,
	CURL_HEADERDATA = CURL_OBJECT + 29,
	CURL_NOPROGRESS = 43,
	CURL_POST = 47,
	CURL_XFERINFODATA = CURL_OBJECT + 57,
	CURL_SSL_VERIFYPEER = 64,
	CURL_CAINFO = CURL_OBJECT + 65,
	CURL_HEADERFUNCTION = CURL_FUNCTION + 79,
	CURL_FORBID_REUSE = 75,
	CURL_HTTP_VERSION = 84,
	CURL_SSLKEY = CURL_OBJECT + 87,
	CURL_NOSIGNAL = 99,
	CURL_POSTFIELDSIZE_LARGE = CURL_OFF + 120,
	CURL_TIMEOUT_MS = 155,
	CURL_CONNECTTIMEOUT_MS = 156,
	CURL_PROTOCOLS = 181,
	CURL_XFERINFOFUNCTION = CURL_FUNCTION + 219,
};

enum curl_info {
	CURL_RESPONSE_CODE = 0x200000 + 2,
	CURL_RETRY_AFTER = 0x600000 + 57,
};

/* Of CURLcode, those that tell a fault of the moment from one that stays. */
enum curl_code {
	CURL_OK = 0,
	CURL_COULDNT_RESOLVE_PROXY = 5,
	CURL_COULDNT_RESOLVE_HOST = 6,
	CURL_COULDNT_CONNECT = 7,
	CURL_HTTP2 = 16,
	CURL_PARTIAL_FILE = 18,
	CURL_OPERATION_TIMEDOUT = 28,
	CURL_SSL_CONNECT_ERROR = 35,
	CURL_ABORTED_BY_CALLBACK = 42,
	CURL_GOT_NOTHING = 52,
	CURL_SEND_ERROR = 55,
	CURL_RECV_ERROR = 56,
	CURL_HTTP2_STREAM = 92,
};

#define CURL_PROTOCOLS_HTTP_HTTPS   3
#define CURL_HTTP_2_PRIOR_KNOWLEDGE 5L
#define CURL_HTTP_2_TLS             4L
#define CURL_ERROR_SIZE             256
#define CURL_GLOBAL_ALL             3L

struct curl_slist;

struct curl {
	void *library;
	int (*global_init)(long flags);
	void *(*easy_init)(void);
	int (*easy_setopt)(void *easy, int option, ...);
	int (*easy_perform)(void *easy);
	int (*easy_getinfo)(void *easy, int info, ...);
	void (*easy_cleanup)(void *easy);
	const char *(*easy_strerror)(int code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
};

/* Loads and initialises it; to be called before there is a second thread. It stays loaded until the program ends. */
struct error *curl_load(struct curl *curl_ret);
