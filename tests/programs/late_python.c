/* SPDX-License-Identifier: MIT */
/*
 * late_python.c: Python in a libpython that is loaded long after the program.
 *
 *   late_python LIBRARY ARGUMENT…   ARGUMENT… are Python's
 *
 * With GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0 there is no room for the library's thread-locals beside the program's: each
 * thread gets a block of their own for them.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: %s LIBRARY ARGUMENT...\n", argv[0]);
		return 2;
	}
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	int (*run)(int, char **) = (int (*)(int, char **))dlsym(library, "Py_BytesMain");
	argv[1] = argv[0];
	return run ? run(argc - 1, argv + 1) : 1;
}
