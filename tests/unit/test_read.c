/* SPDX-License-Identifier: MIT */
/* Given this file, this profile; given that one, this refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#ifdef HAVE_LZMA
#include <lzma.h>
#endif
#include <zlib.h>

#include "aggregate/combine.h"
#include "aggregate/profile.h"
#include "base/strbuf.h"
#include "read/read.h"
#include "read/unescape.h"
#include "write/text.h"
#include "write/writer.h"

/* What is written of @profile in a format; the caller frees it. */
static char *written(const struct profile *profile, const char *format,
		     const struct writer_options *options)
{
	const struct writer *writer;
	char *text = NULL;
	size_t size;
	assert_null(writer_by_name(format, &writer));
	FILE *stream = open_memstream(&text, &size);
	assert_non_null(stream);
	assert_null(writer->write(profile, options, stream));
	assert_int_equal(fclose(stream), 0);
	return text;
}

static struct profile *read_text(const char *text, const struct read_options *options)
{
	struct profile *profile;
	assert_null(profile_create(&profile));
	struct error *err = read_bytes(text, strlen(text), options, profile);
	if (err)
		fail_msg("%s", err->message);
	return profile;
}

static void expect_refused(const char *text, const char *expected)
{
	const struct read_options options = { 0 };
	struct profile *profile;
	assert_null(profile_create(&profile));
	struct error *err = read_bytes(text, strlen(text), &options, profile);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_CORRUPT);
	assert_string_equal(err->message, expected);
	error_destroy(err);
	profile_destroy(profile);
}

static bool is_package(void *context, const char *dir)
{
	return !strcmp(dir, "/srv/app") || !strcmp(dir, "/srv/app/db");
}

/* Two processes, three threads, all kinds of functions, hostile names, losses, times. */
static struct profile *make_profile(void)
{
	struct profile *p;
	assert_null(profile_create(&p));
	profile_fact(&p->facts.tool_version, "0.1");
	profile_fact_argv(&p->facts.tool_argv,
			  "pysample\0-p\0"
			  "1",
			  13);
	profile_fact(&p->facts.start_time, "2026-01-02T03:04:05Z");
	p->facts.mode = PROFILE_CPU;
	uint32_t parent = profile_process(p, 10, PROFILE_NONE);
	uint32_t child = profile_process(p, 11, parent);
	profile_fact(&p->processes.items[parent].executable, "/usr/bin/python3");
	profile_fact(&p->processes.items[parent].python_version, "3.x");
	profile_fact_argv(&p->processes.items[parent].argv, "python\0a b\xff\0", 11);
	profile_fact(&p->processes.items[child].name, "worker 1");

	uint32_t main = profile_thread(p, parent, 10, "python");
	profile_thread_set_python_name(p, main, "MainThread");
	uint32_t again = profile_thread(p, parent, 10, "python");
	uint32_t other = profile_thread(p, child, 12, NULL);

	uint32_t module = profile_frame(
		p, profile_function(p, "<module>", "/srv/app/main.py", 1, PROFILE_PYTHON), 30);
	uint32_t query = profile_frame(p,
				       profile_function(p, "q\xff;\n\\x3b", "/srv/app/db/main.py",
							7, PROFILE_PYTHON),
				       9);
	uint32_t query_there = profile_frame(p, 1, 12);
	uint32_t native =
		profile_frame(p, profile_function(p, "memcpy", "/lib/libc.so.6", 0, PROFILE_NATIVE),
			      0);
	uint32_t cut =
		profile_frame(p, profile_function(p, "[cut: depth_limit]", NULL, 0, PROFILE_MARKER),
			      0);
	profile_add(p, main, (uint32_t[]){ module, query }, 2, REASON_OK, PROFILE_GIL, 30, 10);
	profile_add(p, main, (uint32_t[]){ module, query_there, native }, 3, REASON_OK, 0, 40, 40);
	profile_add(p, again, (uint32_t[]){ module, query }, 2, REASON_OK, PROFILE_IDLE, 50, 1);
	profile_add(p, other, (uint32_t[]){ cut, query }, 2, REASON_DEPTH_LIMIT, 0, 60, 5);
	profile_add(p, other, NULL, 0, REASON_OK, 0, 7, 7);
	for (uint64_t i = 1; i < 1000000; i *= 7) {
		stats_tick(&p->stats, i);
		stats_stop(&p->stats, i, i / 2);
	}
	stats_loss(&p->stats, REASON_TORN_CHAIN);
	stats_note(&p->stats, "a note; %s", "\xff");
	p->stats.interval_ns = 10000000;
	p->stats.duration_ns = 123456789;
	return p;
}

