/* SPDX-License-Identifier: MIT */
/* test_diagnosis.c: given these facts, this cause and these words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <stdio.h>

#include "arch/arch.h"
#include "target/diagnosis.h"

/* clang-format off */
static const char status_text[] =
	"Name:\tpy\\nthon\x1b[31m\n"
	"Umask:\t0022\n"
	"State:\tS (sleeping)\n"
	"Tgid:\t4242\n"
	"Pid:\t4243\n"
	"PPid:\t77\n"
	"TracerPid:\t991\n"
	"Uid:\t1000\t1001\t1002\t1003\n"
	"Gid:\t100\t101\t102\t103\n"
	"Groups:\t\n"
	"NSpid:\t4243\t12\t3\n"
	"Threads:\t17\n"
	"CapPrm:\t0000000000000400\n"
	"CapEff:\t0000000000080000\n"
	"NoNewPrivs:\t1\n"
	"Seccomp:\t2\n"
	"Seccomp_filters:\t1\n";
/* clang-format on */

/* An unprotected process of the same ordinary user and namespaces; no Yama, no security module. */
static struct diagnosis plain(void)
{
	struct diagnosis d;
	diagnosis_init(&d);
	d.pid = d.tid = 4242;
	d.found = true;
	d.own_pid = d.proc_pid = 600;
	d.initial_user_ns = d.initial_pid_ns = true;
	d.user_ns = DIAGNOSIS_USER_NS_SAME;
	d.elf_class = 2;
	d.owner = 1000;
	d.owner_known = true;
	d.child_attach = d.child_readv = 0;
	d.target.process = 4242;
	d.target.state = 'S';
	for (int i = 0; i < 3; i++) {
		d.self.uids[i] = d.target.uids[i] = 1000;
		d.self.gids[i] = d.target.gids[i] = 1000;
	}
	d.self.seccomp = d.target.seccomp = 0;
	return d;
}

static struct diagnosis as_root(struct diagnosis d)
{
	memset(d.self.uids, 0, sizeof(d.self.uids));
	memset(d.self.gids, 0, sizeof(d.self.gids));
	d.self.cap_effective = d.self.cap_permitted = UINT64_C(0x1ffffffffff);
	return d;
}

static void expect(const struct diagnosis *d, int errnum, enum diagnosis_cause cause,
		   enum error_code code, const char *message)
{
	assert_int_equal(diagnosis_decide(d, errnum), cause);
	_cleanup_error_ struct error *err = diagnosis_error(d, cause, errnum);
	assert_non_null(err);
	assert_string_equal(err->message, message);
	assert_int_equal(err->code, code);
	assert_int_equal(err->errnum, errnum);
	assert_null(strchr(err->message, '\n'));
}

static void status_is_parsed(void **state)
{
	struct diagnosis_task task;
	diagnosis_task_init(&task);
	diagnosis_parse_status(status_text, &task);
	assert_string_equal(task.name, "py\\nthon?[31m");
	assert_int_equal(task.state, 'S');
	assert_int_equal(task.process, 4242);
	assert_int_equal(task.parent, 77);
	assert_int_equal(task.tracer, 991);
	assert_int_equal(task.uids[0], 1000);
	assert_int_equal(task.uids[1], 1001);
	assert_int_equal(task.uids[2], 1002);
	assert_int_equal(task.gids[0], 100);
	assert_int_equal(task.gids[2], 102);
	assert_int_equal(task.pid_levels, 3);
	assert_int_equal(task.pid_innermost, 3);
	assert_int_equal(task.threads, 17);
	assert_int_equal(task.cap_permitted, 0x400);
	assert_true(diagnosis_has_cap(&task, DIAGNOSIS_CAP_SYS_PTRACE));
	assert_false(diagnosis_has_cap(&task, DIAGNOSIS_CAP_SYS_ADMIN));
	assert_true(task.no_new_privs);
	assert_int_equal(task.seccomp, 2);
}

