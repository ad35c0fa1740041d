/* SPDX-License-Identifier: MIT */
/* diagnosis_gather.c: the facts of diagnosis.h, from /proc and by trying. */
#include "target/diagnosis.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/ptrace.h"
#include "target/trial.h"

#define ANCESTORS_MAX   64
#define PID_NS_INIT_INO 0xEFFFFFFCu /* PROC_PID_INIT_INO in include/linux/proc_ns.h */

/* Up to @size - 1 bytes of @path below @dir_fd, NUL-terminated; "" where it cannot be read. */
static void read_text(int dir_fd, const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	while (fd >= 0 && length < size - 1) {
		ssize_t n = read(fd, text + length, size - 1 - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	text[length] = '\0';
}

static void read_line(int dir_fd, const char *path, char line_ret[DIAGNOSIS_TEXT])
{
	char text[DIAGNOSIS_TEXT];
	read_text(dir_fd, path, text, sizeof(text));
	diagnosis_copy_line(text, line_ret);
}

static bool read_status(int dir_fd, const char *path, struct diagnosis_task *task)
{
	char text[8192];
	read_text(dir_fd, path, text, sizeof(text));
	diagnosis_parse_status(text, task);
	return *text;
}

static void gather_label(int dir_fd, const char *dir, char label_ret[DIAGNOSIS_TEXT])
{
	char path[64];
	snprintf(path, sizeof(path), "%sattr/current", dir);
	read_line(dir_fd, path, label_ret);
}

static void gather_self(struct diagnosis *d)
{
	char text[4096];
	d->own_pid = getpid();
	ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);
	if (n > 0) {
		text[n] = '\0';
		d->proc_pid = (pid_t)strtol(text, NULL, 10);
	}
	read_status(AT_FDCWD, "/proc/self/status", &d->self);

	read_text(AT_FDCWD, "/proc/self/uid_map", text, sizeof(text));
	d->initial_user_ns = diagnosis_parse_initial_map(text);
	struct stat st;
	d->initial_pid_ns = stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == PID_NS_INIT_INO;

	read_text(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text));
	if (*text >= '0' && *text <= '9')
		d->yama = *text - '0';
	gather_label(AT_FDCWD, "/proc/self/", d->label);
	read_text(AT_FDCWD, "/sys/kernel/security/lsm", text, sizeof(text));
	d->lsm = diagnosis_parse_lsm(text, d->label);
	read_text(AT_FDCWD, "/sys/fs/selinux/enforce", text, sizeof(text));
	d->lsm_permissive = *text == '0';
}

/* What is refused for a child of ours is refused for all. */
static void gather_child(struct diagnosis *d)
{
	static const uint64_t word = 1;
	pid_t child = trial_start_child();
	if (child < 0)
		return;
	d->child_attach = ptrace_seize(child);
	d->child_readv = trial_readv(child, &word);
	trial_end_child(child);
}

static bool same_namespace(int dir_fd, const char *name)
{
	char own[64];
	snprintf(own, sizeof(own), "/proc/self/%s", name);
	struct stat a, b;
	return stat(own, &a) == 0 && fstatat(dir_fd, name, &b, 0) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

/* From the target's user namespace up to ours, as far as the kernel shows it. */
static enum diagnosis_user_ns find_user_ns(int dir_fd)
{
	struct stat own, other;
	_cleanup_close_ int fd = openat(dir_fd, "ns/user", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || stat("/proc/self/ns/user", &own))
		return DIAGNOSIS_USER_NS_UNKNOWN;
	for (int level = 0; level < ANCESTORS_MAX; level++) {
		if (fstat(fd, &other))
			return DIAGNOSIS_USER_NS_UNKNOWN;
		if (other.st_ino == own.st_ino && other.st_dev == own.st_dev)
			return level ? DIAGNOSIS_USER_NS_BELOW : DIAGNOSIS_USER_NS_SAME;
		/* EPERM: the parent is no descendant of ours. */
		int parent = ioctl(fd, NS_GET_PARENT);
		if (parent < 0)
			return errno == EPERM ? DIAGNOSIS_USER_NS_OUTSIDE
					      : DIAGNOSIS_USER_NS_UNKNOWN;
		close(fd);
		fd = parent;
	}
	return DIAGNOSIS_USER_NS_UNKNOWN;
}

static bool is_descendant(const struct diagnosis *d)
{
	pid_t pid = d->target.parent;
	for (int level = 0; pid > 1 && level < ANCESTORS_MAX; level++) {
		if (pid == d->own_pid)
			return true;
		char path[64];
		struct diagnosis_task task;
		diagnosis_task_init(&task);
		snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
		if (!read_status(AT_FDCWD, path, &task))
			return false;
		pid = task.parent;
	}
	return false;
}

/* Class and machine are at the same place in both classes. */
static void read_elf(const struct process *process, struct diagnosis *d)
{
	Elf32_Ehdr header;
	_cleanup_close_ int fd = process_open_file(process, "exe", O_NONBLOCK);
	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return;
	d->elf_class = header.e_ident[EI_CLASS];
	d->elf_machine = header.e_machine;
}

static void gather_tracer(struct diagnosis *d)
{
	if (!d->target.tracer)
		return;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)d->target.tracer);
	read_line(AT_FDCWD, path, d->tracer_name);
}

