/* SPDX-License-Identifier: MIT */
/* output.c: where a profile is written. */
#include "write/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/* As many links as the kernel follows. */
#define LINKS_MAX    40
#define BUFFER_BYTES (64 * 1024)

struct output {
	char *name;      /* for messages */
	char *path;      /* where the file goes at the end; NULL: written in place */
	char *temporary; /* NULL: written in place, or no longer there */
	FILE *stream;
	int fd;
	int errnum;    /* of the first write that failed */
	bool truncate; /* a regular file written in place, still with its old content */
};

/* Writes all of @size bytes; also to a pipe whose other end was made non-blocking by someone. */
static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);
		if (n >= 0) {
			data += n;
			size -= (size_t)n;
			continue;
		}
		if (errno == EAGAIN) {
			struct pollfd pollfd = { .fd = fd, .events = POLLOUT };
			if (poll(&pollfd, 1, -1) >= 0 || errno == EINTR)
				continue;
		}
		if (errno != EINTR)
			return errno;
	}
	return 0;
}

static ssize_t cookie_write(void *cookie, const char *data, size_t size)
{
	struct output *output = cookie;
	if (!output->errnum && output->truncate && ftruncate(output->fd, 0) < 0)
		output->errnum = errno;
	output->truncate = false;
	if (!output->errnum)
		output->errnum = write_all(output->fd, data, size);
	if (!output->errnum)
		return (ssize_t)size;
	errno = output->errnum;
	return 0;
}

/*
 * The descriptor that a path like /dev/stdout stands for, -1 for other paths. Such a file is not
 * opened by its path: that would start at offset 0 again where the shell has opened it for
 * appending.
 */
static int descriptor_of(const char *path)
{
	static const char *const prefixes[] = { "/dev/fd/", "/proc/self/fd/" };
	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);
		if (strncmp(path, prefixes[i], length))
			continue;
		char *end;
		errno = 0;
		long fd = strtol(path + length, &end, 10);
		if (!errno && end != path + length && !*end && fd >= 0 && fd <= INT_MAX)
			return (int)fd;
	}
	return -1;
}

/* @name as seen from the directory of @path. */
static char *beside(const char *path, const char *name)
{
	const char *slash = name[0] == '/' ? NULL : strrchr(path, '/');
	char *joined;
	if (asprintf(&joined, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name) < 0)
		return NULL;
	return joined;
}

/* Follows symbolic links from @path to what they end at, which need not exist. */
static struct error *follow_links(const char *path, char **end_ret)
{
	_cleanup_free_ char *at = strdup(path);
	if (!at)
		return error_no_memory();
	for (int i = 0; i < LINKS_MAX; i++) {
		char target[PATH_MAX];
		ssize_t length =
			descriptor_of(at) >= 0 ? -1 : readlink(at, target, sizeof(target) - 1);
		if (length < 0) {
			*end_ret = no_cleanup(at);
			return NULL;
		}
		target[length] = '\0';
		char *next = beside(at, target);
		if (!next)
			return error_no_memory();
		free(at);
		at = next;
	}
	return error_errno(ELOOP, "cannot write %s", path);
}

/* True if renaming over @path cannot work because something is mounted there. */
static bool is_mount_point(const char *path)
{
	struct statx st;
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) < 0)
		return false;
	return st.stx_attributes_mask & st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

static struct error *open_descriptor(struct output *output, int fd)
{
	output->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (output->fd < 0)
		return error_errno(errno, "cannot write to %s", output->name);
	int flags = fcntl(output->fd, F_GETFL);
	if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
		return error_errno(EBADF, "cannot write to %s", output->name);
	return NULL;
}

static struct error *open_in_place(struct output *output, const char *path, bool regular)
{
	output->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (output->fd < 0)
		return error_errno(errno, "cannot write %s", output->name);
	output->truncate = regular;
	return NULL;
}

/* Creates a file of an unused name beside @path. False with errno. */
static bool create_temporary(struct output *output, const char *path)
{
	for (int i = 0; i < 100; i++) {
		uint64_t number;
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return false;
		char name[64];
		snprintf(name, sizeof(name), ".pysample-%016" PRIx64, number);
		_cleanup_free_ char *temporary = beside(path, name);
		if (!temporary) {
			errno = ENOMEM;
			return false;
		}
		output->fd =
			open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (output->fd >= 0) {
			output->temporary = no_cleanup(temporary);
			return true;
		}
		if (errno != EEXIST)
			return false;
	}
	return false;
}

