/* SPDX-License-Identifier: MIT */
/*
 * made_profile.c: profiles of known numbers, for programs that read what pysample writes.
 *
 *   made_profile KIND FORMAT > FILE      KIND: small, after, hostile, processes, large, empty
 *   made_profile diff > FILE             the page for the difference between small and after
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/profile.h"
#include "write/flamegraph.h"
#include "write/writer.h"

#define MS 1000000u

static void fail(const char *what)
{
	fprintf(stderr, "made_profile: %s\n", what);
	exit(1);
}

static void check(struct error *err)
{
	if (err)
		fail(err->message);
}

static uint32_t process(struct profile *p, int pid, const char *argv, size_t size)
{
	uint32_t id = profile_process(p, pid, PROFILE_NONE);
	struct profile_process *made = &p->processes.items[id];
	profile_fact_argv(&made->argv, argv, size);
	profile_fact(&made->executable, "/usr/bin/python9");
	profile_fact(&made->python_version, "9.8.7");
	profile_fact(&made->runtime, "/usr/lib/libpython9.so");
	return id;
}

static uint32_t python(struct profile *p, const char *name, const char *file, uint32_t line)
{
	return profile_frame(p, profile_function(p, name, file, 10, PROFILE_PYTHON), line);
}

static uint32_t native(struct profile *p, const char *name, const char *file)
{
	return profile_frame(p, profile_function(p, name, file, 0, PROFILE_NATIVE), 0);
}

static void add(struct profile *p, uint32_t thread, const uint32_t *frames, size_t count,
		unsigned flags, unsigned ms)
{
	if (profile_add(p, thread, frames, count, REASON_OK, flags, (uint64_t)ms * MS, MS))
		fail("out of memory");
}

#define STACK(...)                                                                                 \
	(uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

/* Two threads; native frames, a sleeper, recursion, a cut stack, losses. @work_ms is what changes. */
static void fill_small(struct profile *p, unsigned work_ms)
{
	static const char argv[] = "python3\0app.py\0--name=a b";
	uint32_t proc = process(p, 4711, argv, sizeof(argv));
	uint32_t main_thread = profile_thread(p, proc, 4711, "python3");
	uint32_t worker = profile_thread(p, proc, 4712, "python3");
	profile_thread_set_python_name(p, main_thread, "MainThread");
	profile_thread_set_python_name(p, worker, "worker-1");

	uint32_t module = python(p, "<module>", "/srv/app/main.py", 30);
	uint32_t run = python(p, "run", "/srv/app/main.py", 12);
	uint32_t work = python(p, "work", "/srv/app/jobs.py", 11);
	uint32_t work_later = python(p, "work", "/srv/app/jobs.py", 14);
	uint32_t fib = python(p, "fib", "/srv/app/jobs.py", 21);
	uint32_t eval = native(p, "_PyEval_EvalFrameDefault", "/usr/lib/libpython9.so");
	uint32_t compress = native(p, "deflate", "/usr/lib/libz.so.1");
	uint32_t copy = native(p, "memcpy", "/lib/libc.so.6");
	uint32_t poll = native(p, "poll", "/lib/libc.so.6");
	uint32_t cut =
		profile_frame(p, profile_function(p, "[cut: depth_limit]", NULL, 0, PROFILE_MARKER),
			      0);

	add(p, main_thread, STACK(module, run, work), 0, work_ms);
	add(p, main_thread, STACK(module, run, work_later), 0, 100);
	add(p, main_thread, STACK(module, run, eval, compress, copy), 0, 150);
	add(p, main_thread, STACK(module, run, eval, compress), 0, 50);
	add(p, main_thread, STACK(module, fib, fib, fib), 0, 80);
	add(p, main_thread, STACK(module, fib, fib), 0, 20);
	add(p, worker, STACK(module, run, poll), PROFILE_IDLE, 200);
	add(p, worker, STACK(cut, work), 0, 50);
	add(p, worker, NULL, 0, 0, 50);
	stats_loss(&p->stats, REASON_TORN_CHAIN);
	stats_loss(&p->stats, REASON_TORN_CHAIN);
}

