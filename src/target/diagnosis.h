/* SPDX-License-Identifier: MIT */
/*
 * diagnosis.h: why the system does not let us look at a process.
 *
 * Facts are gathered from /proc and by trying (diagnosis_gather), texts of /proc are parsed by
 * functions of their own, and which cause it is follows from the facts alone (diagnosis_decide), in
 * the order in which the kernel asks: ptrace_attach() and
 * __ptrace_may_access() in kernel/ptrace.c. Each cause has one sentence that names it and one that
 * says what to do.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "target/process.h"

#define DIAGNOSIS_TEXT 256 /* bytes kept of a name or a security label */

/* Bit numbers in CapEff, linux/capability.h. */
#define DIAGNOSIS_CAP_SYS_PTRACE         19
#define DIAGNOSIS_CAP_SYS_ADMIN          21
#define DIAGNOSIS_CAP_PERFMON            38
#define DIAGNOSIS_CAP_CHECKPOINT_RESTORE 40

/* What /proc/TID/status says of one task. Ids in the order real, effective, saved. */
struct diagnosis_task {
	char name[DIAGNOSIS_TEXT];
	char state; /* R, S, D, T, t, Z, X, I; 0: not known */
	pid_t process;
	pid_t parent;
	pid_t tracer; /* 0: none that we can see */
	uid_t uids[3];
	gid_t gids[3];
	uint64_t cap_permitted;
	uint64_t cap_effective;
	bool no_new_privs;
	int seccomp;         /* 0 none, 1 strict, 2 filter, -1 not told */
	unsigned threads;    /* 0: not told */
	unsigned pid_levels; /* how many ids NSpid lists, outermost first; 0: not told */
	pid_t pid_innermost; /* the last of them */
};

/* Where the target's user namespace is, seen from ours. */
enum diagnosis_user_ns {
	DIAGNOSIS_USER_NS_UNKNOWN, /* its link is not readable for us */
	DIAGNOSIS_USER_NS_SAME,
	DIAGNOSIS_USER_NS_BELOW, /* ours is an ancestor of it: our capabilities count there */
	DIAGNOSIS_USER_NS_OUTSIDE,
};

enum diagnosis_lsm {
	DIAGNOSIS_LSM_NONE,
	DIAGNOSIS_LSM_APPARMOR,
	DIAGNOSIS_LSM_SELINUX,
	DIAGNOSIS_LSM_SMACK,
	DIAGNOSIS_LSM_OTHER,
};

/* The facts. All zero but for the -1s of diagnosis_init. */
struct diagnosis {
	pid_t pid; /* the process asked for, and the thread of it that was tried */
	pid_t tid;
	bool found; /* target holds facts */
	struct diagnosis_task self;
	struct diagnosis_task target;

	pid_t own_pid;  /* getpid(), and what /proc/self says: they differ where /proc shows another
			   PID namespace */
	pid_t proc_pid; /* 0: there is no /proc */
	bool initial_user_ns; /* ours is the initial one */
	bool initial_pid_ns;
	enum diagnosis_user_ns user_ns;
	bool same_pid_ns, same_mount_ns; /* false where unknown */

	bool kernel_thread;
	int elf_class;        /* ELFCLASS32, ELFCLASS64, 0: not known */
	uint16_t elf_machine; /* e_machine, 0: not known */
	uid_t owner; /* of /proc/TID/stat, where owner_known: root's for a process that is not
			  dumpable */
	bool owner_known;
	bool descendant;                  /* of pysample */
	char tracer_name[DIAGNOSIS_TEXT]; /* program of target.tracer; "" if not known */
	int yama;                         /* ptrace_scope, -1: no Yama */
	enum diagnosis_lsm lsm;
	bool lsm_permissive;        /* SELinux only logs */
	char label[DIAGNOSIS_TEXT]; /* /proc/…/attr/current of pysample and of the target */
	char target_label[DIAGNOSIS_TEXT];

	/* The same operations on a child of ours: errno, 0 if it worked, -1 if not tried. */
	int child_attach;
	int child_readv;
};

