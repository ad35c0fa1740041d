/* SPDX-License-Identifier: MIT */
/* choice.c: which processes are meant. */
#include "choice.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "target/process.h"
#include "target/roster.h"

/* The start of a command line is all that is looked at. */
#define COMMAND_MAX 4096
/* Of it in a list of processes. */
#define SHOWN_MAX 200
/* Between two looks for a process that is waited for: while others start, and while nothing does. */
#define WAIT_NS       (10 * NS_PER_MS)
#define WAIT_QUIET_NS (300 * NS_PER_MS)

DEFINE_VEC(struct rows, rows, struct roster_row)

bool choice_is_made(const struct choice *choice)
{
	return choice->given.count || choice->children_of || choice->pid_file || choice->wait;
}

bool choice_is_one_process(const struct choice *choice)
{
	return choice->given.count + (choice->pid_file != NULL) + (choice->wait != NULL) == 1 &&
	       !choice->children_of && !choice->subprocesses;
}

/* @script fits as it is, and without its .py. */
static bool fits_script(const char *name, const char *script)
{
	const char *base = path_base(script);
	size_t length = strlen(base);
	if (!strcmp(name, base))
		return true;
	return length > 3 && !strcmp(base + length - 3, ".py") && strlen(name) == length - 3 &&
	       !strncmp(name, base, length - 3);
}

static bool takes_value(const char *option)
{
	return !strcmp(option, "-W") || !strcmp(option, "-X");
}

/* The arguments after the interpreter's name, up to @end. */
static bool fits_python_arguments(const char *name, const char *argument, const char *end)
{
	for (; argument < end && *argument; argument += strlen(argument) + 1) {
		if (*argument != '-')
			return fits_script(name, argument);
		const char *next = argument + strlen(argument) + 1;
		if (!strcmp(argument, "-m"))
			return next < end && !strcmp(name, next);
		if (!strncmp(argument, "-m", 2))
			return !strcmp(name, argument + 2);
		if (!strcmp(argument, "-c") || !strcmp(argument, "-"))
			return false;
		if (takes_value(argument))
			argument = next;
		if (argument >= end)
			return false;
	}
	return false;
}