static void status_cut_short_leaves_the_rest_unknown(void **state)
{
	for (size_t length = 0; length < sizeof(status_text); length++) {
		char text[sizeof(status_text)];
		memcpy(text, status_text, length);
		text[length] = '\0';
		struct diagnosis_task task;
		diagnosis_task_init(&task);
		diagnosis_parse_status(text, &task);
		if (!strstr(text, "Seccomp:\t2"))
			assert_true(task.seccomp == -1 || task.seccomp == 0);
	}

	struct diagnosis_task task;
	diagnosis_task_init(&task);
	diagnosis_parse_status("\n:\nName\nUid:\t1\t2\nUid:\n7\n8\n9\nNSpid:\n5\n", &task);
	assert_int_equal(task.uids[0], 0);
	assert_int_equal(task.pid_levels, 0);
	assert_int_equal(task.seccomp, -1);
}

static void kernel_thread_flag_is_read_behind_any_name(void **state)
{
	assert_true(diagnosis_parse_kernel_thread("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0"));
	assert_false(diagnosis_parse_kernel_thread(
		"9 (a) S 0 0 0 0 -1 2129984) R 1 1 1 0 -1 4194304 9"));
	assert_false(diagnosis_parse_kernel_thread("9 (a) S 0 0"));
	assert_false(diagnosis_parse_kernel_thread(""));
}

static void initial_user_namespace_maps_every_id_to_itself(void **state)
{
	assert_true(diagnosis_parse_initial_map("         0          0 4294967295\n"));
	assert_false(diagnosis_parse_initial_map("         0       1000          1\n"));
	assert_false(diagnosis_parse_initial_map("         0          0 4294967294\n"));
	assert_false(diagnosis_parse_initial_map("         0          5 4294967295\n"));
	assert_false(diagnosis_parse_initial_map("         5          0 4294967295\n"));
	assert_false(diagnosis_parse_initial_map(""));
}

static void label_belongs_to_the_module_that_is_loaded(void **state)
{
	assert_int_equal(diagnosis_parse_lsm("lockdown,yama,apparmor,bpf\n", "unconfined"),
			 DIAGNOSIS_LSM_APPARMOR);
	assert_int_equal(diagnosis_parse_lsm("capability,selinux", "kernel"),
			 DIAGNOSIS_LSM_SELINUX);
	assert_int_equal(diagnosis_parse_lsm("smack", "_"), DIAGNOSIS_LSM_SMACK);
	assert_int_equal(diagnosis_parse_lsm("notselinux,landlock", "x"), DIAGNOSIS_LSM_OTHER);
	assert_int_equal(diagnosis_parse_lsm("apparmor", ""), DIAGNOSIS_LSM_NONE);
}

static void label_without_a_module_list_is_told_by_its_shape(void **state)
{
	assert_int_equal(diagnosis_parse_lsm("", "docker-default (enforce)"),
			 DIAGNOSIS_LSM_APPARMOR);
	assert_int_equal(diagnosis_parse_lsm("", "unconfined"), DIAGNOSIS_LSM_APPARMOR);
	assert_int_equal(diagnosis_parse_lsm("", "system_u:system_r:container_t:s0:c1,c2"),
			 DIAGNOSIS_LSM_SELINUX);
	assert_int_equal(diagnosis_parse_lsm("", "User"), DIAGNOSIS_LSM_SMACK);
}

static void nothing_is_wrong_with_a_plain_target(void **state)
{
	struct diagnosis d = plain();
	assert_int_equal(diagnosis_decide(&d, 0), DIAGNOSIS_NONE);
	assert_null(diagnosis_error(&d, DIAGNOSIS_NONE, 0));
}

static void no_such_process(void **state)
{
	struct diagnosis d = plain();
	d.found = false;
	expect(&d, ESRCH, DIAGNOSIS_GONE, ERROR_GONE,
	       "cannot attach to process 4242: there is no such process");
	d.initial_pid_ns = false;
	expect(&d, ESRCH, DIAGNOSIS_GONE, ERROR_GONE,
	       "cannot attach to process 4242: there is no such process; inside a container or PID "
	       "namespace, use the id that it has in here");
}

