/* SPDX-License-Identifier: MIT */
/* test_maps.c: given the text of a maps file, these mappings; given a mapping, that very file or
 * none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "target/maps.h"

static const char text[] =
	"00400000-00401000 r--p 00000000 fe:01 131 /usr/bin/a b\n"
	"00401000-00402000 r-xp 00001000 fe:01 131                    /usr/bin/a b\n"
	"00402000-00403000 rw-s 00002000 fe:01 131                    /tmp/x (deleted)\n"
	"00500000-00501000 ---p 00000000 00:00 0 \n"
	"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0              [stack]\n"
	"7ffd00000000-7ffd00001000 rw-p 00000000 103:02 9000000000    /tmp/two\\012lines\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0      [vsyscall]\n";

static void parses_every_kind_of_line(void **state)
{
	struct maps maps;
	assert_null(maps_parse(text, &maps));
	assert_int_equal(maps.count, 7);
	const struct mapping *m = maps.items;
	assert_int_equal(m[0].start, 0x400000);
	assert_int_equal(m[0].end, 0x401000);
	assert_string_equal(m[0].path, "/usr/bin/a b");
	assert_true(m[0].read && !m[0].write && !m[0].exec && !m[0].shared);
	assert_int_equal(m[1].offset, 0x1000);
	assert_int_equal(m[1].dev_major, 0xfe);
	assert_int_equal(m[1].dev_minor, 1);
	assert_int_equal(m[1].inode, 131);
	assert_true(m[1].exec && !m[1].deleted);
	assert_string_equal(m[2].path, "/tmp/x");
	assert_true(m[2].deleted && m[2].shared && m[2].write);
	assert_string_equal(m[3].path, "");
	assert_false(m[3].read || m[3].write || m[3].exec);
	assert_string_equal(m[4].path, "[stack]");
	assert_int_equal(m[5].dev_major, 0x103);
	assert_int_equal(m[5].inode, 9000000000);
	assert_string_equal(m[5].path, "/tmp/two\nlines");
	assert_int_equal(m[6].start, 0xffffffffff600000);
	maps_deinit(&maps);
}

static void accepts_no_lines(void **state)
{
	struct maps maps;
	assert_null(maps_parse("", &maps));
	assert_int_equal(maps.count, 0);
	assert_null(maps_find(&maps, 0x400000));
	maps_deinit(&maps);
}

static void refuses_what_is_no_line(void **state)
{
	static const char *const wrong[] = {
		"\n",
		"hello\n",
		"00400000-00401000 r--p 00000000 fe:01\n",
		"00401000-00400000 r--p 00000000 fe:01 131 /x\n",
		"00400000-00400000 r--p 00000000 fe:01 131 /x\n",
		"00400000-00401000 r-- 00000000 fe:01 131 /x\n",
		"00400000-00401000 r--p 00000000 fe:01 131 /x\nzzz\n",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct maps maps;
		struct error *err = maps_parse(wrong[i], &maps);
		assert_non_null(err);
		assert_int_equal(err->code, ERROR_CORRUPT);
		error_destroy(err);
	}
}

static void finds_the_mapping_of_an_address(void **state)
{
	struct maps maps;
	assert_null(maps_parse(text, &maps));
	assert_null(maps_find(&maps, 0x3fffff));
	assert_ptr_equal(maps_find(&maps, 0x400000), &maps.items[0]);
	assert_ptr_equal(maps_find(&maps, 0x400fff), &maps.items[0]);
	assert_ptr_equal(maps_find(&maps, 0x401000), &maps.items[1]);
	assert_null(maps_find(&maps, 0x403000));
	assert_ptr_equal(maps_find(&maps, 0x7ffc00020fff), &maps.items[4]);
	assert_null(maps_find(&maps, 0xffffffffff601000));
	maps_deinit(&maps);
}

/* A folder that looks like /proc/TID without map_files. */
struct folder {
	char path[64];
	struct process process;
};

