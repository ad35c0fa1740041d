/* SPDX-License-Identifier: MIT */
/* The name of a symbol; what its text stands for may be without end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);
	if (!name)
		abort();
	memcpy(name, data, size);
	name[size] = '\0';
	char *text = demangle(name);
	if (text && !*text)
		abort();
	free(text);
	free(name);
	return 0;
}
