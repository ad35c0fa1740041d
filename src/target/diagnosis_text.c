/* SPDX-License-Identifier: MIT */
/* diagnosis_text.c: the words for each cause. */
#include "target/diagnosis.h"

#include <inttypes.h>
#include <string.h>

#include "arch/arch.h"

/* Asking for more rights is no way out where NoNewPrivs forbids it. */
static void advise_privilege(const struct diagnosis *d, struct strbuf *advice)
{
	if (d->self.no_new_privs)
		strbuf_adds(advice,
			    "run pysample as root or with CAP_SYS_PTRACE from a shell without "
			    "NoNewPrivs (with it, sudo has no effect)");
	else
		strbuf_adds(advice, "run pysample with sudo or with CAP_SYS_PTRACE");
}

static void add_ids(struct strbuf *text, const char *name, const unsigned ids[3])
{
	if (ids[0] == ids[1] && ids[0] == ids[2])
		strbuf_addf(text, "%s %u", name, ids[0]);
	else
		strbuf_addf(text, "%s %u (effective %u, saved %u)", name, ids[0], ids[1], ids[2]);
}

static void describe_other_user(const struct diagnosis *d, struct strbuf *what,
				struct strbuf *advice)
{
	bool same_uid = true;
	for (int i = 0; i < 3; i++)
		same_uid = same_uid && d->target.uids[i] == d->self.uids[0];
	strbuf_adds(what,
		    same_uid ? "it runs with another group, " : "it belongs to another user, ");
	add_ids(what, same_uid ? "gid" : "uid", same_uid ? d->target.gids : d->target.uids);
	strbuf_addf(what, ", and pysample runs as %s %u without CAP_SYS_PTRACE",
		    same_uid ? "gid" : "uid", same_uid ? d->self.gids[0] : d->self.uids[0]);
	strbuf_adds(advice, same_uid ? "run pysample with that group, or "
				     : "run pysample as that user, or ");
	advise_privilege(d, advice);
}

static void describe_user_ns(const struct diagnosis *d, struct strbuf *what, struct strbuf *advice)
{
	if (d->user_ns == DIAGNOSIS_USER_NS_BELOW) {
		strbuf_adds(what, "it is in a user namespace below pysample's, of another owner");
		advise_privilege(d, advice);
		return;
	}
	strbuf_adds(what, "it is outside of pysample's user namespace, where pysample's "
			  "capabilities do not count");
	strbuf_addf(advice,
		    "run pysample in the target's own user namespace or in the initial one "
		    "(on the host, or \"nsenter --user --target %d\")",
		    (int)d->pid);
}

static void describe_tracer(const struct diagnosis *d, struct strbuf *what, struct strbuf *advice)
{
	if (!d->target.tracer)
		strbuf_adds(what, "it is traced by a process outside of this PID namespace");
	else if (*d->tracer_name)
		strbuf_addf(what, "it is traced by %s (pid %d)", d->tracer_name,
			    (int)d->target.tracer);
	else
		strbuf_addf(what, "it is traced by process %d", (int)d->target.tracer);
	strbuf_adds(advice, "end that tracer, or use --nonblocking, which reads without stopping");
}

static void describe_label(const struct diagnosis *d, struct strbuf *what, struct strbuf *advice)
{
	strbuf_addf(what, "%s does not allow it (pysample: \"%s\", target: \"%s\")",
		    diagnosis_lsm_name(d->lsm), d->label, d->target_label);
	if (d->lsm == DIAGNOSIS_LSM_APPARMOR)
		strbuf_adds(advice,
			    "run pysample unconfined, or allow \"ptrace (trace, read)\" in its "
			    "profile and \"ptrace (tracedby, readby)\" in the target's");
	else if (d->lsm == DIAGNOSIS_LSM_SELINUX)
		strbuf_adds(advice,
			    "see \"ausearch -m avc -c pysample\"; if the boolean deny_ptrace is "
			    "on, \"sudo setsebool deny_ptrace off\"");
	else
		strbuf_adds(advice, "run pysample under the target's label");
}

