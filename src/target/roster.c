/* SPDX-License-Identifier: MIT */
/* roster.c: which processes there are. */
#include "target/roster.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/process.h"

bool roster_look(pid_t pid, struct roster_row *row_ret)
{
	char text[1024];
	struct process_stat stat;
	process_read_start(pid, "stat", text, sizeof(text));
	if (!process_parse_stat(text, &stat))
		return false;
	*row_ret = (struct roster_row){ pid, stat.parent, stat.state, stat.start_ticks };
	return true;
}

bool roster_is_thread(pid_t pid)
{
	char text[4096];
	if (!process_read_start(pid, "status", text, sizeof(text)))
		return false;
	const char *line = strstr(text, "\nTgid:");
	return line && atoi(line + strlen("\nTgid:")) != pid;
}

struct error *roster_read(struct roster *roster)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	if (!dir)
		return error_errno(errno, "cannot list the processes in /proc");
	roster->count = 0;
	struct dirent *entry;
	while ((entry = readdir(dir))) {
		struct roster_row row;
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !roster_look((pid_t)strtol(entry->d_name, NULL, 10), &row))
			continue;
		struct roster_row *slot = roster_append(roster);
		if (!slot)
			return error_no_memory();
		*slot = row;
	}
	return NULL;
}

int roster_open_last_pid(void)
{
	return open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
}

/* "0.20 0.18 0.12 1/80 11206": the last field. */
pid_t roster_last_pid(int fd)
{
	char text[128];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	const char *last = strrchr(text, ' ');
	return last ? (pid_t)strtol(last, NULL, 10) : 0;
}