static void gather_target(const struct process *process, pid_t tid, struct diagnosis *d)
{
	char path[64], text[4096];
	d->pid = process->pid;
	d->tid = tid;
	snprintf(path, sizeof(path), "task/%d/status", (int)tid);
	d->found = read_status(process->dir_fd, path, &d->target);
	if (!d->found)
		return;

	read_text(process->dir_fd, "stat", text, sizeof(text));
	d->kernel_thread = diagnosis_parse_kernel_thread(text);
	read_elf(process, d);
	struct stat st;
	d->owner_known = fstatat(process->dir_fd, "stat", &st, 0) == 0;
	if (d->owner_known)
		d->owner = st.st_uid;

	d->user_ns = find_user_ns(process->dir_fd);
	d->same_pid_ns = same_namespace(process->dir_fd, "ns/pid");
	d->same_mount_ns = same_namespace(process->dir_fd, "ns/mnt");
	d->descendant = is_descendant(d);
	gather_tracer(d);
	gather_label(process->dir_fd, "", d->target_label);
}

void diagnosis_gather(const struct process *process, pid_t tid, struct diagnosis *diagnosis_ret)
{
	diagnosis_init(diagnosis_ret);
	gather_self(diagnosis_ret);
	gather_child(diagnosis_ret);
	if (process)
		gather_target(process, tid, diagnosis_ret);
}

char diagnosis_read_state(const struct process *process, pid_t tid)
{
	char path[64];
	struct diagnosis_task task;
	diagnosis_task_init(&task);
	snprintf(path, sizeof(path), "task/%d/status", (int)tid);
	read_status(process->dir_fd, path, &task);
	return task.state;
}

struct error *diagnosis_explain_attach(const struct process *process, pid_t tid, int errnum)
{
	struct diagnosis d;
	diagnosis_gather(process, tid, &d);
	/* Success is no refusal; and an error is what the caller has come with. */
	if (!errnum)
		errnum = EPERM;
	return diagnosis_error(&d, diagnosis_decide(&d, errnum), errnum);
}

struct error *diagnosis_check_target(const struct process *process)
{
	struct diagnosis d;
	diagnosis_init(&d);
	gather_self(&d);
	gather_target(process, process->tid, &d);
	return diagnosis_error(&d, diagnosis_decide(&d, 0), 0);
}

struct error *diagnosis_explain_missing(pid_t pid)
{
	struct diagnosis d;
	diagnosis_init(&d);
	gather_self(&d);
	d.pid = pid;
	if (!d.proc_pid)
		return error_create(ERROR_PERMISSION,
				    "/proc is not mounted here, or is another PID namespace's: "
				    "pysample finds processes in it");
	if (d.proc_pid == d.own_pid && (kill(pid, 0) == 0 || errno == EPERM)) {
		char path[64], text[64];
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		read_text(AT_FDCWD, path, text, sizeof(text));
		return *text ? error_create(ERROR_GONE, "process %d has ended (zombie)", (int)pid)
			     : error_create(ERROR_PERMISSION,
					    "process %d exists, but /proc hides it (mounted with "
					    "hidepid); run pysample with sudo",
					    (int)pid);
	}
	return diagnosis_error(&d, diagnosis_decide(&d, ESRCH), ESRCH);
}
