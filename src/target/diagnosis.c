/* SPDX-License-Identifier: MIT */
/* diagnosis.c: parsing of facts and the decision. No system calls here. */
#include "target/diagnosis.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "arch/arch.h"

#define PF_KTHREAD                                                                                 \
	0x00200000 /* include/linux/sched.h; field 9 of /proc/TID/stat shows these flags */

void diagnosis_task_init(struct diagnosis_task *task)
{
	*task = (struct diagnosis_task){ .seccomp = -1 };
}

void diagnosis_init(struct diagnosis *diagnosis)
{
	*diagnosis = (struct diagnosis){ .yama = -1, .child_attach = -1, .child_readv = -1 };
	diagnosis_task_init(&diagnosis->self);
	diagnosis_task_init(&diagnosis->target);
}

void diagnosis_copy_line(const char *text, char copy_ret[DIAGNOSIS_TEXT])
{
	size_t n = 0;
	for (; text[n] && text[n] != '\n' && n < DIAGNOSIS_TEXT - 1; n++) {
		unsigned char c = (unsigned char)text[n];
		copy_ret[n] = c < ' ' || c == 0x7f ? '?' : text[n];
	}
	copy_ret[n] = '\0';
}

static void parse_ids(const char *value, unsigned ids[3])
{
	unsigned parsed[3];
	if (sscanf(value, "%u %u %u", &parsed[0], &parsed[1], &parsed[2]) == 3)
		memcpy(ids, parsed, sizeof(parsed));
}

static void parse_nspid(const char *value, struct diagnosis_task *task)
{
	int pid, used;
	while (sscanf(value, "%d%n", &pid, &used) == 1) {
		task->pid_levels++;
		task->pid_innermost = pid;
		value += used;
	}
}

static void parse_status_field(const char *name, size_t length, const char *value,
			       struct diagnosis_task *task)
{
#define IS(text) (length == strlen(text) && memcmp(name, text, length) == 0)
	if (IS("Name"))
		diagnosis_copy_line(value, task->name);
	else if (IS("State"))
		task->state = *value;
	else if (IS("Tgid"))
		task->process = (pid_t)strtol(value, NULL, 10);
	else if (IS("PPid"))
		task->parent = (pid_t)strtol(value, NULL, 10);
	else if (IS("TracerPid"))
		task->tracer = (pid_t)strtol(value, NULL, 10);
	else if (IS("Uid"))
		parse_ids(value, task->uids);
	else if (IS("Gid"))
		parse_ids(value, task->gids);
	else if (IS("CapPrm"))
		task->cap_permitted = strtoull(value, NULL, 16);
	else if (IS("CapEff"))
		task->cap_effective = strtoull(value, NULL, 16);
	else if (IS("NoNewPrivs"))
		task->no_new_privs = *value == '1';
	else if (IS("Seccomp"))
		task->seccomp = (int)strtol(value, NULL, 10);
	else if (IS("Threads"))
		task->threads = (unsigned)strtoul(value, NULL, 10);
	else if (IS("NSpid"))
		parse_nspid(value, task);
#undef IS
}

void diagnosis_parse_status(const char *text, struct diagnosis_task *task)
{
	/* A line at a time, each cut out first: a number's parser would skip a newline as a blank.
	 */
	while (*text) {
		size_t length = strcspn(text, "\n");
		char line[DIAGNOSIS_TEXT];
		snprintf(line, sizeof(line), "%.*s",
			 (int)(length < sizeof(line) ? length : sizeof(line)), text);
		char *colon = strchr(line, ':');
		if (colon)
			parse_status_field(line, (size_t)(colon - line),
					   colon + 1 + strspn(colon + 1, " \t"), task);
		text += length + (text[length] == '\n');
	}
}

bool diagnosis_parse_kernel_thread(const char *stat)
{
	/* The name before the last ')' may hold anything. */
	const char *p = strrchr(stat, ')');
	unsigned long flags;
	return p && sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 &&
	       (flags & PF_KTHREAD);
}