static void describe_capabilities(const struct diagnosis *d, struct strbuf *what,
				  struct strbuf *advice)
{
	strbuf_addf(what,
		    "it holds capabilities that pysample does not have (CapPrm %016" PRIx64 ")",
		    d->target.cap_permitted & ~d->self.cap_permitted);
	advise_privilege(d, advice);
}

static void describe_seccomp(const struct diagnosis *d, struct strbuf *what, struct strbuf *advice)
{
	strbuf_addf(what, "pysample itself runs under a seccomp filter that forbids %s",
		    d->child_attach == 0 && d->child_readv > 0 ? "process_vm_readv" : "ptrace");
	strbuf_adds(advice,
		    "start its container with \"--cap-add SYS_PTRACE\" (or "
		    "\"--security-opt seccomp=unconfined\"), or run pysample outside of it");
}

static void describe_yama(const struct diagnosis *d, enum diagnosis_cause cause,
			  struct strbuf *what, struct strbuf *advice)
{
	strbuf_addf(what, "Yama (kernel.yama.ptrace_scope = %d) allows ", d->yama);
	if (cause == DIAGNOSIS_YAMA_CHILDREN) {
		strbuf_adds(what, "attaching to pysample's own children only");
		strbuf_adds(advice, "launch the program with \"pysample -- PROGRAM\", or "
				    "\"sudo sysctl kernel.yama.ptrace_scope=0\", or ");
		advise_privilege(d, advice);
	} else if (cause == DIAGNOSIS_YAMA_ADMIN) {
		strbuf_adds(what, "attaching with CAP_SYS_PTRACE only");
		strbuf_adds(advice, "\"sudo sysctl kernel.yama.ptrace_scope=0\" (with 1, "
				    "\"pysample -- PROGRAM\" works), or ");
		advise_privilege(d, advice);
	} else {
		strbuf_adds(what, "no process to attach, not even root's");
		strbuf_adds(advice,
			    "this level cannot be lowered at run time: set "
			    "kernel.yama.ptrace_scope to 0 or 1 in /etc/sysctl.d and reboot");
	}
}

static void describe_undumpable(const struct diagnosis *d, bool certain, struct strbuf *what,
				struct strbuf *advice)
{
	strbuf_addf(what,
		    "it is %snot dumpable (set-user-ID, file capabilities, an executable that "
		    "is not readable, or prctl PR_SET_DUMPABLE), so only CAP_SYS_PTRACE may look",
		    certain ? "" : "most likely ");
	advise_privilege(d, advice);
}

static void describe_gone(const struct diagnosis *d, struct strbuf *what, struct strbuf *advice)
{
	if (d->tid && d->tid != d->pid)
		strbuf_addf(what, "its thread %d has ended", (int)d->tid);
	else
		strbuf_adds(what, "there is no such process");
	if (!d->initial_pid_ns)
		strbuf_adds(advice,
			    "inside a container or PID namespace, use the id that it has in here");
}

