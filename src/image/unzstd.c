/* SPDX-License-Identifier: MIT */
/* unzstd.c: libzstd, where it was there at configure time. */
#include "image/unzstd.h"

#ifdef HAVE_ZSTD

#include <zstd.h>

bool unzstd(const uint8_t *packed, size_t packed_size, uint8_t *data, size_t size)
{
	size_t unpacked = ZSTD_decompress(data, size, packed, packed_size);
	return !ZSTD_isError(unpacked) && unpacked == size;
}

#else

bool unzstd(const uint8_t *packed, size_t packed_size, uint8_t *data, size_t size)
{
	return false;
}

#endif
