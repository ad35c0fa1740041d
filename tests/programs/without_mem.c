/* SPDX-License-Identifier: MIT */
/*
 * without_mem.c: preloaded, makes every opening of a file called mem fail, as some security modules do.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>

typedef int open_function(const char *path, int flags, mode_t mode);
typedef int openat_function(int directory, const char *path, int flags, mode_t mode);

static int is_mem(const char *path)
{
	size_t length = strlen(path);

	return strcmp(path, "mem") == 0 || (length >= 4 && strcmp(path + length - 4, "/mem") == 0);
}

static mode_t mode_of(int flags, va_list *arguments)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(*arguments, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                                                          \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		va_list arguments;                                                                 \
		va_start(arguments, flags);                                                        \
		mode_t mode = mode_of(flags, &arguments);                                          \
		va_end(arguments);                                                                 \
		if (is_mem(path)) {                                                                \
			errno = EACCES;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		return ((open_function *)dlsym(RTLD_NEXT, #name))(path, flags, mode);              \
	}

#define DEFINE_OPENAT(name)                                                                        \
	int name(int directory, const char *path, int flags, ...)                                  \
	{                                                                                          \
		va_list arguments;                                                                 \
		va_start(arguments, flags);                                                        \
		mode_t mode = mode_of(flags, &arguments);                                          \
		va_end(arguments);                                                                 \
		if (is_mem(path)) {                                                                \
			errno = EACCES;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		return ((openat_function *)dlsym(RTLD_NEXT, #name))(directory, path, flags, mode); \
	}

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
