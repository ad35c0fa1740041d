/* SPDX-License-Identifier: MIT */
/* Given this profile, these bytes: escaping, the registry and every format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>

#include "aggregate/profile.h"
#include "base/strbuf.h"
#include "write/text.h"
#include "write/writer.h"

static void expect_escaped(const char *text, enum text_style style, const char *also,
			   const char *expected)
{
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	text_escape(&buf, text, style, also);
	strbuf_add(&buf, "", 0);
	assert_false(buf.failed);
	assert_string_equal(buf.text, expected);
}

static void text_is_escaped_by_byte(void **state)
{
	static const struct {
		const char *text, *utf8, *line;
	} expected[] = {
		{ "", "", "" },
		{ "plain name", "plain name", "plain name" },
		{ "a\\b\\\\", "a\\b\\\\", "a\\b\\\\" },
		{ "\\x3b", "\\\\x3b", "\\\\x3b" },
		{ "\\\\x3b", "\\\\\\\\x3b", "\\\\\\\\x3b" },
		{ "\\x3\\xg0\\x3B\\", "\\x3\\xg0\\x3B\\", "\\x3\\xg0\\x3B\\" },
		{ "\\\\\xff\\;", "\\\\\\\\\\xff\\;", "\\\\\\\\\\xff\\\\\\x3b" },
		{ "xff\xff", "xff\\xff", "xff\\xff" },
		{ "a;b", "a;b", "a\\x3bb" },
		{ "a\nb\r\t\x1b[0m\x7f", "a\nb\r\t\x1b[0m\x7f", "a\\x0ab\\x0d\\x09\\x1b[0m\\x7f" },
		/* Valid: 2, 3 and 4 bytes; the last code point of all. */
		{ "h\xc3\xa9", "h\xc3\xa9", "h\xc3\xa9" },
		{ "\xe6\x97\xa5\xef\xbf\xbd", "\xe6\x97\xa5\xef\xbf\xbd",
		  "\xe6\x97\xa5\xef\xbf\xbd" },
		{ "\xf0\x9f\x90\x8d\xf4\x8f\xbf\xbf", "\xf0\x9f\x90\x8d\xf4\x8f\xbf\xbf",
		  "\xf0\x9f\x90\x8d\xf4\x8f\xbf\xbf" },
		/* C1 controls, LINE SEPARATOR and PARAGRAPH SEPARATOR; their neighbours. */
		{ "\xc2\x85", "\xc2\x85", "\\xc2\\x85" },
		{ "\xc2\x9b", "\xc2\x9b", "\\xc2\\x9b" },
		{ "\xc2\xa0", "\xc2\xa0", "\xc2\xa0" },
		{ "\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa",
		  "\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa",
		  "\xe2\x80\xa7\\xe2\\x80\\xa8\\xe2\\x80\\xa9\xe2\x80\xaa" },
		/* Not UTF-8: a lone byte, a sequence cut by a letter or by the end, overlong, a
		   surrogate, too high. */
		{ "a\xff", "a\\xff", "a\\xff" },
		{ "\x80z", "\\x80z", "\\x80z" },
		{ "\xe6\x97z", "\\xe6\\x97z", "\\xe6\\x97z" },
		{ "\xf0\x9f\x90", "\\xf0\\x9f\\x90", "\\xf0\\x9f\\x90" },
		{ "\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf" },
		{ "\xe0\x9f\xbf", "\\xe0\\x9f\\xbf", "\\xe0\\x9f\\xbf" },
		{ "\xed\xb2\x80", "\\xed\\xb2\\x80", "\\xed\\xb2\\x80" },
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80" },
		{ "\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf", "\\xf0\\x8f\\xbf\\xbf" },
	};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		expect_escaped(expected[i].text, TEXT_UTF8, NULL, expected[i].utf8);
		expect_escaped(expected[i].text, TEXT_LINE, ";", expected[i].line);
	}
}

