/* SPDX-License-Identifier: MIT */
/* process.c: files of one process under /proc. */
#include "target/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"

DEFINE_VEC(struct tid_vec, tid_vec, pid_t)

/* Counted from the last ')', since a name may hold anything. */
bool process_parse_stat(const char *text, struct process_stat *stat_ret)
{
	const char *p = strrchr(text, ')');
	char state;
	int parent;
	unsigned long long start;
	if (!p || sscanf(p + 1,
			 " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d"
			 " %*d %llu",
			 &state, &parent, &start) != 3)
		return false;
	*stat_ret = (struct process_stat){ state, parent, start };
	return true;
}

static bool read_stat(int dir_fd, struct process_stat *stat_ret)
{
	_cleanup_close_ int fd = openat(dir_fd, "stat", O_RDONLY | O_CLOEXEC);
	char text[1024];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return process_parse_stat(text, stat_ret);
}

static int open_thread_dir(pid_t tid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d", (int)tid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static struct error *gone(pid_t pid)
{
	return error_create(ERROR_GONE, "there is no process %d", (int)pid);
}

static struct error *list_threads(pid_t pid, pid_t **tids_ret, size_t *count_ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	_cleanup_closedir_ DIR *dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? gone(pid)
				       : error_errno(errno, "cannot list the threads in %s", path);

	struct tid_vec tids = { 0 };
	struct dirent *entry;
	while ((entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid_t *tid = tid_vec_append(&tids);
		if (!tid) {
			tid_vec_deinit(&tids);
			return error_no_memory();
		}
		*tid = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	if (!tids.count) {
		tid_vec_deinit(&tids);
		return gone(pid);
	}
	*tids_ret = tids.items;
	*count_ret = tids.count;
	return NULL;
}

struct error *process_list_threads(const struct process *process, pid_t **tids_ret,
				   size_t *count_ret)
{
	return list_threads(process->pid, tids_ret, count_ret);
}

static bool is_alive(int dir_fd)
{
	struct process_stat stat;
	return read_stat(dir_fd, &stat) && stat.state != 'Z' && stat.state != 'X';
}

/* False if the number belongs to another process by now. */
static bool is_same_process(struct process *process)
{
	_cleanup_close_ int fd = open_thread_dir(process->pid);
	struct process_stat stat;
	if (fd < 0 || !read_stat(fd, &stat))
		return false;
	if (!process->start_ticks)
		process->start_ticks = stat.start_ticks;
	return process->start_ticks == stat.start_ticks;
}

struct error *process_refresh(struct process *process)
{
	_cleanup_free_ pid_t *tids = NULL;
	size_t count = 0;
	struct error *err = list_threads(process->pid, &tids, &count);
	if (err)
		return err;
	if (!is_same_process(process))
		return error_create(ERROR_GONE, "process %d has ended", (int)process->pid);
	for (size_t i = 0; i < count; i++) {
		_cleanup_close_ int fd = open_thread_dir(tids[i]);
		if (fd < 0 || !is_alive(fd))
			continue;
		if (process->dir_fd >= 0)
			close(process->dir_fd);
		process->dir_fd = fd;
		process->tid = tids[i];
		fd = -1;
		return NULL;
	}
	return error_create(ERROR_GONE, "process %d has ended", (int)process->pid);
}

/* A thread has a folder in /proc too; its Tgid tells it from a process. */
static struct error *check_is_process(const struct process *process)
{
	_cleanup_free_ char *tgid = process_status_field(process, "Tgid");
	if (!tgid || atoi(tgid) == process->pid)
		return NULL;
	return error_create(ERROR_USAGE, "%d is a thread of process %s, not a process: use -p %s",
			    (int)process->pid, tgid, tgid);
}

struct error *process_open(pid_t pid, struct process **process_ret)
{
	struct process *process = malloc(sizeof(*process));
	if (!process)
		return error_no_memory();
	*process = (struct process){ .pid = pid, .tid = pid, .dir_fd = -1 };

	struct error *err = process_refresh(process);
	if (!err)
		err = check_is_process(process);
	if (err) {
		process_close(process);
		return err;
	}
	*process_ret = process;
	return NULL;
}

void process_close(struct process *process)
{
	if (process->dir_fd >= 0)
		close(process->dir_fd);
	free(process);
}

int process_open_file(const struct process *process, const char *name, int flags)
{
	return openat(process->dir_fd, name, O_RDONLY | O_CLOEXEC | flags);
}

static struct error *file_error(const struct process *process, const char *name)
{
	if (errno == ESRCH || errno == ENOENT)
		return error_create(ERROR_GONE, "process %d has ended", (int)process->pid);
	return error_errno(errno, "cannot read /proc/%d/%s", (int)process->tid, name);
}

struct error *process_read_file(const struct process *process, const char *name, size_t limit,
				char **text_ret, size_t *size_ret)
{
	_cleanup_close_ int fd = process_open_file(process, name, 0);
	if (fd < 0)
		return file_error(process, name);

	_cleanup_free_ char *text = NULL;
	size_t capacity = 0, size = 0;
	for (;;) {
		if (size > limit)
			return error_create(ERROR_CORRUPT, "/proc/%d/%s is longer than %zu bytes",
					    (int)process->tid, name, limit);
		if (!vec_reserve_((void **)&text, &capacity, size + 65536, 1))
			return error_no_memory();
		ssize_t n = read(fd, text + size, capacity - size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return file_error(process, name);
		if (n == 0)
			break;
		size += (size_t)n;
	}
	text[size] = '\0';
	*text_ret = no_cleanup(text);
	if (size_ret)
		*size_ret = size;
	return NULL;
}

size_t process_read_start(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
	size_t length = got > 0 ? (size_t)got : 0;
	text[length] = '\0';
	return length;
}

struct error *process_read_link(const struct process *process, const char *name, char **path_ret)
{
	char path[PATH_MAX + 1];
	ssize_t n = readlinkat(process->dir_fd, name, path, sizeof(path) - 1);
	if (n < 0)
		return file_error(process, name);
	path[n] = '\0';
	char *copy = strdup(path);
	if (!copy)
		return error_no_memory();
	*path_ret = copy;
	return NULL;
}

char *process_status_field(const struct process *process, const char *name)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_error_ struct error *err =
		process_read_file(process, "status", 1 << 20, &text, NULL);
	if (err)
		return NULL;
	size_t length = strlen(name);
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) || line[length] != ':')
			continue;
		line += length + 1;
		line += strspn(line, " \t");
		return strndup(line, strcspn(line, "\n"));
	}
	return NULL;
}
