/* SPDX-License-Identifier: MIT */
/* doctor_python.c: the Python in a target. */
#include "doctor_python.h"

#include "doctor_cpu.h"
#include "subject.h"

static void add_runtime(struct report *report, const struct py_runtime *py)
{
	report_add(report, FINDING_OK, "runtime", "CPython %s%s%s in %s, found by %s",
		   py->version_text, py->debug_build ? ", debug build" : "",
		   py->layout.free_threaded ? ", free-threaded" : "", py->module->path,
		   py->found_by);
	report_add(report, FINDING_OK, "version", "by %s", py->version_source);
	if (py->module->from_memory)
		report_add(report, FINDING_NOTE, "file",
			   "out of reach: read from the target's memory");
	else if (py->module->deleted)
		report_add(report, FINDING_NOTE, "file",
			   "deleted or replaced since: the old one is read");
}

static void add_layout(struct report *report, const struct py_layout *layout)
{
	bool untested = layout->origin == PY_ORIGIN_UNTESTED;
	struct finding *finding =
		report_add(report, untested ? FINDING_NOTE : FINDING_OK, "layout", "%u.%u.%u: %s",
			   PY_MAJOR(layout->version), PY_MINOR(layout->version),
			   PY_MICRO(layout->version), py_layout_origin_name(layout->origin));
	if (untested)
		finding_advise(finding,
			       "compare a few stacks with what the program itself says: this "
			       "version has never been tried");
}

static void add_source(struct report *report, const struct subject *subject,
		       const struct subject_runtime *runtime)
{
	if (subject->has_tsd_layout)
		report_add(report, FINDING_OK, "C library", "%s", subject->tsd.origin);
	if (runtime->has_source)
		report_add(report, FINDING_OK, "thread states", "%s", runtime->source.origin);
	else
		report_add(report, FINDING_NOTE, "thread states",
			   "by the interpreter's own list of threads, since %s",
			   runtime->source_error ? runtime->source_error : "there is no other way");
}

static void add_threads(struct report *report, const struct subject *subject,
			const struct subject_runtime *runtime)
{
	size_t states = runtime->list.tstates.count, interps = runtime->list.interps.count;
	/* A list that changes while it is read is read again in sampling: not found now is no
	 * obstacle. */
	report_add(report, states ? FINDING_OK : FINDING_NOTE, "Python threads",
		   "%zu thread state%s in %zu interpreter%s, %zu thread%s in all", states,
		   states == 1 ? "" : "s", interps, interps == 1 ? "" : "s",
		   subject->threads.list.count, subject->threads.list.count == 1 ? "" : "s");
}

bool doctor_python(struct report *report, pid_t pid, struct stopper *stopper)
{
	_cleanup_subject_ struct subject *subject = NULL;
	_cleanup_error_ struct error *err = subject_open(pid, stopper, &subject);
	if (err) {
		report_add(report, FINDING_NO, "runtime", "%s", err->message);
		return false;
	}
	report_add(report, FINDING_OK, "memory", "read by %s",
		   memory_method_name(subject->live.method));
	if (subject->python_error) {
		report_add(report, FINDING_NO, "runtime", "%s", subject->python_error->message);
		return false;
	}
	for (size_t i = 0; i < subject->runtime_count; i++) {
		struct subject_runtime *runtime = &subject->runtimes[i];
		add_runtime(report, &runtime->py);
		struct image *image = module_image(subject->modules, runtime->py.module);
		if (image)
			doctor_features(report, image);
		add_layout(report, &runtime->py.layout);
		add_source(report, subject, runtime);
		add_threads(report, subject, runtime);
	}
	return true;
}
