/* SPDX-License-Identifier: MIT */
/* maps.c: /proc/TID/maps → sorted mappings. */
#include "target/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* A process with the default limit of 65530 mappings has a file of this size at most, long paths included. */
#define MAPS_LIMIT ((size_t)512 << 20)

static const char deleted_mark[] = " (deleted)";

void maps_deinit(struct maps *maps)
{
	vec_foreach (mapping, maps)
		free(mapping->path);
	maps_vec_deinit(maps);
}

/* The kernel writes a newline in a path as \012 and nothing else specially. */
static void unescape(char *path)
{
	char *out = path;
	for (const char *in = path; *in; out++) {
		if (!strncmp(in, "\\012", 4)) {
			*out = '\n';
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = '\0';
}

/* A number and the one character that ends it; moves *@at on. */
static bool parse_number(const char **at, int base, char end, uint64_t *value_ret)
{
	char *rest;
	*value_ret = strtoull(*at, &rest, base);
	if (rest == *at || *rest != end)
		return false;
	*at = rest + 1;
	return true;
}

/* "START-END PERM OFFSET MAJOR:MINOR INODE", then blanks and a path as a rule; *@at is moved to what follows. Not sscanf: it measures the rest
 * of the text for each line. */
static bool parse_numbers(const char **at, struct mapping *mapping)
{
	uint64_t major, minor;
	if (!parse_number(at, 16, '-', &mapping->start) ||
	    !parse_number(at, 16, ' ', &mapping->end))
		return false;
	const char *perms = *at;
	if (strnlen(perms, 5) < 5 || perms[4] != ' ')
		return false;
	*at += 5;
	mapping->read = perms[0] == 'r';
	mapping->write = perms[1] == 'w';
	mapping->exec = perms[2] == 'x';
	mapping->shared = perms[3] == 's';
	if (!parse_number(at, 16, ' ', &mapping->offset) || !parse_number(at, 16, ':', &major) ||
	    !parse_number(at, 16, ' ', &minor))
		return false;
	char *rest;
	mapping->inode = strtoull(*at, &rest, 10);
	if (rest == *at || (*rest && *rest != ' ' && *rest != '\n'))
		return false;
	mapping->dev_major = (unsigned)major;
	mapping->dev_minor = (unsigned)minor;
	*at = rest + strspn(rest, " ");
	return mapping->end > mapping->start;
}

static struct error *parse_line(const char *line, size_t length, struct mapping *mapping)
{
	const char *path = line;
	if (!parse_numbers(&path, mapping))
		return error_create(ERROR_CORRUPT, "not a line of a maps file: %.*s",
				    (int)(length > 200 ? 200 : length), line);

	/* strtoull skips blanks, and newlines too: a number that is missing here must not be the next line's. */
	size_t at = (size_t)(path - line);
	if (at > length)
		return error_create(ERROR_CORRUPT, "not a line of a maps file: %.*s",
				    (int)(length > 200 ? 200 : length), line);
	mapping->path = strndup(path, length - at);
	if (!mapping->path)
		return error_no_memory();
	size_t path_length = strlen(mapping->path);
	size_t mark_length = sizeof(deleted_mark) - 1;
	if (mapping->inode && path_length > mark_length &&
	    !strcmp(mapping->path + path_length - mark_length, deleted_mark)) {
		mapping->path[path_length - mark_length] = '\0';
		mapping->deleted = true;
	}
	unescape(mapping->path);
	return NULL;
}

struct error *maps_parse(const char *text, struct maps *maps_ret)
{
	struct maps maps = { 0 };
	while (*text) {
		size_t length = strcspn(text, "\n");
		struct mapping *mapping = maps_vec_append(&maps);
		struct error *err = mapping ? parse_line(text, length, mapping) : error_no_memory();
		if (err) {
			maps_deinit(&maps);
			return err;
		}
		text += length;
		text += *text == '\n';
	}
	*maps_ret = maps;
	return NULL;
}

struct error *maps_read_text(const struct process *process, char **text_ret)
{
	return process_read_file(process, "maps", MAPS_LIMIT, text_ret, NULL);
}

struct error *maps_read(const struct process *process, struct maps *maps_ret)
{
	_cleanup_free_ char *text = NULL;
	struct error *err = maps_read_text(process, &text);
	if (err)
		return err;
	return error_prefix(maps_parse(text, maps_ret), "process %d", (int)process->pid);
}

const struct mapping *maps_find(const struct maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct mapping *mapping = &maps->items[middle];
		if (address < mapping->start)
			high = middle;
		else if (address >= mapping->end)
			low = middle + 1;
		else
			return mapping;
	}
	return NULL;
}

static bool is_file_of(int fd, const struct mapping *mapping)
{
	struct stat st;
	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == mapping->inode &&
	       major(st.st_dev) == mapping->dev_major && minor(st.st_dev) == mapping->dev_minor;
}

struct error *maps_open_file(const struct process *process, const struct mapping *mapping,
			     int *fd_ret)
{
	if (!mapping->inode)
		return error_create(ERROR_GONE, "there is no file behind the mapping at %#" PRIx64,
				    mapping->start);

	char link[64];
	snprintf(link, sizeof(link), "map_files/%" PRIx64 "-%" PRIx64, mapping->start,
		 mapping->end);
	int fd = process_open_file(process, link, O_NONBLOCK);
	if (fd >= 0) {
		*fd_ret = fd;
		return NULL;
	}

	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "root%s", mapping->path) < 0) {
		path = NULL;
		return error_no_memory();
	}
	/* The kernel writes a path as seen from our root where it can, as with a chroot, else as seen from the target's. */
	const char *names[] = { path, mapping->path, "exe" };
	for (size_t i = 0; i < 3; i++) {
		/* O_NONBLOCK: a FIFO in the file's place must not hold us. */
		fd = process_open_file(process, names[i], O_NONBLOCK);
		if (fd < 0)
			continue;
		if (is_file_of(fd, mapping)) {
			*fd_ret = fd;
			return NULL;
		}
		close(fd);
	}
	return error_create(ERROR_GONE, "the file %s that process %d has mapped is no longer there",
			    mapping->path, (int)process->pid);
}
