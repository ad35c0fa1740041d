/* SPDX-License-Identifier: MIT */
/* test_replay.c: every saved capsule gives the very stack that is written beside it, without an interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "replay.h"

static const char *const directories[] = {
	TOP_SRCDIR "/fixtures/capsules",
	TOP_SRCDIR "/fixtures/capsules-native",
};

static char *read_file(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "r");
	assert_non_null(file);
	struct strbuf text = { 0 };
	char chunk[4096];
	size_t n;
	while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
		strbuf_add(&text, chunk, n);
	return strbuf_steal(&text);
}

static char *replayed(const char *path, bool fault, size_t which)
{
	_cleanup_capsule_ struct capsule capsule;
	capsule_init(&capsule);
	_cleanup_error_ struct error *err = capsule_load(path, &capsule);
	if (err)
		fail_msg("%s", err->message);
	struct block_vec *list = &capsule.snapshot.blocks.list;
	if (fault) {
		if (which >= list->count)
			return NULL;
		memmove(&list->items[which], &list->items[which + 1],
			(list->count - which - 1) * sizeof(*list->items));
		list->count--;
	}
	struct strbuf text = { 0 };
	err = replay_capsule(&capsule, &text);
	if (err) {
		strbuf_deinit(&text);
		return strdup(err->message);
	}
	return strbuf_steal(&text);
}

static void replay_gives_the_expected_stack(void **state)
{
	const char *path = *state;
	char buffer[4096];
	snprintf(buffer, sizeof(buffer), "%.*s.expected", (int)(strlen(path) - strlen(".json")),
		 path);
	_cleanup_free_ char *expected = read_file(buffer);
	_cleanup_free_ char *found = replayed(path, false, 0);
	assert_string_equal(found, expected);
}

/* Each block left out in turn: a read that fails must show as a loss, never as another stack. */
static void replay_never_makes_up_what_is_missing(void **state)
{
	const char *path = *state;
	_cleanup_free_ char *whole = replayed(path, false, 0);
	for (size_t i = 0;; i++) {
		_cleanup_free_ char *found = replayed(path, true, i);
		if (!found) {
			assert_true(i > 0);
			return;
		}
		/* The GIL's holder is a remark beside the stack. */
		bool complete = strstr(found, "\ncomplete\n") != NULL;
		if (complete && strcmp(found, whole)) {
			char *mark = strstr(whole, "holds the GIL\n");
			assert_non_null(mark);
			assert_int_equal(strlen(found) + strlen("holds the GIL\n"), strlen(whole));
			assert_memory_equal(found, whole, (size_t)(mark - whole));
		}
	}
}

static int is_capsule(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');
	return dot && !strcmp(dot, ".json");
}

DEFINE_VEC(struct tests, tests_vec, struct CMUnitTest)

static void add(struct tests *tests, const char *name, CMUnitTestFunction function,
		const char *path)
{
	struct CMUnitTest *test = tests_vec_append(tests);
	char *test_name;
	if (!test || asprintf(&test_name, "%s: %s", name, path + strlen(TOP_SRCDIR)) < 0)
		abort();
	*test = (struct CMUnitTest){
		.name = test_name,
		.test_func = function,
		.initial_state = strdup(path),
	};
}

static bool add_directory(struct tests *tests, const char *directory)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_capsule, alphasort);
	if (count <= 0) {
		fprintf(stderr, "no capsules in %s\n", directory);
		return false;
	}
	for (int i = 0; i < count; i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		add(tests, "replay", replay_gives_the_expected_stack, path);
		add(tests, "missing block", replay_never_makes_up_what_is_missing, path);
		free(entries[i]);
	}
	free(entries);
	return true;
}

int main(void)
{
	struct tests tests = { 0 };
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		if (!add_directory(&tests, directories[i]))
			return 1;
	int status = _cmocka_run_group_tests("replay", tests.items, tests.count, NULL, NULL);
	vec_foreach (test, &tests) {
		free((char *)test->name);
		free(test->initial_state);
	}
	tests_vec_deinit(&tests);
	return status;
}
