/* SPDX-License-Identifier: MIT */
/*
 * test_image.c: given these bytes, these segments, symbols and notes; given bytes that lie, an
 * error or nothing.
 *
 * The small file is put together here, see struct tiny; the real ones are this program and its C
 * library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "image/image.h"

/* A library of one page of "text" and one of "data", with two exported symbols and one that it
 * needs. */
struct tiny {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[5];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t desc[8];
	} note;
	char strings[64]; /* of .dynsym and .symtab */
	Elf64_Sym symbols[4];
	uint32_t sysv_hash[2 + 1 + 4];
	uint32_t padding;
	Elf64_Dyn dynamic[5];
	Elf64_Sym symtab[3];
	char section_names[64];
	Elf64_Shdr shdrs[5];
	char data[16];
};

#define TINY_VADDR      0x10000
#define TINY_DATA_VADDR 0x20000
#define AT(member)      (TINY_VADDR + offsetof(struct tiny, member))

static struct tiny make_tiny(void)
{
	struct tiny tiny = {
		.ehdr = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = EM_AARCH64,
			  .e_version = EV_CURRENT,
			  .e_phoff = offsetof(struct tiny, phdrs),
			  .e_shoff = offsetof(struct tiny, shdrs),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 5,
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = 5,
			  .e_shstrndx = 4 },
		.phdrs = {
			{ PT_LOAD, PF_R | PF_X, 0, TINY_VADDR, 0, offsetof(struct tiny, data),
			  offsetof(struct tiny, data), 0x1000 },
			{ PT_LOAD, PF_R | PF_W, offsetof(struct tiny, data), TINY_DATA_VADDR, 0, 16,
			  0x100, 0x1000 },
			{ PT_DYNAMIC, PF_R, offsetof(struct tiny, dynamic), AT(dynamic), 0,
			  sizeof(tiny.dynamic), sizeof(tiny.dynamic), 8 },
			{ PT_NOTE, PF_R, offsetof(struct tiny, note), AT(note), 0,
			  sizeof(tiny.note), sizeof(tiny.note), 4 },
			{ PT_TLS, PF_R, 0, 0x30000, 0, 0, 0x48, 0x10 },
		},
		.note = { { 4, 8, NT_GNU_BUILD_ID }, "GNU", { 1, 2, 3, 4, 5, 6, 7, 8 } },
		.strings = "\0first\0needed\0local\0twice",
		.symbols = {
			{ 0 },
			{ 1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x10040, 12 },
			{ 7, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, SHN_UNDEF, 0, 0 },
			{ 20, ELF64_ST_INFO(STB_GLOBAL, STT_TLS), 0, 1, 0x28, 8 },
		},
		.sysv_hash = { 1, 4, 1, 0, 2, 3, 0 },
		.dynamic = { { DT_SYMTAB, { AT(symbols) } },
			     { DT_STRTAB, { AT(strings) } },
			     { DT_STRSZ, { 64 } },
			     { DT_HASH, { AT(sysv_hash) } },
			     { DT_NULL, { 0 } } },
		.symtab = {
			{ 14, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, 1, 0x20008, 4 },
			{ 20, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, 1, 0x111, 4 },
			{ 1, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, 1, 0x222, 4 },
		},
		.section_names = "\0.symtab\0.strtab\0.bss\0.shstrtab",
		.shdrs = {
			{ 0 },
			{ 1, SHT_SYMTAB, 0, 0, offsetof(struct tiny, symtab), sizeof(tiny.symtab),
			  2, 0, 8, sizeof(Elf64_Sym) },
			{ 9, SHT_STRTAB, 0, 0, offsetof(struct tiny, strings), 64, 0, 0, 1, 0 },
			{ 17, SHT_NOBITS, 0, 0x20010, offsetof(struct tiny, data), 0xf0, 0, 0, 16,
			  0 },
			{ 22, SHT_STRTAB, 0, 0, offsetof(struct tiny, section_names), 64, 0, 0, 1,
			  0 },
		},
		.data = "sixteen bytes..",
	};
	return tiny;
}

static struct image *open_tiny(const struct tiny *tiny)
{
	struct image *image = NULL;
	assert_null(image_open_bytes(tiny, sizeof(*tiny), "tiny", &image));
	return image;
}