enum diagnosis_cause {
	DIAGNOSIS_NONE,
	DIAGNOSIS_GONE,
	DIAGNOSIS_FOREIGN_PROC,  /* /proc shows another PID namespace than ours */
	DIAGNOSIS_SELF,          /* pysample itself */
	DIAGNOSIS_KERNEL_THREAD, /* no memory of its own */
	DIAGNOSIS_ZOMBIE,
	DIAGNOSIS_ELF32,
	DIAGNOSIS_MACHINE,
	DIAGNOSIS_SECCOMP,   /* our own filter */
	DIAGNOSIS_NO_PTRACE, /* not even a child can be attached to, and there is no filter */
	DIAGNOSIS_USER_NS, /* the target is in a user namespace in which we have no capabilities */
	DIAGNOSIS_OTHER_USER, /* user or group ids differ */
	DIAGNOSIS_NOT_DUMPABLE,
	DIAGNOSIS_CAPABILITIES, /* the target holds some that we do not */
	DIAGNOSIS_YAMA_CHILDREN,
	DIAGNOSIS_YAMA_ADMIN,
	DIAGNOSIS_YAMA_OFF,
	DIAGNOSIS_TRACER,
	DIAGNOSIS_LABEL,            /* a security module's label */
	DIAGNOSIS_MAYBE_UNDUMPABLE, /* the last that is left for a process of root, which hides it
				     */
	DIAGNOSIS_UNEXPLAINED,      /* refused, and none of the above */
	DIAGNOSIS_ERRNO,            /* another errno than those of a refusal */
};

void diagnosis_init(struct diagnosis *diagnosis);

/* Parsers of texts as the kernel writes them. What is not there stays as diagnosis_task_init left
 * it. */
void diagnosis_task_init(struct diagnosis_task *task);
void diagnosis_parse_status(const char *text, struct diagnosis_task *task);
/* PF_KTHREAD in the flags of /proc/TID/stat. */
bool diagnosis_parse_kernel_thread(const char *stat);
/* /proc/self/uid_map of the initial user namespace: every id mapped to itself. */
bool diagnosis_parse_initial_map(const char *uid_map);
/*
 * Which module a label is of. @modules is /sys/kernel/security/lsm ("" where that is not to be
 * read): then the label's shape decides.
 */
enum diagnosis_lsm diagnosis_parse_lsm(const char *modules, const char *label);
const char *diagnosis_lsm_name(enum diagnosis_lsm lsm);
/* A copy of one line, at most DIAGNOSIS_TEXT - 1 bytes, control characters replaced by '?'. */
void diagnosis_copy_line(const char *text, char copy_ret[DIAGNOSIS_TEXT]);

bool diagnosis_has_cap(const struct diagnosis_task *task, unsigned cap);

/*
 * The cause of @errnum, which attaching or reading answered. With 0: DIAGNOSIS_NONE, or what makes
 * the target none for us though the system would allow it (pysample itself, a kernel thread, a
 * zombie, a 32-bit process).
 */
enum diagnosis_cause diagnosis_decide(const struct diagnosis *diagnosis, int errnum);
/* The cause with the facts in it, and what the user can do ("" if nothing), each without a full
 * stop. */
void diagnosis_describe(const struct diagnosis *diagnosis, enum diagnosis_cause cause, int errnum,
			struct strbuf *what, struct strbuf *advice);
/* The one-line error for a cause; NULL for DIAGNOSIS_NONE. */
struct error *diagnosis_error(const struct diagnosis *diagnosis, enum diagnosis_cause cause,
			      int errnum);

/* diagnosis_gather.c: the facts about @process and @tid of it (NULL and 0: about pysample and the
 * machine alone). */
void diagnosis_gather(const struct process *process, pid_t tid, struct diagnosis *diagnosis_ret);

/* State letter of a thread, 0 if it is gone. */
char diagnosis_read_state(const struct process *process, pid_t tid);

/* After a failed attach or a refused read: what stands in the way. Never NULL. */
struct error *diagnosis_explain_attach(const struct process *process, pid_t tid, int errnum);
/* Before the first attach: refuses pysample itself, kernel threads, zombies and 32-bit processes by
 * name. */
struct error *diagnosis_check_target(const struct process *process);
/* After process_open found no process @pid: never existed, or hidden from us. Never NULL. */
struct error *diagnosis_explain_missing(pid_t pid);
