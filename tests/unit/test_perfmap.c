/* SPDX-License-Identifier: MIT */
/*
 * test_perfmap.c: given these lines, these names; given a file that is a trap, nothing, and at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/perfmap.h"

#define SECOND UINT64_C(1000000000)

struct map {
	int fd;
	struct perfmap *perfmap;
};

static struct map make_map(void)
{
	struct map map = { memfd_create("perfmap", MFD_CLOEXEC), NULL };
	assert_true(map.fd >= 0);
	assert_null(perfmap_open_fd(dup(map.fd), &map.perfmap));
	return map;
}

static void close_map(struct map *map)
{
	perfmap_close(map->perfmap);
	close(map->fd);
}
#define _cleanup_map_ _cleanup_(close_map)

static void append(struct map *map, const char *text)
{
	assert_int_equal(write(map->fd, text, strlen(text)), strlen(text));
}

static void expect(const struct map *map, uint64_t address, const char *name)
{
	const struct code_range *range = perfmap_find(map->perfmap, NULL, address);
	if (!range)
		assert_null(name);
	else
		assert_string_equal(range->name, name);
}

struct expected {
	uint64_t address;
	uint64_t size;
	const char *name;
};

static void check_fixture(const char *name, const struct expected *expected, size_t count)
{
	char path[512];
	_cleanup_perfmap_ struct perfmap *perfmap = NULL;
	snprintf(path, sizeof(path), "%s/fixtures/perfmap/%s", TOP_SRCDIR, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_null(perfmap_open_fd(fd, &perfmap));
	assert_false(perfmap_update(perfmap, SECOND));
	for (size_t i = 0; i < count; i++) {
		const struct code_range *range =
			perfmap_find(perfmap, NULL, expected[i].address + expected[i].size - 1);
		assert_non_null(range);
		assert_int_equal(range->address, expected[i].address);
		assert_int_equal(range->size, expected[i].size);
		assert_string_equal(range->name, expected[i].name);
	}
	assert_int_equal(perfmap_count(perfmap), count);
	assert_int_equal(perfmap_skipped(perfmap), 0);
}

/* One trampoline follows the other without a gap. */
static void cpython_3_12(void **state)
{
	static const struct expected expected[] = {
		{ 0x7efccc6cc667, 0xb, "py::<module>:<string>" },
		{ 0x7efccc6cc672, 0xb, "py::<module>:<string>" },
		{ 0x7efccc6cc7d2, 0xb, "py::<module>:<string>" },
		{ 0x7efccc6cc7dd, 0xb, "py::Middle:<string>" },
		{ 0x7efccc6cc7e8, 0xb, "py::na\xc3\xafve:<string>" },
		{ 0x7efccc6cc7f3, 0xb, "py::Middle.method:<string>" },
		{ 0x7efccc6cc7fe, 0xb, "py::leaf:<string>" },
	};
	check_fixture("cpython-3.12.1.map", expected, 7);
}

static void cpython_3_14(void **state)
{
	static const struct expected expected[] = {
		{ 0x7f754431b7c0, 0xc, "py::<module>:<string>" },
		{ 0x7f754431b7e0, 0xc, "py::Middle:<string>" },
		{ 0x7f754431b800, 0xc, "py::na\xc3\xafve:<string>" },
		{ 0x7f754431b820, 0xc, "py::Middle.method:<string>" },
		{ 0x7f754431b840, 0xc, "py::leaf:<string>" },
	};
	check_fixture("cpython-3.14.10.map", expected, 5);
}

static void lines_in_any_order(void **state)
{
	_cleanup_map_ struct map map = make_map();
	append(&map, "3000 10 third\n0x1000 0X20 first one; with blanks\nABCDEF0 1 upper\n"
		     "2000\t10\tafter a tab\n1000 8 newer\n");
	assert_false(perfmap_update(map.perfmap, SECOND));
	expect(&map, 0x1000, "newer");
	expect(&map, 0x1008, NULL);
	expect(&map, 0x2008, "after a tab");
	expect(&map, 0x300f, "third");
	expect(&map, 0x3010, NULL);
	expect(&map, 0xabcdef0, "upper");
	assert_int_equal(perfmap_skipped(map.perfmap), 0);
}

static void lines_that_are_none(void **state)
{
	_cleanup_map_ struct map map = make_map();
	append(&map,
	       "\n \nzz 10 name\n1000 zz name\n1000 10\n1000 10 \n1000\n-1000 10 name\n"
	       "11112222333344445 1 seventeen digits\n1000 0 empty\n"
	       "ffffffffffffffff 2 beyond the end\n  1000 10 name\n0x 10 name\n1000 10 right\n");
	assert_false(perfmap_update(map.perfmap, SECOND));
	assert_int_equal(perfmap_count(map.perfmap), 1);
	assert_int_equal(perfmap_skipped(map.perfmap), 13);
	expect(&map, 0x1000, "right");
}

