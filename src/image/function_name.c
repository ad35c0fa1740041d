/* SPDX-License-Identifier: MIT */
/* function_name.c: the name of the function at an address. */
#include "image/function_name.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "image/demangle.h"
#include "image/stubs.h"

/* NULL: none. The caller frees it. */
static char *find_name(struct symbolizer *symbolizer, uint64_t vaddr)
{
	struct function function;
	if (!symbolizer_find(symbolizer, vaddr, &function))
		return NULL;
	char *readable = demangle(function.name);
	if (!readable)
		return function.name;
	free(function.name);
	return readable;
}

/* A stub that a call to another library, or to a function with several versions, goes through. */
static char *find_stub_name(struct symbolizer *symbolizer, const struct image *image,
			    uint64_t vaddr)
{
	struct stub stub;
	if (!stub_find(image, vaddr, &stub))
		return NULL;
	_cleanup_free_ char *found =
		stub.name ? demangle(stub.name) : find_name(symbolizer, stub.chooser);
	const char *name = found ? found : stub.name;
	char *text = NULL;
	if (!name || asprintf(&text, "%s@plt", name) < 0)
		return NULL;
	return text;
}

char *function_name(struct symbolizer *symbolizer, const struct image *image, uint64_t vaddr)
{
	char *name = find_stub_name(symbolizer, image, vaddr);
	return name ? name : find_name(symbolizer, vaddr);
}