static void headers_of_the_tiny_file(void **state)
{
	struct tiny tiny = make_tiny();
	_cleanup_image_ struct image *image = open_tiny(&tiny);
	assert_string_equal(image_name(image), "tiny");
	assert_int_equal(image_machine(image), EM_AARCH64);
	assert_int_equal(image_type(image), ET_DYN);
	size_t count;
	const struct image_segment *segments = image_segments(image, &count);
	assert_int_equal(count, 2);
	assert_int_equal(segments[0].vaddr, 0x10000);
	assert_true(segments[0].read && segments[0].exec && !segments[0].write);
	assert_int_equal(segments[1].file_size, 16);
	assert_int_equal(segments[1].memory_size, 0x100);
	assert_true(segments[1].read && segments[1].write && !segments[1].exec);

	uint64_t size, align, vaddr;
	assert_true(image_tls(image, &size, &align, &vaddr));
	assert_int_equal(size, 0x48);
	assert_int_equal(align, 0x10);
	assert_int_equal(vaddr, 0x30000);

	size_t id_size;
	const uint8_t *id = image_build_id(image, &id_size);
	assert_int_equal(id_size, 8);
	assert_memory_equal(id, "\1\2\3\4\5\6\7\10", 8);
}

static void symbols_of_the_tiny_file(void **state)
{
	struct tiny tiny = make_tiny();
	_cleanup_image_ struct image *image = open_tiny(&tiny);
	struct image_symbol symbol;

	assert_true(image_dynamic_symbol(image, "first", &symbol));
	assert_int_equal(symbol.vaddr, 0x10040);
	assert_int_equal(symbol.size, 12);
	assert_false(symbol.is_tls);
	assert_true(image_symbol(image, "first", &symbol));
	assert_int_equal(symbol.vaddr, 0x10040); /* and not 0x222 of .symtab */
	assert_true(image_symbol(image, "twice", &symbol));
	assert_int_equal(symbol.vaddr, 0x28);
	assert_true(symbol.is_tls);

	assert_false(image_dynamic_symbol(image, "local", &symbol));
	assert_true(image_symbol(image, "local", &symbol));
	assert_int_equal(symbol.vaddr, 0x20008);

	assert_false(image_symbol(image, "needed", &symbol));
	assert_false(image_symbol(image, "", &symbol));
	assert_false(image_symbol(image, "firs", &symbol));
	assert_false(image_symbol(image, "first1", &symbol));
}

static void a_global_symbol_is_preferred_to_a_local_one(void **state)
{
	struct tiny tiny = make_tiny();
	tiny.ehdr.e_phnum = 2;
	tiny.symtab[0] = (Elf64_Sym){ 20, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, 1, 0x111, 4 };
	tiny.symtab[1] = (Elf64_Sym){ 20, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, 0x333, 4 };
	tiny.symtab[2] = (Elf64_Sym){ 20, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, 1, 0x222, 4 };
	_cleanup_image_ struct image *image = open_tiny(&tiny);
	struct image_symbol symbol;
	assert_true(image_symbol(image, "twice", &symbol));
	assert_int_equal(symbol.vaddr, 0x333);
}

static void sections_of_the_tiny_file(void **state)
{
	struct tiny tiny = make_tiny();
	_cleanup_image_ struct image *image = open_tiny(&tiny);
	struct image_section section;
	assert_true(image_section(image, ".bss", &section));
	assert_int_equal(section.vaddr, 0x20010);
	assert_int_equal(section.size, 0xf0);
	assert_false(section.has_bits);
	assert_true(image_section(image, ".strtab", &section));
	assert_int_equal(section.offset, offsetof(struct tiny, strings));
	assert_true(section.has_bits);
	assert_false(image_section(image, ".text", &section));
}

static void reads_what_the_file_holds(void **state)
{
	struct tiny tiny = make_tiny();
	_cleanup_image_ struct image *image = open_tiny(&tiny);
	char buffer[32];
	assert_true(image_read(image, 0x20000, buffer, 16));
	assert_string_equal(buffer, "sixteen bytes..");
	assert_true(image_read(image, 0x20008, buffer, 8));
	assert_string_equal(buffer, "bytes..");
	assert_false(image_read(image, 0x20008, buffer, 9));    /* runs into .bss */
	assert_false(image_read(image, 0x20010, buffer, 1));    /* .bss */
	assert_false(image_read(image, 0x1ffff, buffer, 4));    /* before the segment */
	assert_false(image_read(image, UINT64_MAX, buffer, 2)); /* wraps */
	assert_false(image_read(image, 0, buffer, 1));
}

static void refuses_what_is_no_64_bit_elf(void **state)
{
	struct tiny tiny = make_tiny();
	static const uint8_t wrong[][2] = { { 0, 0 },
					    { EI_CLASS, ELFCLASS32 },
					    { EI_DATA, ELFDATA2MSB } };
	for (size_t i = 0; i < 3; i++) {
		struct tiny bad = tiny;
		bad.ehdr.e_ident[wrong[i][0]] = wrong[i][1];
		struct image *image = NULL;
		struct error *err = image_open_bytes(&bad, sizeof(bad), "bad", &image);
		assert_non_null(err);
		assert_int_equal(err->code, ERROR_UNSUPPORTED);
		assert_null(image);
		error_destroy(err);
	}
	struct image *image = NULL;
	struct error *err = image_open_bytes("", 0, "empty", &image);
	assert_non_null(err);
	error_destroy(err);
}

