/* SPDX-License-Identifier: MIT */
/* curl.c: libcurl, loaded when something is to be pushed. */
#include "push/curl.h"

#ifdef STATIC_BINARY

/* The C library would load its own dynamic linker first, if there is one and it is of the same version. */
struct error *curl_load(struct curl *curl_ret)
{
	return error_create(ERROR_UNSUPPORTED, "--push needs libcurl, which a static pysample can "
					       "not load: use one that is linked dynamically");
}

#else

#include <dlfcn.h>

static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

/* ISO C has no conversion from a data pointer to a function's; POSIX requires that this one works. */
static bool find(void *library, const char *name, void *function_ret)
{
	void *symbol = dlsym(library, name);
	if (!symbol)
		return false;
	*(void **)function_ret = symbol;
	return true;
}

static bool find_all(struct curl *curl)
{
	void *library = curl->library;
	return find(library, "curl_global_init", &curl->global_init) &&
	       find(library, "curl_easy_init", &curl->easy_init) &&
	       find(library, "curl_easy_setopt", &curl->easy_setopt) &&
	       find(library, "curl_easy_perform", &curl->easy_perform) &&
	       find(library, "curl_easy_getinfo", &curl->easy_getinfo) &&
	       find(library, "curl_easy_cleanup", &curl->easy_cleanup) &&
	       find(library, "curl_easy_strerror", &curl->easy_strerror) &&
	       find(library, "curl_slist_append", &curl->slist_append) &&
	       find(library, "curl_slist_free_all", &curl->slist_free_all);
}

struct error *curl_load(struct curl *curl_ret)
{
	struct curl curl = { 0 };
	for (size_t i = 0; !curl.library && i < sizeof(names) / sizeof(names[0]); i++)
		curl.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!curl.library)
		return error_create(
			ERROR_UNSUPPORTED,
			"--push needs libcurl (Debian: libcurl4), which can not be loaded: %s",
			dlerror());
	if (!find_all(&curl))
		return error_create(ERROR_UNSUPPORTED, "--push needs a newer libcurl: %s",
				    dlerror());
	int code = curl.global_init(CURL_GLOBAL_ALL);
	if (code)
		return error_create(ERROR_OTHER, "libcurl: %s", curl.easy_strerror(code));
	*curl_ret = curl;
	return NULL;
}

#endif
