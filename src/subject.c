/* SPDX-License-Identifier: MIT */
/* subject.c: one target process and what is known of the Python in it. */
#include "subject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "snapshot/capture.h"
#include "target/diagnosis.h"

/* A process that executes again and again is given up on. */
#define MEMORY_ATTEMPTS 8

static void runtimes_clear(struct subject *subject)
{
	for (size_t i = 0; i < subject->runtime_count; i++) {
		struct subject_runtime *runtime = &subject->runtimes[i];
		free(runtime->source_error);
		threadlist_deinit(&runtime->list);
		if (runtime->codes)
			code_cache_destroy(runtime->codes);
	}
	free(subject->runtimes);
	subject->runtimes = NULL;
	subject->runtime_count = 0;
}

/* Everything that belongs to one program image. */
static void image_clear(struct subject *subject)
{
	runtimes_clear(subject);
	error_destroy(subject->python_error);
	subject->python_error = NULL;
	if (subject->modules)
		modules_destroy(subject->modules);
	subject->modules = NULL;
	if (subject->has_live)
		memory_live_deinit(&subject->live);
	subject->has_live = false;
	subject->has_tsd_layout = false;
}

/*
 * An address that stays mapped as long as the program image does: the start of the program file's first mapping. 0 for a process
 * without memory of its own.
 */
static uint64_t find_probe(const struct maps *maps)
{
	vec_foreach (mapping, maps)
		if (mapping->read && mapping->inode)
			return mapping->start;
	vec_foreach (mapping, maps)
		if (mapping->read)
			return mapping->start;
	return 0;
}

static struct error *refused_memory(const struct subject *subject, int errnum)
{
	return diagnosis_explain_attach(subject->process, subject->process->tid, errnum);
}

/* An address to try reading at. The maps of a process are refused to those who may not look at it. */
static struct error *read_probe(const struct subject *subject, uint64_t *probe_ret)
{
	struct maps maps = { 0 };
	struct error *err = maps_read(subject->process, &maps);
	int errnum = err ? err->errnum : 0;
	if (errnum && errnum != ESRCH) {
		error_destroy(err);
		return refused_memory(subject, errnum);
	}
	if (err)
		return err;
	*probe_ret = find_probe(&maps);
	maps_deinit(&maps);
	return NULL;
}

/* True for what a policy says, as against a target that has ended or executes another program just now. */
static bool is_refusal(int errnum)
{
	return errnum == EPERM || errnum == EACCES || errnum == ENOSYS;
}

static struct error *open_memory(struct subject *subject)
{
	int errnum = 0;
	for (int attempt = 0; attempt < MEMORY_ATTEMPTS; attempt++) {
		uint64_t probe = 0, word;
		struct error *err = read_probe(subject, &probe);
		if (err)
			return err;
		if (subject->has_live)
			memory_live_deinit(&subject->live);
		err = memory_live_init(&subject->live, subject->process, probe);
		subject->has_live = true;
		subject->live.stopper = subject->stopper;
		errnum = subject->live.errnum;
		if (!err)
			return NULL;
		error_destroy(err);
		/* What is left is PTRACE_PEEKDATA, which works wherever a thread can be held. */
		if (is_refusal(errnum))
			return memory_read_u64(&subject->live.memory, probe, &word)
				       ? NULL
				       : refused_memory(subject, subject->live.errnum);
		if ((err = process_refresh(subject->process)))
			return err;
	}
	return refused_memory(subject, errnum);
}

