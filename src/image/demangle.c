/* SPDX-License-Identifier: MIT */
/* demangle.c: libiberty's callback interface, which needs no memory of its own and can be left. */
#include "image/demangle.h"

#include <stddef.h>

#ifdef HAVE_IBERTY

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#include "base/strbuf.h"

/* Template-heavy libraries have names of some thousand bytes. */
#define MANGLED_LIMIT 8192
#define TEXT_LIMIT    16384

struct output {
	struct strbuf text;
	jmp_buf full;
};

typedef int demangler(const char *name, int options, demangle_callbackref callback, void *opaque);

/* There is no other way to end it: the library ignores what happens to its output. */
static void append(const char *text, size_t size, void *opaque)
{
	struct output *output = opaque;
	if (output->text.length + size > TEXT_LIMIT)
		longjmp(output->full, 1);
	strbuf_add(&output->text, text, size);
}

/* *text_ret is NULL where @run does not take the name. */
static bool try_demangler(demangler *run, const char *name, char **text_ret)
{
	struct output output = { 0 };
	bool ok = !setjmp(output.full) && run(name, DMGL_NO_OPTS, append, &output);
	ok = ok && output.text.length && !memchr(output.text.text, '\0', output.text.length);
	if (ok)
		*text_ret = strbuf_steal(&output.text);
	strbuf_deinit(&output.text);
	return ok && *text_ret;
}

char *demangle(const char *name)
{
	char *text = NULL;
	/* _Z: C++ and Rust's older names; _R: Rust's newer ones. */
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') ||
	    strnlen(name, MANGLED_LIMIT + 1) > MANGLED_LIMIT)
		return NULL;
	if (try_demangler(rust_demangle_callback, name, &text) ||
	    (name[1] == 'Z' && try_demangler(cplus_demangle_v3_callback, name, &text)))
		return text;
	return NULL;
}

bool demangle_is_available(void)
{
	return true;
}

#else

char *demangle(const char *name)
{
	return NULL;
}

bool demangle_is_available(void)
{
	return false;
}

#endif
