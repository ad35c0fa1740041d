/* SPDX-License-Identifier: MIT */
/*
 * embed.c: a program that is not called python and runs Python in its second thread.
 *
 *   embed TEXT          runs TEXT in an interpreter started by a secondary thread
 *   embed -s TEXT       the same, and a sub-interpreter runs TEXT too, in a third thread
 *
 * Builds for every CPython from 2.7 on. With -DREFER_TO_RUNTIME it refers to _PyRuntime, so that a
 * build at a fixed address gets a copy of it.
 */
#include <Python.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef REFER_TO_RUNTIME
extern struct pyruntimestate _PyRuntime;
static const void *volatile referred_to;
#endif

static const char *text;
static int with_sub;

static void *run_sub(void *unused)
{
	(void)unused;
	PyGILState_STATE state = PyGILState_Ensure();
	PyThreadState *outer = PyThreadState_Get();
	PyThreadState *inner = Py_NewInterpreter();
	if (inner) {
		PyRun_SimpleString(text);
		Py_EndInterpreter(inner);
	}
	PyThreadState_Swap(outer);
	PyGILState_Release(state);
	return NULL;
}

static void *run(void *unused)
{
	pthread_t sub;
	(void)unused;
#if PY_MAJOR_VERSION == 2
	/* site loads modules that are linked to libpython: a second, uninitialised one beside a
	 * static one. */
	Py_NoSiteFlag = 1;
#endif
	Py_Initialize();
#if PY_VERSION_HEX < 0x03070000
	PyEval_InitThreads();
#endif
	if (with_sub) {
		Py_BEGIN_ALLOW_THREADS pthread_create(&sub, NULL, run_sub, NULL);
		Py_END_ALLOW_THREADS
	}
	PyRun_SimpleString(text);
	if (with_sub) {
		Py_BEGIN_ALLOW_THREADS pthread_join(sub, NULL);
		Py_END_ALLOW_THREADS
	}
	Py_Finalize();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
#ifdef REFER_TO_RUNTIME
	referred_to = &_PyRuntime;
#endif
	with_sub = argc > 2 && !strcmp(argv[1], "-s");
	if (argc != 2 + with_sub) {
		fprintf(stderr, "usage: %s [-s] TEXT\n", argv[0]);
		return 2;
	}
	text = argv[1 + with_sub];
	if (pthread_create(&thread, NULL, run, NULL)) {
		perror("pthread_create");
		return 1;
	}
	pthread_join(thread, NULL);
	return 0;
}
