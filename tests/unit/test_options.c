/* SPDX-License-Identifier: MIT */
/* test_options.c: the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "option_value.h"
#include "options.h"

static struct error *parse(struct options *options, char **words)
{
	int count = 0;
	while (words[count])
		count++;
	return options_parse(count, words, options);
}

#define PARSE(options, ...) parse(options, (char *[]){ "pysample", __VA_ARGS__, NULL })

static void durations_have_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} rows[] = {
		{ "30s", 30 * NS_PER_S },     { "500ms", 500 * NS_PER_MS },
		{ "2m", 120 * NS_PER_S },     { "1h", 3600 * NS_PER_S },
		{ "30", 30 * NS_PER_S },      { "0.5", NS_PER_S / 2 },
		{ "1.5s", 1500 * NS_PER_MS },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t ns = 0;
		assert_null(option_value_duration(rows[i].text, &ns));
		assert_int_equal(ns, rows[i].ns);
	}
}

static void what_is_no_duration_is_refused(void **state)
{
	static const char *const texts[] = { "",    "0",        "0s",  "-1s",  "s",
					     "5 s", "5x",       "1e9", "1..5", "nan",
					     "inf", "9999999h", "5s5", "0x10", "." };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t ns = 42;
		struct error *err = option_value_duration(texts[i], &ns);
		assert_non_null(err);
		assert_int_equal(err->code, ERROR_USAGE);
		assert_non_null(strstr(err->message, texts[i]));
		assert_int_equal(ns, 42);
		error_destroy(err);
	}
}

static void record_is_the_default(void **state)
{
	struct options options;
	assert_null(PARSE(&options, "-p", "12", "-d", "5s", "-F", "250", "-o", "x.json", "-t"));
	assert_int_equal(options.command, COMMAND_RECORD);
	assert_int_equal(options.choice.given.count, 1);
	assert_string_equal(options.choice.given.items[0], "12");
	assert_int_equal(options.duration_ns, 5 * NS_PER_S);
	assert_true(options.rate_hz == 250);
	assert_string_equal(options.format->name, "json");
	assert_true(options.writing.threads);
	assert_true(options.jitter);
	assert_false(options.idle);
	assert_true(options.max_overhead == 0);
	options_deinit(&options);

	assert_null(PARSE(&options, "record", "-p12", "--max-overhead", "0.5%"));
	assert_true(options.max_overhead == 0.005);
	options_deinit(&options);

	assert_null(PARSE(&options, "record", "-p12", "-f", "collapsed", "-o", "x.json"));
	assert_string_equal(options.format->name, "collapsed");
	options_deinit(&options);
}

static void several_processes_may_be_chosen(void **state)
{
	struct options options;
	assert_null(PARSE(&options, "-p", "12", "-p", "gunicorn", "--children-of", "7"));
	assert_int_equal(options.choice.given.count, 2);
	assert_string_equal(options.choice.given.items[1], "gunicorn");
	assert_int_equal(options.choice.children_of, 7);
	assert_false(choice_is_one_process(&options.choice));
	options_deinit(&options);

	assert_null(PARSE(&options, "--pid-file", "run.pid", "--delay", "10s", "--samples", "500"));
	assert_string_equal(options.choice.pid_file, "run.pid");
	assert_true(choice_is_one_process(&options.choice));
	assert_int_equal(options.delay_ns, 10 * NS_PER_S);
	assert_int_equal(options.samples, 500);
	options_deinit(&options);

	assert_null(PARSE(&options, "dump", "--wait", "celery", "--subprocesses"));
	assert_string_equal(options.choice.wait, "celery");
	assert_false(choice_is_one_process(&options.choice));
	options_deinit(&options);
}

static void a_program_comes_after_dashes(void **state)
{
	struct options options;
	assert_null(PARSE(&options, "-F", "50", "--", "python", "-d", "x"));
	assert_int_equal(options.choice.given.count, 0);
	assert_string_equal(options.program[0], "python");
	assert_string_equal(options.program[1], "-d");
	assert_string_equal(options.program[2], "x");
	assert_null(options.program[3]);
	options_deinit(&options);
}

static void off_cpu_time_is_that_of_sleepers(void **state)
{
	struct options options;
	assert_null(PARSE(&options, "-p", "1", "--mode", "offcpu"));
	assert_true(options.idle);
	options_deinit(&options);
	assert_null(PARSE(&options, "-p", "1", "--mode", "gil"));
	assert_true(options.gil);
	assert_false(options.idle);
	options_deinit(&options);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		char *words[6];
		const char *named;
	} rows[] = {
		{ { "-p", "" }, "-p" },
		{ { "-p", "0" }, "0" },
		{ { "-p", "99999999999" }, "99999999999" },
		{ { "--children-of", "name" }, "name" },
		{ { "--wait", "" }, "--wait" },
		{ { "--wait", "x", "--", "python" }, "--" },
		{ { "-p", "1", "--samples", "0" }, "0" },
		{ { "-p", "1", "--samples", "many" }, "many" },
		{ { "-p", "1", "--delay", "x" }, "x" },
		{ { "-p", "1", "--window", "1s" }, "-o" },
		{ { "-p", "1", "--until-exit", "-d", "1s" }, "--until-exit" },
		{ { "-p", "1", "-F", "0" }, "0" },
		{ { "-p", "1", "-F", "1e9" }, "1e9" },
		{ { "-p", "1", "--mode", "fast" }, "fast" },
		{ { "-p", "1", "--max-overhead", "much" }, "much" },
		{ { "-p", "1", "--max-overhead", "0%" }, "0%" },
		{ { "-p", "1", "--max-overhead", "101%" }, "101%" },
		{ { "-p", "1", "--max-overhead", "1 %" }, "1 %" },
		{ { "-p", "1", "-f", "svgz" }, "svgz" },
		{ { "-p", "1", "-o", "x.exe" }, "exe" },
		{ { "-p" }, "-p" },
		{ { "--pid" }, "--pid" },
		{ { "--bogus", "-p", "1" }, "--bogus" },
		{ { "-Z", "-p", "1" }, "-Z" },
		{ { "-p", "1", "word" }, "word" },
		{ { "-p", "1", "--", "python" }, "--" },
		{ { "-d", "5s" }, "-p" },
		{ { "dump", "-p", "1", "-F", "5" }, "rate" },
		{ { "dump" }, "-p" },
		{ { "replay" }, "replay" },
		{ { "-p", "1", "--capsule-every", "2" }, "--save-capsules" },
		{ { "-p", "1", "--no-idle", "--mode", "offcpu" }, "--no-idle" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *words[8] = { "pysample" };
		memcpy(words + 1, rows[i].words, sizeof(rows[i].words));
		struct options options;
		struct error *err = parse(&options, words);
		assert_non_null(err);
		assert_int_equal(err->code, ERROR_USAGE);
		if (!strstr(err->message, rows[i].named))
			fail_msg("row %zu: \"%s\" does not name %s", i, err->message,
				 rows[i].named);
		error_destroy(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_have_units),
		cmocka_unit_test(what_is_no_duration_is_refused),
		cmocka_unit_test(record_is_the_default),
		cmocka_unit_test(several_processes_may_be_chosen),
		cmocka_unit_test(a_program_comes_after_dashes),
		cmocka_unit_test(off_cpu_time_is_that_of_sleepers),
		cmocka_unit_test(what_is_wrong_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