/* Everything that can be asked; the answers do not matter, only that they come. */
static void ask_everything(const struct image *image)
{
	static const char *const names[] = { "first", "needed", "local", "twice", "none" };
	struct image_symbol symbol;
	struct image_section section;
	uint64_t a, b, c;
	size_t count;
	char buffer[64];
	for (size_t i = 0; i < 5; i++)
		image_symbol(image, names[i], &symbol);
	image_section(image, ".bss", &section);
	image_build_id(image, &count);
	image_tls(image, &a, &b, &c);
	const struct image_segment *segments = image_segments(image, &count);
	for (size_t i = 0; i < count; i++)
		image_read(image, segments[i].vaddr, buffer, sizeof(buffer));
}

static void open_and_ask(const void *data, size_t size)
{
	struct image *image = NULL;
	struct error *err = image_open_bytes(data, size, "hostile", &image);
	if (!err) {
		ask_everything(image);
		image_close(image);
	}
	error_destroy(err);
}

static void survives_every_truncation(void **state)
{
	struct tiny tiny = make_tiny();
	for (size_t size = 0; size <= sizeof(tiny); size++)
		open_and_ask(&tiny, size);
}

static void survives_every_corrupted_byte(void **state)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct tiny tiny = make_tiny();
	for (size_t at = 0; at < sizeof(tiny); at++) {
		for (size_t i = 0; i < sizeof(values); i++) {
			struct tiny bad = tiny;
			((uint8_t *)&bad)[at] = values[i];
			open_and_ask(&bad, sizeof(bad));
		}
	}
}

static void survives_absurd_counts(void **state)
{
	struct tiny tiny = make_tiny();
	tiny.ehdr.e_shnum = 0; /* the real number is in section 0 */
	tiny.shdrs[0].sh_size = UINT64_MAX;
	open_and_ask(&tiny, sizeof(tiny));
	tiny = make_tiny();
	tiny.ehdr.e_phnum = PN_XNUM;
	tiny.shdrs[0].sh_info = UINT32_MAX;
	open_and_ask(&tiny, sizeof(tiny));
	tiny = make_tiny();
	tiny.ehdr.e_shnum = 0xfeff;
	open_and_ask(&tiny, sizeof(tiny));
	tiny = make_tiny();
	tiny.shdrs[1].sh_size = UINT64_MAX;
	tiny.shdrs[2].sh_size = UINT64_MAX;
	open_and_ask(&tiny, sizeof(tiny));
	tiny = make_tiny();
	tiny.phdrs[0].p_filesz = tiny.phdrs[0].p_memsz = UINT64_MAX;
	open_and_ask(&tiny, sizeof(tiny));
	tiny = make_tiny();
	tiny.phdrs[3].p_filesz = UINT64_MAX;
	open_and_ask(&tiny, sizeof(tiny));
}

static void a_hash_chain_without_end_ends(void **state)
{
	struct tiny tiny = make_tiny();
	tiny.sysv_hash[3 + 2] = 2; /* a chain that only leads to itself */
	tiny.sysv_hash[3 + 1] = 2;
	_cleanup_image_ struct image *image = open_tiny(&tiny);
	struct image_symbol symbol;
	assert_true(image_dynamic_symbol(image, "first", &symbol));
	assert_false(image_dynamic_symbol(image, "twice", &symbol));
}

static void a_segment_that_overflows_is_refused(void **state)
{
	struct tiny tiny = make_tiny();
	tiny.phdrs[1].p_vaddr = UINT64_MAX - 4;
	struct image *image = NULL;
	struct error *err = image_open_bytes(&tiny, sizeof(tiny), "bad", &image);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_CORRUPT);
	error_destroy(err);
}

/* ---- real files ---- */

int image_test_global = 5;
static int image_test_local = 6;

static struct image *open_self(void)
{
	struct image *image = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_null(image_open(fd, "self", &image));
	return image;
}

static int first_bias(struct dl_phdr_info *info, size_t size, void *data)
{
	*(uint64_t *)data = info->dlpi_addr;
	return 1; /* the executable comes first */
}

static void finds_symbols_of_this_program(void **state)
{
	_cleanup_image_ struct image *image = open_self();
	uint64_t bias = 0;
	dl_iterate_phdr(first_bias, &bias);
	struct image_symbol symbol;
	assert_true(image_symbol(image, "image_test_global", &symbol));
	assert_ptr_equal((void *)(symbol.vaddr + bias), &image_test_global);
	assert_int_equal(symbol.size, sizeof(int));
	assert_true(image_symbol(image, "image_test_local", &symbol));
	assert_ptr_equal((void *)(symbol.vaddr + bias), &image_test_local);
	int value = 0;
	assert_true(image_read(image, symbol.vaddr, &value, sizeof(value)));
	assert_int_equal(value, 6);
	assert_false(image_dynamic_symbol(image, "pread", &symbol)); /* needed, not defined */
}

