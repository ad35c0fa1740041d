/* SPDX-License-Identifier: MIT */
/*
 * test_jitdump.c: given the file that an interpreter wrote, these ranges and unwind bytes; given one
 * that lies, grows or is cut, what is right of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/growth.h"
#include "image/jitdump.h"

#define SECOND UINT64_C(1000000000)

/* ---- files of real interpreters ---- */

struct expected {
	uint64_t address;
	uint64_t size;
	const char *name;
};

static struct jitdump *open_fixture(const char *name)
{
	char path[512];
	struct jitdump *jitdump = NULL;
	snprintf(path, sizeof(path), "%s/fixtures/jitdump/%s", TOP_SRCDIR, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_null(jitdump_open_fd(fd, name, EM_X86_64, &jitdump));
	return jitdump;
}

/* The FDE's first pointer, 32 bytes into .eh_frame behind a CIE of 24, is relative to itself. */
static void check_unwind_bytes(const struct code_range *range, size_t eh_frame_size)
{
	int32_t relative;
	uint32_t length;
	assert_non_null(range->eh_frame);
	assert_int_equal(range->eh_frame_size, eh_frame_size);
	memcpy(&relative, range->eh_frame + 32, sizeof(relative));
	memcpy(&length, range->eh_frame + 36, sizeof(length));
	assert_int_equal(range->eh_frame_address + 32 + (uint64_t)(int64_t)relative,
			 range->address);
	assert_int_equal(length, range->size);
}

static void check_fixture(const char *name, const struct expected *expected, size_t count,
			  size_t eh_frame_size)
{
	_cleanup_jitdump_ struct jitdump *jitdump = open_fixture(name);
	assert_false(jitdump_update(jitdump, SECOND));
	assert_false(jitdump_is_finished(jitdump));
	for (size_t i = 0; i < count; i++) {
		const struct code_range *range =
			jitdump_find(jitdump, NULL, expected[i].address + expected[i].size - 1);
		assert_non_null(range);
		assert_int_equal(range->address, expected[i].address);
		assert_int_equal(range->size, expected[i].size);
		assert_string_equal(range->name, expected[i].name);
		check_unwind_bytes(range, eh_frame_size);
		assert_null(jitdump_find(jitdump, NULL, expected[i].address - 1));
		assert_null(jitdump_find(jitdump, NULL, expected[i].address + expected[i].size));
	}
	assert_int_equal(jitdump_count(jitdump), count);
	assert_int_equal(jitdump_generation(jitdump), 1);
}

static void cpython_3_13_0(void **state)
{
	static const struct expected expected[] = {
		{ 0x7f9e9efb8380, 0xb, "py::<module>:<string>" },
		{ 0x7f9e9efb8490, 0xb, "py::<module>:<string>" },
		{ 0x7f9e9efb98c0, 0xb, "py::<module>:<string>" },
		{ 0x7f9e9efb99d0, 0xb, "py::Middle:<string>" },
		{ 0x7f9e9efb9ae0, 0xb, "py::na\xc3\xafve:<string>" },
		{ 0x7f9e9efb9bf0, 0xb, "py::Middle.method:<string>" },
		{ 0x7f9e9efb9d00, 0xb, "py::leaf:<string>" },
	};
	check_fixture("cpython-3.13.0.dump", expected, 7, 48);
}

static void cpython_3_13_5(void **state)
{
	static const struct expected expected[] = {
		{ 0x7f83327d0af0, 0xf, "py::<module>:<string>" },
		{ 0x7f83327d0c00, 0xf, "py::Middle:<string>" },
		{ 0x7f83327d0d10, 0xf, "py::na\xc3\xafve:<string>" },
		{ 0x7f83327d0e20, 0xf, "py::Middle.method:<string>" },
		{ 0x7f83327d0f30, 0xf, "py::leaf:<string>" },
	};
	check_fixture("cpython-3.13.5.dump", expected, 5, 48);
}

static void cpython_3_14(void **state)
{
	static const struct expected expected[] = {
		{ 0x7fc74c6eb740, 0xc, "py::<module>:<string>" },
		{ 0x7fc74c6eb7a0, 0xc, "py::Middle:<string>" },
		{ 0x7fc74c6eb800, 0xc, "py::na\xc3\xafve:<string>" },
		{ 0x7fc74c6eb860, 0xc, "py::Middle.method:<string>" },
		{ 0x7fc74c6eb8c0, 0xc, "py::leaf:<string>" },
	};
	check_fixture("cpython-3.14.10.dump", expected, 5, 56);
}

static void a_file_for_another_cpu(void **state)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/fixtures/jitdump/cpython-3.13.5.dump", TOP_SRCDIR);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct jitdump *jitdump = NULL;
	struct error *err = jitdump_open_fd(fd, "it", EM_AARCH64, &jitdump);
	assert_non_null(err);
	assert_string_equal(err->message, "it is for ELF machine 62, not 183");
	error_destroy(err);
	assert_null(jitdump);
}

