/* SPDX-License-Identifier: MIT */
/* framekind.c: what sort of code a function is. */
#include "write/framekind.h"

#include <stdbool.h>
#include <string.h>

#include "base/path.h"

/* Beginnings of file names; with a "." at the end the whole name up to there. */
static const char *const libc_files[] = {
	"libc.",     "libc-",   "libm.",      "libm-",  "libpthread", "libdl.",
	"libdl-",    "librt.",  "librt-",     "ld-",    "ld.so",      "ld64.",
	"libresolv", "libnss_", "libstdc++.", "libc++", "libgcc_s",   "libutil.",
};

static bool begins(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

static bool is_libc(const char *name)
{
	for (size_t i = 0; i < sizeof(libc_files) / sizeof(libc_files[0]); i++)
		if (begins(name, libc_files[i]))
			return true;
	return false;
}

/* An interpreter that was found is known by its file; otherwise its name tells. */
static bool is_interpreter(const struct profile *profile, const char *path, const char *name)
{
	vec_foreach (process, &profile->processes)
		if (process->runtime && !strcmp(process->runtime, path))
			return true;
	return begins(name, "libpython") ||
	       (begins(name, "python") && !name[strcspn(name, "/-_")] && !strstr(name, ".so"));
}

enum frame_kind frame_kind(const struct profile *profile, uint32_t function)
{
	const struct profile_function *f = &profile->functions.items[function];
	if (f->kind == PROFILE_MARKER)
		return FRAME_MARKER;
	if (f->kind == PROFILE_PYTHON)
		return FRAME_PYTHON;
	if (f->file == PROFILE_NONE)
		return FRAME_EXTENSION;

	const char *path = intern_text(&profile->strings, f->file);
	const char *name = path_base(path);
	if (begins(path, "[vdso]") || begins(path, "[vsyscall]"))
		return FRAME_KERNEL;
	if (is_interpreter(profile, path, name))
		return FRAME_INTERPRETER;
	return is_libc(name) ? FRAME_LIBC : FRAME_EXTENSION;
}

const char *frame_kind_name(enum frame_kind kind)
{
	static const char *const names[FRAME_KINDS] = {
		[FRAME_PYTHON] = "Python",           [FRAME_EXTENSION] = "extension or library",
		[FRAME_INTERPRETER] = "interpreter", [FRAME_LIBC] = "C library",
		[FRAME_KERNEL] = "kernel",           [FRAME_MARKER] = "mark",
	};
	return names[kind];
}
