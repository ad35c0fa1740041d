/* SPDX-License-Identifier: MIT */
/*
 * test_modules.c: given mappings, these modules and load biases.
 *
 * One half looks at this very process. The other half is a folder that looks like /proc/TID, with a
 * maps file written here and memory that is an array: what a file system or a permission does can
 * be had there without having it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "image/modules.h"

static bool read_self(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct iovec to = { buffer, size }, from = { (void *)address, size };
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size;
}

static struct memory own_memory = { .read = read_self };

struct own {
	struct process *process;
	struct modules *modules;
	uint64_t bias; /* of this program, by the dynamic linker */
};

static int first_bias(struct dl_phdr_info *info, size_t size, void *data)
{
	*(uint64_t *)data = info->dlpi_addr;
	return 1;
}

static struct own open_own(void)
{
	struct own own = { 0 };
	assert_null(process_open(getpid(), &own.process));
	assert_null(modules_create(own.process, &own_memory, &own.modules));
	assert_null(modules_update(own.modules));
	dl_iterate_phdr(first_bias, &own.bias);
	return own;
}

static void close_own(struct own *own)
{
	modules_destroy(own->modules);
	process_close(own->process);
}

static void finds_this_program_and_its_bias(void **state)
{
	struct own own = open_own();
	struct module *module =
		modules_find(own.modules, (uintptr_t)finds_this_program_and_its_bias);
	assert_non_null(module);
	assert_true(module->start <= (uintptr_t)finds_this_program_and_its_bias);
	assert_true(module->end > (uintptr_t)finds_this_program_and_its_bias);
	assert_non_null(module_image(own.modules, module));
	assert_int_equal(module->bias, own.bias);
	assert_false(module->deleted);
	assert_false(module->from_memory);
	close_own(&own);
}

static void finds_the_c_library_and_its_bias(void **state)
{
	Dl_info info;
	assert_int_not_equal(dladdr(dlsym(RTLD_NEXT, "getppid"), &info), 0);
	struct own own = open_own();
	struct module *module = modules_find(own.modules, (uintptr_t)dlsym(RTLD_NEXT, "getppid"));
	assert_non_null(module);
	assert_non_null(module_image(own.modules, module));
	assert_int_equal(module->bias, (uintptr_t)info.dli_fbase);
	close_own(&own);
}

static void anonymous_memory_is_of_no_module(void **state)
{
	struct own own = open_own();
	assert_null(modules_find(own.modules, (uintptr_t)&own));
	assert_null(modules_find(own.modules, 0));
	assert_null(modules_find(own.modules, UINT64_MAX));
	close_own(&own);
}

/* Offset in the file and vaddr of a page of this program's code. */
static void code_page(const struct image *image, uint64_t *offset_ret, uint64_t *vaddr_ret)
{
	size_t count;
	const struct image_segment *segments = image_segments(image, &count);
	for (size_t i = 0; i < count; i++) {
		if (!segments[i].exec)
			continue;
		*offset_ret = segments[i].offset & ~UINT64_C(4095);
		*vaddr_ret = segments[i].vaddr - (segments[i].offset - *offset_ret);
		return;
	}
	fail();
}

static void the_generation_grows_with_changes_only(void **state)
{
	struct own own = open_own();
	uint64_t before = modules_generation(own.modules);
	struct module *module =
		modules_find(own.modules, (uintptr_t)the_generation_grows_with_changes_only);
	struct image *image = module_image(own.modules, module);
	assert_non_null(image);

	/* Anonymous memory is no module. */
	void *anonymous = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_null(modules_update(own.modules));
	assert_int_equal(modules_generation(own.modules), before);

	uint64_t offset, vaddr;
	code_page(image, &offset, &vaddr);
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)offset);
	assert_true(mapped != MAP_FAILED);
	size_t count = modules_count(own.modules);
	assert_null(modules_update(own.modules));
	assert_true(modules_generation(own.modules) > before);
	assert_int_equal(modules_count(own.modules), count + 1);

	/* What is still there is the same object with the same image. */
	assert_ptr_equal(modules_find(own.modules,
				      (uintptr_t)the_generation_grows_with_changes_only),
			 module);
	assert_ptr_equal(module_image(own.modules, module), image);
	munmap(mapped, 4096);
	munmap(anonymous, 4096);
	close_own(&own);
}

