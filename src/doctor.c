/* SPDX-License-Identifier: MIT */
/* doctor.c: what can be sampled here, and what stands in the way. */
#include "doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "doctor_python.h"
#include "doctor_cpu.h"
#include "doctor_report.h"
#include "target/diagnosis.h"
#include "target/process.h"
#include "target/stop.h"
#include "target/trial.h"

static const char *yes_no(bool yes)
{
	return yes ? "yes" : "no";
}

static void add_machine(struct report *report)
{
	struct utsname name;
	if (uname(&name) == 0)
		report_add(report, FINDING_NOTE, "kernel", "%s %s %s, %ld CPUs", name.sysname,
			   name.release, name.machine, sysconf(_SC_NPROCESSORS_ONLN));
}

static void add_capabilities(struct report *report, const struct diagnosis *d)
{
	bool can_trace = diagnosis_has_cap(&d->self, DIAGNOSIS_CAP_SYS_PTRACE);
	report_add(report, FINDING_NOTE, "user", "uid %u, gid %u", d->self.uids[0],
		   d->self.gids[0]);
	report_add(report, FINDING_NOTE, "capabilities",
		   "SYS_PTRACE %s, SYS_ADMIN %s, PERFMON %s, CHECKPOINT_RESTORE %s%s",
		   yes_no(can_trace), yes_no(diagnosis_has_cap(&d->self, DIAGNOSIS_CAP_SYS_ADMIN)),
		   yes_no(diagnosis_has_cap(&d->self, DIAGNOSIS_CAP_PERFMON)),
		   yes_no(diagnosis_has_cap(&d->self, DIAGNOSIS_CAP_CHECKPOINT_RESTORE)),
		   can_trace ? "" : ": without SYS_PTRACE only processes of the same user");
}

static void add_cause(struct report *report, const char *what, const struct diagnosis *d,
		      enum diagnosis_cause cause, int errnum)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	_cleanup_strbuf_ struct strbuf advice = { 0 };
	diagnosis_describe(d, cause, errnum, &text, &advice);
	struct finding *finding =
		report_add(report, FINDING_NO, what, "%s", text.text ? text.text : "");
	if (advice.length)
		finding_advise(finding, "%s", advice.text);
}

static void add_yama(struct report *report, const struct diagnosis *d)
{
	bool can_trace = diagnosis_has_cap(&d->self, DIAGNOSIS_CAP_SYS_PTRACE);
	if (d->yama < 0)
		report_add(report, FINDING_OK, "Yama", "not in this kernel");
	else if (d->yama == 0 || (d->yama < 3 && can_trace))
		report_add(report, FINDING_OK, "Yama", "kernel.yama.ptrace_scope = %d%s", d->yama,
			   d->yama ? ", which CAP_SYS_PTRACE overrides" : "");
	else
		add_cause(report, "Yama", d,
			  d->yama == 1   ? DIAGNOSIS_YAMA_CHILDREN
			  : d->yama == 2 ? DIAGNOSIS_YAMA_ADMIN
					 : DIAGNOSIS_YAMA_OFF,
			  EPERM);
}

static unsigned long namespace_id(const char *name)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	return stat(path, &st) ? 0 : (unsigned long)st.st_ino;
}

static void add_namespaces(struct report *report, const struct diagnosis *d)
{
	report_add(report, FINDING_NOTE, "user namespace", "%lu%s", namespace_id("user"),
		   d->initial_user_ns
			   ? ", the initial one"
			   : ", not the initial one: capabilities count only inside of it");
	if (d->proc_pid != d->own_pid)
		add_cause(report, "PID namespace", d, DIAGNOSIS_FOREIGN_PROC, EPERM);
	else
		report_add(report, FINDING_NOTE, "PID namespace", "%lu%s", namespace_id("pid"),
			   d->initial_pid_ns
				   ? ", the initial one"
				   : ", not the initial one: processes outside are not to be seen");
	report_add(report, FINDING_NOTE, "mount namespace", "%lu", namespace_id("mnt"));
}

static void add_sandbox(struct report *report, const struct diagnosis *d)
{
	static const char *const modes[] = { "none", "strict", "filter" };
	const char *mode = d->self.seccomp < 0   ? "not told"
			   : d->self.seccomp < 3 ? modes[d->self.seccomp]
						 : "unknown";
	report_add(report, FINDING_NOTE, "NoNewPrivs", "%s%s", yes_no(d->self.no_new_privs),
		   d->self.no_new_privs ? ": sudo has no effect here" : "");
	report_add(report, FINDING_NOTE, "seccomp", "%s%s", mode,
		   d->self.seccomp > 0 ? ": what it forbids shows in the trials" : "");
	if (d->lsm == DIAGNOSIS_LSM_NONE)
		report_add(report, FINDING_NOTE, "security module", "no label");
	else
		report_add(report, FINDING_NOTE, "security module", "%s, label \"%s\"%s",
			   diagnosis_lsm_name(d->lsm), d->label,
			   d->lsm_permissive ? ", permissive" : "");
}