static void thread_that_has_ended_is_named(void **state)
{
	struct diagnosis d = plain();
	d.tid = 4250;
	expect(&d, ESRCH, DIAGNOSIS_GONE, ERROR_GONE,
	       "cannot attach to process 4242: its thread 4250 has ended");
	d.target.state = 'Z';
	expect(&d, EPERM, DIAGNOSIS_ZOMBIE, ERROR_GONE,
	       "cannot attach to process 4242: its thread 4250 has ended and waits to be collected "
	       "(zombie)");
}

static void proc_of_another_pid_namespace(void **state)
{
	struct diagnosis d = plain();
	d.own_pid = 5;
	expect(&d, EPERM, DIAGNOSIS_FOREIGN_PROC, ERROR_PERMISSION,
	       "cannot attach to process 4242: /proc belongs to another PID namespace than "
	       "pysample (pysample is 5, in /proc it is 600); mount a /proc of this namespace "
	       "(\"unshare --mount-proc\"), or run pysample where /proc belongs");
}

static void pysample_itself(void **state)
{
	struct diagnosis d = plain();
	d.own_pid = d.proc_pid = 4242;
	expect(&d, EPERM, DIAGNOSIS_SELF, ERROR_UNSUPPORTED,
	       "cannot attach to process 4242: it is pysample itself");
	assert_int_equal(diagnosis_decide(&d, 0), DIAGNOSIS_SELF);
}

static void kernel_thread(void **state)
{
	struct diagnosis d = plain();
	d.kernel_thread = true;
	strcpy(d.target.name, "kworker/0:1");
	expect(&d, EPERM, DIAGNOSIS_KERNEL_THREAD, ERROR_UNSUPPORTED,
	       "cannot attach to process 4242: it is a kernel thread (kworker/0:1), without memory "
	       "of its own");
	assert_int_equal(diagnosis_decide(&d, 0), DIAGNOSIS_KERNEL_THREAD);
}

static void zombie(void **state)
{
	struct diagnosis d = plain();
	d.target.state = 'Z';
	expect(&d, EPERM, DIAGNOSIS_ZOMBIE, ERROR_GONE,
	       "cannot attach to process 4242: it has ended and waits to be collected (zombie)");
	assert_int_equal(diagnosis_decide(&d, 0), DIAGNOSIS_ZOMBIE);
}

static void process_of_32_bits(void **state)
{
	struct diagnosis d = plain();
	d.elf_class = 1;
	expect(&d, 0, DIAGNOSIS_ELF32, ERROR_UNSUPPORTED,
	       "cannot attach to process 4242: it is a 32-bit process, which pysample does not "
	       "support; run the program with a 64-bit Python");
}

static void process_of_another_cpu(void **state)
{
	struct diagnosis d = plain();
	d.elf_machine = arch_host()->elf_machine;
	assert_int_equal(diagnosis_decide(&d, 0), DIAGNOSIS_NONE);
	d.elf_machine = EM_RISCV;
	char text[256];
	snprintf(text, sizeof(text),
		 "cannot attach to process 4242: it is a process of another CPU (riscv); use a "
		 "pysample "
		 "built for that CPU; this one is for %s",
		 arch_host()->name);
	expect(&d, 0, DIAGNOSIS_MACHINE, ERROR_UNSUPPORTED, text);
}

static void our_own_seccomp_filter_forbids_ptrace(void **state)
{
	struct diagnosis d = plain();
	d.self.seccomp = 2;
	d.child_attach = EPERM;
	expect(&d, EPERM, DIAGNOSIS_SECCOMP, ERROR_PERMISSION,
	       "cannot attach to process 4242: pysample itself runs under a seccomp filter that "
	       "forbids ptrace; start its container with \"--cap-add SYS_PTRACE\" (or "
	       "\"--security-opt seccomp=unconfined\"), or run pysample outside of it");
	d.child_attach = ENOSYS;
	assert_int_equal(diagnosis_decide(&d, ENOSYS), DIAGNOSIS_SECCOMP);
	/* Where no child could be started, ENOSYS still tells. */
	d.child_attach = -1;
	assert_int_equal(diagnosis_decide(&d, ENOSYS), DIAGNOSIS_SECCOMP);
	/* A filter that lets ptrace through is not the cause of another refusal. */
	d.child_attach = 0;
	d.target.tracer = 9;
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_TRACER);
}

