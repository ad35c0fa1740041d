/* SPDX-License-Identifier: MIT */
/* many_libraries.c: loads the libraries of its arguments (big_library.S) and spins below a function of the last one. */
#include <dlfcn.h>
#include <stdio.h>

static void spin(void)
{
	for (volatile long n = 0;; n++)
		;
}

int main(int argc, char **argv)
{
	void (*call_back)(void (*)(void)) = NULL;
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		*(void **)&call_back =
			library ? dlsym(library, "call_back_from_a_function_with_a_long_name_777")
				: NULL;
		if (!call_back)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	if (call_back)
		call_back(spin);
}
