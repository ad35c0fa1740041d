/* SPDX-License-Identifier: MIT */
/*
 * write_formats.c: one profile written in every format, for programs that read them.
 *
 *   write_formats DIRECTORY [no-line] [samples|ns] [cpu] [one-process]
 *
 * The profile has all that is hard: two processes, threads of one name, names and files with everything in them that means
 * something to some format, native and cut stacks, a stack without frames, recursion, one function at several lines, two
 * functions of one name and file, and weights above 2^32. Files are called profile and the format's first ending.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "write/writer.h"

static struct profile *profile;

static uint32_t frame(const char *name, const char *file, uint32_t first, enum profile_kind kind,
		      uint32_t line)
{
	return profile_frame(profile, profile_function(profile, name, file, first, kind), line);
}

static uint32_t python(const char *name, const char *file, uint32_t first, uint32_t line)
{
	return frame(name, file, first, PROFILE_PYTHON, line);
}

static uint32_t thread(uint32_t process, pid_t tid, const char *kernel_name, const char *name)
{
	uint32_t id = profile_thread(profile, process, tid, kernel_name);
	profile_thread_set_python_name(profile, id, name);
	return id;
}

#define ADD(thread, end, flags, count, wall_ns, cpu_ns, ...)                                       \
	add(thread, (uint32_t[]){ __VA_ARGS__ },                                                   \
	    sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), end, flags, count, wall_ns,    \
	    cpu_ns)

/* @count samples of these times each. */
static void add(uint32_t thread_id, const uint32_t *frames, size_t frame_count, enum reason end,
		unsigned flags, unsigned count, uint64_t wall_ns, uint64_t cpu_ns)
{
	for (unsigned i = 0; i < count; i++)
		if (profile_add(profile, thread_id, frames, frame_count, end, flags, wall_ns,
				cpu_ns) != REASON_OK)
			abort();
}

static const char *const hostile[] = {
	"semi;colon",
	"ends in a number 12",
	"two  blanks",
	"</script><script>alert(1)</script>",
	"<!-- <script>",
	"]]>&amp;&#x41;",
	"quotes \" and ' and `",
	"back\\slash \\x41 \\",
	"new\nline\r\ttab\x1b[31m\x7f",
	"not utf-8 \xff\xfe\xc0\xaf",
	"surrogate \xed\xb3\xbf",
	"line \xe2\x80\xa8 paragraph \xe2\x80\xa9 next \xc2\x85",
	"snake \xf0\x9f\x90\x8d \xe8\x9b\x87",
	"<lambda>",
	"{}",
	"__proto__",
	"constructor",
	"f (x.py:1)",
	"(",
	" ",
	"std::vector<int, std::allocator<int>>::push_back(int const&)",
};

static void add_hostile(uint32_t thread_id, uint32_t outer)
{
	const size_t count = sizeof(hostile) / sizeof(hostile[0]);
	for (size_t i = 0; i < count; i++) {
		char file[128];
		snprintf(file, sizeof(file), "/srv/odd/%s.py", hostile[i]);
		ADD(thread_id, REASON_OK, 0, (unsigned)i + 1, 1000 + i, 900, outer,
		    python(hostile[i], file, 1, 2 + (uint32_t)i),
		    frame(hostile[(i + 1) % count], file, 0, PROFILE_NATIVE, 0));
	}
}

