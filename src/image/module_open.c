/* SPDX-License-Identifier: MIT */
/* module_open.c: a mapped file by the target's links, by build id, or from its memory. */
#include "image/module_open.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static struct error *open_mapped_file(const struct process *process, const struct mapping *mapping,
				      struct image **image_ret)
{
	_cleanup_close_ int fd = -1;
	struct error *err = maps_open_file(process, mapping, &fd);
	if (err)
		return err;
	err = image_open(fd, mapping->path, image_ret);
	if (!err)
		fd = -1;
	return err;
}

static bool has_same_build_id(const struct image *a, const struct image *b)
{
	size_t a_size, b_size;
	const uint8_t *a_id = image_build_id(a, &a_size), *b_id = image_build_id(b, &b_size);
	return a_id && b_id && a_size == b_size && !memcmp(a_id, b_id, a_size);
}

/*
 * Some file systems (overlayfs) give stat another device than maps shows. The file at the path is
 * the mapped one all the same if the build id in memory is its own.
 */
static bool open_by_build_id(const struct process *process, const struct mapping *mapping,
			     const struct image *in_memory, struct image **image_ret)
{
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "root%s", mapping->path) < 0) {
		path = NULL;
		return false;
	}
	/* maps shows a path in the target's root, or, where that is inside ours, the path in ours.
	 */
	const char *names[] = { path, mapping->path };
	for (size_t i = 0; i < 2; i++) {
		_cleanup_close_ int fd =
			names[i][0] ? process_open_file(process, names[i], O_NONBLOCK) : -1;
		if (fd < 0)
			continue;
		_cleanup_image_ struct image *image = NULL;
		_cleanup_error_ struct error *err = image_open(fd, mapping->path, &image);
		if (err)
			continue;
		fd = -1;
		if (!has_same_build_id(image, in_memory))
			continue;
		*image_ret = no_cleanup(image);
		return true;
	}
	return false;
}

/* @first is the mapping of the file's start. */
static struct error *open_from_memory(const struct process *process, struct memory *memory,
				      const struct mapping *first, struct image **image_ret,
				      bool *from_memory_ret)
{
	_cleanup_image_ struct image *in_memory = NULL;
	struct error *err = image_open_memory(memory, first->start, first->path, &in_memory);
	if (err)
		return err;
	*from_memory_ret = !open_by_build_id(process, first, in_memory, image_ret);
	if (*from_memory_ret)
		*image_ret = no_cleanup(in_memory);
	return NULL;
}

struct error *module_open(const struct process *process, struct memory *memory,
			  const struct mapping *mapping, const struct mapping *first,
			  struct image **image_ret, bool *from_memory_ret)
{
	*from_memory_ret = false;
	struct error *err = open_mapped_file(process, mapping, image_ret);
	if (!err || !first)
		return err;
	_cleanup_error_ struct error *second =
		open_from_memory(process, memory, first, image_ret, from_memory_ret);
	if (second)
		return err;
	error_destroy(err);
	return NULL;
}