/* ---- files made here ---- */

struct dump {
	int fd;
	struct jitdump *jitdump;
};

static void append(struct dump *dump, const void *data, size_t size)
{
	assert_int_equal(write(dump->fd, data, size), size);
}

static struct dump make_dump(void)
{
	struct dump dump = { memfd_create("jitdump", MFD_CLOEXEC), NULL };
	assert_true(dump.fd >= 0);
	const uint32_t header[10] = { 0x4a695444, 1, 40, EM_X86_64 };
	append(&dump, header, sizeof(header));
	assert_null(jitdump_open_fd(dup(dump.fd), "memory", EM_X86_64, &dump.jitdump));
	return dump;
}

static void close_dump(struct dump *dump)
{
	jitdump_close(dump->jitdump);
	close(dump->fd);
}
#define _cleanup_dump_ _cleanup_(close_dump)

static void append_header(struct dump *dump, uint32_t id, uint32_t size)
{
	const uint32_t header[4] = { id, size, 0, 0 };
	append(dump, header, sizeof(header));
}

static void append_load(struct dump *dump, uint64_t address, uint64_t size, const char *name)
{
	size_t name_size = strlen(name) + 1;
	const uint64_t fields[5] = { 0, address, address, size, 0 };
	append_header(dump, 0, (uint32_t)(56 + name_size + size));
	append(dump, fields, sizeof(fields));
	append(dump, name, name_size);
	assert_int_equal(lseek(dump->fd, (off_t)size, SEEK_CUR) >= 0, 1);
	assert_int_equal(ftruncate(dump->fd, lseek(dump->fd, 0, SEEK_CUR)), 0);
}

static void append_move(struct dump *dump, uint64_t from, uint64_t to, uint64_t size)
{
	const uint64_t fields[6] = { 0, to, from, to, size, 0 };
	append_header(dump, 1, 16 + sizeof(fields));
	append(dump, fields, sizeof(fields));
}

/* .eh_frame of 8 bytes, and a table that finds the code 0x30 below itself. */
static void append_unwinding(struct dump *dump, bool has_table)
{
	uint32_t bytes[7] = { 0x11111111, 0x22222222,      0x3b031b01, (uint32_t)-12,
			      1,          (uint32_t)-0x30, 0 };
	const uint64_t sizes[3] = { has_table ? 28 : 8, has_table ? 20 : 0, 32 };
	append_header(dump, 4, 16 + 24 + 32);
	append(dump, sizes, sizeof(sizes));
	append(dump, bytes, sizeof(bytes));
	append(dump, "\0\0\0", 4);
}

static void expect(const struct dump *dump, uint64_t address, const char *name)
{
	const struct code_range *range = jitdump_find(dump->jitdump, NULL, address);
	if (!range)
		assert_null(name);
	else
		assert_string_equal(range->name, name);
}

static void a_newer_range_replaces_what_it_overlaps(void **state)
{
	_cleanup_dump_ struct dump dump = make_dump();
	append_load(&dump, 0x1000, 0x100, "first");
	append_load(&dump, 0x1100, 0x100, "second");
	append_load(&dump, 0x1300, 0x100, "third");
	jitdump_update(dump.jitdump, SECOND);
	expect(&dump, 0x10ff, "first");
	expect(&dump, 0x1100, "second");
	expect(&dump, 0x1200, NULL);
	append_load(&dump, 0x10f0, 0x20, "new");
	append_load(&dump, 0x2000, 0x100, "fourth");
	append_load(&dump, 0x1f80, 0x100, "newest");
	append_load(&dump, 0x1300, 0x100, "third again");
	jitdump_update(dump.jitdump, SECOND);
	expect(&dump, 0x1000, NULL);
	expect(&dump, 0x10f0, "new");
	expect(&dump, 0x110f, "new");
	expect(&dump, 0x1110, NULL);
	expect(&dump, 0x1300, "third again");
	expect(&dump, 0x1f80, "newest");
	expect(&dump, 0x207f, "newest");
	expect(&dump, 0x2080, NULL);
	assert_int_equal(jitdump_count(dump.jitdump), 3);
	assert_int_equal(jitdump_generation(dump.jitdump), 2);
}

