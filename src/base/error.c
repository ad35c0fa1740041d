/* SPDX-License-Identifier: MIT */
/* error.c: error objects. */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct error no_memory = {
	.code = ERROR_NO_MEMORY,
	.errnum = ENOMEM,
	.message = "out of memory",
};

static struct error *error_vcreate(enum error_code code, int errnum, const char *format, va_list ap)
{
	_cleanup_free_ char *text = NULL;
	if (vasprintf(&text, format, ap) < 0) {
		text = NULL;
		return &no_memory;
	}

	struct error *err = malloc(sizeof(*err));
	if (!err)
		return &no_memory;
	*err = (struct error){ .code = code, .errnum = errnum };
	if (!errnum)
		err->message = no_cleanup(text);
	else if (asprintf(&err->message, "%s: %s", text, strerror(errnum)) < 0)
		err->message = no_cleanup(text);
	return err;
}

struct error *error_create(enum error_code code, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct error *err = error_vcreate(code, 0, format, ap);
	va_end(ap);
	return err;
}

struct error *error_errno(int errnum, const char *format, ...)
{
	if (errnum == ENOMEM)
		return &no_memory;
	va_list ap;
	va_start(ap, format);
	struct error *err = error_vcreate(ERROR_ERRNO, errnum, format, ap);
	va_end(ap);
	return err;
}

struct error *error_no_memory(void)
{
	return &no_memory;
}

void error_destroy(struct error *err)
{
	if (!err || err == &no_memory)
		return;
	free(err->message);
	free(err);
}

struct error *error_prefix(struct error *err, const char *format, ...)
{
	if (!err || err == &no_memory)
		return err;

	_cleanup_free_ char *prefix = NULL;
	va_list ap;
	va_start(ap, format);
	int length = vasprintf(&prefix, format, ap);
	va_end(ap);
	if (length < 0) {
		prefix = NULL;
		return err;
	}

	char *message;
	if (asprintf(&message, "%s: %s", prefix, err->message) < 0)
		return err;
	free(err->message);
	err->message = message;
	return err;
}

bool error_catch(struct error **err, enum error_code code)
{
	if (!*err || (*err)->code != code)
		return false;
	error_destroy(*err);
	*err = NULL;
	return true;
}
