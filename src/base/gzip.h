/* SPDX-License-Identifier: MIT */
/* gzip.h: bytes in memory compressed to a gzip file (RFC 1952) in memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The same bytes give the same file: it has no time and no name in it. The caller frees *@file_ret. */
struct error *gzip_compress(const void *data, size_t size, uint8_t **file_ret, size_t *size_ret);