static void our_own_seccomp_filter_forbids_reading(void **state)
{
	struct diagnosis d = plain();
	d.self.seccomp = 2;
	d.child_readv = EPERM;
	expect(&d, EPERM, DIAGNOSIS_SECCOMP, ERROR_PERMISSION,
	       "cannot attach to process 4242: pysample itself runs under a seccomp filter that "
	       "forbids process_vm_readv; start its container with \"--cap-add SYS_PTRACE\" (or "
	       "\"--security-opt seccomp=unconfined\"), or run pysample outside of it");
}

static void no_ptrace_at_all(void **state)
{
	struct diagnosis d = plain();
	d.child_attach = ENOSYS;
	expect(&d, ENOSYS, DIAGNOSIS_NO_PTRACE, ERROR_PERMISSION,
	       "cannot attach to process 4242: ptrace does not work here, not even on a child of "
	       "pysample (Function not implemented); run pysample outside of this sandbox");
}

static void process_of_another_user(void **state)
{
	struct diagnosis d = plain();
	for (int i = 0; i < 3; i++)
		d.target.uids[i] = 33;
	d.owner = 33;
	expect(&d, EPERM, DIAGNOSIS_OTHER_USER, ERROR_PERMISSION,
	       "cannot attach to process 4242: it belongs to another user, uid 33, and pysample "
	       "runs as uid 1000 without CAP_SYS_PTRACE; run pysample as that user, or run "
	       "pysample with sudo or with CAP_SYS_PTRACE");
	d.self.no_new_privs = true;
	expect(&d, EPERM, DIAGNOSIS_OTHER_USER, ERROR_PERMISSION,
	       "cannot attach to process 4242: it belongs to another user, uid 33, and pysample "
	       "runs as uid 1000 without CAP_SYS_PTRACE; run pysample as that user, or run "
	       "pysample as root or with CAP_SYS_PTRACE from a shell without NoNewPrivs (with it, "
	       "sudo has no effect)");
}

static void process_with_mixed_user_ids(void **state)
{
	struct diagnosis d = plain();
	d.target.uids[1] = 0;
	d.owner = 0;
	expect(&d, EPERM, DIAGNOSIS_OTHER_USER, ERROR_PERMISSION,
	       "cannot attach to process 4242: it belongs to another user, uid 1000 (effective 0, "
	       "saved 1000), and pysample runs as uid 1000 without CAP_SYS_PTRACE; run pysample as "
	       "that user, or run pysample with sudo or with CAP_SYS_PTRACE");
}

static void process_of_another_group(void **state)
{
	struct diagnosis d = plain();
	d.target.gids[1] = d.target.gids[2] = 42;
	expect(&d, EPERM, DIAGNOSIS_OTHER_USER, ERROR_PERMISSION,
	       "cannot attach to process 4242: it runs with another group, gid 1000 (effective 42, "
	       "saved 42), and pysample runs as gid 1000 without CAP_SYS_PTRACE; run pysample with "
	       "that group, or run pysample with sudo or with CAP_SYS_PTRACE");
}

static void our_effective_ids_do_not_count(void **state)
{
	/* ptrace compares real ids: a set-user-ID pysample gains nothing. */
	struct diagnosis d = plain();
	d.self.uids[0] = 2000;
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_OTHER_USER);
}

