/* SPDX-License-Identifier: MIT */
/*
 * paths.h: the shortest file texts that are still unique.
 *
 * A short text is the end of the full one. A file of a package starts at the directory that the
 * outermost package is in; a file below …/site-packages/, …/dist-packages/ or …/lib/pythonX.Y/
 * starts there; any other starts at its own name. Of files that would get the same text each is
 * lengthened by one directory, until all differ. Names in angle brackets stay as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct path_rules {
	/* True if directory @dir of the target has an __init__.py. May be NULL: then no directory
	 * has. Asked once a directory. */
	bool (*is_package_dir)(void *context, const char *dir);
	void *context;
};

struct path {
	const char *file; /* all differ */
	bool python;      /* false: a native module, to which packages do not apply */
	bool known; /* start is set already: the text is made longer only for the sake of another */
	size_t start; /* set by paths_shorten: the short text is file + start */
};

/* Sets start of each of @paths. */
struct error *paths_shorten(struct path *paths, size_t count, const struct path_rules *rules);