static struct image *open_libc(Dl_info *info)
{
	struct image *image = NULL;
	assert_int_not_equal(dladdr(dlsym(RTLD_NEXT, "getppid"), info), 0);
	int fd = open(info->dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_null(image_open(fd, "libc", &image));
	return image;
}

static void check_getppid(const struct image *image, const Dl_info *info)
{
	struct image_symbol symbol;
	assert_true(image_dynamic_symbol(image, "getppid", &symbol));
	assert_ptr_equal((char *)info->dli_fbase + symbol.vaddr, dlsym(RTLD_NEXT, "getppid"));
	assert_false(image_dynamic_symbol(image, "getppid_", &symbol));
	uint8_t code[8];
	assert_true(image_dynamic_symbol(image, "getppid", &symbol));
	assert_true(image_read(image, symbol.vaddr, code, sizeof(code)));
	assert_memory_equal(code, dlsym(RTLD_NEXT, "getppid"), sizeof(code));
}

static void finds_symbols_of_the_c_library(void **state)
{
	Dl_info info;
	_cleanup_image_ struct image *image = open_libc(&info);
	check_getppid(image, &info);
}

static bool read_self(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct iovec to = { buffer, size }, from = { (void *)address, size };
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size;
}

static void finds_symbols_of_the_c_library_in_memory(void **state)
{
	struct memory memory = { .read = read_self };
	Dl_info info;
	_cleanup_image_ struct image *file = open_libc(&info);
	_cleanup_image_ struct image *image = NULL;
	assert_null(image_open_memory(&memory, (uintptr_t)info.dli_fbase, "libc", &image));
	check_getppid(image, &info);

	size_t size, file_size;
	const uint8_t *id = image_build_id(image, &size),
		      *file_id = image_build_id(file, &file_size);
	assert_int_equal(size, file_size);
	assert_true(size >= 8);
	assert_memory_equal(id, file_id, size);

	struct image_section section;
	struct image_symbol symbol;
	assert_false(image_section(image, ".text", &section));
	assert_true(image_dynamic_symbol(image, "environ", &symbol));
	assert_false(image_read(image, symbol.vaddr, &size, sizeof(size)));
}

static void needs_an_elf_header_in_memory(void **state)
{
	struct memory memory = { .read = read_self };
	struct image *image = NULL;
	struct error *err = image_open_memory(&memory, 0x1000, "nothing", &image);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_FAULT);
	error_destroy(err);
	static const char zeroes[64];
	err = image_open_memory(&memory, (uintptr_t)zeroes, "zeroes", &image);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_UNSUPPORTED);
	error_destroy(err);
}

static void a_file_that_shrinks_while_open_only_fails(void **state)
{
	struct tiny tiny = make_tiny();
	int fd = memfd_create("tiny", MFD_CLOEXEC);
	assert_int_equal(write(fd, &tiny, sizeof(tiny)), sizeof(tiny));
	_cleanup_image_ struct image *image = NULL;
	assert_null(image_open(fd, "tiny", &image));
	char buffer[8];
	assert_true(image_read(image, 0x20000, buffer, 8));
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_false(image_read(image, 0x20000, buffer, 8));
	ask_everything(image);
}

static void refuses_what_is_no_file(void **state)
{
	_cleanup_close_ int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct image *image = NULL;
	struct error *err = image_open(fd, "/", &image);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_UNSUPPORTED);
	assert_true(fcntl(fd, F_GETFD) >= 0); /* still the caller's */
	error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_of_the_tiny_file),
		cmocka_unit_test(symbols_of_the_tiny_file),
		cmocka_unit_test(a_global_symbol_is_preferred_to_a_local_one),
		cmocka_unit_test(sections_of_the_tiny_file),
		cmocka_unit_test(reads_what_the_file_holds),
		cmocka_unit_test(refuses_what_is_no_64_bit_elf),
		cmocka_unit_test(survives_every_truncation),
		cmocka_unit_test(survives_every_corrupted_byte),
		cmocka_unit_test(survives_absurd_counts),
		cmocka_unit_test(a_hash_chain_without_end_ends),
		cmocka_unit_test(a_segment_that_overflows_is_refused),
		cmocka_unit_test(finds_symbols_of_this_program),
		cmocka_unit_test(finds_symbols_of_the_c_library),
		cmocka_unit_test(finds_symbols_of_the_c_library_in_memory),
		cmocka_unit_test(needs_an_elf_header_in_memory),
		cmocka_unit_test(a_file_that_shrinks_while_open_only_fails),
		cmocka_unit_test(refuses_what_is_no_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
