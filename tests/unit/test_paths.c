/* SPDX-License-Identifier: MIT */
/* Given these files, these short texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "write/paths.h"

static unsigned asked;

/* Packages of an imagined target. */
static bool is_package_dir(void *context, const char *dir)
{
	asked++;
	for (const char *const *package = context; *package; package++)
		if (!strcmp(*package, dir))
			return true;
	return false;
}

static void expect(const char *const *packages, const char *const (*expected)[2], size_t count)
{
	struct path *paths = calloc(count, sizeof(*paths));
	assert_non_null(paths);
	for (size_t i = 0; i < count; i++)
		paths[i] = (struct path){ .file = expected[i][0], .python = true };
	struct path_rules rules = {
		.is_package_dir = packages ? is_package_dir : NULL,
		.context = (void *)packages,
	};
	asked = 0;
	assert_null(paths_shorten(paths, count, &rules));
	for (size_t i = 0; i < count; i++)
		assert_string_equal(paths[i].file + paths[i].start, expected[i][1]);
	free(paths);
}
#define EXPECT(packages, ...)                                                                      \
	do {                                                                                       \
		static const char *const expected[][2] = { __VA_ARGS__ };                          \
		expect(packages, expected, sizeof(expected) / sizeof(expected[0]));                \
	} while (0)

static void a_module_starts_at_its_outermost_package(void **state)
{
	static const char *const packages[] = { "/srv/app/pkg", "/srv/app/pkg/sub", "/deep", "rel",
						NULL };
	EXPECT(packages, { "/srv/app/main.py", "main.py" },
	       { "/srv/app/pkg/__init__.py", "pkg/__init__.py" },
	       { "/srv/app/pkg/sub/mod.py", "pkg/sub/mod.py" }, { "/deep/x.py", "deep/x.py" },
	       { "rel/y.py", "rel/y.py" }, { "other/z.py", "z.py" }, { "plain.py", "plain.py" });
}

static void well_known_roots_need_no_look(void **state)
{
	static const char *const packages[] = { NULL };
	EXPECT(packages, { "/usr/lib/python3.11/json/decoder.py", "json/decoder.py" },
	       { "/usr/lib/python3.11/threading.py", "threading.py" },
	       { "/usr/lib64/python3.9/os.py", "os.py" },
	       { "/opt/v/lib/python3.13t/ast.py", "ast.py" },
	       { "/usr/lib/python3/dist-packages/apt/cache.py", "apt/cache.py" },
	       { "/v/lib/python3.12/site-packages/requests/api.py", "requests/api.py" },
	       { "/v/lib/python3.12/site-packages/one.py", "one.py" });
	assert_int_equal(asked, 0);
}

static void a_directory_of_a_similar_name_is_none(void **state)
{
	EXPECT(NULL, { "/home/python3.11/x/a.py", "a.py" }, { "/lib/python-x/x/b.py", "b.py" },
	       { "/lib/python/x/c.py", "c.py" }, { "/my-site-packages/x/d.py", "d.py" },
	       { "/lib/python3.11", "python3.11" }, { "/x/site-packages/", "/x/site-packages/" });
}

static void equal_texts_grow_until_they_differ(void **state)
{
	EXPECT(NULL, { "/a/x/util.py", "a/x/util.py" }, { "/b/x/util.py", "b/x/util.py" },
	       { "/b/y/util.py", "y/util.py" }, { "/c/main.py", "main.py" });
	EXPECT(NULL, { "/x.py", "/x.py" }, { "x.py", "x.py" });
	EXPECT(NULL, { "/q/x.py", "/q/x.py" }, { "q/x.py", "q/x.py" }, { "x.py", "x.py" });
	EXPECT(NULL, { "/l/site-packages/a/m.py", "a/m.py" }, { "/m.py", "m.py" });
}

static void a_text_grown_into_another_grows_with_it(void **state)
{
	static const char *const packages[] = { "/r/b", NULL };
	EXPECT(packages, { "/p/a/m.py", "a/m.py" }, { "/q/b/m.py", "q/b/m.py" },
	       { "/r/b/m.py", "r/b/m.py" });
}

static void names_in_brackets_stay(void **state)
{
	EXPECT(NULL, { "<string>", "<string>" },
	       { "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>" },
	       { "<a/b>", "<a/b>" }, { "", "" }, { "/d/", "/d/" });
}

static void a_directory_is_asked_about_once(void **state)
{
	static const char *const packages[] = { "/s/p", NULL };
	EXPECT(packages, { "/s/p/a.py", "p/a.py" }, { "/s/p/b.py", "p/b.py" },
	       { "/s/p/c.py", "p/c.py" });
	assert_int_equal(asked, 2); /* /s/p and /s */
}

static void a_native_module_is_its_base_name(void **state)
{
	static const char *const packages[] = { "/v/lib/python3.12/site-packages/np", "/w", NULL };
	struct path paths[] = {
		{ .file = "/v/lib/python3.12/site-packages/np/core.so" },
		{ .file = "/w/libz.so.1" },
		{ .file = "[vdso]" },
	};
	struct path_rules rules = { is_package_dir, (void *)packages };
	assert_null(paths_shorten(paths, 3, &rules));
	assert_string_equal(paths[0].file + paths[0].start, "core.so");
	assert_string_equal(paths[1].file + paths[1].start, "libz.so.1");
	assert_string_equal(paths[2].file + paths[2].start, "[vdso]");
}

static void endless_twins_take_their_full_paths(void **state)
{
	char left[512] = "/l", right[512] = "/r";
	for (int i = 0; i < 100; i++) {
		strcat(left, "/d");
		strcat(right, "/d");
	}
	strcat(left, "/m.py");
	strcat(right, "/m.py");
	struct path paths[] = { { .file = left }, { .file = right } };
	struct path_rules rules = { 0 };
	assert_null(paths_shorten(paths, 2, &rules));
	assert_int_equal(paths[0].start, 0);
	assert_int_equal(paths[1].start, 0);
	assert_null(paths_shorten(paths, 0, &rules));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_starts_at_its_outermost_package),
		cmocka_unit_test(well_known_roots_need_no_look),
		cmocka_unit_test(a_directory_of_a_similar_name_is_none),
		cmocka_unit_test(equal_texts_grow_until_they_differ),
		cmocka_unit_test(a_text_grown_into_another_grows_with_it),
		cmocka_unit_test(names_in_brackets_stay),
		cmocka_unit_test(a_directory_is_asked_about_once),
		cmocka_unit_test(a_native_module_is_its_base_name),
		cmocka_unit_test(endless_twins_take_their_full_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