static void process_that_is_not_dumpable(void **state)
{
	struct diagnosis d = plain();
	d.owner = 0;
	expect(&d, EPERM, DIAGNOSIS_NOT_DUMPABLE, ERROR_PERMISSION,
	       "cannot attach to process 4242: it is not dumpable (set-user-ID, file capabilities, "
	       "an executable that is not readable, or prctl PR_SET_DUMPABLE), so only "
	       "CAP_SYS_PTRACE may look; run pysample with sudo or with CAP_SYS_PTRACE");
	/* The kernel asks for this first: the tracer's end would not help. */
	d.target.tracer = 9;
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_NOT_DUMPABLE);
	assert_int_equal(diagnosis_decide(&d, EACCES), DIAGNOSIS_NOT_DUMPABLE);
}

static void root_without_capability_cannot_tell_dumpable(void **state)
{
	struct diagnosis d = plain();
	memset(d.self.uids, 0, sizeof(d.self.uids));
	memset(d.target.uids, 0, sizeof(d.target.uids));
	d.owner = 0;
	expect(&d, EPERM, DIAGNOSIS_MAYBE_UNDUMPABLE, ERROR_PERMISSION,
	       "cannot attach to process 4242: it is most likely not dumpable (set-user-ID, file "
	       "capabilities, an executable that is not readable, or prctl PR_SET_DUMPABLE), so "
	       "only CAP_SYS_PTRACE may look; run pysample with sudo or with CAP_SYS_PTRACE");
	d = as_root(d);
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_UNEXPLAINED);
}

static void process_with_more_capabilities(void **state)
{
	struct diagnosis d = plain();
	d.target.cap_permitted = 0x400;
	expect(&d, EPERM, DIAGNOSIS_CAPABILITIES, ERROR_PERMISSION,
	       "cannot attach to process 4242: it holds capabilities that pysample does not have "
	       "(CapPrm 0000000000000400); run pysample with sudo or with CAP_SYS_PTRACE");
	d.self.cap_permitted = 0x401;
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_UNEXPLAINED);
}

static void user_namespace_that_is_not_below_ours(void **state)
{
	struct diagnosis d = as_root(plain());
	d.initial_user_ns = false;
	d.user_ns = DIAGNOSIS_USER_NS_OUTSIDE;
	expect(&d, EPERM, DIAGNOSIS_USER_NS, ERROR_PERMISSION,
	       "cannot attach to process 4242: it is outside of pysample's user namespace, where "
	       "pysample's capabilities do not count; run pysample in the target's own user "
	       "namespace or in the initial one (on the host, or \"nsenter --user --target "
	       "4242\")");
	/* Its link is readable only for those who may look anyway. */
	d.user_ns = DIAGNOSIS_USER_NS_UNKNOWN;
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_USER_NS);
}

static void user_namespace_below_ours_of_another_owner(void **state)
{
	struct diagnosis d = plain();
	d.user_ns = DIAGNOSIS_USER_NS_BELOW;
	d.target.cap_permitted = UINT64_C(0x1ffffffffff);
	expect(&d, EPERM, DIAGNOSIS_USER_NS, ERROR_PERMISSION,
	       "cannot attach to process 4242: it is in a user namespace below pysample's, of "
	       "another owner; run pysample with sudo or with CAP_SYS_PTRACE");
	/* With the capability that namespace is no obstacle. */
	d = as_root(d);
	d.target.tracer = 9;
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_TRACER);
}

static void yama_allows_children_only(void **state)
{
	struct diagnosis d = plain();
	d.yama = 1;
	expect(&d, EPERM, DIAGNOSIS_YAMA_CHILDREN, ERROR_PERMISSION,
	       "cannot attach to process 4242: Yama (kernel.yama.ptrace_scope = 1) allows "
	       "attaching to pysample's own children only; launch the program with \"pysample -- "
	       "PROGRAM\", or \"sudo sysctl kernel.yama.ptrace_scope=0\", or run pysample with "
	       "sudo or with CAP_SYS_PTRACE");
	d.descendant = true;
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_UNEXPLAINED);
	d = as_root(plain());
	d.yama = 1;
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_UNEXPLAINED);
	d.yama = 0;
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_UNEXPLAINED);
}