/* The rule of text.h, read backwards. */
static void unescape(const char *text, char *ret)
{
	while (*text) {
		size_t run = strspn(text, "\\");
		const char *rest = text + run;
		unsigned byte;
		if (!run || sscanf(rest, "x%2x", &byte) != 1 ||
		    !strchr("0123456789abcdef", rest[1]) || !rest[2] ||
		    !strchr("0123456789abcdef", rest[2])) {
			size_t size = run ? run : 1;
			memcpy(ret, text, size);
			ret += size;
			text += size;
			continue;
		}
		memset(ret, '\\', run / 2);
		ret += run / 2;
		if (run % 2) {
			*ret++ = (char)byte;
			rest += 3;
		}
		text = rest;
	}
	*ret = '\0';
}

/* All texts of up to six characters that mean something to the rule. */
static void every_text_can_be_had_back(void **state)
{
	static const char alphabet[] = "\\x3b; \xff";
	const size_t count = sizeof(alphabet) - 1;
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	for (size_t length = 1, texts = count; length <= 6; length++, texts *= count) {
		for (size_t number = 0; number < texts; number++) {
			char text[8] = "", back[64];
			for (size_t i = 0, n = number; i < length; i++, n /= count)
				text[i] = alphabet[n % count];
			strbuf_reset(&buf);
			text_escape(&buf, text, TEXT_LINE, ";");
			assert_null(strpbrk(buf.text, ";\xff"));
			unescape(buf.text, back);
			assert_string_equal(back, text);
		}
	}
}

static void expect_frame(const char *name, const char *file, uint32_t line, const char *expected)
{
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	text_add_frame(&buf, name, file, line);
	strbuf_add(&buf, "", 0);
	assert_string_equal(buf.text, expected);
}

static void frame_texts_can_be_taken_apart(void **state)
{
	expect_frame("work", "a/b.py", 12, "work (a/b.py:12)");
	expect_frame("work", "a/b.py", 0, "work (a/b.py)");
	expect_frame("<module>", "<string>", 1, "<module> (<string>:1)");
	expect_frame("f (x:1)", "a (1):2;.py", 7, "f (x:1) (a \\x281)\\x3a2\\x3b.py:7)");
	expect_frame("memcpy", "libc.so.6", 0, "memcpy (libc.so.6)");
	expect_frame("[cut: depth_limit]", NULL, 0, "[cut: depth_limit]");
	expect_frame("a;b", NULL, 0, "a\\x3bb");
	/* Without a file a number at the end could be taken for a count. */
	expect_frame("operator 12", NULL, 0, "operator\\x2012");
	expect_frame("x 1.5", NULL, 0, "x\\x201.5");
	expect_frame("x\\ 1", NULL, 0, "x\\\\\\x201");
	expect_frame("a 1 2", NULL, 0, "a 1\\x202");
	expect_frame("x12", NULL, 0, "x12");
	expect_frame("12", NULL, 0, "12");
	expect_frame("x ", NULL, 0, "x ");

	_cleanup_strbuf_ struct strbuf buf = { 0 };
	text_add_thread(&buf, 17, "Thread-1 (run;)\n");
	assert_string_equal(buf.text, "thread 17 (Thread-1 (run\\x3b)\\x0a)");
}

/* Two threads; work is on two lines; a stack that was cut; hostile names. */
struct fixture {
	struct profile *profile;
	uint32_t thread, other;
	struct writer_options options;
};