static void make_folder(struct folder *folder)
{
	strcpy(folder->path, "/tmp/test_maps.XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	folder->process = (struct process){ .pid = 1, .tid = 1 };
	folder->process.dir_fd = open(folder->path, O_RDONLY | O_DIRECTORY);
	assert_true(folder->process.dir_fd >= 0);
	assert_int_equal(mkdirat(folder->process.dir_fd, "root", 0700), 0);
}

static void remove_folder(struct folder *folder)
{
	unlinkat(folder->process.dir_fd, "root/file", 0);
	assert_int_equal(unlinkat(folder->process.dir_fd, "root", AT_REMOVEDIR), 0);
	close(folder->process.dir_fd);
	assert_int_equal(rmdir(folder->path), 0);
}

static struct mapping mapping_of(int fd)
{
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	return (struct mapping){
		.start = 0x400000,
		.end = 0x401000,
		.dev_major = major(st.st_dev),
		.dev_minor = minor(st.st_dev),
		.inode = st.st_ino,
		.path = (char *)"/file",
	};
}

static int make_file(struct folder *folder)
{
	return openat(folder->process.dir_fd, "root/file", O_CREAT | O_EXCL | O_RDWR, 0600);
}

static void opens_a_file_below_the_root_of_the_target(void **state)
{
	struct folder folder;
	make_folder(&folder);
	_cleanup_close_ int made = make_file(&folder);
	struct mapping mapping = mapping_of(made);
	_cleanup_close_ int fd = -1;
	assert_null(maps_open_file(&folder.process, &mapping, &fd));
	struct mapping opened = mapping_of(fd);
	assert_int_equal(opened.inode, mapping.inode);
	remove_folder(&folder);
}

static void never_opens_the_file_that_replaced_it(void **state)
{
	struct folder folder;
	make_folder(&folder);
	_cleanup_close_ int made = make_file(&folder);
	struct mapping mapping = mapping_of(made);
	assert_int_equal(unlinkat(folder.process.dir_fd, "root/file", 0), 0);
	_cleanup_close_ int other = make_file(&folder);
	assert_true(other >= 0);
	int fd = -1;
	struct error *err = maps_open_file(&folder.process, &mapping, &fd);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_GONE);
	assert_int_equal(fd, -1);
	error_destroy(err);
	remove_folder(&folder);
}

static void is_not_held_by_a_fifo(void **state)
{
	struct folder folder;
	make_folder(&folder);
	assert_int_equal(mkfifoat(folder.process.dir_fd, "root/file", 0600), 0);
	struct mapping mapping = { .start = 1, .end = 2, .inode = 1, .path = (char *)"/file" };
	int fd = -1;
	struct error *err = maps_open_file(&folder.process, &mapping, &fd);
	assert_non_null(err);
	error_destroy(err);
	remove_folder(&folder);
}

static void opens_nothing_behind_anonymous_memory(void **state)
{
	struct folder folder;
	make_folder(&folder);
	struct mapping mapping = { .start = 0x1000, .end = 0x2000, .path = (char *)"" };
	int fd = -1;
	struct error *err = maps_open_file(&folder.process, &mapping, &fd);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_GONE);
	error_destroy(err);
	remove_folder(&folder);
}

static void reads_its_own_maps(void **state)
{
	_cleanup_process_ struct process *process = NULL;
	assert_null(process_open(getpid(), &process));
	struct maps maps;
	assert_null(maps_read(process, &maps));
	const struct mapping *code = maps_find(&maps, (uintptr_t)reads_its_own_maps);
	assert_non_null(code);
	assert_true(code->exec && code->read && !code->write);
	const struct mapping *stack = maps_find(&maps, (uintptr_t)&maps);
	assert_non_null(stack);
	assert_true(stack->write);
	for (size_t i = 1; i < maps.count; i++)
		assert_true(maps.items[i - 1].end <= maps.items[i].start);
	maps_deinit(&maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_every_kind_of_line),
		cmocka_unit_test(accepts_no_lines),
		cmocka_unit_test(refuses_what_is_no_line),
		cmocka_unit_test(finds_the_mapping_of_an_address),
		cmocka_unit_test(opens_a_file_below_the_root_of_the_target),
		cmocka_unit_test(never_opens_the_file_that_replaced_it),
		cmocka_unit_test(is_not_held_by_a_fifo),
		cmocka_unit_test(opens_nothing_behind_anonymous_memory),
		cmocka_unit_test(reads_its_own_maps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