/* As a statically linked libffi maps its trampolines: the program's own code again, at a lower
 * address. */
static void a_second_mapping_is_another_module(void **state)
{
	struct own own = open_own();
	uint64_t address = (uintptr_t)a_second_mapping_is_another_module;
	struct module *first = modules_find(own.modules, address);
	uint64_t offset, vaddr;
	code_page(module_image(own.modules, first), &offset, &vaddr);
	close_own(&own);

	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, (off_t)offset);
	assert_ptr_equal(low, (void *)0x10000000);
	own = open_own();
	first = modules_find(own.modules, address);
	struct module *second = modules_find(own.modules, (uintptr_t)low);
	assert_non_null(first);
	assert_non_null(second);
	assert_ptr_not_equal(first, second);
	assert_non_null(module_image(own.modules, first));
	assert_int_equal(first->bias, own.bias);
	assert_non_null(module_image(own.modules, second));
	assert_int_equal(second->bias, 0x10000000 - vaddr);
	assert_int_equal(second->start, 0x10000000);
	assert_int_equal(second->end, 0x10001000);
	munmap(low, 4096);
	close_own(&own);
}

/* ---- a process made up here ---- */

#define BASE 0x7f0000000000

static const uint8_t build_id[20] = "a build id of twenty";

/* A library of two pages: headers and note in the first, code in the second. */
struct library {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[3];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t desc[20];
	} note;
	uint8_t fill[4096 - 64 - 3 * 56 - 36];
	uint8_t code[4096];
};

static struct library library_;

struct made_up {
	char path[64];
	struct process process;
	struct modules *modules;
	struct stat st; /* of the file */
};

static bool read_library(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	if (address < BASE || address - BASE > sizeof(library_) ||
	    size > sizeof(library_) - (address - BASE))
		return false;
	memcpy(buffer, (uint8_t *)&library_ + (address - BASE), size);
	return true;
}

static struct memory library_memory = { .read = read_library };

static struct library make_library(uint8_t last_of_id)
{
	struct library library = {
		.ehdr = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = offsetof(struct library, phdrs),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 3 },
		.phdrs = {
			{ PT_LOAD, PF_R, 0, 0x1000, 0, 4096, 4096, 4096 },
			{ PT_LOAD, PF_R | PF_X, 4096, 0x5000, 0, 4096, 4096, 4096 },
			{ PT_NOTE, PF_R, offsetof(struct library, note),
			  0x1000 + offsetof(struct library, note), 0, 36, 36, 4 },
		},
		.note = { { 4, 20, NT_GNU_BUILD_ID }, "GNU", { 0 } },
	};
	memcpy(library.note.desc, build_id, sizeof(build_id));
	library.note.desc[19] = last_of_id;
	return library;
}