/* The ways to read memory serve instead of each other: only without any is one in the way. */
static void add_reading(struct report *report, const struct trial *trial)
{
	static const char instead[] = "the other ways of reading serve instead";
	bool readable = trial->attach == 0 || trial->readv == 0 || trial->mem_file == 0;
	enum finding_level level = readable ? FINDING_NOTE : FINDING_NO;
	if (trial->readv == 0)
		report_add(report, FINDING_OK, "process_vm_readv", "works");
	else if (trial->readv > 0)
		report_add(report, level, "process_vm_readv", "%s%s%s", strerror(trial->readv),
			   readable ? ": " : "", readable ? instead : "");
	if (trial->mem_file == 0)
		report_add(report, FINDING_OK, "/proc/PID/mem", "works");
	else if (trial->mem_file > 0)
		report_add(report, level, "/proc/PID/mem", "%s%s%s", strerror(trial->mem_file),
			   readable ? ": " : "", readable ? instead : "");
}

static void add_optional(struct report *report, const char *what, int errnum, const char *without)
{
	if (errnum == 0)
		report_add(report, FINDING_OK, what, "works");
	else if (errnum > 0)
		report_add(report, FINDING_NOTE, what, "%s: %s", strerror(errnum), without);
}

static void add_trials(struct report *report, const struct trial *trial)
{
	add_reading(report, trial);
	add_optional(
		report, "/proc syscall", trial->syscall_file,
		"sleeping threads are told from running ones by their state, and stopped once");
	add_optional(report, "/proc schedstat", trial->schedstat,
		     "CPU time comes from stat, in scheduler ticks");
	add_optional(
		report, "/proc map_files", trial->map_files,
		"a deleted or replaced file is read through /proc/PID/exe or from memory (opening "
		"it takes CAP_CHECKPOINT_RESTORE)");
}

static void add_attach(struct report *report, const struct diagnosis *d, const struct trial *trial,
		       const char *whom)
{
	if (trial->attach == 0) {
		report_add(report, FINDING_OK, "attach", "%s was stopped and let go", whom);
	} else if (trial->attach == ETIMEDOUT) {
		finding_advise(report_add(report, FINDING_NO, "attach",
					  "%s did not stop (uninterruptible sleep?)", whom),
			       "try again, or use --nonblocking");
	} else {
		add_cause(report, "attach", d, diagnosis_decide(d, trial->attach), trial->attach);
	}
}

static void try_child(struct report *report, struct stopper *stopper)
{
	pid_t child = trial_start_child();
	if (child < 0) {
		report_add(report, FINDING_NO, "attach", "no child could be started: %s",
			   strerror(errno));
		return;
	}
	struct process *process = NULL;
	_cleanup_error_ struct error *err = process_open(child, &process);
	if (err) {
		report_add(report, FINDING_NO, "attach", "%s", err->message);
	} else {
		struct diagnosis d;
		struct trial trial;
		diagnosis_gather(process, process->tid, &d);
		trial_run(process, process->tid, stopper, &trial);
		add_attach(report, &d, &trial, "a child of pysample");
		add_trials(report, &trial);
		process_close(process);
	}
	trial_end_child(child);
}

static void diagnose_system(struct report *report, const struct diagnosis *d,
			    struct stopper *stopper)
{
	report->section = "system";
	add_machine(report);
	add_capabilities(report, d);
	add_yama(report, d);
	add_namespaces(report, d);
	add_sandbox(report, d);
	try_child(report, stopper);
}

static void add_threads(struct report *report, const struct process *process,
			const struct diagnosis *d)
{
	_cleanup_free_ pid_t *tids = NULL;
	size_t count = 0;
	_cleanup_error_ struct error *err = process_list_threads(process, &tids, &count);
	if (err) {
		report_add(report, FINDING_NO, "threads", "%s", err->message);
		return;
	}
	static const char letters[] = "RSDTtZXI";
	unsigned counts[sizeof(letters)] = { 0 };
	for (size_t i = 0; i < count; i++) {
		char state = diagnosis_read_state(process, tids[i]);
		const char *letter = state ? strchr(letters, state) : NULL;
		if (letter)
			counts[letter - letters]++;
	}
	_cleanup_strbuf_ struct strbuf text = { 0 };
	for (size_t i = 0; letters[i]; i++)
		if (counts[i])
			strbuf_addf(&text, "%s%u %c", text.length ? ", " : "", counts[i],
				    letters[i]);
	report_add(report, FINDING_NOTE, "threads", "%zu (%s)%s", count,
		   text.length ? text.text : "all ended",
		   d->target.state == 'T' ? ": stopped by job control, and stays so" : "");
}

