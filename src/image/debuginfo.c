/* SPDX-License-Identifier: MIT */
/* debuginfo.c: candidate paths of debug files, tried in turn; .gnu_debugdata unpacked. */
#include "image/debuginfo.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#include "base/strbuf.h"
#include "image/rootfs.h"

#define DEBUG_DIR "/usr/lib/debug"
/* Of files without build id all bytes are read; debug files of browsers are larger, and have one.
 */
#define CRC_FILE_LIMIT ((off_t)1 << 30)
/* Real ones are some hundred kilobytes, at most a few megabytes unpacked. */
#define EMBEDDED_LIMIT   ((size_t)64 << 20)
#define EMBEDDED_MEMORY  (UINT64_C(80) << 20)
#define EMBEDDED_AT_ONCE ((size_t)256 << 10)

struct debug_link {
	char name[NAME_MAX + 1];
	uint32_t crc;
};

/* What is looked for, and where paths start. */
struct search {
	const struct image *image;
	const struct debuginfo_places *places;
	char *dir; /* of the image, "/usr/lib"; NULL if its path is not absolute */
	const uint8_t *id;
	size_t id_size;
	struct debug_link link; /* name empty: there is none */
};

/* ---- does a file belong to the image ---- */

static uint32_t crc_table[256];

static void fill_crc_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
		crc_table[i] = crc;
	}
}

/* CRC-32 of IEEE 802.3, of all of the file. */
static bool file_crc(int fd, uint32_t *crc_ret)
{
	uint8_t buffer[65536];
	uint32_t crc = UINT32_MAX;
	if (!crc_table[1])
		fill_crc_table();
	for (off_t at = 0; at < CRC_FILE_LIMIT;) {
		ssize_t n = pread(fd, buffer, sizeof(buffer), at);
		if (n < 0)
			return false;
		if (n == 0) {
			*crc_ret = ~crc;
			return true;
		}
		for (ssize_t i = 0; i < n; i++)
			crc = crc >> 8 ^ crc_table[(crc ^ buffer[i]) & 0xff];
		at += n;
	}
	return false;
}

static bool belongs(const struct search *search, const struct image *debug, int fd)
{
	if (image_machine(debug) != image_machine(search->image))
		return false;
	size_t size;
	const uint8_t *id = image_build_id(debug, &size);
	if (search->id)
		return size == search->id_size && !memcmp(id, search->id, size);
	uint32_t crc;
	return file_crc(fd, &crc) && crc == search->link.crc;
}

/* Takes over @fd. */
static bool open_candidate(const struct search *search, int fd, const char *path,
			   struct image **image_ret)
{
	_cleanup_image_ struct image *debug = NULL;
	_cleanup_error_ struct error *err = image_open(fd, path, &debug);
	if (err) {
		close(fd);
		return false;
	}
	if (!belongs(search, debug, fd))
		return false;
	*image_ret = no_cleanup(debug);
	return true;
}

/* ---- where it may be ---- */

/* @path in the target's root, then in ours. */
static bool try_path(const struct search *search, const char *path, struct image **image_ret)
{
	int fd =
		search->places->root_fd >= 0 ? rootfs_open_file(search->places->root_fd, path) : -1;
	if (fd >= 0 && open_candidate(search, fd, path, image_ret))
		return true;
	fd = rootfs_open_file(-1, path);
	return fd >= 0 && open_candidate(search, fd, path, image_ret);
}

/* The same in every debug directory; those that the user named are in our root only. */
static bool try_below_dirs(const struct search *search, const char *path, struct image **image_ret)
{
	for (size_t i = 0; i < search->places->dir_count; i++) {
		_cleanup_strbuf_ struct strbuf full = { 0 };
		strbuf_addf(&full, "%s/%s", search->places->dirs[i], path);
		int fd = full.failed ? -1 : rootfs_open_file(-1, full.text);
		if (fd >= 0 && open_candidate(search, fd, full.text, image_ret))
			return true;
	}
	_cleanup_strbuf_ struct strbuf full = { 0 };
	strbuf_addf(&full, DEBUG_DIR "/%s", path);
	return !full.failed && try_path(search, full.text, image_ret);
}

static bool find_by_id(const struct search *search, struct image **image_ret)
{
	if (search->id_size < 2)
		return false;
	_cleanup_strbuf_ struct strbuf path = { 0 };
	strbuf_addf(&path, ".build-id/%02x/", search->id[0]);
	for (size_t i = 1; i < search->id_size; i++)
		strbuf_addf(&path, "%02x", search->id[i]);
	strbuf_adds(&path, ".debug");
	return !path.failed && try_below_dirs(search, path.text, image_ret);
}