static void json_comes_back_as_it_was(void **state)
{
	const struct writer_options first = { .paths = { .is_package_dir = is_package } };
	const struct writer_options second = { 0 };
	struct profile *profile = make_profile();
	char *before = written(profile, "json", &first);
	struct profile *back = read_text(before, &(struct read_options){ 0 });
	/* The directories of the program are not asked again. */
	char *after = written(back, "json", &second);
	assert_string_equal(after, before);
	assert_non_null(strstr(after, "\"short_file\":\"app/db/main.py\""));
	free(before);
	free(after);
	profile_destroy(back);
	profile_destroy(profile);
}

static void what_is_shown_of_a_file_goes_with_it(void **state)
{
	const struct writer_options first = { .paths = { .is_package_dir = is_package } };
	struct profile *profile = make_profile();
	char *json = written(profile, "json", &first);
	struct profile *back = read_text(json, &(struct read_options){ 0 });
	struct profile *both;
	assert_null(profile_create(&both));
	assert_null(profile_append(both, back));
	char *text = written(both, "collapsed", &(struct writer_options){ 0 });
	assert_non_null(strstr(text, "(app/db/main.py:9)"));
	free(text);
	free(json);
	profile_destroy(both);
	profile_destroy(back);
	profile_destroy(profile);
}

static void what_json_keeps_makes_the_same_collapsed_stacks(void **state)
{
	struct profile *profile = make_profile();
	for (int i = 0; i < 8; i++) {
		struct writer_options options = {
			.threads = i & 1,
			.no_line = i & 2,
			.weights = i & 4 ? WRITER_NS : WRITER_SAMPLES,
			.paths = { .is_package_dir = is_package },
		};
		char *direct = written(profile, "collapsed", &options);
		char *json = written(profile, "json", &options);
		struct profile *back = read_text(json, &(struct read_options){ 0 });
		options.paths = (struct path_rules){ 0 };
		char *later = written(back, "collapsed", &options);
		assert_string_equal(later, direct);
		/* And those come back too. */
		struct profile *folded =
			read_text(direct,
				  &(struct read_options){ .ns = options.weights == WRITER_NS });
		char *last = written(folded, "collapsed", &options);
		if (options.threads)
			assert_string_equal(last, direct);
		free(direct);
		free(json);
		free(later);
		free(last);
		profile_destroy(back);
		profile_destroy(folded);
	}
	profile_destroy(profile);
}

static const char old_json[] =
	"{\"format\":\"pysample\",\"version\":1,"
	"\"target\":{\"pid\":7,\"argv\":[\"python\",\"x.py\"],\"executable\":\"/bin/p\"},"
	"\"samples\":[{\"thread\":0,\"stack\":1,\"state\":\"idle\",\"gil\":true,\"end\":\"ok\","
	"\"count\":3,\"wall_ns\":30,\"cpu_ns\":20,\"new\":[{}]}],"
	"\"stacks\":[[null,0],[0,1]],\"frames\":[[0,5],[1,0]],"
	"\"functions\":[{\"name\":\"f\",\"file\":\"/a/f.py\",\"short_file\":\"f.py\",\"line\":4,"
	"\"kind\":\"python\"},{\"name\":\"\\u00e9\\ud83d\\ude00\",\"file\":null,\"short_file\":"
	"null,"
	"\"line\":0,\"kind\":\"marker\"}],"
	"\"threads\":[{\"tid\":7,\"kernel_name\":null,\"python_name\":\"M\"}],"
	"\"unknown\":{\"deep\":[[[1.5e3,-2,true,false,null,\"\\\"\"]]]}}";

