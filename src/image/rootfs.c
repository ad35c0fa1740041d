/* SPDX-License-Identifier: MIT */
/* rootfs.c: openat2 where the kernel has it (5.6), else openat without links at the end. */
#include "image/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* "Uid:" and "NSpid:" of /proc/PID/status: the second and the last number. */
static bool parse_status(const struct process *process, struct rootfs *root)
{
	_cleanup_free_ char *uids = process_status_field(process, "Uid");
	_cleanup_free_ char *pids = process_status_field(process, "NSpid");
	unsigned uid;
	if (!uids || sscanf(uids, "%*u %u", &uid) != 1)
		return false;
	root->uid = uid;
	root->inner_pid = process->pid;
	if (!pids)
		return true;
	const char *last = strrchr(pids, '\t');
	root->inner_pid = (pid_t)strtol(last ? last : pids, NULL, 10);
	return root->inner_pid > 0;
}

struct error *rootfs_open(const struct process *process, struct rootfs *root_ret)
{
	struct rootfs root = { .fd = -1 };
	if (!parse_status(process, &root))
		return error_create(ERROR_GONE, "process %d has ended", (int)process->pid);
	root.fd = process_open_file(process, "root", O_PATH | O_DIRECTORY);
	if (root.fd < 0)
		return error_errno(errno, "cannot open the root directory of process %d",
				   (int)process->pid);
	*root_ret = root;
	return NULL;
}

void rootfs_close(struct rootfs *root)
{
	if (root->fd >= 0)
		close(root->fd);
	root->fd = -1;
}

static int open_path(int root_fd, const char *path, int flags)
{
	if (root_fd < 0)
		return open(path, flags);
	struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd >= 0 || errno != ENOSYS)
		return fd;
	/* A link in the middle of the path is followed in our root here; what it leads to must
	 * still be a regular file that belongs to the image or the process. */
	path += strspn(path, "/");
	return openat(root_fd, path, flags | O_NOFOLLOW);
}

/* O_PATH has no effect on what is there; what it found is then opened by its descriptor. */
static int open_regular(int root_fd, const char *path, int flags, struct stat *st)
{
	_cleanup_close_ int found = open_path(root_fd, path, O_PATH | O_CLOEXEC | flags);
	if (found < 0)
		return -1;
	if (fstat(found, st))
		return -1;
	if (!S_ISREG(st->st_mode)) {
		errno = S_ISLNK(st->st_mode) ? ELOOP : ENOTSUP;
		return -1;
	}
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	return open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int rootfs_open_file(int root_fd, const char *path)
{
	struct stat st;
	return open_regular(root_fd, path, 0, &st);
}

int rootfs_open_own_file(const struct rootfs *root, const char *path)
{
	struct stat st;
	int fd = open_regular(root->fd, path, O_NOFOLLOW, &st);
	if (fd >= 0 && st.st_uid != root->uid && st.st_uid != 0) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}