void diagnosis_describe(const struct diagnosis *d, enum diagnosis_cause cause, int errnum,
			struct strbuf *what, struct strbuf *advice)
{
	switch (cause) {
	case DIAGNOSIS_NONE:
		strbuf_adds(what, "nothing is in the way");
		break;
	case DIAGNOSIS_GONE:
		describe_gone(d, what, advice);
		break;
	case DIAGNOSIS_FOREIGN_PROC:
		strbuf_addf(what,
			    "/proc belongs to another PID namespace than pysample (pysample is "
			    "%d, in /proc it is %d)",
			    (int)d->own_pid, (int)d->proc_pid);
		strbuf_adds(advice,
			    "mount a /proc of this namespace (\"unshare --mount-proc\"), or run "
			    "pysample where /proc belongs");
		break;
	case DIAGNOSIS_SELF:
		strbuf_adds(what, "it is pysample itself");
		break;
	case DIAGNOSIS_KERNEL_THREAD:
		strbuf_addf(what, "it is a kernel thread (%s), without memory of its own",
			    d->target.name);
		break;
	case DIAGNOSIS_ZOMBIE:
		strbuf_adds(what, d->tid && d->tid != d->pid ? "its thread " : "it ");
		if (d->tid && d->tid != d->pid)
			strbuf_addf(what, "%d ", (int)d->tid);
		strbuf_adds(what, "has ended and waits to be collected (zombie)");
		break;
	case DIAGNOSIS_ELF32:
		strbuf_adds(what, "it is a 32-bit process, which pysample does not support");
		strbuf_adds(advice, "run the program with a 64-bit Python");
		break;
	case DIAGNOSIS_MACHINE:
		strbuf_addf(what, "it is a process of another CPU (%s)",
			    arch_machine_name(d->elf_machine));
		strbuf_addf(advice, "use a pysample built for that CPU; this one is for %s",
			    arch_host()->name);
		break;
	case DIAGNOSIS_SECCOMP:
		describe_seccomp(d, what, advice);
		break;
	case DIAGNOSIS_NO_PTRACE:
		strbuf_addf(what, "ptrace does not work here, not even on a child of pysample (%s)",
			    strerror(d->child_attach));
		strbuf_adds(advice, "run pysample outside of this sandbox");
		break;
	case DIAGNOSIS_USER_NS:
		describe_user_ns(d, what, advice);
		break;
	case DIAGNOSIS_OTHER_USER:
		describe_other_user(d, what, advice);
		break;
	case DIAGNOSIS_NOT_DUMPABLE:
	case DIAGNOSIS_MAYBE_UNDUMPABLE:
		describe_undumpable(d, cause == DIAGNOSIS_NOT_DUMPABLE, what, advice);
		break;
	case DIAGNOSIS_CAPABILITIES:
		describe_capabilities(d, what, advice);
		break;
	case DIAGNOSIS_YAMA_CHILDREN:
	case DIAGNOSIS_YAMA_ADMIN:
	case DIAGNOSIS_YAMA_OFF:
		describe_yama(d, cause, what, advice);
		break;
	case DIAGNOSIS_TRACER:
		describe_tracer(d, what, advice);
		break;
	case DIAGNOSIS_LABEL:
		describe_label(d, what, advice);
		break;
	case DIAGNOSIS_UNEXPLAINED:
		strbuf_addf(what, "the kernel refused it (%s) for none of the known causes",
			    strerror(errnum));
		strbuf_adds(advice, "look for a sandbox around pysample (Landlock, a BPF security "
				    "module, gVisor), or run it as root on the host");
		break;
	case DIAGNOSIS_ERRNO:
		strbuf_adds(what, strerror(errnum));
		break;
	}
}

static enum error_code error_code_of(enum diagnosis_cause cause)
{
	switch (cause) {
	case DIAGNOSIS_GONE:
	case DIAGNOSIS_ZOMBIE:
		return ERROR_GONE;
	case DIAGNOSIS_SELF:
	case DIAGNOSIS_KERNEL_THREAD:
	case DIAGNOSIS_ELF32:
	case DIAGNOSIS_MACHINE:
		return ERROR_UNSUPPORTED;
	case DIAGNOSIS_ERRNO:
		return ERROR_ERRNO;
	default:
		return ERROR_PERMISSION;
	}
}

struct error *diagnosis_error(const struct diagnosis *d, enum diagnosis_cause cause, int errnum)
{
	if (!cause)
		return NULL;
	_cleanup_strbuf_ struct strbuf what = { 0 };
	_cleanup_strbuf_ struct strbuf advice = { 0 };
	diagnosis_describe(d, cause, errnum, &what, &advice);
	if (what.failed || advice.failed)
		return error_no_memory();
	struct error *err =
		error_create(error_code_of(cause), "cannot attach to process %d: %s%s%s",
			     (int)d->pid, what.text, advice.length ? "; " : "",
			     advice.length ? advice.text : "");
	if (err->code != ERROR_NO_MEMORY)
		err->errnum = errnum;
	return err;
}