static void a_move(void **state)
{
	_cleanup_dump_ struct dump dump = make_dump();
	append_unwinding(&dump, true);
	append_load(&dump, 0x1000, 0x20, "moved");
	append_load(&dump, 0x2000, 0x20, "stays");
	append_move(&dump, 0x1000, 0x3000, 0x20);
	append_move(&dump, 0x2008, 0x4000, 0x18); /* no range starts there */
	append_move(&dump, 0x5000, 0x6000, 0x20); /* unknown */
	jitdump_update(dump.jitdump, SECOND);
	expect(&dump, 0x1000, NULL);
	expect(&dump, 0x3010, "moved");
	expect(&dump, 0x2010, "stays");
	expect(&dump, 0x4000, NULL);
	expect(&dump, 0x6000, NULL);
	const struct code_range *range = jitdump_find(dump.jitdump, NULL, 0x3000);
	assert_int_equal(range->eh_frame_address, 0x3028);
	append_move(&dump, 0x3000, 0x2010, 0x20);
	jitdump_update(dump.jitdump, SECOND);
	expect(&dump, 0x2000, NULL);
	expect(&dump, 0x2010, "moved");
}

static void unwinding_belongs_to_the_next_load(void **state)
{
	_cleanup_dump_ struct dump dump = make_dump();
	append_unwinding(&dump, true);
	append_load(&dump, 0x1000, 0x11, "with table");
	append_load(&dump, 0x2000, 0x11, "without");
	append_unwinding(&dump, false);
	append_load(&dump, 0x3000, 0x11, "with bytes only");
	jitdump_update(dump.jitdump, SECOND);
	const struct code_range *range = jitdump_find(dump.jitdump, NULL, 0x1000);
	assert_int_equal(range->eh_frame_size, 8);
	assert_int_equal(range->eh_frame[0], 0x11);
	/* The table lies 0x30 behind the code, .eh_frame 8 before it. */
	assert_int_equal(range->eh_frame_address, 0x1028);
	assert_null(jitdump_find(dump.jitdump, NULL, 0x2000)->eh_frame);
	range = jitdump_find(dump.jitdump, NULL, 0x3000);
	assert_int_equal(range->eh_frame_size, 8);
	assert_int_equal(range->eh_frame_address, 0x3018);
}

/* Byte by byte: never a half name, and in the end all. */
static void a_file_that_grows(void **state)
{
	_cleanup_dump_ struct dump whole = make_dump();
	append_unwinding(&whole, true);
	append_load(&whole, 0x1000, 0x20, "a name");
	append_load(&whole, 0x2000, 0x20, "another");
	uint8_t bytes[512];
	ssize_t size = pread(whole.fd, bytes, sizeof(bytes), 40);
	assert_int_equal(size, 72 + 56 + 7 + 0x20 + 56 + 8 + 0x20);
	_cleanup_dump_ struct dump dump = make_dump();
	for (ssize_t i = 0; i < size; i++) {
		append(&dump, bytes + i, 1);
		assert_false(jitdump_update(dump.jitdump, SECOND));
		size_t count = jitdump_count(dump.jitdump);
		assert_int_equal(count, i == size - 1 ? 2 : i >= 72 + 56 + 7 + 0x20 - 1);
	}
	expect(&dump, 0x1000, "a name");
	expect(&dump, 0x2000, "another");
}

static void unknown_and_closing_records(void **state)
{
	_cleanup_dump_ struct dump dump = make_dump();
	append_header(&dump, 77, 16);
	append_header(&dump, 2, 16);
	append_load(&dump, 0x1000, 0x20, "before");
	append_header(&dump, 3, 16);
	append_load(&dump, 0x2000, 0x20, "after the end");
	assert_false(jitdump_update(dump.jitdump, SECOND));
	expect(&dump, 0x1000, "before");
	expect(&dump, 0x2000, NULL);
	assert_true(jitdump_is_finished(dump.jitdump));
}

static void check_ends_file(struct dump *dump)
{
	append_load(dump, 0x2000, 0x20, "after");
	assert_false(jitdump_update(dump->jitdump, SECOND));
	assert_true(jitdump_is_finished(dump->jitdump));
	expect(dump, 0x2000, NULL);
}