/* In whatever order the members come, and whatever else is there. */
static void version_1_is_read(void **state)
{
	struct profile *p = read_text(old_json, &(struct read_options){ 0 });
	assert_int_equal(p->processes.count, 1);
	assert_int_equal(p->processes.items[0].pid, 7);
	assert_int_equal(p->processes.items[0].argv.size, 12);
	assert_string_equal(profile_thread_name(p, 0), "M");
	assert_int_equal(p->threads.items[0].process, 0);
	assert_int_equal(p->samples.count, 1);
	assert_int_equal(p->samples.items[0].flags, PROFILE_IDLE | PROFILE_GIL);
	assert_int_equal(p->samples.items[0].wall_ns, 30);
	/* Counted, since there are no stats. */
	assert_int_equal(p->stats.samples, 3);
	assert_int_equal(p->stats.complete, 3);
	char *text = written(p, "collapsed", &(struct writer_options){ 0 });
	assert_string_equal(text, "f (f.py:5);\xc3\xa9\xf0\x9f\x98\x80 3\n");
	free(text);
	profile_destroy(p);
}

/* Every proper beginning of a file is refused. */
static void a_file_that_was_cut_is_refused(void **state)
{
	const struct read_options options = { 0 };
	for (size_t size = 0; size < sizeof(old_json) - 1; size++) {
		struct profile *profile;
		assert_null(profile_create(&profile));
		char *copy = malloc(size + 1);
		memcpy(copy, old_json, size);
		struct error *err = read_bytes(copy, size, &options, profile);
		assert_non_null(err);
		assert_int_equal(err->code, ERROR_CORRUPT);
		error_destroy(err);
		free(copy);
		profile_destroy(profile);
	}
}

/* @text with the first @from replaced; the caller frees it. */
static char *replaced(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	assert_non_null(at);
	char *result;
	assert_true(asprintf(&result, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) >
		    0);
	return result;
}

static void json_that_contradicts_itself_is_refused(void **state)
{
	static const struct {
		const char *from, *to, *wrong;
	} rows[] = {
		{ "\"pysample\"", "\"other\"", "not a profile of pysample, but of another format" },
		{ "\"version\":1", "\"version\":3", "a version that this pysample does not know" },
		{ "\"version\":1", "\"version\":1.0", "a whole number is expected here" },
		{ "\"version\":1", "\"version\":01", "a whole number is expected here" },
		{ "\"samples\":", "\"sampled\":", "there are no \"samples\"" },
		{ "[0,1]]", "[1,1]]", "a caller that does not come before" },
		{ "[0,1]]", "[0,2]]", "a frame that is not in the file" },
		{ "[0,1]]", "[0,1,2]]", "the end of an array or object is expected here" },
		{ "[0,1]]", "[-1,1]]", "a whole number is expected here" },
		{ "[1,0]]", "[2,0]]", "a function that is not in the file" },
		{ "[1,0]]", "[1,4294967296]]", "a number that is too large" },
		{ "\"thread\":0", "\"thread\":1", "a thread that is not in the file" },
		{ "\"stack\":1", "\"stack\":2", "a stack that is not in the file" },
		{ "\"stack\":1", "\"stuck\":1", "a sample without a thread or stack" },
		{ "\"idle\"", "\"busy\"", "a state that is neither \"active\" nor \"idle\"" },
		{ "\"ok\"", "\"maybe\"", "a reason that this pysample does not know" },
		{ "\"count\":3", "\"count\":18446744073709551616", "a number that is too large" },
		{ "\"count\":3,", "", NULL },
		{ "\"marker\"", "\"rust\"", "a kind of function that this pysample does not know" },
		{ "\"name\":\"f\"", "\"name\":null", "a function without a name" },
		{ "\\ud83d\\ude00", "\\ud83d", "half a surrogate pair" },
		{ "\\ud83d\\ude00", "\\ude00", "half a surrogate pair" },
		{ "\\u00e9", "\\u0000", "a text has the character U+0000" },
		{ "\\u00e9", "\n", "a control character in a string" },
		{ "\\u00e9", "\\q", "an escape that JSON does not have" },
		{ "\"tid\":7", "\"tid\":2147483648", "a number that is too large" },
		{ "false,null", "false,nul", "a value is expected here" },
		{ "[[[1.5e3", "[[[1.5e3 2", "a comma is expected here" },
	};
	const struct read_options options = { 0 };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = replaced(old_json, rows[i].from, rows[i].to);
		struct profile *profile;
		assert_null(profile_create(&profile));
		struct error *err = read_bytes(text, strlen(text), &options, profile);
		if (!rows[i].wrong) {
			assert_null(err);
		} else {
			if (!err)
				fail_msg("read: %s", rows[i].to);
			if (!strstr(err->message, rows[i].wrong))
				fail_msg("%s: %s", rows[i].to, err->message);
			error_destroy(err);
		}
		profile_destroy(profile);
		free(text);
	}
	expect_refused("{\"format\":\"pysample\",\"version\":2,\"threads\":[],\"functions\":[],"
		       "\"frames\":[],\"stacks\":[],\"samples\":[],\n"
		       "\"processes\":[{\"pid\":1,\"parent\":1},{\"pid\":2,\"parent\":0}]}",
		       "line 2, column 56: processes that are each other's parents");
	expect_refused("{}", "line 1, column 3: not a profile of pysample: there is no \"format\"");
	expect_refused("{\n \"a\": 1,\n \"b\"}", "line 3, column 5: a colon is expected here");
	expect_refused("{\"a\":1} x",
		       "line 1, column 9: something comes after the end of the profile");
}

