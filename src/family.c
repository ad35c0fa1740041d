/* SPDX-License-Identifier: MIT */
/* family.c: the processes that descend from others. */
#include "family.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "target/maps.h"
#include "target/process.h"

/* How old a process is when it is first tried. */
#define YOUNG_NS (4 * NS_PER_MS)
/* So many new ids are looked at one by one; with more of them all of /proc is read. */
#define NEW_MAX 256
/* Between two readings of all of /proc, where new ids are told: against what that does not tell. */
#define SCAN_NS NS_PER_S
/* A reading of all of /proc may take so large a part of the time. */
#define SCAN_SHARE 20
/* Between two looks whether something new is mapped in a process without a Python. */
#define ALONE_NS_MIN (4 * NS_PER_MS)
#define ALONE_NS_MAX (4 * NS_PER_S)
/* Between two tries of a process whose Python is starting. */
#define STARTING_NS (3 * NS_PER_MS)
/* Processes that are left alone whose program is looked at in one look. */
#define PROGRAMS_A_LOOK 16
#define RELATIVES_MAX   65536

/* A container may have a loadavg of its own making: whether it tells of new processes is tried with one. */
static bool tells_last_pid(int fd)
{
	pid_t child = fork();
	if (!child)
		_exit(0);
	bool tells = child > 0 && roster_last_pid(fd) >= child;
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return tells;
}

void family_init(struct family *family)
{
	*family = (struct family){ .last_pid_fd = roster_open_last_pid() };
	if (family->last_pid_fd >= 0 && !tells_last_pid(family->last_pid_fd)) {
		close(family->last_pid_fd);
		family->last_pid_fd = -1;
	}
	family->last_pid = roster_last_pid(family->last_pid_fd);
}

void family_deinit(struct family *family)
{
	relatives_deinit(&family->list);
	roster_deinit(&family->roster);
	if (family->last_pid_fd >= 0)
		close(family->last_pid_fd);
	family->last_pid_fd = -1;
}

static struct relative *find(struct family *family, pid_t pid)
{
	vec_foreach (relative, &family->list)
		if (relative->pid == pid)
			return relative;
	return NULL;
}

static struct relative *add(struct family *family, const struct roster_row *row, pid_t parent)
{
	if (family->list.count >= RELATIVES_MAX)
		return NULL;
	struct relative *relative = relatives_append(&family->list);
	if (relative)
		*relative = (struct relative){
			.pid = row->pid,
			.parent = parent,
			.start_ticks = row->start_ticks,
		};
	return relative;
}

bool family_add(struct family *family, pid_t pid, bool taken)
{
	struct roster_row row = { .pid = pid };
	roster_look(pid, &row);
	struct relative *relative = find(family, pid);
	if (!relative)
		relative = add(family, &row, 0);
	if (relative)
		relative->state = taken ? RELATIVE_TAKEN : RELATIVE_ALONE;
	/* It may have descendants already. */
	family->next_look_ns = family->next_scan_ns = 0;
	return relative != NULL;
}

static void consider(struct family *family, const struct roster_row *row, bool old, uint64_t now_ns)
{
	if (row->state == 'Z' || row->state == 'X' || row->pid == getpid())
		return;
	struct relative *known = find(family, row->pid);
	if (known && known->start_ticks == row->start_ticks)
		return;
	if (known)
		known->state = RELATIVE_ENDED;
	struct relative *parent = find(family, row->parent);
	if (!parent || roster_is_thread(row->pid))
		return;
	struct relative *relative = add(family, row, row->parent);
	if (relative)
		relative->due_ns = old ? now_ns : now_ns + YOUNG_NS;
}

static bool has_ended(const struct relative *relative)
{
	struct roster_row row;
	return !roster_look(relative->pid, &row) || row.start_ticks != relative->start_ticks ||
	       row.state == 'Z' || row.state == 'X';
}

static void forget_ended(struct family *family)
{
	size_t kept = 0;
	vec_foreach (relative, &family->list)
		if (relative->state != RELATIVE_ENDED)
			family->list.items[kept++] = *relative;
	family->list.count = kept;
}

/* Parents have lower ids than their children as a rule; where numbers have begun anew the next reading finds the rest. */
static void scan(struct family *family, bool old, uint64_t now_ns)
{
	_cleanup_error_ struct error *err = roster_read(&family->roster);
	if (err)
		return;
	vec_foreach (relative, &family->list)
		if (relative->state != RELATIVE_TAKEN && has_ended(relative))
			relative->state = RELATIVE_ENDED;
	forget_ended(family);
	size_t before;
	do {
		before = family->list.count;
		vec_foreach (row, &family->roster)
			consider(family, row, old, now_ns);
	} while (family->list.count > before);
	uint64_t took_ns = clock_now_ns() - now_ns;
	uint64_t pause_ns = family->last_pid ? SCAN_NS : FAMILY_LOOK_NS;
	family->next_scan_ns =
		now_ns + (took_ns * SCAN_SHARE > pause_ns ? took_ns * SCAN_SHARE : pause_ns);
}