/* Names that mean something to HTML, to scripts, to XML and to terminals. */
static void fill_hostile(struct profile *p)
{
	static const char argv[] = "</script><script>alert(1)</script>\0<!-- \"'&\xff\xe2\x80\xa8";
	static const char *const names[] = {
		"</script><script>window.hit=1</script>",
		"<!--<script>",
		"<img src=x onerror=window.hit=2>",
		"a\xe2\x80\xa8\xe2\x80\xa9"
		"b",
		"\xff\xfe\x80",
		"\xed\xa0\x80",
		"\"'`${window.hit=3}\\",
		"tab\tline\nreturn\rbell\x07",
		"&lt;&amp;&#60;",
		"]]>",
		"\xef\xbf\xbe\xef\xbf\xbf",
		"\xe2\x80\xae"
		"evil",
		"__proto__",
		"constructor",
		"",
		"@data",
	};
	uint32_t proc = process(p, 66, argv, sizeof(argv));
	uint32_t thread = profile_thread(p, proc, 66, "</option><script>window.hit=4</script>");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint32_t frame = python(p, names[i], names[(i + 3) % 16], 1);
		add(p, thread, STACK(frame), 0, 10 + (unsigned)i);
	}
	stats_note(&p->stats, "<b onclick=window.hit=5>note</b>");
}

static void fill_processes(struct profile *p)
{
	for (int i = 0; i < 3; i++) {
		char argv[] = "gunicorn\0worker N";
		argv[16] = (char)('0' + i);
		uint32_t proc = process(p, 100 + i, argv, sizeof(argv));
		for (int t = 0; t < 2; t++) {
			uint32_t thread =
				profile_thread(p, proc, 100 + 10 * i + t, t ? "io" : "main");
			add(p, thread,
			    STACK(python(p, "serve", "/srv/w.py", 5),
				  python(p, t ? "read" : "handle", "/srv/w.py", 9)),
			    0, 100 * (unsigned)(i + 1) + 10 * (unsigned)t);
		}
	}
}

/* 100,000 distinct stacks of 25 to 32 frames, of 5,000 functions, with 800,000 nodes. */
static void fill_large(struct profile *p)
{
	static const char argv[] = "python3\0large.py";
	uint32_t proc = process(p, 1, argv, sizeof(argv));
	uint32_t thread = profile_thread(p, proc, 1, "main");
	uint32_t functions[5000];
	for (unsigned i = 0; i < 5000; i++) {
		char name[32], file[48];
		snprintf(name, sizeof(name), "function_%u", i);
		snprintf(file, sizeof(file), "/srv/app/package_%u/module_%u.py", i % 40, i % 400);
		functions[i] = python(p, name, file, i);
	}
	uint64_t seed = 1;
	uint32_t frames[64];
	for (unsigned n = 0; n < 100000; n++) {
		/* A common trunk, then a path that says the number, then something of its own. */
		size_t count = 0;
		for (unsigned d = 0; d < 12; d++)
			frames[count++] = functions[d];
		for (unsigned part = n, d = 0; d < 9; d++, part /= 4)
			frames[count++] = functions[100 + d * 10 + part % 4];
		for (unsigned d = 0; d < 4 + n % 8; d++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			frames[count++] = functions[200 + (seed >> 33) % 4800];
		}
		add(p, thread, frames, count, 0, 1 + n % 7);
	}
}

static struct profile *make(const char *kind)
{
	struct profile *p;
	check(profile_create(&p));
	profile_fact(&p->facts.tool_version, "test");
	profile_fact(&p->facts.start_time, "2000-01-02T03:04:05Z");
	p->stats.interval_ns = 10 * MS;
	p->stats.duration_ns = 1500u * MS;
	for (int i = 0; i < 150; i++)
		stats_tick(&p->stats, 0);
	if (!strcmp(kind, "small"))
		fill_small(p, 300);
	else if (!strcmp(kind, "after"))
		fill_small(p, 1300);
	else if (!strcmp(kind, "hostile"))
		fill_hostile(p);
	else if (!strcmp(kind, "processes"))
		fill_processes(p);
	else if (!strcmp(kind, "large"))
		fill_large(p);
	else if (strcmp(kind, "empty"))
		fail("unknown kind");
	return p;
}

int main(int argc, char **argv)
{
	struct writer_options options = { .full_paths = false };
	if (argc == 2 && !strcmp(argv[1], "diff")) {
		struct profile *before = make("small"), *after = make("after");
		check(flamegraph_write_diff(before, after, &options, stdout));
		profile_destroy(before);
		profile_destroy(after);
		return 0;
	}
	const struct writer *writer;
	if (argc != 3)
		fail("usage: made_profile KIND FORMAT");
	check(writer_by_name(argv[2], &writer));
	struct profile *profile = make(argv[1]);
	check(writer->write(profile, &options, stdout));
	profile_destroy(profile);
	return 0;
}