static uint32_t frame(struct fixture *f, const char *name, const char *file, uint32_t first,
		      uint32_t line)
{
	return profile_frame(f->profile,
			     profile_function(f->profile, name, file, first, PROFILE_PYTHON), line);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	assert_null(profile_create(&f->profile));
	struct profile *p = f->profile;
	f->thread = profile_thread(p, profile_process(p, 42, PROFILE_NONE), 100, "python");
	profile_thread_set_python_name(p, f->thread, "MainThread");
	f->other = profile_thread(p, 0, 101, "odd;\n\xff");

	uint32_t main = frame(f, "<module>", "/srv/app/main.py", 1, 30);
	uint32_t work = frame(f, "work", "/srv/app/lib/util.py", 10, 11);
	uint32_t work_other_line = frame(f, "work", "/srv/app/lib/util.py", 10, 12);
	uint32_t odd = frame(f, "a;b\n\x1b\\\xff", "/srv/x/util.py", 5, 6);
	uint32_t cut =
		profile_frame(p, profile_function(p, "[cut: depth_limit]", NULL, 0, PROFILE_MARKER),
			      0);

	for (int i = 0; i < 3; i++)
		profile_add(p, f->thread, (uint32_t[]){ main, work }, 2, REASON_OK, 0, 10, 1);
	profile_add(p, f->thread, (uint32_t[]){ main, work }, 2, REASON_OK, PROFILE_IDLE, 10, 0);
	for (int i = 0; i < 6; i++)
		profile_add(p, f->thread, (uint32_t[]){ main, work_other_line }, 2, REASON_OK,
			    PROFILE_GIL, 10, 10);
	profile_add(p, f->other, (uint32_t[]){ main, work }, 2, REASON_OK, 0, 100, 0);
	profile_add(p, f->other, (uint32_t[]){ cut, odd }, 2, REASON_DEPTH_LIMIT, 0, 7, 0);
	profile_add(p, f->other, NULL, 0, REASON_OK, 0, 1, 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	profile_destroy(f->profile);
	free(f);
	return 0;
}

static char *write_profile(const struct fixture *f, const char *format)
{
	const struct writer *writer;
	assert_null(writer_by_name(format, &writer));
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	assert_non_null(stream);
	assert_null(writer->write(f->profile, &f->options, stream));
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

static void expect_collapsed(const struct fixture *f, const char *expected)
{
	_cleanup_free_ char *text = write_profile(f, "collapsed");
	assert_string_equal(text, expected);
}

static void collapsed_counts_samples_heaviest_first(void **state)
{
	expect_collapsed(*state, "<module> (main.py:30);work (lib/util.py:12) 6\n"
				 "<module> (main.py:30);work (lib/util.py:11) 5\n"
				 "[cut: depth_limit];a\\x3bb\\x0a\\x1b\\\\\\xff (x/util.py:6) 1\n"
				 "[no frames] 1\n");
}

static void collapsed_without_lines_merges_functions(void **state)
{
	struct fixture *f = *state;
	f->options.no_line = true;
	expect_collapsed(f, "<module> (main.py);work (lib/util.py) 11\n"
			    "[cut: depth_limit];a\\x3bb\\x0a\\x1b\\\\\\xff (x/util.py) 1\n"
			    "[no frames] 1\n");
}

static void collapsed_with_full_paths(void **state)
{
	struct fixture *f = *state;
	f->options.full_paths = true;
	f->options.no_line = true;
	expect_collapsed(f, "<module> (/srv/app/main.py);work (/srv/app/lib/util.py) 11\n"
			    "[cut: depth_limit];a\\x3bb\\x0a\\x1b\\\\\\xff (/srv/x/util.py) 1\n"
			    "[no frames] 1\n");
}

static void collapsed_by_thread(void **state)
{
	struct fixture *f = *state;
	f->options.threads = true;
	f->options.no_line = true;
	expect_collapsed(f,
			 "thread 100 (MainThread);<module> (main.py);work (lib/util.py) 10\n"
			 "thread 101 (odd\\x3b\\x0a\\xff);<module> (main.py);work (lib/util.py) 1\n"
			 "thread 101 (odd\\x3b\\x0a\\xff);[cut: depth_limit];"
			 "a\\x3bb\\x0a\\x1b\\\\\\xff (x/util.py) 1\n"
			 "thread 101 (odd\\x3b\\x0a\\xff);[no frames] 1\n");
}

static void collapsed_in_ns_of_the_mode(void **state)
{
	struct fixture *f = *state;
	f->options.no_line = true;
	f->options.weights = WRITER_NS;
	expect_collapsed(f, "<module> (main.py);work (lib/util.py) 200\n"
			    "[cut: depth_limit];a\\x3bb\\x0a\\x1b\\\\\\xff (x/util.py) 7\n"
			    "[no frames] 1\n");
	/* Stacks that used no CPU time are not there. */
	f->profile->facts.mode = PROFILE_CPU;
	expect_collapsed(f, "<module> (main.py);work (lib/util.py) 63\n");
}

static void an_empty_profile_is_an_empty_collapsed_file(void **state)
{
	struct fixture f = { 0 };
	assert_null(profile_create(&f.profile));
	expect_collapsed(&f, "");
	profile_destroy(f.profile);
}

static json_t *load(const struct fixture *f, const char *format)
{
	_cleanup_free_ char *text = write_profile(f, format);
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		fail_msg("%s:%d: %s", format, error.line, error.text);
	return root;
}

static void expect_json(const json_t *value, const char *expected)
{
	assert_non_null(value);
	_cleanup_free_ char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	assert_string_equal(text, expected);
}

static void json_has_all_tables(void **state)
{
	json_t *root = load(*state, "json");
	expect_json(json_object_get(root, "format"), "\"pysample\"");
	expect_json(json_object_get(root, "version"), "2");
	expect_json(json_object_get(root, "threads"), "[{\"process\":0,\"tid\":100,\"kernel_name\":"
						      "\"python\",\"python_name\":\"MainThread\"},"
						      "{\"process\":0,\"tid\":101,\"kernel_name\":"
						      "\"odd;\\n\\\\xff\",\"python_name\":null}]");
	json_t *functions = json_object_get(root, "functions");
	assert_int_equal(json_array_size(functions), 4);
	expect_json(json_array_get(functions, 1),
		    "{\"name\":\"work\",\"file\":\"/srv/app/lib/util.py\",\"short_file\":"
		    "\"lib/util.py\",\"line\":10,\"kind\":\"python\"}");
	expect_json(json_object_get(json_array_get(functions, 2), "name"),
		    "\"a;b\\n\\u001B\\\\\\\\\\\\xff\"");
	expect_json(json_array_get(functions, 3),
		    "{\"name\":\"[cut: depth_limit]\",\"file\":null,\"short_file\":null,\"line\":0,"
		    "\"kind\":\"marker\"}");
	expect_json(json_object_get(root, "frames"), "[[0,30],[1,11],[1,12],[2,6],[3,0]]");
	expect_json(json_object_get(root, "stacks"), "[[null,0],[0,1],[0,2],[null,4],[3,3]]");

	json_t *samples = json_object_get(root, "samples");
	assert_int_equal(json_array_size(samples), 6);
	expect_json(json_array_get(samples, 0),
		    "{\"thread\":0,\"stack\":1,\"state\":\"active\",\"gil\":false,\"end\":\"ok\","
		    "\"count\":3,\"wall_ns\":30,\"cpu_ns\":3}");
	expect_json(json_object_get(json_array_get(samples, 1), "state"), "\"idle\"");
	expect_json(json_object_get(json_array_get(samples, 2), "gil"), "true");
	expect_json(json_object_get(json_array_get(samples, 4), "end"), "\"depth_limit\"");
	expect_json(json_object_get(json_array_get(samples, 5), "stack"), "null");
	json_decref(root);
}

static void json_has_facts_and_losses(void **state)
{
	struct fixture *f = *state;
	struct profile_facts *facts = &f->profile->facts;
	profile_fact(&facts->tool_version, "0.1");
	struct profile_process *process = &f->profile->processes.items[0];
	profile_fact(&process->executable, "/usr/bin/py\xffthon");
	profile_fact_argv(&process->argv, "python\0\0-c\0u", 12);
	profile_fact(&facts->start_time, "2026-01-02T03:04:05Z");
	facts->mode = PROFILE_OFFCPU;
	struct stats *stats = &f->profile->stats;
	stats->interval_ns = 10000000;
	stats->duration_ns = 2000000000;
	stats->ticks = 199;
	stats_loss(stats, REASON_MOVED);
	stats_stop(stats, 1000, 100);
	stats_stop(stats, 1001, 101);
	stats_note(stats, "n");

	json_t *root = load(f, "json");
	expect_json(json_object_get(root, "tool"),
		    "{\"name\":\"pysample\",\"version\":\"0.1\",\"argv\":null}");
	expect_json(json_object_get(root, "processes"),
		    "[{\"pid\":42,\"parent\":null,\"name\":null,\"argv\":[\"python\",\"\",\"-c\","
		    "\"u\"],"
		    "\"executable\":\"/usr/bin/py\\\\xffthon\",\"python_version\":null,"
		    "\"runtime\":null,\"found_by\":null,\"layout\":null,\"thread_source\":null}]");
	expect_json(json_object_get(root, "start_time"), "\"2026-01-02T03:04:05Z\"");
	expect_json(json_object_get(root, "duration_ns"), "2000000000");
	expect_json(json_object_get(root, "options"),
		    "{\"mode\":\"offcpu\",\"interval_ns\":10000000,\"full_paths\":false}");
	expect_json(json_object_get(root, "losses"), "{\"moved\":1}");
	json_t *written = json_object_get(root, "stats");
	expect_json(json_object_get(written, "rate_hz"), "99.5");
	expect_json(json_object_get(written, "samples"), "13");
	expect_json(json_object_get(written, "cut"), "{\"depth_limit\":1}");
	expect_json(json_object_get(written, "stops"), "2");
	expect_json(json_object_get(written, "stop_ns"),
		    "{\"count\":2,\"sum\":2001,\"p50\":1001,\"p90\":1001,\"p99\":1001,"
		    "\"max\":1001,\"buckets\":[[992,2]]}");
	expect_json(json_object_get(written, "notes"), "[\"n\"]");
	json_decref(root);
}

static void speedscope_has_a_profile_a_thread(void **state)
{
	json_t *root = load(*state, "speedscope");
	expect_json(json_object_get(json_object_get(root, "shared"), "frames"),
		    "[{\"name\":\"<module>\",\"file\":\"main.py\",\"line\":1},"
		    "{\"name\":\"work\",\"file\":\"lib/util.py\",\"line\":10},"
		    "{\"name\":\"a;b\\n\\u001B\\\\\\\\\\\\xff\",\"file\":\"x/util.py\",\"line\":5},"
		    "{\"name\":\"[cut: depth_limit]\"},{\"name\":\"[no frames]\"}]");
	expect_json(json_object_get(root, "profiles"),
		    "[{\"type\":\"sampled\",\"name\":\"thread 100 (MainThread)\","
		    "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":100,"
		    "\"samples\":[[0,1]],\"weights\":[100]},"
		    "{\"type\":\"sampled\",\"name\":\"thread 101 (odd;\\n\\\\xff)\","
		    "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":108,"
		    "\"samples\":[[0,1],[3,2],[4]],\"weights\":[100,7,1]}]");
	json_decref(root);
}

static void speedscope_can_count_samples(void **state)
{
	struct fixture *f = *state;
	f->options.weights = WRITER_SAMPLES;
	json_t *root = load(f, "speedscope");
	json_t *first = json_array_get(json_object_get(root, "profiles"), 0);
	expect_json(json_object_get(first, "unit"), "\"none\"");
	expect_json(json_object_get(first, "weights"), "[10]");
	json_decref(root);
}

/* One process needs no label; of several each has one. */
static void several_processes_are_told_apart(void **state)
{
	struct fixture *f = *state;
	uint32_t child = profile_process(f->profile, 43, 0);
	profile_fact(&f->profile->processes.items[child].executable, "/usr/bin/work;er");
	uint32_t thread = profile_thread(f->profile, child, 43, "t");
	uint32_t main = frame(f, "<module>", "/srv/app/main.py", 1, 30);
	for (int i = 0; i < 99; i++)
		profile_add(f->profile, thread, &main, 1, REASON_OK, 0, 10, 0);

	_cleanup_free_ char *lines = write_profile(f, "collapsed");
	assert_non_null(strstr(lines, "process 43 (work\\x3ber);<module> (main.py:30) 99\n"));
	assert_non_null(strstr(lines, "process 42 (?);<module> (main.py:30);"));
	json_t *root = load(f, "speedscope");
	expect_json(json_object_get(root, "name"), "\"2 processes\"");
	json_t *last = json_array_get(json_object_get(root, "profiles"), 2);
	expect_json(json_object_get(last, "name"), "\"process 43 (work;er), thread 43 (t)\"");
	json_decref(root);
	root = load(f, "json");
	json_t *written = json_array_get(json_object_get(root, "processes"), child);
	expect_json(json_object_get(written, "parent"), "0");
	json_decref(root);
}

static void an_empty_profile_is_still_valid_json(void **state)
{
	struct fixture f = { 0 };
	assert_null(profile_create(&f.profile));
	json_t *root = load(&f, "json");
	expect_json(json_object_get(root, "samples"), "[]");
	json_decref(root);
	root = load(&f, "speedscope");
	expect_json(json_object_get(root, "profiles"),
		    "[{\"type\":\"sampled\",\"name\":\"no samples\",\"unit\":\"nanoseconds\","
		    "\"startValue\":0,\"endValue\":0,\"samples\":[],\"weights\":[]}]");
	json_decref(root);
	profile_destroy(f.profile);
}

static void expect_ending(const char *path, const char *expected)
{
	const struct writer *writer;
	assert_null(writer_by_ending(path, &writer));
	assert_string_equal(writer->name, expected);
}

static void the_ending_chooses_the_format(void **state)
{
	expect_ending(NULL, "collapsed");
	expect_ending("-", "collapsed");
	expect_ending("/dev/stdout", "collapsed");
	expect_ending("some.dir/out", "collapsed");
	expect_ending("a.folded", "collapsed");
	expect_ending("a.collapsed", "collapsed");
	expect_ending("/tmp/a.b.txt", "collapsed");
	expect_ending("a.json", "json");
	expect_ending(".json", "json");
	expect_ending("a.speedscope", "speedscope");
	expect_ending("a.speedscope.json", "speedscope");
	expect_ending("a.speedscope.txt", "collapsed");
	expect_ending("a.pb.gz", "pprof");
	expect_ending("a.pprof", "pprof");
}

static void expect_refused(struct error *err, const char *beginning, const char *end)
{
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_USAGE);
	assert_memory_equal(err->message, beginning, strlen(beginning));
	assert_string_equal(err->message + strlen(err->message) - strlen(end), end);
	error_destroy(err);
}

static void an_unknown_format_is_answered_with_the_known_ones(void **state)
{
	const struct writer *writer = NULL;
	expect_refused(writer_by_name("none", &writer),
		       "unknown format 'none': known are collapsed, json, speedscope, ", "");
	expect_refused(writer_by_ending("out.none", &writer),
		       "the ending of 'out.none' names no format: known are .collapsed, "
		       ".folded, .txt, .json, .speedscope.json, .speedscope, ",
		       "; or choose with -f");
	expect_refused(writer_by_ending("out.json.gz", &writer), "the ending of 'out.json.gz'", "");
	assert_null(writer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_escaped_by_byte),
		cmocka_unit_test(every_text_can_be_had_back),
		cmocka_unit_test(frame_texts_can_be_taken_apart),
		TEST(collapsed_counts_samples_heaviest_first),
		TEST(collapsed_without_lines_merges_functions),
		TEST(collapsed_with_full_paths),
		TEST(collapsed_by_thread),
		TEST(collapsed_in_ns_of_the_mode),
		cmocka_unit_test(an_empty_profile_is_an_empty_collapsed_file),
		TEST(json_has_all_tables),
		TEST(json_has_facts_and_losses),
		TEST(speedscope_has_a_profile_a_thread),
		TEST(speedscope_can_count_samples),
		TEST(several_processes_are_told_apart),
		cmocka_unit_test(an_empty_profile_is_still_valid_json),
		cmocka_unit_test(the_ending_chooses_the_format),
		cmocka_unit_test(an_unknown_format_is_answered_with_the_known_ones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