bool diagnosis_parse_initial_map(const char *uid_map)
{
	uint32_t inside, outside, count;
	int used = 0;
	if (sscanf(uid_map, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %n", &inside, &outside, &count,
		   &used) != 3)
		return false;
	return inside == 0 && outside == 0 && count == UINT32_MAX && !uid_map[used];
}

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *p = list; (p = strstr(p, word)); p += length) {
		bool starts = p == list || p[-1] == ',';
		if (starts && (!p[length] || p[length] == ',' || p[length] == '\n'))
			return true;
	}
	return false;
}

enum diagnosis_lsm diagnosis_parse_lsm(const char *modules, const char *label)
{
	if (!*label)
		return DIAGNOSIS_LSM_NONE;
	if (has_word(modules, "apparmor"))
		return DIAGNOSIS_LSM_APPARMOR;
	if (has_word(modules, "selinux"))
		return DIAGNOSIS_LSM_SELINUX;
	if (has_word(modules, "smack"))
		return DIAGNOSIS_LSM_SMACK;
	if (*modules)
		return DIAGNOSIS_LSM_OTHER;

	/* "unconfined" or "profile (mode)"; "user:role:type:level"; anything else is Smack's. */
	size_t length = strlen(label);
	if (strcmp(label, "unconfined") == 0 || (label[length - 1] == ')' && strstr(label, " (")))
		return DIAGNOSIS_LSM_APPARMOR;
	const char *colon = strchr(label, ':');
	return colon && strchr(colon + 1, ':') ? DIAGNOSIS_LSM_SELINUX : DIAGNOSIS_LSM_SMACK;
}

const char *diagnosis_lsm_name(enum diagnosis_lsm lsm)
{
	static const char *const names[] = {
		[DIAGNOSIS_LSM_NONE] = "no security module", [DIAGNOSIS_LSM_APPARMOR] = "AppArmor",
		[DIAGNOSIS_LSM_SELINUX] = "SELinux",         [DIAGNOSIS_LSM_SMACK] = "Smack",
		[DIAGNOSIS_LSM_OTHER] = "a security module",
	};
	return names[lsm];
}

bool diagnosis_has_cap(const struct diagnosis_task *task, unsigned cap)
{
	return task->cap_effective >> cap & 1;
}

/* Our CAP_SYS_PTRACE counts where the target is. */
static bool is_privileged(const struct diagnosis *d)
{
	if (!diagnosis_has_cap(&d->self, DIAGNOSIS_CAP_SYS_PTRACE))
		return false;
	return d->user_ns == DIAGNOSIS_USER_NS_SAME || d->user_ns == DIAGNOSIS_USER_NS_BELOW ||
	       (d->user_ns == DIAGNOSIS_USER_NS_UNKNOWN && d->initial_user_ns);
}

/* The kernel compares our real ids with all three of the target. */
static bool is_same_user(const struct diagnosis *d)
{
	for (int i = 0; i < 3; i++) {
		if (d->target.uids[i] != d->self.uids[0] || d->target.gids[i] != d->self.gids[0])
			return false;
	}
	return true;
}

/* AppArmor's "unconfined" and "(complain)" forbid nothing; of the others only two different labels
 * can be in the way. */
static bool is_confined(const struct diagnosis *d)
{
	if (d->lsm == DIAGNOSIS_LSM_NONE || d->lsm_permissive)
		return false;
	if (d->lsm == DIAGNOSIS_LSM_APPARMOR)
		return strstr(d->label, "(enforce)") || strstr(d->target_label, "(enforce)");
	return *d->target_label && strcmp(d->label, d->target_label) != 0;
}

static enum diagnosis_cause decide_target(const struct diagnosis *d, int errnum)
{
	if (d->proc_pid && d->proc_pid != d->own_pid)
		return DIAGNOSIS_FOREIGN_PROC;
	if (!d->found || errnum == ESRCH)
		return DIAGNOSIS_GONE;
	if (d->target.process && d->target.process == d->own_pid)
		return DIAGNOSIS_SELF;
	if (d->kernel_thread)
		return DIAGNOSIS_KERNEL_THREAD;
	if (d->target.state == 'Z' || d->target.state == 'X')
		return DIAGNOSIS_ZOMBIE;
	if (d->elf_class == ELFCLASS32)
		return DIAGNOSIS_ELF32;
	if (d->elf_machine && d->elf_machine != arch_host()->elf_machine)
		return DIAGNOSIS_MACHINE;
	return DIAGNOSIS_NONE;
}

