/* SPDX-License-Identifier: MIT */
/*
 * rootfs.h: files at a path that another user may control, opened as if each were a trap.
 *
 * A path is followed inside a root directory and does not leave it, symbolic links included. Only a
 * regular file is opened: what else is there (a FIFO, a device) is looked at without an effect.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "target/process.h"

/* What of a process decides where its own files are and who may have written them. */
struct rootfs {
	int fd;          /* its root directory; -1: this program's own */
	uid_t uid;       /* its effective user, in this program's user namespace */
	pid_t inner_pid; /* its id in its own PID namespace, as it names files itself */
};

/* The root of @process. Files of it can be opened after the process has ended. */
struct error *rootfs_open(const struct process *process, struct rootfs *root_ret);
void rootfs_close(struct rootfs *root);

/*
 * Opens the regular file @path below directory @root_fd (-1: this program's own root) read-only;
 * the descriptor, or -1 with errno: ENOTSUP for what is no regular file.
 */
int rootfs_open_file(int root_fd, const char *path);
/*
 * The same for a file that the process itself has written: the last part of @path must be no link
 * (ELOOP), and the owner must be the process's user or root (EPERM).
 */
int rootfs_open_own_file(const struct rootfs *root, const char *path);
