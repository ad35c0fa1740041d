/* SPDX-License-Identifier: MIT */
/* sources.c: the source files of the processes of a recording. */
#include "sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Roots and working directories that differ: more are not kept open. */
#define PLACES_MAX 64

static bool is_known(const struct sources *sources, const struct source_place *place)
{
	vec_foreach (known, &sources->places)
		if (known->device == place->device && known->inode == place->inode &&
		    known->root.uid == place->root.uid && known->gid == place->gid &&
		    !strcmp(known->cwd ? known->cwd : "", place->cwd ? place->cwd : ""))
			return true;
	return false;
}

static void place_deinit(struct source_place *place)
{
	rootfs_close(&place->root);
	free(place->cwd);
}

/* "Gid:" of /proc/PID/status: the last number is the one for files. */
static bool read_gid(const struct process *process, gid_t *gid_ret)
{
	_cleanup_free_ char *gids = process_status_field(process, "Gid");
	return gids && sscanf(gids, "%*u %*u %*u %u", gid_ret) == 1;
}

void sources_add(struct sources *sources, const struct process *process)
{
	struct source_place place = { .root.fd = -1 };
	if (sources->places.count >= PLACES_MAX)
		return;
	_cleanup_error_ struct error *err = rootfs_open(process, &place.root);
	if (err)
		return;
	struct stat st = { 0 };
	error_destroy(process_read_link(process, "cwd", &place.cwd));
	if (read_gid(process, &place.gid) && !fstat(place.root.fd, &st)) {
		place.device = st.st_dev;
		place.inode = st.st_ino;
		struct source_place *slot =
			is_known(sources, &place) ? NULL : source_places_append(&sources->places);
		if (slot) {
			*slot = place;
			return;
		}
	}
	place_deinit(&place);
}

void sources_deinit(struct sources *sources)
{
	vec_foreach (place, &sources->places)
		place_deinit(place);
	source_places_deinit(&sources->places);
}

/* Whose rights the calling thread has for files. */
struct rights {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int group_count;
};

static void set_groups(int count, const gid_t *groups)
{
	/* By itself: the C library's function would do it in all threads. */
	(void)!syscall(SYS_setgroups, count, groups);
}

/* Takes the rights of @place's process, or none of more than that: false. *@own_ret is what rights_restore needs in any case. */
static bool rights_take(const struct source_place *place, struct rights *own_ret)
{
	struct rights own = { .group_count = getgroups(0, NULL) };
	own.groups = calloc((size_t)own.group_count + 1, sizeof(*own.groups));
	if (!own.groups || getgroups(own.group_count, own.groups) != own.group_count)
		own.group_count = -1;
	else
		set_groups(0, NULL);
	own.gid = (gid_t)setfsgid(place->gid);
	own.uid = (uid_t)setfsuid(place->root.uid);
	*own_ret = own;
	/* They tell what is in force, and not whether it worked. */
	return own.group_count >= 0 && getgroups(0, NULL) == 0 &&
	       (gid_t)setfsgid((gid_t)-1) == place->gid &&
	       (uid_t)setfsuid((uid_t)-1) == place->root.uid;
}

static void rights_restore(struct rights *own)
{
	setfsuid(own->uid);
	setfsgid(own->gid);
	if (own->group_count >= 0)
		set_groups(own->group_count, own->groups);
	free(own->groups);
}

/* The same user's processes may read each other's files in any case. */
static bool is_own_user(const struct source_place *place)
{
	return place->root.uid == geteuid();
}

static int open_as_process(const struct source_place *place, const char *path)
{
	if (is_own_user(place))
		return rootfs_open_file(place->root.fd, path);
	struct rights own;
	bool taken = rights_take(place, &own);
	int fd = taken ? rootfs_open_file(place->root.fd, path) : -1;
	rights_restore(&own);
	return fd;
}

/* All of @fd, at most @limit bytes; NULL for what is no text. */
static char *read_text(int fd, size_t limit, size_t *size_ret)
{
	_cleanup_free_ char *text = malloc(limit + 2);
	if (!text)
		return NULL;
	size_t size = 0;
	ssize_t n;
	/* One byte more than is wanted tells a longer file. */
	while ((n = read(fd, text + size, limit + 1 - size)) > 0)
		size += (size_t)n;
	if (n < 0 || size > limit || memchr(text, '\0', size))
		return NULL;
	text[size] = '\0';
	*size_ret = size;
	return no_cleanup(text);
}

static char *read_in(const struct source_place *place, const char *path, size_t limit,
		     size_t *size_ret)
{
	_cleanup_free_ char *full = NULL;
	if (path[0] != '/' && (!place->cwd || asprintf(&full, "%s/%s", place->cwd, path) < 0)) {
		full = NULL;
		return NULL;
	}
	_cleanup_close_ int fd = open_as_process(place, full ? full : path);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || st.st_size < 0 || (size_t)st.st_size > limit)
		return NULL;
	return read_text(fd, (size_t)st.st_size, size_ret);
}

static char *read_source(void *context, const char *path, size_t limit, size_t *size_ret)
{
	const struct sources *sources = context;
	char *text = NULL;
	for (size_t i = 0; !text && i < sources->places.count; i++)
		text = read_in(&sources->places.items[i], path, limit, size_ret);
	return text;
}

struct source_reader sources_reader(struct sources *sources)
{
	return (struct source_reader){ .read = read_source, .context = sources };
}