/* Neither the depth of values nor that of stacks can be used up. */
static void depth_has_limits(void **state)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	strbuf_adds(&text, "{\"a\":");
	for (int i = 0; i < 100; i++)
		strbuf_addc(&text, '[');
	expect_refused(text.text, "line 1, column 70: nested too deeply");

	strbuf_reset(&text);
	strbuf_adds(&text, "{\"format\":\"pysample\",\"version\":2,\"processes\":[],\"threads\":[],"
			   "\"functions\":[{\"name\":\"f\"}],\"frames\":[[0,0]],\"samples\":[],\n"
			   "\"stacks\":[[null,0]");
	for (unsigned i = 0; i < READ_DEPTH_MAX; i++)
		strbuf_addf(&text, ",[%u,0]", i);
	strbuf_adds(&text, "]}");
	const struct read_options options = { 0 };
	struct profile *profile;
	assert_null(profile_create(&profile));
	struct error *err = read_bytes(text.text, text.length, &options, profile);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "a stack of too many frames"));
	error_destroy(err);
	profile_destroy(profile);
}

static void collapsed_stacks_of_others_are_read(void **state)
{
	struct profile *p = read_text("# made by: something\n"
				      "\n"
				      "main;std::foo(int, int);[unknown] 3\n"
				      "process 5:\"python x\";work (a b.py:12) 4\r\n"
				      "main;;x 1\n"
				      "operator() (lib.so);f (C:\\x.py:7);g (x.c:9) 2",
				      &(struct read_options){ 0 });
	assert_true(p->facts.untimed);
	assert_int_equal(p->stats.samples, 10);
	char *text = written(p, "collapsed", &(struct writer_options){ 0 });
	assert_string_equal(text, "process 5:\"python x\";work (a b.py:12) 4\n"
				  "main;std::foo(int, int);[unknown] 3\n"
				  "operator() (lib.so);f (C\\x3a\\x.py:7);g (x.c:9) 2\n"
				  "main;[unnamed];x 1\n");
	static const struct {
		const char *name;
		enum profile_kind kind;
	} kinds[] = {
		{ "main", PROFILE_NATIVE },      { "[unknown]", PROFILE_MARKER },
		{ "work", PROFILE_PYTHON },      { "operator()", PROFILE_NATIVE },
		{ "f", PROFILE_PYTHON },         { "g", PROFILE_NATIVE },
		{ "[unnamed]", PROFILE_MARKER },
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool found = false;
		vec_foreach (function, &p->functions) {
			if (strcmp(intern_text(&p->strings, function->name), kinds[i].name) != 0)
				continue;
			assert_int_equal(function->kind, kinds[i].kind);
			found = true;
		}
		assert_true(found);
	}
	free(text);
	profile_destroy(p);
}

