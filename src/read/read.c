/* SPDX-License-Identifier: MIT */
/* read.c: which format a file has. */
#include "read/read.h"

#include <string.h>

#include "base/cleanup.h"
#include "read/input.h"
#include "read/read_collapsed.h"
#include "read/read_json.h"

/* No collapsed stack begins like an object of JSON. */
static bool is_json(const char *bytes, size_t size)
{
	while (size && strchr(" \t\r\n", *bytes) && *bytes) {
		bytes++;
		size--;
	}
	return size && *bytes == '{';
}

struct error *read_bytes(const char *bytes, size_t size, const struct read_options *options,
			 struct profile *profile)
{
	bool first = !profile->processes.count, untimed = profile->facts.untimed;
	profile->facts.untimed = false;
	struct error *err = is_json(bytes, size) ? read_json(bytes, size, profile)
						 : read_collapsed(bytes, size, options, profile);
	if (err || first || profile->facts.untimed == untimed)
		return err;
	return error_create(ERROR_CORRUPT, "one of the files has times and another has none: they "
					   "do not add up");
}

struct error *read_profile(const char *path, const struct read_options *options,
			   struct profile *profile)
{
	_cleanup_free_ char *bytes = NULL;
	size_t size;
	struct error *err = input_load(path, READ_BYTES_MAX, &bytes, &size);
	if (err)
		return err->code == ERROR_ERRNO ? err : error_prefix(err, "%s", path);
	return error_prefix(read_bytes(bytes, size, options, profile), "%s", path);
}