static bool try_link(const struct search *search, const char *before, const char *dir,
		     const char *between, bool in_dirs, struct image **image_ret)
{
	_cleanup_strbuf_ struct strbuf path = { 0 };
	strbuf_addf(&path, "%s%s%s%s", before, dir, between, search->link.name);
	if (path.failed)
		return false;
	return in_dirs ? try_below_dirs(search, path.text, image_ret)
		       : try_path(search, path.text, image_ret);
}

static bool find_by_link(const struct search *search, struct image **image_ret)
{
	const char *dir = search->dir;
	if (!search->link.name[0])
		return false;
	if (dir && (try_link(search, "", dir, "/", false, image_ret) ||
		    try_link(search, "", dir, "/.debug/", false, image_ret) ||
		    try_link(search, "", dir + 1, "/", true, image_ret)))
		return true;
	/* Packages from before /lib became a link to /usr/lib. */
	if (dir && !strncmp(dir, "/usr/", 5) && try_link(search, "", dir + 5, "/", true, image_ret))
		return true;
	return try_link(search, "", "", "", true, image_ret);
}

/* ---- what the image says ---- */

/* A file name, padded to 4 with zeroes, and the CRC. */
static bool read_link_section(const struct image *image, struct debug_link *link_ret)
{
	const uint8_t *data;
	size_t size;
	struct debug_link link;
	if (!image_section_data(image, ".gnu_debuglink", &data, &size) || size < 8)
		return false;
	size_t length = strnlen((const char *)data, size);
	size_t crc_at = (length + 4) & ~(size_t)3;
	if (!length || length > NAME_MAX || crc_at + sizeof(link.crc) > size ||
	    memchr(data, '/', length))
		return false;
	memcpy(link.name, data, length + 1);
	memcpy(&link.crc, data + crc_at, sizeof(link.crc));
	*link_ret = link;
	return true;
}

static char *copy_dir(const char *path)
{
	const char *slash = path && path[0] == '/' ? strrchr(path, '/') : NULL;
	if (!slash)
		return NULL;
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

bool debuginfo_find(const struct image *image, const char *path,
		    const struct debuginfo_places *places, struct image **image_ret)
{
	struct search search = { .image = image, .places = places };
	search.id = image_build_id(image, &search.id_size);
	if (!read_link_section(image, &search.link))
		search.link.name[0] = '\0';
	_cleanup_free_ char *dir = copy_dir(path);
	search.dir = dir;
	return find_by_id(&search, image_ret) || find_by_link(&search, image_ret);
}

/* ---- .gnu_debugdata ---- */

#ifdef HAVE_LZMA

static bool grow(uint8_t **data, size_t *capacity)
{
	if (*capacity >= EMBEDDED_LIMIT)
		return false;
	size_t more = *capacity ? *capacity * 2 : EMBEDDED_AT_ONCE;
	uint8_t *p = realloc(*data, more);
	if (!p)
		return false;
	*data = p;
	*capacity = more;
	return true;
}

/* Decodes until the end of the stream; false on damage, and where limits or memory end first. */
static bool decode(lzma_stream *stream, uint8_t **data, size_t *size_ret)
{
	size_t capacity = 0;
	for (;;) {
		size_t size = stream->total_out;
		if (size == capacity && !grow(data, &capacity))
			return false;
		stream->next_out = *data + size;
		stream->avail_out = capacity - size;
		lzma_ret ret = lzma_code(stream, LZMA_FINISH);
		if (ret == LZMA_STREAM_END) {
			*size_ret = stream->total_out;
			return true;
		}
		if (ret != LZMA_OK && !(ret == LZMA_BUF_ERROR && !stream->avail_out))
			return false;
	}
}

static bool unpack(const uint8_t *packed, size_t packed_size, uint8_t **data_ret, size_t *size_ret)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&stream, EMBEDDED_MEMORY, 0) != LZMA_OK)
		return false;
	stream.next_in = packed;
	stream.avail_in = packed_size;
	_cleanup_free_ uint8_t *data = NULL;
	bool ok = decode(&stream, &data, size_ret);
	lzma_end(&stream);
	if (ok)
		*data_ret = no_cleanup(data);
	return ok;
}

bool debuginfo_can_unpack(void)
{
	return true;
}

#else

static bool unpack(const uint8_t *packed, size_t packed_size, uint8_t **data_ret, size_t *size_ret)
{
	return false;
}

bool debuginfo_can_unpack(void)
{
	return false;
}

#endif

bool debuginfo_open_embedded(const struct image *image, struct image **image_ret)
{
	const uint8_t *packed;
	size_t packed_size, size;
	_cleanup_free_ uint8_t *data = NULL;
	if (!image_section_data(image, ".gnu_debugdata", &packed, &packed_size) ||
	    !unpack(packed, packed_size, &data, &size))
		return false;
	_cleanup_error_ struct error *err =
		image_open_bytes(data, size, image_name(image), image_ret);
	return !err;
}