static void add_first_process(uint32_t process)
{
	uint32_t one = thread(process, 100, "python", "MainThread");
	uint32_t two = thread(process, 101, "python", "worker;</script>\xff");
	uint32_t main = python("<module>", "/srv/app/main.py", 1, 90);
	uint32_t work = python("work", "/srv/app/lib/util.py", 10, 11);
	uint32_t work_12 = python("work", "/srv/app/lib/util.py", 10, 12);
	uint32_t fib = python("fib", "/srv/app/lib/util.py", 20, 21);
	uint32_t lambda = python("<lambda>", "/srv/app/lib/util.py", 30, 30);
	uint32_t other_lambda = python("<lambda>", "/srv/app/lib/util.py", 40, 40);
	uint32_t native = frame("poll", "/lib/x86_64-linux-gnu/libc.so.6", 0, PROFILE_NATIVE, 0);
	uint32_t cut = frame("[cut: depth_limit]", NULL, 0, PROFILE_MARKER, 0);

	ADD(one, REASON_OK, PROFILE_GIL, 300, 10000000, 9000000, main, work);
	ADD(one, REASON_OK, 0, 7, 10000000, 10000000, main, work_12);
	ADD(one, REASON_OK, PROFILE_IDLE, 5, 10000000, 0, main, work, native);
	ADD(one, REASON_OK, 0, 11, 10000000, 1, main, fib, fib, fib);
	ADD(one, REASON_OK, 0, 3, 10000000, 2, main, lambda);
	ADD(one, REASON_OK, 0, 4, 10000000, 2, main, other_lambda);
	ADD(two, REASON_OK, 0, 2, 5000000000, 4999999999, main, work);
	ADD(two, REASON_DEPTH_LIMIT, 0, 1, 7, 7, cut, fib);
	add(two, NULL, 0, REASON_OK, PROFILE_IDLE, 1, 1, 0);
	add_hostile(two, main);
}

static void add_second_process(uint32_t process)
{
	uint32_t only = thread(process, 200, "python", "MainThread");
	uint32_t main = python("<module>", "/srv/app/main.py", 1, 95);
	uint32_t child = python("child", "/srv/app/child.py", 5, 6);
	ADD(only, REASON_OK, 0, 13, 10000000, 3, main, child);
}

static void set_facts(uint32_t process, const char *name)
{
	struct profile_process *facts = &profile->processes.items[process];
	profile_fact(&facts->name, name);
	profile_fact(&facts->executable, "/usr/bin/python3");
	profile_fact(&facts->python_version, "3.12.1");
	profile_fact_argv(&facts->argv, "python3\0main.py\0</script>", 26);
}

static void make_profile(bool one_process)
{
	profile_fact(&profile->facts.tool_version, "0.1.0");
	profile_fact(&profile->facts.start_time, "2026-01-02T03:04:05Z");
	profile->stats.interval_ns = 10000000;
	profile->stats.duration_ns = 20000000000;
	stats_loss(&profile->stats, REASON_MOVED);
	uint32_t first = profile_process(profile, 42, PROFILE_NONE);
	set_facts(first, "server");
	add_first_process(first);
	if (one_process)
		return;
	uint32_t second = profile_process(profile, 43, first);
	set_facts(second, "child;<b>");
	add_second_process(second);
}

static void die(struct error *err)
{
	fprintf(stderr, "write_formats: %s\n", err->message);
	exit(1);
}

static void write_format(const char *directory, const struct writer *writer,
			 const struct writer_options *options)
{
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "%s/profile%s", directory, writer->endings[0]) < 0)
		abort();
	FILE *stream = fopen(path, "w");
	if (!stream)
		die(error_create(ERROR_OTHER, "cannot write %s", path));
	struct error *err = writer->write(profile, options, stream);
	if (err)
		die(err);
	if (fclose(stream))
		die(error_create(ERROR_OTHER, "cannot write %s", path));
	printf("%s %s\n", writer->name, path);
}

int main(int argc, char **argv)
{
	struct writer_options options = { 0 };
	bool one_process = false;
	struct error *err = profile_create(&profile);
	if (err)
		die(err);
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "no-line"))
			options.no_line = true;
		else if (!strcmp(argv[i], "samples"))
			options.weights = WRITER_SAMPLES;
		else if (!strcmp(argv[i], "ns"))
			options.weights = WRITER_NS;
		else if (!strcmp(argv[i], "cpu"))
			profile->facts.mode = PROFILE_CPU;
		else if (!strcmp(argv[i], "one-process"))
			one_process = true;
		else
			argc = 0;
	}
	if (argc < 2)
		die(error_create(ERROR_USAGE, "give a directory and options"));
	make_profile(one_process);
	for (size_t i = 0; writers[i]; i++)
		write_format(argv[1], writers[i], &options);
	profile_destroy(profile);
	return 0;
}