bool choice_fits(const char *name, pid_t pid)
{
	char text[COMMAND_MAX];
	if (pid == getpid())
		return false;
	process_read_start(pid, "comm", text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	if (!strcmp(name, text))
		return true;
	size_t size = process_read_start(pid, "cmdline", text, sizeof(text));
	if (!size)
		return false;
	const char *program = path_base(text);
	if (!strcmp(name, program))
		return true;
	return !strncmp(program, "python", strlen("python")) &&
	       fits_python_arguments(name, text + strlen(text) + 1, text + size);
}

/* By the file alone: a static program has no other way. */
static bool find_user(uid_t uid, char *name, size_t size)
{
	_cleanup_fclose_ FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user;
	while (file && (user = fgetpwent(file)))
		if (user->pw_uid == uid)
			return snprintf(name, size, "%s", user->pw_name) > 0;
	return false;
}

static void add_user(struct strbuf *text, pid_t pid)
{
	char path[64], name[64] = "?";
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (!stat(path, &st) && !find_user(st.st_uid, name, sizeof(name)))
		snprintf(name, sizeof(name), "%u", (unsigned)st.st_uid);
	strbuf_addf(text, "%-10s", name);
}

/* A command line as one line: what would move a terminal's cursor is not shown. */
static void add_command(struct strbuf *text, pid_t pid)
{
	char command[COMMAND_MAX];
	size_t size = process_read_start(pid, "cmdline", command, sizeof(command));
	while (size && !command[size - 1])
		size--;
	if (size > SHOWN_MAX) {
		size = SHOWN_MAX;
		memcpy(command + size - 3, "...", 3);
	}
	for (size_t i = 0; i < size; i++)
		if (!command[i])
			command[i] = ' ';
		else if ((unsigned char)command[i] < ' ' || command[i] == 0x7f)
			command[i] = '?';
	strbuf_addf(text, "  %.*s", (int)size, command);
}

static struct error *ambiguous(const char *name, const struct rows *rows)
{
	struct strbuf text = { 0 };
	strbuf_addf(&text, "%zu processes are called %s, say which with -p PID:", rows->count,
		    name);
	vec_foreach (row, rows) {
		strbuf_addf(&text, "\n  %7d  ", (int)row->pid);
		add_user(&text, row->pid);
		add_command(&text, row->pid);
	}
	struct error *err =
		text.failed ? error_no_memory() : error_create(ERROR_USAGE, "%s", text.text);
	strbuf_deinit(&text);
	return err;
}

static bool has_pid(const struct rows *rows, pid_t pid)
{
	vec_foreach (row, rows)
		if (row->pid == pid)
			return true;
	return false;
}

/* Leaves out those whose parent fits as well. */
static void keep_topmost(struct rows *rows)
{
	struct rows all = *rows;
	struct rows top = { 0 };
	vec_foreach (row, &all) {
		struct roster_row *slot = has_pid(&all, row->parent) ? NULL : rows_append(&top);
		if (slot)
			*slot = *row;
	}
	rows_deinit(&all);
	*rows = top;
}

static struct error *find_fitting(const char *name, struct rows *rows)
{
	struct roster roster = { 0 };
	struct error *err = roster_read(&roster);
	rows->count = 0;
	vec_foreach (row, &roster) {
		if (err || row->state == 'Z' || !choice_fits(name, row->pid))
			continue;
		struct roster_row *slot = rows_append(rows);
		if (slot)
			*slot = *row;
		else
			err = error_no_memory();
	}
	roster_deinit(&roster);
	return err;
}

static struct error *add_pid(struct pids *pids, pid_t pid)
{
	vec_foreach (known, pids)
		if (*known == pid)
			return NULL;
	pid_t *slot = pids_append(pids);
	if (!slot)
		return error_no_memory();
	*slot = pid;
	return NULL;
}

/* *found_ret: there was one at all. */
static struct error *add_name(const struct choice *choice, const char *name, struct pids *pids,
			      bool *found_ret)
{
	struct rows rows = { 0 };
	struct error *err = find_fitting(name, &rows);
	if (!err && choice->subprocesses)
		keep_topmost(&rows);
	if (!err && rows.count > 1)
		err = ambiguous(name, &rows);
	if (!err && rows.count == 1)
		err = add_pid(pids, rows.items[0].pid);
	*found_ret = rows.count > 0;
	rows_deinit(&rows);
	return err;
}

/* A process id, which is a number and nothing else. False: it is none. */
static bool parse_pid(const char *text, pid_t *pid_ret)
{
	char *end;
	errno = 0;
	long value = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0;
	if (value <= 0 || errno || value > 0x7fffffff || *end)
		return false;
	*pid_ret = (pid_t)value;
	return true;
}

static struct error *add_given(const struct choice *choice, const char *text, struct pids *pids)
{
	pid_t pid;
	bool found;
	if (parse_pid(text, &pid))
		return add_pid(pids, pid);
	struct error *err = add_name(choice, text, pids, &found);
	if (!err && !found)
		err = error_create(ERROR_USAGE, "no process is called %s", text);
	return err;
}

static struct error *add_from_file(const char *path, struct pids *pids)
{
	char text[64];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return error_errno(errno, "cannot read the pid file %s", path);
	text[n] = '\0';
	char *start = text + strspn(text, " \t");
	start[strcspn(start, " \t\r\n")] = '\0';
	pid_t pid;
	if (!parse_pid(start, &pid))
		return error_create(ERROR_USAGE, "the file %s holds no process id", path);
	return add_pid(pids, pid);
}

static struct error *wait_for(const struct choice *choice, bool (*stopped)(void), struct pids *pids)
{
	_cleanup_close_ int fd = roster_open_last_pid();
	pid_t last = 0;
	uint64_t quiet_ns = 0, looked_ns = 0;
	while (!stopped()) {
		uint64_t now_ns = clock_now_ns();
		pid_t newest = roster_last_pid(fd);
		if (newest != last || !newest)
			quiet_ns = now_ns + WAIT_QUIET_NS;
		last = newest;
		if (now_ns < quiet_ns || now_ns - looked_ns > WAIT_QUIET_NS) {
			bool found;
			struct error *err = add_name(choice, choice->wait, pids, &found);
			if (err || found)
				return err;
			looked_ns = now_ns;
		}
		struct timespec pause = { .tv_nsec = WAIT_NS };
		nanosleep(&pause, NULL);
	}
	return error_create(ERROR_OTHER, "no process called %s has started", choice->wait);
}

static struct error *resolve(const struct choice *choice, bool (*stopped)(void), struct pids *pids)
{
	struct error *err = NULL;
	vec_foreach (text, &choice->given)
		if (!err)
			err = add_given(choice, *text, pids);
	if (!err && choice->pid_file)
		err = add_from_file(choice->pid_file, pids);
	if (!err && choice->wait)
		err = wait_for(choice, stopped, pids);
	return err;
}

struct error *choice_resolve(const struct choice *choice, bool (*stopped)(void),
			     struct pids *pids_ret)
{
	struct pids pids = { 0 };
	struct error *err = resolve(choice, stopped, &pids);
	if (err) {
		pids_deinit(&pids);
		return err;
	}
	*pids_ret = pids;
	return NULL;
}

static bool has(const struct pids *pids, pid_t pid)
{
	vec_foreach (known, pids)
		if (*known == pid)
			return true;
	return false;
}

struct error *choice_add_descendants(struct pids *pids, pid_t parent)
{
	struct roster roster = { 0 };
	struct error *err = roster_read(&roster);
	size_t before;
	do {
		before = pids->count;
		vec_foreach (row, &roster)
			if (!err && row->pid != getpid() && row->state != 'Z' &&
			    (has(pids, row->parent) || (parent && row->parent == parent)))
				err = add_pid(pids, row->pid);
	} while (pids->count > before);
	roster_deinit(&roster);
	return err;
}
