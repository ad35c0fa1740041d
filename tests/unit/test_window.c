/* SPDX-License-Identifier: MIT */
/* test_window.c: names of windows' files, and copies of a profile that stand for themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregate/profile.h"
#include "aggregate/symbolize.h"
#include "window.h"

static void names_of_windows(void **state)
{
	static const struct {
		const char *pattern, *name;
	} rows[] = {
		{ "p.html", "p.7.html" },
		{ "p", "p.7" },
		{ "dir.d/p", "dir.d/p.7" },
		{ "dir/.hidden", "dir/.hidden.7" },
		{ ".hidden", ".hidden.7" },
		{ "p.pb.gz", "p.7.pb.gz" },
		{ "p-%n.json", "p-7.json" },
		{ "%t.json", "20240131T235959Z.json" },
		{ "a%t-%n-%n.json", "a20240131T235959Z-7-7.json" },
		{ "100%.json", "100%.7.json" },
		{ "%x%", "%x%.7" },
	};
	const struct writer *format;
	assert_null(writer_by_name("pprof", &format));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *name = window_path(rows[i].pattern, format, 7, 1706745599);
		assert_string_equal(name, rows[i].name);
		free(name);
	}
}

static uint32_t add_sample(struct profile *profile, uint32_t process, pid_t tid, const char *name)
{
	uint32_t thread = profile_thread(profile, process, tid, "t");
	uint32_t frame =
		profile_frame(profile, profile_function(profile, name, "f.py", 1, PROFILE_PYTHON),
			      2);
	assert_int_equal(profile_add(profile, thread, &frame, 1, REASON_OK, 0, 10, 5), REASON_OK);
	return thread;
}

static void a_copy_has_what_was_sampled_and_those_who_started_it(void **state)
{
	struct profile *profile, *copy;
	assert_null(profile_create(&profile));
	uint32_t unused = profile_process(profile, 1, PROFILE_NONE);
	uint32_t parent = profile_process(profile, 2, PROFILE_NONE);
	uint32_t child = profile_process(profile, 3, parent);
	profile_thread(profile, unused, 10, "idle");
	add_sample(profile, child, 30, "leaf");
	profile_fact(&profile->processes.items[child].executable, "/bin/python");
	stats_note(&profile->stats, "a note");

	assert_null(symbolize_copy(NULL, SYMBOLIZE_FOLD, profile, &copy));
	profile_destroy(profile);
	assert_int_equal(copy->processes.count, 2);
	assert_int_equal(copy->processes.items[0].pid, 2);
	assert_int_equal(copy->processes.items[1].pid, 3);
	assert_int_equal(copy->processes.items[1].parent, 0);
	assert_string_equal(copy->processes.items[1].executable, "/bin/python");
	assert_int_equal(copy->threads.count, 1);
	assert_int_equal(copy->threads.items[0].process, 1);
	assert_int_equal(copy->threads.items[0].tid, 30);
	assert_int_equal(copy->samples.count, 1);
	assert_int_equal(copy->samples.items[0].thread, 0);
	assert_int_equal(copy->samples.items[0].wall_ns, 10);
	assert_int_equal(copy->stats.samples, 1);
	assert_int_equal(copy->stats.note_count, 1);
	assert_string_equal(copy->stats.notes[0], "a note");
	profile_destroy(copy);
}

static void a_copy_of_nothing_is_still_of_a_process(void **state)
{
	struct profile *profile, *copy;
	assert_null(profile_create(&profile));
	profile_process(profile, 4, PROFILE_NONE);
	assert_null(symbolize_copy(NULL, SYMBOLIZE_FOLD, profile, &copy));
	assert_int_equal(copy->processes.count, 1);
	assert_int_equal(copy->samples.count, 0);
	profile_destroy(copy);
	profile_destroy(profile);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_windows),
		cmocka_unit_test(a_copy_has_what_was_sampled_and_those_who_started_it),
		cmocka_unit_test(a_copy_of_nothing_is_still_of_a_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
