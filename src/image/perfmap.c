/* SPDX-License-Identifier: MIT */
/* perfmap.c: whole lines are taken from a buffer that is filled as the file grows. */
#include "image/perfmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/growth.h"

/* A line that does not fit is skipped: CPython's have a function's name and a path. */
#define BUFFER_SIZE   65536
#define BYTES_AT_ONCE ((uint64_t)4 << 20)

struct perfmap {
	int fd;
	uint64_t offset; /* of what is read next */
	bool skipping;   /* the rest of a line that was too long */
	size_t kept;     /* bytes of a begun line in the buffer */
	char buffer[BUFFER_SIZE];
	struct code_ranges ranges;
	uint64_t generation;
	uint64_t skipped;
	struct growth growth;
};

struct error *perfmap_open_fd(int fd, struct perfmap **perfmap_ret)
{
	struct perfmap *perfmap = calloc(1, sizeof(*perfmap));
	if (!perfmap)
		return error_no_memory();
	perfmap->fd = fd;
	perfmap->growth = growth_make();
	*perfmap_ret = perfmap;
	return NULL;
}

struct error *perfmap_open(const struct rootfs *root, struct perfmap **perfmap_ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)root->inner_pid);
	_cleanup_close_ int fd = rootfs_open_own_file(root, path);
	if (fd < 0 && errno == ENOENT) {
		*perfmap_ret = NULL;
		return NULL;
	}
	if (fd < 0)
		return error_errno(errno, "cannot use the perf map %s of the process", path);
	struct error *err = perfmap_open_fd(fd, perfmap_ret);
	if (!err)
		fd = -1;
	return err;
}

void perfmap_close(struct perfmap *perfmap)
{
	code_ranges_deinit(&perfmap->ranges);
	close(perfmap->fd);
	free(perfmap);
}

/* ---- lines ---- */

/* Hexadecimal digits, with "0x" or without, up to a blank; NULL if there are none or too many. */
static const char *parse_hex(const char *p, const char *end, uint64_t *value_ret)
{
	uint64_t value = 0;
	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	const char *start = p;
	for (; p < end && *p != ' ' && *p != '\t'; p++) {
		unsigned digit = (unsigned char)*p;
		if (digit - '0' < 10)
			digit -= '0';
		else if ((digit | 0x20) - 'a' < 6)
			digit = (digit | 0x20) - 'a' + 10;
		else
			return NULL;
		if (value >> 60)
			return NULL;
		value = value << 4 | digit;
	}
	if (p == start || p == end)
		return NULL;
	*value_ret = value;
	return p + 1;
}

static void add_line(struct perfmap *perfmap, const char *line, size_t length)
{
	const char *end = line + length;
	struct code_range range = { 0 };
	const char *p = parse_hex(line, end, &range.address);
	p = p ? parse_hex(p, end, &range.size) : NULL;
	if (!p || p == end || *p == '\0' ||
	    !code_ranges_add(&perfmap->ranges, &range, p, strnlen(p, (size_t)(end - p))))
		perfmap->skipped++;
}

/* Takes the whole lines of the first @size bytes of the buffer; the begun one moves to its front. */
static void take_lines(struct perfmap *perfmap, size_t size)
{
	char *line = perfmap->buffer, *end = perfmap->buffer + size, *newline;
	while ((newline = memchr(line, '\n', (size_t)(end - line)))) {
		if (!perfmap->skipping)
			add_line(perfmap, line, (size_t)(newline - line));
		perfmap->skipping = false;
		line = newline + 1;
	}
	perfmap->kept = (size_t)(end - line);
	if (perfmap->kept == BUFFER_SIZE) {
		perfmap->skipped += !perfmap->skipping;
		perfmap->skipping = true;
	}
	if (perfmap->skipping)
		perfmap->kept = 0;
	memmove(perfmap->buffer, line, perfmap->kept);
}

/* ---- reading ---- */

static void start_anew(struct perfmap *perfmap)
{
	code_ranges_deinit(&perfmap->ranges);
	perfmap->offset = 0;
	perfmap->kept = 0;
	perfmap->skipping = false;
	perfmap->generation++;
}

/* True if it stopped at a limit of this call. */
static bool read_lines(struct perfmap *perfmap, uint64_t file_size)
{
	for (uint64_t done = 0; perfmap->offset < file_size;) {
		size_t size = BUFFER_SIZE - perfmap->kept;
		if (size > file_size - perfmap->offset)
			size = (size_t)(file_size - perfmap->offset);
		if (done >= BYTES_AT_ONCE || !growth_take(&perfmap->growth, size))
			return true;
		ssize_t n = pread(perfmap->fd, perfmap->buffer + perfmap->kept, size,
				  (off_t)perfmap->offset);
		if (n <= 0)
			return false;
		perfmap->offset += (size_t)n;
		done += (size_t)n;
		take_lines(perfmap, perfmap->kept + (size_t)n);
	}
	return false;
}

bool perfmap_update(struct perfmap *perfmap, uint64_t now_ns)
{
	struct stat st;
	if (fstat(perfmap->fd, &st) || st.st_size < 0)
		return false;
	growth_advance(&perfmap->growth, now_ns);
	if ((uint64_t)st.st_size < perfmap->offset)
		start_anew(perfmap);
	uint64_t sequence = perfmap->ranges.sequence;
	bool more = read_lines(perfmap, (uint64_t)st.st_size);
	code_ranges_update(&perfmap->ranges);
	perfmap->generation += sequence != perfmap->ranges.sequence;
	return more;
}

/* ---- look-up ---- */

const struct code_range *perfmap_find(const struct perfmap *perfmap, const struct maps *maps,
				      uint64_t address)
{
	return code_ranges_find(&perfmap->ranges, maps, address);
}

uint64_t perfmap_generation(const struct perfmap *perfmap)
{
	return perfmap->generation;
}

size_t perfmap_count(const struct perfmap *perfmap)
{
	return perfmap->ranges.sorted.count;
}

uint64_t perfmap_skipped(const struct perfmap *perfmap)
{
	return perfmap->skipped;
}
