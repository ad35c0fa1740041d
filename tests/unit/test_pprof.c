/* SPDX-License-Identifier: MIT */
/* test_pprof.c: given this profile, this message; and what of the message is in the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <zlib.h>

#include "write/pprof.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int setup(void **state)
{
	struct profile *p;
	assert_null(profile_create(&p));
	uint32_t process = profile_process(p, 42, PROFILE_NONE);
	profile_fact(&p->processes.items[process].executable, "/bin/py");
	profile_fact(&p->processes.items[process].name, "app");
	profile_fact(&p->facts.tool_version, "0.1");
	profile_fact(&p->facts.start_time, "1970-01-01T00:00:01Z");
	p->stats.interval_ns = 300;
	p->stats.duration_ns = 5;
	uint32_t thread = profile_thread(p, process, 100, "t\xff");
	uint32_t main =
		profile_frame(p, profile_function(p, "<module>", "/srv/a.py", 1, PROFILE_PYTHON),
			      3);
	uint32_t native =
		profile_frame(p, profile_function(p, "poll", "/lib/c.so", 0, PROFILE_NATIVE), 0);
	profile_add(p, thread, (uint32_t[]){ main, native }, 2, REASON_OK, 0, 7, 6);
	profile_add(p, thread, NULL, 0, REASON_OK, PROFILE_IDLE, 200, 0);
	stats_loss(&p->stats, REASON_MOVED);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	profile_destroy(*state);
	return 0;
}

static void expect_part(const struct pb *pb, size_t *at, const char *bytes, size_t size)
{
	assert_true(pb->size - *at >= size);
	assert_memory_equal(pb->data + *at, bytes, size);
	*at += size;
}
#define EXPECT(bytes) expect_part(&pb, &at, bytes, sizeof(bytes) - 1)

static void every_field_is_as_the_proto_has_it(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	assert_null(pprof_encode(*state, &(struct writer_options){ 0 }, &pb));
	size_t at = 0;
	/* Types: samples (1) in count (2), wall (3) in nanoseconds (4). */
	EXPECT("\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04");
	/* Begun a second after 1970, lasted 5 ns, a look each 300 ns; wall is shown first. */
	EXPECT("\x48\x80\x94\xeb\xdc\x03\x50\x05\x5a\x04\x08\x03\x10\x04\x60\xac\x02\x70\x03");
	/* The program (5) and the library (6), both with functions, files and lines. */
	EXPECT("\x1a\x0a\x08\x01\x28\x05\x38\x01\x40\x01\x48\x01");
	EXPECT("\x1a\x0a\x08\x02\x28\x06\x38\x01\x40\x01\x48\x01");
	/* <module> (7) of a.py (8) from line 1; poll (9), which has no source; [no frames] (10). */
	EXPECT("\x2a\x08\x08\x01\x10\x07\x20\x08\x28\x01\x2a\x04\x08\x02\x10\x09");
	EXPECT("\x2a\x04\x08\x03\x10\x0a");
	/* Frames: mapping, function and line. */
	EXPECT("\x22\x0a\x08\x01\x10\x01\x22\x04\x08\x01\x10\x03");
	EXPECT("\x22\x08\x08\x02\x10\x02\x22\x02\x08\x02");
	EXPECT("\x22\x08\x08\x03\x10\x01\x22\x02\x08\x03");
	/* Innermost first; 1 sample of 7 ns; thread (11) t\xff (12), tid (13) 100, process (14) app (15), pid (16) 42,
	 * state (17) active (18). */
	EXPECT("\x12\x26\x0a\x02\x02\x01\x12\x02\x01\x07");
	EXPECT("\x1a\x04\x08\x0b\x10\x0c\x1a\x04\x08\x0d\x18\x64\x1a\x04\x08\x0e\x10\x0f"
	       "\x1a\x04\x08\x10\x18\x2a\x1a\x04\x08\x11\x10\x12");
	/* The same of the idle (19) sample without frames, of 200 ns. */
	EXPECT("\x12\x26\x0a\x01\x03\x12\x03\x01\xc8\x01");
	EXPECT("\x1a\x04\x08\x0b\x10\x0c\x1a\x04\x08\x0d\x18\x64\x1a\x04\x08\x0e\x10\x0f"
	       "\x1a\x04\x08\x10\x18\x2a\x1a\x04\x08\x11\x10\x13");
	/* Comments 20 and 21. */
	EXPECT("\x6a\x02\x14\x15");
	EXPECT("\x32\x00\x32\x07samples\x32\x05"
	       "count\x32\x04wall\x32\x0bnanoseconds\x32\x07/bin/py\x32\x09/lib/c.so");
	EXPECT("\x32\x08<module>\x32\x04"
	       "a.py\x32\x04poll\x32\x0b[no frames]\x32\x06thread\x32\x05t\\xff\x32\x03tid");
	EXPECT("\x32\x07process\x32\x03"
	       "app\x32\x03pid\x32\x05state\x32\x06"
	       "active\x32\x04idle\x32\x0cpysample 0.1\x32\x0elost: moved: 1");
	assert_int_equal(at, pb.size);
}

