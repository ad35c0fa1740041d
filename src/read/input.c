/* SPDX-License-Identifier: MIT */
/* input.c: the bytes of a file, unpacked if it is compressed. */
#include "read/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>
#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#include "base/cleanup.h"
#include "base/vec.h"

#define CHUNK ((size_t)1 << 16)
/* Most memory that the xz decoder may take for its dictionary. */
#define XZ_MEMORY ((uint64_t)256 << 20)

DEFINE_VEC(struct bytes, bytes, char);

static void bytes_cleanup(struct bytes *bytes)
{
	bytes_deinit(bytes);
}

static struct error *too_large(size_t max)
{
	return error_create(ERROR_CORRUPT, "larger than %zu MiB", max >> 20);
}

/* Room for a chunk more; the chunk begins at count. */
static struct error *make_room(struct bytes *bytes, size_t max)
{
	if (bytes->count > max)
		return too_large(max);
	return bytes_reserve(bytes, bytes->count + CHUNK) ? NULL : error_no_memory();
}

static struct error *read_all(int fd, const char *path, size_t max, struct bytes *bytes)
{
	for (;;) {
		struct error *err = make_room(bytes, max);
		if (err)
			return err;
		ssize_t size = read(fd, bytes->items + bytes->count, CHUNK);
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return error_errno(errno, "cannot read %s", path);
		if (!size)
			return bytes->count > max ? too_large(max) : NULL;
		bytes->count += (size_t)size;
	}
}

static bool starts_with(const struct bytes *bytes, const char *magic, size_t size)
{
	return bytes->count >= size && !memcmp(bytes->items, magic, size);
}

#ifdef HAVE_LZMA
static struct error *decode_xz(lzma_stream *stream, size_t max, struct bytes *out)
{
	lzma_ret ret = LZMA_OK;
	while (ret == LZMA_OK) {
		struct error *err = make_room(out, max);
		if (err)
			return err;
		stream->next_out = (uint8_t *)out->items + out->count;
		stream->avail_out = CHUNK;
		ret = lzma_code(stream, LZMA_FINISH);
		out->count += CHUNK - stream->avail_out;
	}
	if (ret == LZMA_STREAM_END)
		return NULL;
	return error_create(ERROR_CORRUPT, ret == LZMA_BUF_ERROR
						   ? "the file ends in the middle (xz)"
						   : "not readable as xz");
}

static struct error *unpack_xz(const struct bytes *in, size_t max, struct bytes *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&stream, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
		return error_no_memory();
	stream.next_in = (const uint8_t *)in->items;
	stream.avail_in = in->count;
	struct error *err = decode_xz(&stream, max, out);
	lzma_end(&stream);
	return err;
}
#else
static struct error *unpack_xz(const struct bytes *in, size_t max, struct bytes *out)
{
	return error_create(ERROR_UNSUPPORTED,
			    "compressed with xz, which this pysample was built without");
}
#endif

static struct error *decode_gzip(z_stream *stream, size_t max, struct bytes *out)
{
	int ret = Z_OK;
	while (ret == Z_OK) {
		struct error *err = make_room(out, max);
		if (err)
			return err;
		stream->next_out = (Bytef *)out->items + out->count;
		stream->avail_out = CHUNK;
		ret = inflate(stream, Z_NO_FLUSH);
		out->count += CHUNK - stream->avail_out;
		/* Files that were written one after the other. */
		if (ret == Z_STREAM_END && stream->avail_in)
			ret = inflateReset(stream);
	}
	if (ret == Z_STREAM_END)
		return NULL;
	return error_create(ERROR_CORRUPT, ret == Z_BUF_ERROR ? "the file ends in the middle (gzip)"
							      : "not readable as gzip");
}

static struct error *unpack_gzip(const struct bytes *in, size_t max, struct bytes *out)
{
	z_stream stream = { 0 };
	if (in->count > UINT32_MAX)
		return too_large(UINT32_MAX);
	if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
		return error_no_memory();
	stream.next_in = (Bytef *)in->items;
	stream.avail_in = (uInt)in->count;
	struct error *err = decode_gzip(&stream, max, out);
	inflateEnd(&stream);
	return err;
}
static struct error *unpack(struct bytes *bytes, size_t max)
{
	_cleanup_(bytes_cleanup) struct bytes out = { 0 };
	struct error *err = NULL;
	if (starts_with(bytes, "\x1f\x8b", 2))
		err = unpack_gzip(bytes, max, &out);
	else if (starts_with(bytes,
			     "\xfd"
			     "7zXZ",
			     5))
		err = unpack_xz(bytes, max, &out);
	else
		return NULL;
	if (!err && out.count > max)
		err = too_large(max);
	if (err)
		return err;
	struct bytes packed = *bytes;
	*bytes = out;
	out = packed;
	return NULL;
}

struct error *input_load(const char *path, size_t max, char **bytes_ret, size_t *size_ret)
{
	bool standard = !strcmp(path, "-");
	_cleanup_close_ int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(errno, "cannot open %s", path);

	_cleanup_(bytes_cleanup) struct bytes bytes = { 0 };
	struct error *err = read_all(fd, path, max, &bytes);
	if (!err)
		err = unpack(&bytes, max);
	if (err)
		return err;
	*bytes_ret = bytes.items;
	*size_ret = bytes.count;
	bytes = (struct bytes){ 0 };
	return NULL;
}