static void a_line_is_read_when_it_is_whole(void **state)
{
	_cleanup_map_ struct map map = make_map();
	append(&map, "1000 10 one\n2000 10 tw");
	perfmap_update(map.perfmap, SECOND);
	assert_int_equal(perfmap_count(map.perfmap), 1);
	assert_int_equal(perfmap_generation(map.perfmap), 1);
	perfmap_update(map.perfmap, SECOND);
	assert_int_equal(perfmap_generation(map.perfmap), 1);
	append(&map, "o");
	perfmap_update(map.perfmap, SECOND);
	assert_int_equal(perfmap_count(map.perfmap), 1);
	append(&map, "\n3000 10 three\n");
	perfmap_update(map.perfmap, SECOND);
	expect(&map, 0x2000, "two");
	expect(&map, 0x3000, "three");
	assert_int_equal(perfmap_generation(map.perfmap), 2);
}

static void a_line_that_is_too_long(void **state)
{
	static char name[200000];
	_cleanup_map_ struct map map = make_map();
	append(&map, "1000 10 one\n2000 10 ");
	memset(name, 'n', sizeof(name) - 1);
	append(&map, name);
	append(&map, "\n3000 10 three\n4000 10 ");
	name[5000] = '\0';
	append(&map, name);
	append(&map, "\n5000 10 five\n");
	perfmap_update(map.perfmap, SECOND);
	expect(&map, 0x1000, "one");
	expect(&map, 0x2000, NULL);
	expect(&map, 0x3000, "three");
	assert_int_equal(strlen(perfmap_find(map.perfmap, NULL, 0x4000)->name),
			 CODE_RANGE_NAME_LIMIT);
	expect(&map, 0x5000, "five");
	assert_int_equal(perfmap_skipped(map.perfmap), 1);
}

static void a_file_that_is_written_anew(void **state)
{
	_cleanup_map_ struct map map = make_map();
	append(&map, "1000 10 one\n2000 10 two\n300");
	perfmap_update(map.perfmap, SECOND);
	assert_int_equal(ftruncate(map.fd, 0), 0);
	assert_int_equal(lseek(map.fd, 0, SEEK_SET), 0);
	append(&map, "4000 10 four\n");
	perfmap_update(map.perfmap, SECOND);
	expect(&map, 0x1000, NULL);
	expect(&map, 0x4000, "four");
	assert_int_equal(perfmap_count(map.perfmap), 1);
}

/* 6 MB of lines: two calls; then a sparse 4 GB. */
static void a_call_reads_a_bounded_part(void **state)
{
	_cleanup_map_ struct map map = make_map();
	char line[80];
	for (int i = 0; i < 6 * 1024 * 16; i++) {
		snprintf(line, sizeof(line), "%016x 1 %044d\n", i * 16, i);
		append(&map, line);
	}
	assert_true(perfmap_update(map.perfmap, SECOND));
	assert_int_equal(perfmap_count(map.perfmap), 4 * 1024 * 16);
	assert_false(perfmap_update(map.perfmap, SECOND));
	assert_int_equal(perfmap_count(map.perfmap), 6 * 1024 * 16);
	assert_int_equal(ftruncate(map.fd, (off_t)4 << 30), 0);
	int calls = 0;
	while (perfmap_update(map.perfmap, SECOND) && calls < 70)
		calls++;
	/* The budget, 250 MB of it, is used up; without time nothing more is read. */
	assert_int_equal(calls, 70);
	assert_int_equal(perfmap_count(map.perfmap), 6 * 1024 * 16);
}

/* ---- traps ---- */

static int open_in(const char *dir, uid_t uid, pid_t inner_pid, bool *found_ret)
{
	struct rootfs root = { .fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC),
			       .uid = uid,
			       .inner_pid = inner_pid };
	struct perfmap *perfmap = NULL;
	struct error *err = perfmap_open(&root, &perfmap);
	int errnum = err ? err->errnum : 0;
	error_destroy(err);
	*found_ret = perfmap != NULL;
	if (perfmap)
		perfmap_close(perfmap);
	rootfs_close(&root);
	return errnum;
}

static void the_file_in_the_root_of_the_target(void **state)
{
	char dir[] = "/tmp/pysample-test-XXXXXX", path[64], fifo[64], link[64];
	bool found;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/tmp", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/tmp/perf-7.map", dir);
	snprintf(fifo, sizeof(fifo), "%s/tmp/perf-8.map", dir);
	snprintf(link, sizeof(link), "%s/tmp/perf-9.map", dir);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("perf-7.map", link), 0);

	assert_int_equal(open_in(dir, getuid(), 7, &found), 0);
	assert_true(found);
	assert_int_equal(open_in(dir, getuid(), 6, &found), 0);
	assert_false(found);
	assert_int_equal(open_in(dir, getuid(), 8, &found), ENOTSUP);
	assert_int_equal(open_in(dir, getuid(), 9, &found), ELOOP);
	if (!getuid()) {
		assert_int_equal(chown(path, 12345, 0), 0);
		assert_int_equal(open_in(dir, 12346, 7, &found), EPERM);
	}
	unlink(path);
	unlink(fifo);
	unlink(link);
	snprintf(path, sizeof(path), "%s/tmp", dir);
	rmdir(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpython_3_12),
		cmocka_unit_test(cpython_3_14),
		cmocka_unit_test(lines_in_any_order),
		cmocka_unit_test(lines_that_are_none),
		cmocka_unit_test(a_line_is_read_when_it_is_whole),
		cmocka_unit_test(a_line_that_is_too_long),
		cmocka_unit_test(a_file_that_is_written_anew),
		cmocka_unit_test(a_call_reads_a_bounded_part),
		cmocka_unit_test(the_file_in_the_root_of_the_target),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