static enum diagnosis_cause decide_yama(const struct diagnosis *d, bool privileged)
{
	if (d->yama >= 3)
		return DIAGNOSIS_YAMA_OFF;
	if (d->yama == 2 && !privileged)
		return DIAGNOSIS_YAMA_ADMIN;
	if (d->yama == 1 && !privileged && !d->descendant)
		return DIAGNOSIS_YAMA_CHILDREN;
	return DIAGNOSIS_NONE;
}

/* Attaching does not even work on a child of ours. */
static enum diagnosis_cause decide_machine(const struct diagnosis *d)
{
	enum diagnosis_cause yama =
		d->yama >= 2 ? decide_yama(d, is_privileged(d)) : DIAGNOSIS_NONE;
	if (yama)
		return yama;
	if (d->self.seccomp > 0)
		return DIAGNOSIS_SECCOMP;
	return *d->label && is_confined(d) ? DIAGNOSIS_LABEL : DIAGNOSIS_NO_PTRACE;
}

static enum diagnosis_cause decide_credentials(const struct diagnosis *d)
{
	/* A capability that does not count there. */
	bool in_other_ns = d->user_ns == DIAGNOSIS_USER_NS_OUTSIDE ||
			   (d->user_ns == DIAGNOSIS_USER_NS_UNKNOWN &&
			    diagnosis_has_cap(&d->self, DIAGNOSIS_CAP_SYS_PTRACE));
	if (in_other_ns)
		return DIAGNOSIS_USER_NS;
	if (!is_same_user(d))
		return DIAGNOSIS_OTHER_USER;
	/* A dumpable process's files belong to its effective user. */
	if (d->owner_known && d->owner != d->target.uids[1])
		return DIAGNOSIS_NOT_DUMPABLE;
	if (d->user_ns == DIAGNOSIS_USER_NS_BELOW)
		return DIAGNOSIS_NONE;
	if (d->target.cap_permitted & ~d->self.cap_permitted)
		return DIAGNOSIS_CAPABILITIES;
	return DIAGNOSIS_NONE;
}

/* The order is the kernel's: credentials and dumpable, then Yama and other modules, the other
 * tracer last. */
static enum diagnosis_cause decide_refused(const struct diagnosis *d)
{
	bool privileged = is_privileged(d);
	enum diagnosis_cause cause = privileged ? DIAGNOSIS_NONE : decide_credentials(d);
	if (!cause)
		cause = decide_yama(d, privileged);
	if (cause)
		return cause;
	/* A tracer outside of our PID namespace is shown as 0; the state betrays it. */
	if (d->target.tracer || d->target.state == 't')
		return DIAGNOSIS_TRACER;
	if (d->child_readv > 0 && d->self.seccomp > 0)
		return DIAGNOSIS_SECCOMP;
	if (is_confined(d))
		return DIAGNOSIS_LABEL;
	if (!privileged && d->user_ns == DIAGNOSIS_USER_NS_BELOW)
		return DIAGNOSIS_USER_NS;
	if (!privileged && d->target.uids[1] == 0)
		return DIAGNOSIS_MAYBE_UNDUMPABLE;
	return DIAGNOSIS_UNEXPLAINED;
}

enum diagnosis_cause diagnosis_decide(const struct diagnosis *d, int errnum)
{
	enum diagnosis_cause cause = decide_target(d, errnum);
	if (cause || !errnum)
		return cause;
	if (d->child_attach > 0)
		return decide_machine(d);
	if (errnum == ENOSYS && d->self.seccomp > 0)
		return DIAGNOSIS_SECCOMP;
	if (errnum != EPERM && errnum != EACCES)
		return DIAGNOSIS_ERRNO;
	return decide_refused(d);
}