static struct error *open_beside(struct output *output, const char *path, const struct stat *old)
{
	output->path = strdup(path);
	if (!output->path)
		return error_no_memory();
	if (!create_temporary(output, path)) {
		int errnum = errno;
		/* The directory is closed to us, but the file that is there may be open. */
		if (old && (errnum == EACCES || errnum == EPERM || errnum == EROFS))
			return open_in_place(output, path, true);
		return error_errno(errnum, "cannot write %s", output->name);
	}
	/* A profile must not become readable to more people than the file in its place was. */
	if (old && fchmod(output->fd, old->st_mode & 0777) < 0)
		return error_errno(errno, "cannot write %s", output->name);
	return NULL;
}

static struct error *open_path(struct output *output, const char *path)
{
	_cleanup_free_ char *end = NULL;
	struct error *err = follow_links(path, &end);
	if (err)
		return err;
	int fd = descriptor_of(end);
	if (fd >= 0)
		return open_descriptor(output, fd);

	struct stat st;
	if (stat(end, &st) < 0) {
		if (errno != ENOENT || !*end)
			return error_errno(errno, "cannot write %s", output->name);
		return open_beside(output, end, NULL);
	}
	if (S_ISDIR(st.st_mode))
		return error_errno(EISDIR, "cannot write %s", output->name);
	if (!S_ISREG(st.st_mode) || is_mount_point(end))
		return open_in_place(output, end, S_ISREG(st.st_mode));
	/* A rename needs no permission on the file that it replaces; people expect one. */
	if (faccessat(AT_FDCWD, end, W_OK, AT_EACCESS) < 0)
		return error_errno(errno, "cannot write %s", output->name);
	return open_beside(output, end, &st);
}

struct error *output_open(const char *path, struct output **output_ret)
{
	_cleanup_output_ struct output *output = calloc(1, sizeof(*output));
	if (!output)
		return error_no_memory();
	output->fd = -1;

	bool is_stdout = !path || !strcmp(path, "-");
	output->name = strdup(is_stdout ? "standard output" : path);
	if (!output->name)
		return error_no_memory();
	struct error *err =
		is_stdout ? open_descriptor(output, STDOUT_FILENO) : open_path(output, path);
	if (err)
		return err;

	output->stream = fopencookie(output, "w", (cookie_io_functions_t){ .write = cookie_write });
	if (!output->stream)
		return error_no_memory();
	setvbuf(output->stream, NULL, _IOFBF, BUFFER_BYTES);
	*output_ret = no_cleanup(output);
	return NULL;
}

FILE *output_stream(struct output *output)
{
	return output->stream;
}

/* The rest of the buffer is written; then the descriptor is closed, which is where some file
 * systems report errors. */
static void output_close(struct output *output)
{
	if (output->stream && fclose(output->stream) && !output->errnum)
		output->errnum = errno;
	output->stream = NULL;
	/* An empty profile over an old file, in place: nothing was written that would have emptied
	 * it. */
	if (output->truncate && !output->errnum && ftruncate(output->fd, 0) < 0)
		output->errnum = errno;
	if (output->fd >= 0 && close(output->fd) < 0 && errno != EINTR && !output->errnum)
		output->errnum = errno;
	output->fd = -1;
}

static struct error *put_in_place(struct output *output)
{
	output_close(output);
	if (output->errnum)
		return error_errno(output->errnum, "cannot write %s", output->name);
	if (!output->temporary)
		return NULL;
	if (rename(output->temporary, output->path) < 0)
		return error_errno(errno, "cannot write %s", output->name);
	free(no_cleanup(output->temporary));
	return NULL;
}

struct error *output_commit(struct output *output)
{
	struct error *err = put_in_place(output);
	output_abort(output);
	return err;
}

void output_abort(struct output *output)
{
	if (!output)
		return;
	/* What is still in the buffer goes nowhere. */
	if (!output->errnum)
		output->errnum = ECANCELED;
	output_close(output);
	if (output->temporary)
		unlink(output->temporary);
	free(output->temporary);
	free(output->path);
	free(output->name);
	free(output);
}