static void add_protection(struct report *report, const struct diagnosis *d)
{
	bool other = d->owner_known && d->owner != d->target.uids[1];
	if (d->target.uids[1] == 0)
		report_add(report, FINDING_NOTE, "dumpable",
			   "not to be seen for a process of root");
	else if (d->owner_known)
		report_add(report, other ? FINDING_NOTE : FINDING_OK, "dumpable", "%s",
			   other ? "no: only CAP_SYS_PTRACE may look" : "yes");
	/* With a tracer the attach has failed and names it. */
	if (!d->target.tracer)
		report_add(report, FINDING_OK, "other tracer", "none");
	if (d->target.seccomp > 0)
		report_add(report, FINDING_NOTE, "seccomp",
			   "the target has a filter of its own, which does not matter: it makes no "
			   "call for us");
	if (*d->target_label)
		report_add(report, FINDING_NOTE, "label", "\"%s\"", d->target_label);
}

static void add_target_namespaces(struct report *report, const struct diagnosis *d)
{
	static const char *const places[] = {
		[DIAGNOSIS_USER_NS_UNKNOWN] = "not readable",
		[DIAGNOSIS_USER_NS_SAME] = "ours",
		[DIAGNOSIS_USER_NS_BELOW] = "below ours",
		[DIAGNOSIS_USER_NS_OUTSIDE] = "outside of ours",
	};
	report_add(report, FINDING_NOTE, "user namespace", "%s", places[d->user_ns]);
	if (d->user_ns == DIAGNOSIS_USER_NS_UNKNOWN)
		return; /* the links of the others are not readable either */
	if (d->same_pid_ns)
		report_add(report, FINDING_NOTE, "PID namespace", "ours");
	else
		report_add(report, FINDING_NOTE, "PID namespace",
			   "another one, in which the process is %d", (int)d->target.pid_innermost);
	report_add(report, FINDING_NOTE, "mount namespace", "%s",
		   d->same_mount_ns ? "ours"
				    : "another one: files are opened through /proc/PID/root");
}

static void add_root(struct report *report, const struct process *process)
{
	_cleanup_free_ char *root = NULL;
	_cleanup_error_ struct error *err = process_read_link(process, "root", &root);
	if (!err && strcmp(root, "/") != 0)
		report_add(report, FINDING_NOTE, "root folder",
			   "%s: files are opened through /proc/PID/root", root);
}

static void add_owner(struct report *report, const struct diagnosis *d)
{
	report_add(report, FINDING_NOTE, "process", "%d (%s), uid %u, gid %u", (int)d->pid,
		   d->target.name, d->target.uids[0], d->target.gids[0]);
}

/* True if it can be sampled. */
static bool diagnose_target(struct report *report, const struct process *process,
			    struct stopper *stopper)
{
	report->section = "target";
	struct diagnosis d;
	diagnosis_gather(process, process->tid, &d);
	add_owner(report, &d);
	enum diagnosis_cause cause = diagnosis_decide(&d, 0);
	if (cause) {
		add_cause(report, "kind", &d, cause, 0);
		return false;
	}
	add_threads(report, process, &d);
	struct trial trial;
	trial_run(process, process->tid, stopper, &trial);
	add_attach(report, &d, &trial, "a thread");
	add_trials(report, &trial);
	add_protection(report, &d);
	add_target_namespaces(report, &d);
	add_root(report, process);
	if (!trial.attach)
		doctor_signing(report, process->tid, stopper);

	/* Where attaching is refused, reading the memory is too, and why has been said. */
	if (trial.attach > 0)
		return false;
	report->section = "python";
	return doctor_python(report, process->pid, stopper);
}

static bool diagnose(struct report *report, pid_t pid, struct stopper *stopper)
{
	struct diagnosis d;
	diagnosis_gather(NULL, 0, &d);
	diagnose_system(report, &d, stopper);
	if (!pid)
		return report_worst(report, "system") < FINDING_NO;

	struct process *process = NULL;
	_cleanup_error_ struct error *err = process_open(pid, &process);
	if (err) {
		_cleanup_error_ struct error *why =
			err->code == ERROR_GONE ? diagnosis_explain_missing(pid) : NULL;
		report->section = "target";
		report_add(report, FINDING_NO, "process", "%s", why ? why->message : err->message);
		return false;
	}
	bool can_sample = diagnose_target(report, process, stopper);
	process_close(process);
	return can_sample;
}

int doctor_run(pid_t pid, bool json, FILE *out)
{
	_cleanup_report_ struct report report = { 0 };
	struct stopper stopper;
	stopper_init(&stopper);
	bool can_sample = diagnose(&report, pid, &stopper);
	stopper_deinit(&stopper);

	_cleanup_error_ struct error *err = NULL;
	if (report.failed)
		err = error_no_memory();
	else if (json)
		err = report_print_json(&report, pid, can_sample, out);
	else
		report_print_text(&report, pid, can_sample, out);
	if (err)
		fprintf(stderr, "pysample: %s\n", err->message);
	return can_sample && !err ? 0 : 1;
}