/* False: there are too many to look at each. */
static bool look_at_new_ids(struct family *family, uint64_t now_ns)
{
	pid_t before = family->last_pid, last = roster_last_pid(family->last_pid_fd);
	family->last_pid = last;
	if (last == before)
		return true;
	if (last < before || last - before > NEW_MAX)
		return false;
	for (pid_t pid = before + 1; pid <= last; pid++) {
		struct roster_row row;
		if (roster_look(pid, &row))
			consider(family, &row, false, now_ns);
	}
	return true;
}

static void read_program(pid_t pid, struct stat *st_ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, st_ret))
		*st_ret = (struct stat){ 0 };
}

/* Whoever executes another program is a new process to us. */
static void look_at_program(struct relative *relative, uint64_t now_ns)
{
	struct stat st;
	if (relative->state != RELATIVE_ALONE || !relative->exe_inode)
		return;
	read_program(relative->pid, &st);
	if (st.st_ino && (st.st_ino != relative->exe_inode || st.st_dev != relative->exe_device)) {
		relative->state = RELATIVE_NEW;
		relative->due_ns = now_ns;
		relative->pause_ns = 0;
	}
}

void family_look(struct family *family, uint64_t now_ns)
{
	if (now_ns < family->next_look_ns)
		return;
	bool first = !family->next_scan_ns;
	family->next_look_ns = now_ns + FAMILY_LOOK_NS;
	bool complete = family->last_pid && look_at_new_ids(family, now_ns);
	if (now_ns >= family->next_scan_ns || (!complete && family->last_pid))
		scan(family, first, now_ns);
	size_t count = family->list.count;
	for (size_t i = 0; i < PROGRAMS_A_LOOK && i < count; i++)
		look_at_program(&family->list.items[family->cursor++ % count], now_ns);
}

/* True between vfork and exec: the memory is the parent's. */
static bool shares_memory(const struct relative *relative)
{
	return relative->parent &&
	       !syscall(SYS_kcmp, relative->parent, relative->pid, KCMP_VM, 0, 0);
}

/* Code that a process has mapped, as a number; 0: not to be had. */
static uint64_t hash_mapped(pid_t pid)
{
	struct process *process = NULL;
	struct maps maps = { 0 };
	uint64_t hash = 0;
	_cleanup_error_ struct error *gone = process_open(pid, &process);
	if (gone)
		return 0;
	_cleanup_error_ struct error *err = maps_read(process, &maps);
	process_close(process);
	if (err)
		return 0;
	vec_foreach (mapping, &maps)
		if (mapping->exec)
			hash = hash_bytes(&mapping->start, sizeof(mapping->start), hash);
	maps_deinit(&maps);
	return hash | 1;
}

/* True if @relative, which had no Python, may have one now. */
static bool has_something_new(struct relative *relative, uint64_t now_ns)
{
	uint64_t mapped = hash_mapped(relative->pid);
	if (mapped && mapped != relative->mapped)
		return true;
	relative->pause_ns =
		relative->pause_ns * 2 < ALONE_NS_MAX ? relative->pause_ns * 2 : ALONE_NS_MAX;
	relative->due_ns = now_ns + relative->pause_ns;
	return false;
}

struct relative *family_due(struct family *family, uint64_t now_ns)
{
	vec_foreach (relative, &family->list) {
		if (relative->state == RELATIVE_TAKEN || relative->state == RELATIVE_ENDED ||
		    !relative->due_ns || now_ns < relative->due_ns)
			continue;
		if (has_ended(relative)) {
			relative->state = RELATIVE_ENDED;
			continue;
		}
		if (shares_memory(relative)) {
			relative->due_ns = now_ns + YOUNG_NS;
			continue;
		}
		if (relative->state == RELATIVE_NEW || has_something_new(relative, now_ns))
			return relative;
	}
	forget_ended(family);
	return NULL;
}

void family_take(struct relative *relative)
{
	relative->state = RELATIVE_TAKEN;
}

void family_leave(struct family *family, struct relative *relative, bool starting, uint64_t now_ns)
{
	struct stat st;
	if (!relative->pause_ns)
		relative->pause_ns = ALONE_NS_MIN;
	if (starting) {
		relative->state = RELATIVE_NEW;
		relative->due_ns = now_ns + STARTING_NS;
		return;
	}
	read_program(relative->pid, &st);
	relative->exe_device = st.st_dev;
	relative->exe_inode = st.st_ino;
	relative->mapped = hash_mapped(relative->pid);
	relative->state = RELATIVE_ALONE;
	relative->due_ns = now_ns + relative->pause_ns;
}

void family_drop(struct family *family, pid_t pid, bool alone)
{
	struct relative *relative = find(family, pid);
	if (!relative || relative->state != RELATIVE_TAKEN)
		return;
	relative->state = alone ? RELATIVE_NEW : RELATIVE_ENDED;
	relative->pause_ns = 0;
	relative->due_ns = 1;
}

uint64_t family_next_ns(const struct family *family)
{
	uint64_t next_ns = family->next_look_ns;
	vec_foreach (relative, &family->list)
		if (relative->state == RELATIVE_NEW && relative->due_ns < next_ns)
			next_ns = relative->due_ns;
	return next_ns;
}

bool family_is_over(const struct family *family)
{
	vec_foreach (relative, &family->list)
		if (relative->state == RELATIVE_NEW || (!relative->parent && !has_ended(relative)))
			return false;
	return true;
}
