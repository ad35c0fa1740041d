/* SPDX-License-Identifier: MIT */
/* input.h: the bytes of a file, unpacked if it is compressed. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/*
 * Reads all of @path ("-": standard input), at most @max bytes, after gzip or xz were undone. The caller frees @bytes_ret.
 * ERROR_ERRNO with the path; ERROR_CORRUPT and ERROR_UNSUPPORTED without it.
 */
struct error *input_load(const char *path, size_t max, char **bytes_ret, size_t *size_ret);
