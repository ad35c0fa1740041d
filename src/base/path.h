/* SPDX-License-Identifier: MIT */
/* path.h: parts of a path. */
#pragma once

#include <string.h>

/* What stands behind the last slash; all of @path where there is none. */
static inline const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}
