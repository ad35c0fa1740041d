/* SPDX-License-Identifier: MIT */
/* test_gecko.c: given this profile, these tables. tests/consumers/test_gecko.py has what the format asks for in general. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>

#include "write/gecko.h"

struct fixture {
	struct profile *profile;
	struct writer_options options;
	json_t *root;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	assert_null(profile_create(&f->profile));
	struct profile *p = f->profile;
	p->stats.interval_ns = 10000000;
	uint32_t process = profile_process(p, 42, PROFILE_NONE);
	uint32_t one = profile_thread(p, process, 42, "one");
	uint32_t two = profile_thread(p, process, 43, "two</script>");
	uint32_t main = profile_function(p, "main", "/srv/a.py", 1, PROFILE_PYTHON);
	uint32_t poll = profile_function(p, "poll", "/lib/c.so", 0, PROFILE_NATIVE);
	uint32_t main_3 = profile_frame(p, main, 3), main_4 = profile_frame(p, main, 4);
	uint32_t poll_frame = profile_frame(p, poll, 0);
	profile_add(p, one, (uint32_t[]){ main_3 }, 1, REASON_OK, 0, 1000001, 0);
	profile_add(p, one, (uint32_t[]){ main_4, poll_frame }, 2, REASON_OK, 0, 5000000, 0);
	profile_add(p, two, NULL, 0, REASON_OK, 0, 3, 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	json_decref(f->root);
	profile_destroy(f->profile);
	free(f);
	return 0;
}

static json_t *load(struct fixture *f)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	assert_non_null(stream);
	assert_null(gecko_writer.write(f->profile, &f->options, stream));
	assert_int_equal(fclose(stream), 0);
	assert_null(strstr(text, "</script>"));
	json_error_t error;
	f->root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!f->root)
		fail_msg("%d: %s", error.line, error.text);
	free(text);
	return f->root;
}

static void expect(json_t *root, size_t thread, const char *table, const char *column,
		   const char *expected)
{
	json_t *at = json_array_get(json_object_get(root, "threads"), thread);
	at = json_object_get(json_object_get(at, table), column);
	assert_non_null(at);
	_cleanup_free_ char *text = json_dumps(at, JSON_COMPACT | JSON_ENCODE_ANY);
	assert_string_equal(text, expected);
}

static void a_thread_has_tables_of_its_own(void **state)
{
	json_t *root = load(*state);
	expect(root, 0, "stackTable", "frame", "[0,1,2]");
	expect(root, 0, "stackTable", "prefix", "[null,null,1]");
	expect(root, 0, "frameTable", "func", "[0,0,1]");
	expect(root, 0, "frameTable", "line", "[3,4,null]");
	expect(root, 0, "frameTable", "category", "[1,1,2]");
	expect(root, 0, "funcTable", "name", "[0,1]");
	expect(root, 0, "funcTable", "fileName", "[2,null]");
	expect(root, 0, "funcTable", "resource", "[-1,0]");
	expect(root, 0, "resourceTable", "name", "[3]");
	expect(root, 1, "stackTable", "frame", "[0]");
	expect(root, 1, "funcTable", "name", "[4]");
	_cleanup_free_ char *strings =
		json_dumps(json_object_get(json_object_get(root, "shared"), "stringArray"),
			   JSON_COMPACT);
	assert_string_equal(strings, "[\"main\",\"poll\",\"a.py\",\"c.so\",\"[no frames]\"]");
}

static void weights_are_milliseconds(void **state)
{
	json_t *root = load(*state);
	expect(root, 0, "samples", "weightType", "\"tracing-ms\"");
	expect(root, 0, "samples", "stack", "[2,0]");
	expect(root, 0, "samples", "weight", "[5.0,1.0000009999999999]");
	expect(root, 0, "samples", "time", "[0.0,5.0]");
	expect(root, 0, "samples", "length", "2");
	expect(root, 1, "samples", "stack", "[0]");
}

static void weights_can_be_samples(void **state)
{
	struct fixture *f = *state;
	f->options.weights = WRITER_SAMPLES;
	json_t *root = load(f);
	expect(root, 0, "samples", "weightType", "\"samples\"");
	expect(root, 0, "samples", "weight", "[1,1]");
	expect(root, 0, "samples", "time", "[0.0,10.0]");
}

static void without_lines_frames_are_functions(void **state)
{
	struct fixture *f = *state;
	f->options.no_line = true;
	json_t *root = load(f);
	expect(root, 0, "stackTable", "prefix", "[null,0]");
	expect(root, 0, "frameTable", "line", "[null,null]");
}

static void an_empty_profile_is_a_file_too(void **state)
{
	struct fixture f = { 0 };
	assert_null(profile_create(&f.profile));
	assert_int_equal(json_array_size(json_object_get(load(&f), "threads")), 0);
	json_decref(f.root);
	profile_destroy(f.profile);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_thread_has_tables_of_its_own),
		TEST(weights_are_milliseconds),
		TEST(weights_can_be_samples),
		TEST(without_lines_frames_are_functions),
		cmocka_unit_test(an_empty_profile_is_a_file_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