static void records_that_contradict_themselves(void **state)
{
	const uint64_t load[5] = { 0, 0x1000, 0x1000, 0x100, 0 };
	const uint64_t unwinding[3] = { 0x1000, 20, 0x1000 };
	const uint64_t header_only[3] = { 8, 9, 16 };
	{
		_cleanup_dump_ struct dump dump = make_dump();
		append_header(&dump, 0, 0);
		check_ends_file(&dump);
	}
	{
		_cleanup_dump_ struct dump dump = make_dump();
		append_header(&dump, 0, UINT32_MAX);
		check_ends_file(&dump);
	}
	{ /* too short for what it is */
		_cleanup_dump_ struct dump dump = make_dump();
		append_header(&dump, 0, 24);
		append(&dump, load, 8);
		check_ends_file(&dump);
	}
	{ /* the code is longer than the record */
		_cleanup_dump_ struct dump dump = make_dump();
		append_header(&dump, 0, 16 + sizeof(load) + 8);
		append(&dump, load, sizeof(load));
		append(&dump, "name\0\0\0", 8);
		check_ends_file(&dump);
	}
	{ /* the name does not end */
		_cleanup_dump_ struct dump dump = make_dump();
		append_header(&dump, 0, 16 + sizeof(load) + 8);
		append(&dump, load, sizeof(load));
		append(&dump, "namename", 8);
		check_ends_file(&dump);
	}
	{ /* more unwind bytes than the record has */
		_cleanup_dump_ struct dump dump = make_dump();
		append_header(&dump, 4, 16 + sizeof(unwinding));
		append(&dump, unwinding, sizeof(unwinding));
		check_ends_file(&dump);
	}
	{ /* a table larger than the whole */
		_cleanup_dump_ struct dump dump = make_dump();
		append_header(&dump, 4, 16 + sizeof(header_only) + 8);
		append(&dump, header_only, sizeof(header_only));
		append(&dump, "12345678", 8);
		check_ends_file(&dump);
	}
}

/* It may be a name of any length; what is kept is not. */
static void a_long_name_is_cut(void **state)
{
	_cleanup_dump_ struct dump dump = make_dump();
	static char name[10000];
	memset(name, 'n', sizeof(name) - 1);
	append_load(&dump, 0x1000, 0x20, name);
	append_load(&dump, 0x2000, 0x20, "next");
	jitdump_update(dump.jitdump, SECOND);
	assert_int_equal(strlen(jitdump_find(dump.jitdump, NULL, 0x1000)->name),
			 CODE_RANGE_NAME_LIMIT);
	expect(&dump, 0x2000, "next");
}

static void a_call_reads_a_bounded_part(void **state)
{
	_cleanup_dump_ struct dump dump = make_dump();
	for (int i = 0; i < 100; i++)
		append_move(&dump, 0x1000, 0x2000, 0x20);
	append_load(&dump, 0x3000, 0x20, "last");
	int calls = 1;
	while (jitdump_update(dump.jitdump, SECOND))
		calls++;
	expect(&dump, 0x3000, "last");
	assert_int_equal(calls, 4);
}

/* Sparse records of 60 MB: 4 fit into the budget of the start, then one in 8 seconds. */
static void a_file_that_grows_too_fast(void **state)
{
	_cleanup_dump_ struct dump dump = make_dump();
	for (uint64_t i = 0; i < 10; i++)
		append_load(&dump, 0x100000000 * (i + 1), 60 << 20, "large");
	assert_true(jitdump_update(dump.jitdump, SECOND));
	assert_int_equal(jitdump_count(dump.jitdump), 4);
	assert_true(jitdump_update(dump.jitdump, 2 * SECOND));
	assert_int_equal(jitdump_count(dump.jitdump), 4);
	assert_true(jitdump_update(dump.jitdump, 9 * SECOND));
	assert_int_equal(jitdump_count(dump.jitdump), 5);
}

/* ---- where the code may lie ---- */

static const char maps_text[] = "00010000-00011000 r-xp 00000000 00:00 0 \n"
				"00011000-00012000 rwxp 00000000 00:00 0 [anon:jit]\n"
				"00012000-00013000 rw-p 00000000 00:00 0 \n"
				"00020000-00021000 r-xp 00000000 08:01 42 /usr/lib/libc.so.6\n"
				"00021000-00022000 r-xp 00000000 00:00 0 \n"
				"00030000-00031000 r-xs 00000000 00:01 43 /memfd:jit (deleted)\n"
				"00040000-00041000 r-xp 00000000 08:01 44 /tmp/jit-7.dump\n"
				"00041000-00042000 r--p 00000000 08:01 45 /tmp/jit-8.dump\n"
				"00042000-00043000 r-xp 00001000 08:01 46 /tmp/jit-9.dump\n"
				"00043000-00044000 r-xp 00000000 08:01 47 /tmp/jit-x.dump\n"
				"00044000-00045000 r-xp 00000000 08:01 48 /tmp/jit-12.dump.old\n"
				"00045000-00046000 r-xp 00000000 08:01 49 /var/tmp/jit-10.dump\n"
				"00050000-00052000 r-xp 00000000 00:00 0 [vdso]\n";