static void write_file(struct made_up *made_up, const char *name, const void *data, size_t size)
{
	unlinkat(made_up->process.dir_fd, name, 0);
	_cleanup_close_ int fd =
		openat(made_up->process.dir_fd, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(fstat(fd, &made_up->st), 0);
}

/* root/lib.so on disk is @file (NULL: none); the process has a library with build id "…y" mapped.
 */
static void make_up(struct made_up *made_up, const struct library *file)
{
	*made_up = (struct made_up){ .path = "/tmp/test_modules.XXXXXX" };
	assert_non_null(mkdtemp(made_up->path));
	made_up->process = (struct process){ .pid = 1, .tid = 1 };
	made_up->process.dir_fd = open(made_up->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(made_up->process.dir_fd, "root", 0700), 0);
	library_ = make_library('y');
	if (file)
		write_file(made_up, "root/lib.so", file, sizeof(*file));
	assert_null(modules_create(&made_up->process, &library_memory, &made_up->modules));
}

static void unmake(struct made_up *made_up)
{
	modules_destroy(made_up->modules);
	int dir = made_up->process.dir_fd;
	unlinkat(dir, "root/lib.so", 0);
	unlinkat(dir, "maps", 0);
	assert_int_equal(unlinkat(dir, "root", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(made_up->path), 0);
	close(dir);
}

/* The library at BASE, its file being @inode on device @dev. */
static struct module *map_library(struct made_up *made_up, dev_t dev, uint64_t inode,
				  const char *mark)
{
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "7f0000000000-7f0000001000 r--p 00000000 %x:%x %" PRIu64 " /lib.so%s\n"
			 "7f0000004000-7f0000005000 r-xp 00001000 %x:%x %" PRIu64 " /lib.so%s\n",
			 major(dev), minor(dev), inode, mark, major(dev), minor(dev), inode, mark);
	struct stat st = made_up->st;
	write_file(made_up, "maps", text, (size_t)n);
	made_up->st = st;
	assert_null(modules_update(made_up->modules));
	assert_int_equal(modules_count(made_up->modules), 1);
	return modules_get(made_up->modules, 0);
}

static void the_file_itself_is_used_when_it_is_there(void **state)
{
	struct library file = make_library('y');
	struct made_up made_up;
	make_up(&made_up, &file);
	struct module *module = map_library(&made_up, made_up.st.st_dev, made_up.st.st_ino, "");
	assert_non_null(module_image(made_up.modules, module));
	assert_false(module->from_memory);
	assert_int_equal(module->bias, BASE - 0x1000);
	assert_int_equal(module->start, 0x7f0000000000);
	assert_int_equal(module->end, 0x7f0000005000);
	assert_string_equal(module->path, "/lib.so");
	unmake(&made_up);
}

static void a_deleted_file_is_read_from_memory(void **state)
{
	struct made_up made_up;
	make_up(&made_up, NULL);
	struct module *module = map_library(&made_up, 0x801, 77, " (deleted)");
	assert_true(module->deleted);
	struct image *image = module_image(made_up.modules, module);
	assert_non_null(image);
	assert_true(module->from_memory);
	assert_int_equal(module->bias, BASE - 0x1000);
	size_t size;
	assert_memory_equal(image_build_id(image, &size), build_id, 20);
	unmake(&made_up);
}

static void a_file_that_replaced_it_is_not_used(void **state)
{
	struct library file = make_library('z');
	struct made_up made_up;
	make_up(&made_up, &file);
	struct module *module = map_library(&made_up, 0x801, 77, "");
	struct image *image = module_image(made_up.modules, module);
	assert_non_null(image);
	assert_true(module->from_memory);
	size_t size;
	assert_memory_equal(image_build_id(image, &size), build_id, 20);
	unmake(&made_up);
}

/* Given a file system that shows other numbers in maps than in stat (overlayfs). */
static void a_file_with_the_build_id_in_memory_is_used(void **state)
{
	struct library file = make_library('y');
	struct made_up made_up;
	make_up(&made_up, &file);
	struct module *module = map_library(&made_up, 0x801, 77, "");
	assert_non_null(module_image(made_up.modules, module));
	assert_false(module->from_memory);
	unmake(&made_up);
}

static void a_file_without_build_id_proves_nothing(void **state)
{
	struct library file = make_library('y');
	file.ehdr.e_phnum = 2;
	struct made_up made_up;
	make_up(&made_up, &file);
	library_.ehdr.e_phnum = 2;
	struct module *module = map_library(&made_up, 0x801, 77, "");
	assert_non_null(module_image(made_up.modules, module));
	assert_true(module->from_memory);
	unmake(&made_up);
}

static void an_image_that_cannot_be_had_is_an_error_that_stays(void **state)
{
	struct made_up made_up;
	make_up(&made_up, NULL);
	memset(&library_, 0, sizeof(library_));
	struct module *module = map_library(&made_up, 0x801, 77, " (deleted)");
	assert_null(module_image(made_up.modules, module));
	assert_non_null(module->error);
	assert_int_equal(module->error->code, ERROR_GONE);
	struct error *error = module->error;
	assert_null(module_image(made_up.modules, module));
	assert_ptr_equal(module->error, error);
	unmake(&made_up);
}

static void a_library_loaded_twice_is_two_modules(void **state)
{
	struct library file = make_library('y');
	struct made_up made_up;
	make_up(&made_up, &file);
	char text[1024];
	unsigned a = major(made_up.st.st_dev), b = minor(made_up.st.st_dev);
	uint64_t inode = made_up.st.st_ino;
	int n = snprintf(text, sizeof(text),
			 "7f0000000000-7f0000001000 r--p 00000000 %x:%x %" PRIu64 " /lib.so\n"
			 "7f0000001000-7f0000004000 ---p 00001000 %x:%x %" PRIu64 " /lib.so\n"
			 "7f0000004000-7f0000005000 r-xp 00001000 %x:%x %" PRIu64 " /lib.so\n"
			 "7f0100000000-7f0100001000 r--p 00000000 %x:%x %" PRIu64 " /lib.so\n"
			 "7f0100004000-7f0100005000 r-xp 00001000 %x:%x %" PRIu64 " /lib.so\n"
			 "7f0200000000-7f0200001000 r--p 00000000 %x:%x %" PRIu64 " /lib.so\n",
			 a, b, inode, a, b, inode, a, b, inode, a, b, inode, a, b, inode, a, b,
			 inode);
	write_file(&made_up, "maps", text, (size_t)n);
	assert_null(modules_update(made_up.modules));
	assert_int_equal(modules_count(made_up.modules), 2);
	struct module *first = modules_get(made_up.modules, 0);
	struct module *second = modules_get(made_up.modules, 1);
	assert_non_null(module_image(made_up.modules, first));
	assert_non_null(module_image(made_up.modules, second));
	assert_int_equal(first->bias, 0x7efffffff000);
	assert_int_equal(second->bias, 0x7f00fffff000);
	assert_ptr_equal(modules_find(made_up.modules, 0x7f0100004123), second);
	assert_null(modules_find(made_up.modules, 0x7f0000002000)); /* the hole */
	assert_null(modules_find(made_up.modules, 0x7f0200000000)); /* read as data */
	unmake(&made_up);
}

/* Three segments in two pages of the file: R and RW share the first one. */
static struct library make_dense(void)
{
	struct library library = make_library('y');
	library.phdrs[0] = (Elf64_Phdr){ PT_LOAD, PF_R, 0, 0x1000, 0, 0x400, 0x400, 4096 };
	library.phdrs[1] =
		(Elf64_Phdr){ PT_LOAD, PF_R | PF_W, 0x400, 0x2400, 0, 0x400, 0x400, 4096 };
	library.phdrs[2] =
		(Elf64_Phdr){ PT_LOAD, PF_R | PF_X, 0x800, 0x5800, 0, 0x1800, 0x1800, 4096 };
	return library;
}

/* @lines are maps lines with an @ where device, inode and path belong. */
static void map_lines(struct made_up *made_up, const char *lines)
{
	char file[128], text[1024];
	snprintf(file, sizeof(file), "%x:%x %" PRIu64 " /lib.so", major(made_up->st.st_dev),
		 minor(made_up->st.st_dev), (uint64_t)made_up->st.st_ino);
	size_t length = 0;
	for (const char *p = lines; *p; p++) {
		int n = *p == '@' ? snprintf(text + length, sizeof(text) - length, "%s", file)
				  : snprintf(text + length, sizeof(text) - length, "%c", *p);
		length += (size_t)n;
		assert_true(length < sizeof(text));
	}
	struct stat st = made_up->st;
	write_file(made_up, "maps", text, length);
	made_up->st = st;
	assert_null(modules_update(made_up->modules));
}

static void segments_that_share_a_page_are_one_module(void **state)
{
	struct library file = make_dense();
	struct made_up made_up;
	make_up(&made_up, &file);
	map_lines(&made_up, "7f0000000000-7f0000001000 r--p 00000000 @\n"
			    "7f0000001000-7f0000002000 rw-p 00000000 @\n"
			    "7f0000004000-7f0000006000 r-xp 00000000 @\n");
	assert_int_equal(modules_count(made_up.modules), 1);
	struct module *module = modules_get(made_up.modules, 0);
	assert_int_equal(module->start, 0x7f0000000000);
	assert_int_equal(module->end, 0x7f0000006000);
	assert_non_null(module_image(made_up.modules, module));
	assert_int_equal(module->bias, 0x7efffffff000);
	unmake(&made_up);
}

/* The page is also in a segment that is not executable: the mapping is, so it is not that one. */
static void permissions_tell_the_segment_of_a_lone_mapping(void **state)
{
	struct library file = make_dense();
	struct made_up made_up;
	make_up(&made_up, &file);
	map_lines(&made_up, "7f0100000000-7f0100001000 r-xp 00000000 @\n");
	struct module *module = modules_get(made_up.modules, 0);
	assert_non_null(module_image(made_up.modules, module));
	assert_int_equal(module->bias, 0x7f00ffffb000);
	unmake(&made_up);
}

static void a_hole_is_of_no_module(void **state)
{
	struct library file = make_library('y');
	struct made_up made_up;
	make_up(&made_up, &file);
	map_lines(&made_up, "7f0000000000-7f0000001000 r--p 00000000 @\n"
			    "7f0000001000-7f0000004000 ---p 00000800 @\n"
			    "7f0000004000-7f0000005000 r-xp 00001000 @\n");
	assert_int_equal(modules_count(made_up.modules), 1);
	assert_non_null(modules_find(made_up.modules, 0x7f0000000800));
	assert_null(modules_find(made_up.modules, 0x7f0000002000));
	assert_non_null(modules_find(made_up.modules, 0x7f0000004800));
	unmake(&made_up);
}

static void data_files_are_no_modules(void **state)
{
	struct made_up made_up;
	make_up(&made_up, NULL);
	static const char text[] =
		"7f0000000000-7f0000001000 r--p 00000000 08:01 5 /usr/lib/locale/C.utf8/LC_CTYPE\n"
		"7f0000001000-7f0000002000 rwxp 00000000 00:00 0 \n"
		"7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0 [vdso]\n";
	write_file(&made_up, "maps", text, strlen(text));
	assert_null(modules_update(made_up.modules));
	assert_int_equal(modules_count(made_up.modules), 0);
	unmake(&made_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_this_program_and_its_bias),
		cmocka_unit_test(finds_the_c_library_and_its_bias),
		cmocka_unit_test(anonymous_memory_is_of_no_module),
		cmocka_unit_test(the_generation_grows_with_changes_only),
		cmocka_unit_test(a_second_mapping_is_another_module),
		cmocka_unit_test(the_file_itself_is_used_when_it_is_there),
		cmocka_unit_test(a_deleted_file_is_read_from_memory),
		cmocka_unit_test(a_file_that_replaced_it_is_not_used),
		cmocka_unit_test(a_file_with_the_build_id_in_memory_is_used),
		cmocka_unit_test(a_file_without_build_id_proves_nothing),
		cmocka_unit_test(an_image_that_cannot_be_had_is_an_error_that_stays),
		cmocka_unit_test(a_library_loaded_twice_is_two_modules),
		cmocka_unit_test(segments_that_share_a_page_are_one_module),
		cmocka_unit_test(permissions_tell_the_segment_of_a_lone_mapping),
		cmocka_unit_test(a_hole_is_of_no_module),
		cmocka_unit_test(data_files_are_no_modules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