static void yama_allows_administrators_only(void **state)
{
	struct diagnosis d = plain();
	d.yama = 2;
	d.child_attach = EPERM;
	expect(&d, EPERM, DIAGNOSIS_YAMA_ADMIN, ERROR_PERMISSION,
	       "cannot attach to process 4242: Yama (kernel.yama.ptrace_scope = 2) allows "
	       "attaching with CAP_SYS_PTRACE only; \"sudo sysctl kernel.yama.ptrace_scope=0\" "
	       "(with 1, \"pysample -- PROGRAM\" works), or run pysample with sudo or with "
	       "CAP_SYS_PTRACE");
	d = as_root(plain());
	d.yama = 2;
	d.target.tracer = 9;
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_TRACER);
}

static void yama_allows_nobody(void **state)
{
	struct diagnosis d = as_root(plain());
	d.yama = 3;
	d.child_attach = EPERM;
	expect(&d, EPERM, DIAGNOSIS_YAMA_OFF, ERROR_PERMISSION,
	       "cannot attach to process 4242: Yama (kernel.yama.ptrace_scope = 3) allows no "
	       "process to attach, not even root's; this level cannot be lowered at run time: set "
	       "kernel.yama.ptrace_scope to 0 or 1 in /etc/sysctl.d and reboot");
	/* Without the trial on a child as well. */
	d.child_attach = -1;
	assert_int_equal(diagnosis_decide(&d, EPERM), DIAGNOSIS_YAMA_OFF);
}

static void another_tracer_is_named(void **state)
{
	struct diagnosis d = plain();
	d.target.tracer = 991;
	strcpy(d.tracer_name, "gdb");
	expect(&d, EPERM, DIAGNOSIS_TRACER, ERROR_PERMISSION,
	       "cannot attach to process 4242: it is traced by gdb (pid 991); end that tracer, or "
	       "use --nonblocking, which reads without stopping");
	d.tracer_name[0] = '\0';
	expect(&d, EPERM, DIAGNOSIS_TRACER, ERROR_PERMISSION,
	       "cannot attach to process 4242: it is traced by process 991; end that tracer, or "
	       "use --nonblocking, which reads without stopping");
}

static void tracer_outside_of_the_pid_namespace(void **state)
{
	struct diagnosis d = as_root(plain());
	d.target.state = 't';
	expect(&d, EPERM, DIAGNOSIS_TRACER, ERROR_PERMISSION,
	       "cannot attach to process 4242: it is traced by a process outside of this PID "
	       "namespace; end that tracer, or use --nonblocking, which reads without stopping");
}

static void apparmor_profile(void **state)
{
	struct diagnosis d = as_root(plain());
	d.lsm = DIAGNOSIS_LSM_APPARMOR;
	strcpy(d.label, "docker-default (enforce)");
	strcpy(d.target_label, "unconfined");
	expect(&d, EACCES, DIAGNOSIS_LABEL, ERROR_PERMISSION,
	       "cannot attach to process 4242: AppArmor does not allow it (pysample: "
	       "\"docker-default (enforce)\", target: \"unconfined\"); run pysample unconfined, or "
	       "allow \"ptrace (trace, read)\" in its profile and \"ptrace (tracedby, readby)\" in "
	       "the target's");
	strcpy(d.label, "docker-default (complain)");
	assert_int_equal(diagnosis_decide(&d, EACCES), DIAGNOSIS_UNEXPLAINED);
}

static void selinux_label(void **state)
{
	struct diagnosis d = as_root(plain());
	d.lsm = DIAGNOSIS_LSM_SELINUX;
	strcpy(d.label, "system_u:system_r:container_t:s0");
	strcpy(d.target_label, "system_u:system_r:init_t:s0");
	expect(&d, EACCES, DIAGNOSIS_LABEL, ERROR_PERMISSION,
	       "cannot attach to process 4242: SELinux does not allow it (pysample: "
	       "\"system_u:system_r:container_t:s0\", target: \"system_u:system_r:init_t:s0\"); "
	       "see \"ausearch -m avc -c pysample\"; if the boolean deny_ptrace is on, \"sudo "
	       "setsebool deny_ptrace off\"");
	d.lsm_permissive = true;
	assert_int_equal(diagnosis_decide(&d, EACCES), DIAGNOSIS_UNEXPLAINED);
}