static bool has(const struct pb *pb, const char *bytes)
{
	return memmem(pb->data, pb->size, bytes, strlen(bytes));
}

static void lines_are_left_out_if_asked_for(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	assert_null(pprof_encode(*state, &(struct writer_options){ .no_line = true }, &pb));
	assert_true(has(&pb, "\x22\x08\x08\x01\x10\x01\x22\x02\x08\x01"));
	assert_false(has(&pb, "\x22\x04\x08\x01\x10\x03"));
}

/* The last number of the head is the string that names the type: 1 is samples, 3 the mode. */
static void the_unit_that_is_shown_first_can_be_chosen(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	assert_null(
		pprof_encode(*state, &(struct writer_options){ .weights = WRITER_SAMPLES }, &pb));
	assert_true(has(&pb, "\x60\xac\x02\x70\x01"));
	pb_reset(&pb);
	assert_null(pprof_encode(*state, &(struct writer_options){ .weights = WRITER_NS }, &pb));
	assert_true(has(&pb, "\x60\xac\x02\x70\x03"));
}

static void nanoseconds_are_those_of_the_mode(void **state)
{
	struct profile *p = *state;
	p->facts.mode = PROFILE_CPU;
	_cleanup_pb_ struct pb pb = { 0 };
	assert_null(pprof_encode(p, &(struct writer_options){ 0 }, &pb));
	assert_true(has(&pb, "\x32\x03"
			     "cpu\x32\x0bnanoseconds"));
	assert_true(has(&pb, "\x0a\x02\x02\x01\x12\x02\x01\x06"));
}

static void an_empty_profile_is_a_message_too(void **state)
{
	struct profile *p;
	assert_null(profile_create(&p));
	_cleanup_pb_ struct pb pb = { 0 };
	assert_null(pprof_encode(p, &(struct writer_options){ 0 }, &pb));
	size_t at = 0;
	EXPECT("\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x70\x03"
	       "\x1a\x0a\x08\x01\x28\x05\x38\x01\x40\x01\x48\x01\x6a\x01\x06");
	EXPECT("\x32\x00\x32\x07samples\x32\x05"
	       "count\x32\x04wall\x32\x0bnanoseconds\x32\x06python\x32\x09pysample ");
	assert_int_equal(at, pb.size);
	profile_destroy(p);
}

static void the_file_is_the_message_gzipped(void **state)
{
	struct writer_options options = { 0 };
	_cleanup_pb_ struct pb pb = { 0 };
	assert_null(pprof_encode(*state, &options, &pb));
	char *file;
	size_t size;
	FILE *stream = open_memstream(&file, &size);
	assert_non_null(stream);
	assert_null(pprof_writer.write(*state, &options, stream));
	assert_int_equal(fclose(stream), 0);

	/* No name, no time. */
	assert_memory_equal(file, "\x1f\x8b\x08\0\0\0\0\0", 8);
	uint8_t text[4096];
	z_stream z = { 0 };
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (Bytef *)file;
	z.avail_in = (uInt)size;
	z.next_out = text;
	z.avail_out = sizeof(text);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_int_equal(z.total_out, pb.size);
	assert_memory_equal(text, pb.data, pb.size);
	inflateEnd(&z);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_field_is_as_the_proto_has_it),
		TEST(lines_are_left_out_if_asked_for),
		TEST(the_unit_that_is_shown_first_can_be_chosen),
		TEST(nanoseconds_are_those_of_the_mode),
		cmocka_unit_test(an_empty_profile_is_a_message_too),
		TEST(the_file_is_the_message_gzipped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