static void code_lies_in_memory_without_a_file(void **state)
{
	struct maps maps;
	assert_null(maps_parse(maps_text, &maps));
	assert_true(code_is_generated(&maps, 0x10000, 0x1000));
	assert_true(code_is_generated(&maps, 0x10ff0, 0x20));
	assert_true(code_is_generated(&maps, 0x11000, 0x1000));
	assert_true(code_is_generated(&maps, 0x30000, 0x1000));
	assert_false(code_is_generated(&maps, 0x11ff0, 0x20)); /* into data */
	assert_false(code_is_generated(&maps, 0x12000, 0x10));
	assert_false(code_is_generated(&maps, 0xfff0, 0x20));
	assert_false(code_is_generated(&maps, 0x20000, 0x10)); /* a library */
	assert_false(code_is_generated(&maps, 0x20ff0, 0x20));
	assert_true(code_is_generated(&maps, 0x21000, 0x20));
	assert_false(code_is_generated(&maps, 0x21ff0, 0x20)); /* into a hole */
	assert_false(code_is_generated(&maps, 0x50000, 0x20)); /* the vdso */
	assert_false(code_is_generated(&maps, UINT64_MAX - 1, 0x20));

	_cleanup_dump_ struct dump dump = make_dump();
	append_load(&dump, 0x10100, 0x20, "honest");
	append_load(&dump, 0x20100, 0x20, "as if libc");
	append_load(&dump, 0x20ff0, 0x20, "half of it");
	jitdump_update(dump.jitdump, SECOND);
	assert_non_null(jitdump_find(dump.jitdump, &maps, 0x10110));
	assert_null(jitdump_find(dump.jitdump, &maps, 0x20110));
	assert_null(jitdump_find(dump.jitdump, &maps, 0x21000));
	maps_deinit(&maps);
}

static void the_mappings_of_jitdump_files(void **state)
{
	struct maps maps;
	size_t index = 0;
	assert_null(maps_parse(maps_text, &maps));
	assert_string_equal(jitdump_next_mapping(&maps, &index)->path, "/tmp/jit-7.dump");
	assert_string_equal(jitdump_next_mapping(&maps, &index)->path, "/var/tmp/jit-10.dump");
	assert_null(jitdump_next_mapping(&maps, &index));
	maps_deinit(&maps);
}

static void the_file_that_is_mapped(void **state)
{
	char dir[] = "/tmp/pysample-test-XXXXXX", path[64];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/jit-1.dump", dir);
	const uint32_t header[10] = { 0x4a695444, 1, 40, EM_X86_64 };
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	struct rootfs root = { .fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), .uid = getuid() };
	struct mapping mapping = { .inode = st.st_ino, .path = path };
	struct jitdump *jitdump = NULL;
	assert_null(jitdump_open(&root, &mapping, EM_X86_64, &jitdump));
	jitdump_close(jitdump);

	mapping.inode++;
	struct error *err = jitdump_open(&root, &mapping, EM_X86_64, &jitdump);
	assert_int_equal(err->code, ERROR_GONE);
	error_destroy(err);
	unlink(path);
	mapping.inode = st.st_ino;
	err = jitdump_open(&root, &mapping, EM_X86_64, &jitdump);
	assert_int_equal(err->errnum, ENOENT);
	error_destroy(err);
	rootfs_close(&root);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpython_3_13_0),
		cmocka_unit_test(cpython_3_13_5),
		cmocka_unit_test(cpython_3_14),
		cmocka_unit_test(a_file_for_another_cpu),
		cmocka_unit_test(a_newer_range_replaces_what_it_overlaps),
		cmocka_unit_test(a_move),
		cmocka_unit_test(unwinding_belongs_to_the_next_load),
		cmocka_unit_test(a_file_that_grows),
		cmocka_unit_test(unknown_and_closing_records),
		cmocka_unit_test(records_that_contradict_themselves),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(a_call_reads_a_bounded_part),
		cmocka_unit_test(a_file_that_grows_too_fast),
		cmocka_unit_test(code_lies_in_memory_without_a_file),
		cmocka_unit_test(the_mappings_of_jitdump_files),
		cmocka_unit_test(the_file_that_is_mapped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
