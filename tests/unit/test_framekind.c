/* SPDX-License-Identifier: MIT */
/* Given this function's file, this kind of code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "write/framekind.h"

static void expect_kind(struct profile *profile, enum profile_kind kind, const char *file,
			enum frame_kind expected)
{
	uint32_t function = profile_function(profile, "f", file, 0, kind);
	if (frame_kind(profile, function) != expected)
		fail_msg("%s is %s", file, frame_kind_name(frame_kind(profile, function)));
}

static void the_file_says_what_native_code_is(void **state)
{
	struct profile *p;
	assert_null(profile_create(&p));
	uint32_t process = profile_process(p, 1, PROFILE_NONE);
	profile_fact(&p->processes.items[process].runtime, "/opt/app/server");

	expect_kind(p, PROFILE_PYTHON, "/lib/libc.so.6", FRAME_PYTHON);
	expect_kind(p, PROFILE_MARKER, NULL, FRAME_MARKER);
	expect_kind(p, PROFILE_NATIVE, NULL, FRAME_EXTENSION);
	expect_kind(p, PROFILE_NATIVE, "/opt/app/server", FRAME_INTERPRETER);
	expect_kind(p, PROFILE_NATIVE, "/opt/app/server2", FRAME_EXTENSION);
	expect_kind(p, PROFILE_NATIVE, "/usr/lib/libpython9.8.so.1.0", FRAME_INTERPRETER);
	expect_kind(p, PROFILE_NATIVE, "/usr/bin/python9.8", FRAME_INTERPRETER);
	expect_kind(p, PROFILE_NATIVE, "/usr/bin/python", FRAME_INTERPRETER);
	expect_kind(p, PROFILE_NATIVE, "/x/python_helper.so", FRAME_EXTENSION);
	expect_kind(p, PROFILE_NATIVE, "/usr/lib/x86_64-linux-gnu/libc.so.6", FRAME_LIBC);
	expect_kind(p, PROFILE_NATIVE, "/lib/libc-2.31.so", FRAME_LIBC);
	expect_kind(p, PROFILE_NATIVE, "/lib/ld-musl-x86_64.so.1", FRAME_LIBC);
	expect_kind(p, PROFILE_NATIVE, "/lib/libm.so.6", FRAME_LIBC);
	expect_kind(p, PROFILE_NATIVE, "/lib/libmagic.so.1", FRAME_EXTENSION);
	expect_kind(p, PROFILE_NATIVE, "/lib/libcrypto.so.3", FRAME_EXTENSION);
	expect_kind(p, PROFILE_NATIVE, "/x/_json.cpython-98-x86_64-linux-gnu.so", FRAME_EXTENSION);
	expect_kind(p, PROFILE_NATIVE, "[vdso]", FRAME_KERNEL);
	profile_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_says_what_native_code_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
