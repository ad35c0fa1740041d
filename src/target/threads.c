/* SPDX-License-Identifier: MIT */
/* threads.c: the threads of a process. */
#include "target/threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* /proc/PID/task counts two links of its own and one for each thread. */
#define TASK_DIR_LINKS 2

static void thread_destroy(struct threads *threads, struct thread *thread)
{
	if (threads->detach)
		threads->detach(threads->detach_data, thread);
	activity_close(&thread->files);
	free(thread);
}

void threads_deinit(struct threads *threads)
{
	vec_foreach (thread, &threads->list)
		thread_destroy(threads, *thread);
	thread_vec_deinit(&threads->list);
}

bool threads_changed(const struct threads *threads, const struct process *process)
{
	vec_foreach (thread, &threads->list)
		if ((*thread)->files.ended)
			return true;
	struct stat st;
	return fstatat(process->dir_fd, "task", &st, 0) ||
	       st.st_nlink != threads->list.count + TASK_DIR_LINKS;
}

static ssize_t read_task_file(const struct process *process, pid_t tid, const char *name,
			      char *text, size_t size)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)process->pid, (int)tid, name);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

void thread_read_name(struct thread *thread, const struct process *process)
{
	char text[32];
	if (read_task_file(process, thread->tid, "comm", text, sizeof(text)) <= 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	snprintf(thread->name, sizeof(thread->name), "%.15s", text);
}

/* Our own number for it where the file does not say. */
static pid_t read_inner_tid(const struct process *process, pid_t tid)
{
	char text[4096];
	if (read_task_file(process, tid, "status", text, sizeof(text)) <= 0)
		return tid;
	char *line = strstr(text, "\nNSpid:");
	if (!line)
		return tid;
	line += strlen("\nNSpid:");
	line[strcspn(line, "\n")] = '\0';
	char *last = strrchr(line, '\t');
	return last ? (pid_t)strtol(last, NULL, 10) : tid;
}

static struct error *add_thread(struct threads *threads, const struct process *process, pid_t tid)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	struct thread **slot = thread ? thread_vec_append(&threads->list) : NULL;
	if (!slot) {
		free(thread);
		return error_no_memory();
	}
	thread->tid = tid;
	thread->seen = true;
	thread->inner_tid = read_inner_tid(process, tid);
	thread_read_name(thread, process);
	activity_open(&thread->files, process, tid);
	*slot = thread;
	return NULL;
}

/* Threads come in the kernel's order, old ones first: the search mostly ends at the first look. */
static struct thread *find_thread(struct threads *threads, pid_t tid, size_t hint)
{
	size_t count = threads->list.count;
	for (size_t i = 0; i < count; i++) {
		struct thread *thread = threads->list.items[(hint + i) % count];
		if (thread->tid == tid && !thread->seen && !thread->files.ended)
			return thread;
	}
	return NULL;
}

struct error *threads_update(struct threads *threads, const struct process *process)
{
	_cleanup_free_ pid_t *tids = NULL;
	size_t count = 0;
	struct error *err = process_list_threads(process, &tids, &count);
	if (err)
		return err;

	vec_foreach (thread, &threads->list)
		(*thread)->seen = false;
	for (size_t i = 0; i < count; i++) {
		struct thread *thread = find_thread(threads, tids[i], i);
		if (thread)
			thread->seen = true;
		else if ((err = add_thread(threads, process, tids[i])))
			return err;
	}

	size_t kept = 0;
	for (size_t i = 0; i < threads->list.count; i++) {
		struct thread *thread = threads->list.items[i];
		if (thread->seen)
			threads->list.items[kept++] = thread;
		else
			thread_destroy(threads, thread);
	}
	threads->list.count = kept;
	return NULL;
}