/* A C library, by its file's name: a hint only, tsd_layout_find looks inside. */
static bool may_be_libc(const char *path)
{
	static const char *const names[] = { "libc.", "libc-", "libpthread", "ld-musl" };
	const char *base = path_base(path);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Thread pointer and id of a thread, for which it is held once; zeroes if that can not be had. */
static void try_thread(struct subject *subject, struct tsd_thread *thread)
{
	struct capture capture = { .stopper = subject->stopper, .arch = subject->arch };
	struct arch_registers registers;
	_cleanup_free_ char *ids = process_status_field(subject->process, "NSpid");
	if (!ids || capture_registers(&capture, subject->process->tid, &registers) ||
	    !registers.has_thread_pointer)
		return;
	const char *last = strrchr(ids, '\t');
	thread->pointer = registers.thread_pointer;
	thread->tid = (uint32_t)strtoul(last ? last + 1 : ids, NULL, 10);
}

static struct error *find_tsd_layout(struct subject *subject, const struct py_runtime *runtime)
{
	size_t count = modules_count(subject->modules), used = 0;
	_cleanup_free_ struct image **images = calloc(count + 1, sizeof(*images));
	if (!images)
		return error_no_memory();
	for (int pass = 0; pass < 2 && !used; pass++) {
		for (size_t i = 0; i < count; i++) {
			struct module *module = modules_get(subject->modules, i);
			if (!pass && !may_be_libc(module->path))
				continue;
			struct image *image = module_image(subject->modules, module);
			if (image)
				images[used++] = image;
		}
	}
	struct tsd_request request = {
		.machine = runtime->machine,
		.images = images,
		.image_count = used,
		.memory = &subject->live.memory,
	};
	struct error *err = tsd_layout_find(&request, &subject->tsd);
	if (!error_catch(&err, ERROR_UNSUPPORTED))
		return err;
	/* A static program may say nothing of its C library: a thread's own id, found where a row puts it, then decides. */
	try_thread(subject, &request.thread);
	return tsd_layout_find(&request, &subject->tsd);
}

static void find_source(struct subject *subject, struct subject_runtime *runtime)
{
	struct error *err = NULL;
	if (!subject->has_tsd_layout) {
		err = find_tsd_layout(subject, &runtime->py);
		subject->has_tsd_layout = !err;
	}
	if (!err) {
		struct tsd_runtime request = {
			.image = module_image(subject->modules, runtime->py.module),
			.bias = runtime->py.bias,
			.runtime_address = runtime->py.runtime_address,
			.layout = &runtime->py.layout,
			.memory = &subject->live.memory,
		};
		err = tsd_find_source(&request, &subject->tsd, &runtime->source);
		runtime->has_source = !err;
	}
	if (err)
		runtime->source_error = strdup(err->message);
	error_destroy(err);
}

bool subject_find_python(struct subject *subject)
{
	if (subject->runtime_count)
		return true;
	error_destroy(subject->python_error);
	subject->python_error = modules_update(subject->modules);
	if (subject->python_error)
		return false;

	_cleanup_free_ struct py_runtime *found = NULL;
	size_t count = 0;
	subject->python_error =
		detect_runtimes(subject->modules, &subject->live.memory, &found, &count);
	if (subject->python_error)
		return false;
	subject->runtimes = calloc(count, sizeof(*subject->runtimes));
	if (!subject->runtimes) {
		subject->python_error = error_no_memory();
		return false;
	}
	subject->runtime_count = count;
	for (size_t i = 0; i < count; i++) {
		struct subject_runtime *runtime = &subject->runtimes[i];
		runtime->py = found[i];
		subject->python_error = code_cache_create(&runtime->py.layout,
							  runtime->py.code_type, &runtime->codes);
		if (subject->python_error) {
			runtimes_clear(subject);
			return false;
		}
		find_source(subject, runtime);
	}
	subject_read_lists(subject);
	return true;
}

bool subject_read_lists(struct subject *subject)
{
	bool all = true;
	for (size_t i = 0; i < subject->runtime_count; i++) {
		struct subject_runtime *runtime = &subject->runtimes[i];
		if (threadlist_read(&subject->live.memory, &runtime->py, &runtime->list))
			all = false;
	}
	return all;
}

static struct error *image_open_all(struct subject *subject)
{
	struct error *err = diagnosis_check_target(subject->process);
	if (!err)
		err = open_memory(subject);
	if (!err)
		err = modules_create(subject->process, &subject->live.memory, &subject->modules);
	if (err)
		return err;
	subject_find_python(subject);
	return NULL;
}

struct error *subject_open(pid_t pid, struct stopper *stopper, struct subject **subject_ret)
{
	struct subject *subject = calloc(1, sizeof(*subject));
	if (!subject)
		return error_no_memory();
	subject->stopper = stopper;
	stopper->leader = pid;
	subject->arch = arch_host();

	struct error *err = process_open(pid, &subject->process);
	if (error_catch(&err, ERROR_GONE))
		err = diagnosis_explain_missing(pid);
	if (!err)
		err = image_open_all(subject);
	if (!err)
		err = threads_update(&subject->threads, subject->process);
	if (err) {
		subject_close(subject);
		return err;
	}
	*subject_ret = subject;
	return NULL;
}

void subject_close(struct subject *subject)
{
	threads_deinit(&subject->threads);
	image_clear(subject);
	error_destroy(subject->lost);
	if (subject->process)
		process_close(subject->process);
	free(subject);
}

/* After an exec: the same process, nothing else. */
static enum subject_change reopen(struct subject *subject)
{
	_cleanup_error_ struct error *err = process_refresh(subject->process);
	if (err)
		return SUBJECT_ENDED;
	threads_deinit(&subject->threads);
	image_clear(subject);
	subject->image_number++;
	err = image_open_all(subject);
	if (!err)
		err = threads_update(&subject->threads, subject->process);
	if (!err)
		return SUBJECT_EXECUTED;
	/* What it executes now may be none of ours to look at: another user's, or a 32-bit one. */
	if (err->code != ERROR_GONE)
		subject->lost = no_cleanup(err);
	return SUBJECT_ENDED;
}

enum subject_change subject_update(struct subject *subject)
{
	if (!memory_live_same_image(&subject->live))
		return reopen(subject);
	if (subject->live.stale) {
		_cleanup_error_ struct error *gone = process_refresh(subject->process);
		if (gone)
			return SUBJECT_ENDED;
		memory_live_adopt(&subject->live, subject->process->tid);
	}
	if (!threads_changed(&subject->threads, subject->process))
		return SUBJECT_SAME;
	_cleanup_error_ struct error *err = threads_update(&subject->threads, subject->process);
	if (!err)
		return SUBJECT_SAME;
	return err->code == ERROR_GONE ? SUBJECT_ENDED : SUBJECT_SAME;
}