static void threads_and_processes_of_collapsed_stacks_are_known(void **state)
{
	static const char text[] =
		"process 5 (a.py);thread 5 (Main;[cut: depth_limit];f (a.py) 1\n"
		"process 5 (a.py);thread 5 (Main);[cut: depth_limit];f (a.py) 2\n"
		"process 5 (a.py);thread 6 (W \\x3b);[no frames] 3\n"
		"process 6 (a.py);thread 6 (W \\x3b);g (a.py) 4\n";
	struct profile *p = read_text(text, &(struct read_options){ .ns = true });
	assert_false(p->facts.untimed);
	assert_int_equal(p->processes.count, 2);
	assert_int_equal(p->processes.items[1].pid, 6);
	assert_int_equal(p->threads.count, 4);
	assert_string_equal(p->threads.items[1].python_name, "Main");
	assert_string_equal(p->threads.items[2].python_name, "W ;");
	assert_int_equal(p->threads.items[3].process, 1);
	assert_int_equal(p->samples.items[1].end, REASON_DEPTH_LIMIT);
	assert_int_equal(p->samples.items[2].stack, PROFILE_NONE);
	assert_int_equal(p->samples.items[3].wall_ns, 4);
	assert_int_equal(p->samples.items[3].count, 1);
	profile_destroy(p);
}

static void what_is_no_stack_is_refused(void **state)
{
	expect_refused("", "no stacks in it");
	expect_refused("\n# only remarks\n", "no stacks in it");
	expect_refused("f 1\ng\n", "line 2: not a stack: there is no whole number at its end");
	expect_refused("f 1.5\n", "line 1: not a stack: there is no whole number at its end");
	expect_refused("f 18446744073709551616",
		       "line 1: not a stack: there is no whole number at its end");
	expect_refused("f 18446744073709551615\nf 1", "line 2: numbers that add up to too much");
	expect_refused("f 1 2\n",
		       "line 1: two numbers at the end: the difference of two profiles is none");
	expect_refused("f 1\n# late 2x\n",
		       "line 2: not a stack: there is no whole number at its end");
}

static void files_are_added_up(void **state)
{
	const struct read_options options = { 0 };
	const struct writer_options writing = { 0 };
	struct profile *one = make_profile();
	char *json = written(one, "json", &writing);
	struct profile *p = read_text(json, &options);
	assert_null(read_bytes(json, strlen(json), &options, p));
	assert_int_equal(p->processes.count, 2);
	/* Two have the same id and are told apart by their names. */
	assert_int_equal(p->threads.count, 3);
	assert_int_equal(p->samples.count, one->samples.count);
	for (size_t i = 0; i < one->samples.count; i++) {
		assert_int_equal(p->samples.items[i].count, 2 * one->samples.items[i].count);
		assert_int_equal(p->samples.items[i].cpu_ns, 2 * one->samples.items[i].cpu_ns);
	}
	assert_int_equal(p->stats.samples, 2 * one->stats.samples);
	assert_int_equal(p->stats.duration_ns, 2 * one->stats.duration_ns);
	assert_int_equal(p->stats.lost[REASON_TORN_CHAIN], 2);
	assert_int_equal(p->stats.stop_ns.total, 2 * one->stats.stop_ns.total);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		assert_int_equal(p->stats.stop_ns.counts[i], 2 * one->stats.stop_ns.counts[i]);

	struct error *err = read_bytes("f 1\n", 4, &options, p);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "do not add up"));
	error_destroy(err);
	profile_destroy(p);

	p = read_text(json, &options);
	char *other = replaced(json, "\"mode\": \"cpu\"", "\"mode\": \"wall\"");
	err = read_bytes(other, strlen(other), &options, p);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "another mode"));
	error_destroy(err);
	free(other);
	free(json);
	profile_destroy(p);
	profile_destroy(one);
}

