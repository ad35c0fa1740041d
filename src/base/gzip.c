/* SPDX-License-Identifier: MIT */
/* gzip.c: bytes in memory compressed to a gzip file in memory. */
#include "base/gzip.h"

#include <zlib.h>

/* zlib's own default for memory, and what makes its output a gzip file: 15 bits of window and 16. */
#define MEMORY_LEVEL 8
#define WINDOW_BITS  (15 + 16)
/* zlib counts what it is given in unsigned ints. */
#define PIECE_MAX ((size_t)1 << 30)

static uInt piece(size_t size)
{
	return (uInt)(size < PIECE_MAX ? size : PIECE_MAX);
}

/* Z_STREAM_END, or what went wrong; @room is enough for all of it. */
static int deflate_all(z_stream *stream, size_t size, size_t room)
{
	int status = Z_OK;
	while (status == Z_OK) {
		stream->avail_in = piece(size);
		stream->avail_out = piece(room);
		size_t in = stream->avail_in, out = stream->avail_out;
		status = deflate(stream, in == size ? Z_FINISH : Z_NO_FLUSH);
		size -= in - stream->avail_in;
		room -= out - stream->avail_out;
	}
	return status;
}

struct error *gzip_compress(const void *data, size_t size, uint8_t **file_ret, size_t *size_ret)
{
	z_stream stream = { 0 };
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return error_no_memory();
	size_t room = deflateBound(&stream, size);
	_cleanup_free_ uint8_t *file = malloc(room);
	stream.next_in = (z_const Bytef *)data;
	stream.next_out = file;
	int status = file ? deflate_all(&stream, size, room) : Z_MEM_ERROR;
	size_t written = stream.total_out;
	deflateEnd(&stream);
	if (status != Z_STREAM_END)
		return error_no_memory();
	*file_ret = no_cleanup(file);
	*size_ret = written;
	return NULL;
}
