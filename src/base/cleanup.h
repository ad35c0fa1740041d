/* SPDX-License-Identifier: MIT */
/*
 * cleanup.h: scope guards.
 *
 * A variable declared with one of these is released when it leaves scope. Ownership is handed out with no_cleanup(), which
 * leaves the guard empty. Types add their own guard beside their destructor with DEFINE_CLEANUP.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <dirent.h>

#define _cleanup_(f) __attribute__((__cleanup__(f)))

/* The pointer's value; the pointer itself becomes NULL, so its guard does nothing. */
#define no_cleanup(p)                                                                              \
	({                                                                                         \
		__typeof__(p) no_cleanup_value_ = (p);                                             \
		(p) = NULL;                                                                        \
		no_cleanup_value_;                                                                 \
	})

/* A guard function for a pointer type, to be used as _cleanup_(NAME). */
#define DEFINE_CLEANUP(name, type, destroy)                                                        \
	static inline void name(type **p)                                                          \
	{                                                                                          \
		if (*p)                                                                            \
			destroy(*p);                                                               \
	}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(cleanup_free)

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define _cleanup_close_ _cleanup_(cleanup_close)

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

static inline void cleanup_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define _cleanup_closedir_ _cleanup_(cleanup_closedir)