/* Writes bytes to a temporary file, reads it, and says how that went. */
static struct error *read_file(const void *bytes, size_t size, struct profile *profile)
{
	char path[] = "/tmp/test_read.XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	const struct read_options options = { 0 };
	struct error *err = read_profile(path, &options, profile);
	if (err)
		assert_memory_equal(err->message, path, strlen(path));
	unlink(path);
	return err;
}

static void expect_packed(const uint8_t *bytes, size_t size)
{
	for (int cut = 0; cut < 2; cut++) {
		struct profile *profile;
		assert_null(profile_create(&profile));
		struct error *err = read_file(bytes, cut ? size - 12 : size, profile);
		if (!cut) {
			assert_null(err);
			assert_int_equal(profile->stats.samples, 12);
		} else {
			assert_non_null(err);
			assert_non_null(strstr(err->message, "ends in the middle"));
			error_destroy(err);
		}
		profile_destroy(profile);
	}
}

static void compressed_files_are_unpacked(void **state)
{
	static const char text[] = "f (a.py:1);g (a.py:2) 12\n";
	uint8_t packed[512];
	z_stream stream = { 0 };
	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8,
				      Z_DEFAULT_STRATEGY),
			 Z_OK);
	stream.next_in = (Bytef *)text;
	stream.avail_in = sizeof(text) - 1;
	stream.next_out = packed;
	stream.avail_out = sizeof(packed);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	expect_packed(packed, stream.total_out);
	deflateEnd(&stream);
#ifdef HAVE_LZMA
	size_t size = 0;
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text,
						 sizeof(text) - 1, packed, &size, sizeof(packed)),
			 LZMA_OK);
	expect_packed(packed, size);
#endif
}

static void a_file_that_is_not_there_is_named(void **state)
{
	const struct read_options options = { 0 };
	struct profile *profile;
	assert_null(profile_create(&profile));
	struct error *err = read_profile("/no/such/file", &options, profile);
	assert_non_null(err);
	assert_string_equal(err->message, "cannot open /no/such/file: No such file or directory");
	error_destroy(err);
	profile_destroy(profile);
}

/* All texts of up to six characters that mean something to the rule. */
static void escapes_are_undone(void **state)
{
	static const char alphabet[] = "\\x3b0;\xff";
	const size_t count = sizeof(alphabet) - 1;
	_cleanup_strbuf_ struct strbuf escaped = { 0 }, back = { 0 };
	for (size_t length = 1, texts = count; length <= 6; length++, texts *= count) {
		for (size_t number = 0; number < texts; number++) {
			char text[8] = "";
			for (size_t i = 0, n = number; i < length; i++, n /= count)
				text[i] = alphabet[n % count];
			strbuf_reset(&escaped);
			strbuf_reset(&back);
			text_escape(&escaped, text, TEXT_LINE, ";");
			unescape_add(&back, escaped.text, escaped.length);
			assert_string_equal(back.text, text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_comes_back_as_it_was),
		cmocka_unit_test(what_is_shown_of_a_file_goes_with_it),
		cmocka_unit_test(what_json_keeps_makes_the_same_collapsed_stacks),
		cmocka_unit_test(version_1_is_read),
		cmocka_unit_test(a_file_that_was_cut_is_refused),
		cmocka_unit_test(json_that_contradicts_itself_is_refused),
		cmocka_unit_test(depth_has_limits),
		cmocka_unit_test(collapsed_stacks_of_others_are_read),
		cmocka_unit_test(threads_and_processes_of_collapsed_stacks_are_known),
		cmocka_unit_test(what_is_no_stack_is_refused),
		cmocka_unit_test(files_are_added_up),
		cmocka_unit_test(compressed_files_are_unpacked),
		cmocka_unit_test(a_file_that_is_not_there_is_named),
		cmocka_unit_test(escapes_are_undone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