static void smack_label(void **state)
{
	struct diagnosis d = as_root(plain());
	d.lsm = DIAGNOSIS_LSM_SMACK;
	strcpy(d.label, "_");
	strcpy(d.target_label, "System");
	expect(&d, EACCES, DIAGNOSIS_LABEL, ERROR_PERMISSION,
	       "cannot attach to process 4242: Smack does not allow it (pysample: \"_\", target: "
	       "\"System\"); run pysample under the target's label");
	strcpy(d.target_label, "_");
	assert_int_equal(diagnosis_decide(&d, EACCES), DIAGNOSIS_UNEXPLAINED);
}

static void refusal_without_a_known_cause_says_so(void **state)
{
	struct diagnosis d = as_root(plain());
	expect(&d, EPERM, DIAGNOSIS_UNEXPLAINED, ERROR_PERMISSION,
	       "cannot attach to process 4242: the kernel refused it (Operation not permitted) for "
	       "none of the known causes; look for a sandbox around pysample (Landlock, a BPF "
	       "security module, gVisor), or run it as root on the host");
}

static void other_errno_is_passed_on(void **state)
{
	struct diagnosis d = plain();
	d.target.tracer = 991;
	expect(&d, EIO, DIAGNOSIS_ERRNO, ERROR_ERRNO,
	       "cannot attach to process 4242: Input/output error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_is_parsed),
		cmocka_unit_test(status_cut_short_leaves_the_rest_unknown),
		cmocka_unit_test(kernel_thread_flag_is_read_behind_any_name),
		cmocka_unit_test(initial_user_namespace_maps_every_id_to_itself),
		cmocka_unit_test(label_belongs_to_the_module_that_is_loaded),
		cmocka_unit_test(label_without_a_module_list_is_told_by_its_shape),
		cmocka_unit_test(nothing_is_wrong_with_a_plain_target),
		cmocka_unit_test(no_such_process),
		cmocka_unit_test(thread_that_has_ended_is_named),
		cmocka_unit_test(proc_of_another_pid_namespace),
		cmocka_unit_test(pysample_itself),
		cmocka_unit_test(kernel_thread),
		cmocka_unit_test(zombie),
		cmocka_unit_test(process_of_32_bits),
		cmocka_unit_test(process_of_another_cpu),
		cmocka_unit_test(our_own_seccomp_filter_forbids_ptrace),
		cmocka_unit_test(our_own_seccomp_filter_forbids_reading),
		cmocka_unit_test(no_ptrace_at_all),
		cmocka_unit_test(process_of_another_user),
		cmocka_unit_test(process_with_mixed_user_ids),
		cmocka_unit_test(process_of_another_group),
		cmocka_unit_test(our_effective_ids_do_not_count),
		cmocka_unit_test(process_that_is_not_dumpable),
		cmocka_unit_test(root_without_capability_cannot_tell_dumpable),
		cmocka_unit_test(process_with_more_capabilities),
		cmocka_unit_test(user_namespace_that_is_not_below_ours),
		cmocka_unit_test(user_namespace_below_ours_of_another_owner),
		cmocka_unit_test(yama_allows_children_only),
		cmocka_unit_test(yama_allows_administrators_only),
		cmocka_unit_test(yama_allows_nobody),
		cmocka_unit_test(another_tracer_is_named),
		cmocka_unit_test(tracer_outside_of_the_pid_namespace),
		cmocka_unit_test(apparmor_profile),
		cmocka_unit_test(selinux_label),
		cmocka_unit_test(smack_label),
		cmocka_unit_test(refusal_without_a_known_cause_says_so),
		cmocka_unit_test(other_errno_is_passed_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
