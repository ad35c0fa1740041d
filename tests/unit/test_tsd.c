/* SPDX-License-Identifier: MIT */
/*
 * Given a C library's data and a thread's memory, this slot; given an interpreter's image, this
 * key.
 *
 * Images and memory are made up here: this program defines the image_* functions that tsd.c calls.
 * With --print-rows it prints the table of measured rows for tests/live/test_tsd_probe.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "python/tsd.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- a made-up image ---- */

struct fake_symbol {
	const char *name;
	uint64_t vaddr;
	const void *data; /* NULL: nothing in the file */
	uint64_t size;
	bool is_tls;
};

struct image {
	uint16_t machine;
	uint16_t type;
	bool has_interp;
	uint64_t tls_size, tls_align;
	struct fake_symbol symbols[8];
};

const char *image_name(const struct image *image)
{
	return "libmade-up.so";
}

uint16_t image_machine(const struct image *image)
{
	return image->machine;
}

uint16_t image_type(const struct image *image)
{
	return image->type;
}

bool image_tls(const struct image *image, uint64_t *size_ret, uint64_t *align_ret,
	       uint64_t *vaddr_ret)
{
	*size_ret = image->tls_size;
	*align_ret = image->tls_align;
	*vaddr_ret = 0;
	return image->tls_size != 0;
}

bool image_section(const struct image *image, const char *name, struct image_section *section_ret)
{
	return image->has_interp && !strcmp(name, ".interp");
}

bool image_symbol(const struct image *image, const char *name, struct image_symbol *symbol_ret)
{
	for (const struct fake_symbol *s = image->symbols; s->name; s++) {
		if (strcmp(s->name, name) != 0)
			continue;
		*symbol_ret = (struct image_symbol){ .vaddr = s->vaddr,
						     .size = s->size,
						     .is_tls = s->is_tls };
		return true;
	}
	return false;
}

bool image_read(const struct image *image, uint64_t vaddr, void *buffer, size_t size)
{
	for (const struct fake_symbol *s = image->symbols; s->name; s++) {
		if (s->vaddr != vaddr || !s->data || s->size < size)
			continue;
		memcpy(buffer, s->data, size);
		return true;
	}
	return false;
}

/* ---- made-up memory ---- */

struct fake_memory {
	struct memory memory;
	struct {
		uint64_t address;
		uint64_t value;
		size_t size;
	} words[16];
	size_t count;
};

/* Two words side by side may be read at once. */
static bool fake_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	const struct fake_memory *fake = (const struct fake_memory *)memory;
	uint8_t *out = buffer;
	while (size) {
		size_t i = 0;
		while (i < fake->count &&
		       (fake->words[i].address != address || fake->words[i].size > size))
			i++;
		if (i == fake->count)
			return false;
		memcpy(out, &fake->words[i].value, fake->words[i].size);
		out += fake->words[i].size;
		address += fake->words[i].size;
		size -= fake->words[i].size;
	}
	return true;
}

static void put(struct fake_memory *fake, uint64_t address, uint64_t value, size_t size)
{
	assert_true(fake->count < COUNT(fake->words));
	fake->words[fake->count].address = address;
	fake->words[fake->count].value = value;
	fake->words[fake->count].size = size;
	fake->count++;
}

static void put_u32(struct fake_memory *fake, uint64_t address, uint32_t value)
{
	put(fake, address, value, 4);
}

static void put_u64(struct fake_memory *fake, uint64_t address, uint64_t value)
{
	put(fake, address, value, 8);
}

/* ---- C libraries ---- */

static const uint32_t db_pthread_size_x86_64 = 2304;
static const uint32_t db_pthread_size_2_36 = 1856;
static const uint32_t db_key_size = 16;
static const uint32_t db_data[3] = { 64, 1, 8 };
static const uint32_t db_specific_x86_64[3] = { 2048, 1, 0x510 };
static const uint32_t db_specific_aarch64[3] = { 2048, 1, 0x310 };
static const uint32_t db_tid_x86_64[3] = { 32, 1, 0x2d0 };
static const uint32_t db_tid_aarch64[3] = { 32, 1, 0xd0 };

/* clang-format off */
#define DB_SYMBOLS(pthread_size, specific, tid) DB_SYMBOLS_DATA(pthread_size, specific, tid, db_data)
#define DB_SYMBOLS_DATA(pthread_size, specific, tid, data) \
	{ "_thread_db_sizeof_pthread", 0x10, pthread_size, 4, false }, \
	{ "_thread_db_sizeof_pthread_key_data", 0x20, &db_key_size, 4, false }, \
	{ "_thread_db_pthread_key_data_data", 0x30, data, 12, false }, \
	{ "_thread_db_pthread_specific", 0x40, specific, 12, false }, \
	{ "_thread_db_pthread_tid", 0x50, tid, 12, false }
/* clang-format on */

static const struct image described_x86_64 = {
	.machine = EM_X86_64,
	.symbols = { { "gnu_get_libc_version", 0x1, NULL, 8, false },
		     DB_SYMBOLS(&db_pthread_size_x86_64, db_specific_x86_64, db_tid_x86_64) },
};
static const struct image described_aarch64 = {
	.machine = EM_AARCH64,
	.symbols = { DB_SYMBOLS(&db_pthread_size_2_36, db_specific_aarch64, db_tid_aarch64) },
};
static const struct image silent_glibc = {
	.machine = EM_X86_64,
	.symbols = { { "gnu_get_libc_version", 0x1, NULL, 8, false } },
};
static const struct image silent_glibc_aarch64 = {
	.machine = EM_AARCH64,
	.symbols = { { "gnu_get_libc_version", 0x1, NULL, 8, false } },
};
static const struct image musl = {
	.machine = EM_X86_64,
	.symbols = { { "__dls2b", 0x1, NULL, 8, false },
		     { "pthread_getspecific", 0x2, NULL, 8, false } },
};
static const struct image nameless = { .machine = EM_X86_64 };

static struct error *find(uint16_t machine, const struct image *first, const struct image *second,
			  struct fake_memory *fake, struct tsd_thread thread,
			  struct tsd_layout *layout)
{
	struct image *images[] = { (struct image *)first, (struct image *)second };
	struct tsd_request request = {
		.machine = machine,
		.images = images,
		.image_count = (first != NULL) + (second != NULL),
		.memory = fake ? &fake->memory : NULL,
		.thread = thread,
	};
	return tsd_layout_find(&request, layout);
}

static const struct tsd_thread no_thread;

static void assert_unsupported(struct error *err, const char *first, const char *second)
{
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_UNSUPPORTED);
	if (!strstr(err->message, first) || !strstr(err->message, second))
		fail_msg("\"%s\" names not both %s and %s", err->message, first, second);
	error_destroy(err);
}

/* ---- layouts ---- */

static bool has_row(const char *cpu, enum tsd_libc libc)
{
	size_t count;
	const struct tsd_layout *rows = tsd_rows(&count);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(rows[i].cpu, cpu) && rows[i].libc == libc)
			return true;
	return false;
}

static void test_every_shipped_cpu_has_rows(void **state)
{
	size_t shipped = 0;
	for (unsigned machine = 0; machine <= UINT16_MAX; machine++) {
		const struct arch *arch = arch_by_machine((uint16_t)machine);
		if (!arch)
			continue;
		assert_true(has_row(arch->name, TSD_GLIBC));
		assert_true(has_row(arch->name, TSD_MUSL));
		shipped++;
	}
	assert_true(shipped >= 1);
}

static void test_other_cpus_are_refused_by_name(void **state)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} cases[] = {
		{ EM_RISCV, "riscv" },
		{ EM_386, "386" },
		{ EM_PPC64, "ppc64" },
		{ EM_S390, "s390" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct tsd_layout layout;
		struct image libc = described_x86_64;
		libc.machine = cases[i].machine;
		assert_unsupported(find(cases[i].machine, &libc, NULL, NULL, no_thread, &layout),
				   cases[i].name, "measured");
	}
}

static void test_description_equal_to_a_row(void **state)
{
	struct tsd_layout layout;
	assert_null(find(EM_X86_64, &described_x86_64, NULL, NULL, no_thread, &layout));
	assert_int_equal(layout.libc, TSD_GLIBC);
	assert_int_equal(layout.pthread_below, 0);
	assert_int_equal(layout.first_block, 0x310);
	assert_int_equal(layout.specific, 0x510);
	assert_int_equal(layout.key_size, 16);
	assert_int_equal(layout.data, 8);
	assert_int_equal(layout.tid, 0x2d0);
	assert_int_equal(layout.dtv, 8);
	assert_int_equal(layout.dtv_entry, 16);
	assert_string_equal(layout.row, "glibc 2.31-2.44");
	assert_non_null(strstr(layout.origin, "libc's own"));
}

static void test_description_on_aarch64_gives_the_distance(void **state)
{
	struct tsd_layout layout;
	assert_null(find(EM_AARCH64, &described_aarch64, NULL, NULL, no_thread, &layout));
	assert_int_equal(layout.pthread_below, 1856);
	assert_int_equal(layout.first_block, 0x110);
	assert_string_equal(layout.row, "glibc 2.36-2.39");
}

/* glibc 2.31: libc says nothing, libpthread's .symtab does. */
static void test_description_in_libpthread(void **state)
{
	struct tsd_layout layout;
	assert_null(find(EM_X86_64, &silent_glibc, &described_x86_64, NULL, no_thread, &layout));
	assert_non_null(strstr(layout.origin, "libc's own"));
}

static void test_unmeasured_description_needs_a_thread(void **state)
{
	static const uint32_t specific[3] = { 2048, 1, 0x610 };
	static const uint32_t tid[3] = { 32, 1, 0x2e0 };
	static const struct image libc = {
		.machine = EM_X86_64,
		.symbols = { DB_SYMBOLS(&db_pthread_size_x86_64, specific, tid) },
	};
	struct tsd_layout layout;
	assert_unsupported(find(EM_X86_64, &libc, NULL, NULL, no_thread, &layout), "x86-64",
			   "glibc");

	struct fake_memory fake = { .memory.read = fake_read };
	struct tsd_thread thread = { .pointer = 0x7000, .tid = 42 };
	put_u32(&fake, 0x7000 + 0x2e0, 41);
	assert_unsupported(find(EM_X86_64, &libc, NULL, &fake, thread, &layout), "x86-64", "glibc");

	fake.count = 0;
	put_u32(&fake, 0x7000 + 0x2e0, 42);
	assert_null(find(EM_X86_64, &libc, NULL, &fake, thread, &layout));
	assert_int_equal(layout.first_block, 0x410);
	assert_int_equal(layout.specific, 0x610);
	assert_null(layout.row);
	assert_non_null(strstr(layout.origin, "confirmed"));
}

/* Lengths that no struct pthread has: the description is not believed, the row serves. */
static void test_absurd_description_is_ignored(void **state)
{
	static const uint32_t huge = 1 << 20, tiny = 4;
	static const uint32_t far[3] = { 2048, 1, 0x10000 };
	static const uint32_t near_[3] = { 2048, 1, 16 };
	static const uint32_t narrow[3] = { 1024, 1, 0x510 };
	static const uint32_t beyond[3] = { 64, 1, 9 };
	static const struct image images[] = {
		{ .machine = EM_X86_64,
		  .symbols = { DB_SYMBOLS(&huge, db_specific_x86_64, db_tid_x86_64) } },
		{ .machine = EM_X86_64,
		  .symbols = { DB_SYMBOLS(&tiny, db_specific_x86_64, db_tid_x86_64) } },
		{ .machine = EM_X86_64,
		  .symbols = { DB_SYMBOLS(&db_pthread_size_x86_64, far, db_tid_x86_64) } },
		{ .machine = EM_X86_64,
		  .symbols = { DB_SYMBOLS(&db_pthread_size_x86_64, near_, db_tid_x86_64) } },
		{ .machine = EM_X86_64,
		  .symbols = { DB_SYMBOLS(&db_pthread_size_x86_64, narrow, db_tid_x86_64) } },
		{ .machine = EM_X86_64,
		  .symbols = { DB_SYMBOLS_DATA(&db_pthread_size_x86_64, db_specific_x86_64,
					       db_tid_x86_64, beyond) } },
	};
	for (size_t i = 0; i < COUNT(images); i++) {
		struct tsd_layout layout;
		assert_null(find(EM_X86_64, &silent_glibc, &images[i], NULL, no_thread, &layout));
		assert_string_equal(layout.origin, "measured row glibc 2.31-2.44");
	}
}

static void test_row_by_the_librarys_name(void **state)
{
	struct tsd_layout layout;
	assert_null(find(EM_X86_64, &silent_glibc, NULL, NULL, no_thread, &layout));
	assert_string_equal(layout.origin, "measured row glibc 2.31-2.44");
	assert_null(find(EM_X86_64, &musl, NULL, NULL, no_thread, &layout));
	assert_string_equal(layout.origin, "measured row musl 1.2.3-1.2.6");
	assert_int_equal(layout.specific, 0x80);
	assert_int_equal(layout.key_size, 8);
	assert_int_equal(layout.data, 0);
}

static void test_nameless_library_is_refused_without_a_thread(void **state)
{
	struct tsd_layout layout;
	assert_unsupported(find(EM_X86_64, &nameless, NULL, NULL, no_thread, &layout), "x86-64",
			   "unknown C library");
}

/* A static program, stripped: the place of the thread's id tells glibc from musl. */
static void test_thread_decides_between_libraries(void **state)
{
	struct tsd_thread thread = { .pointer = 0x7000, .tid = 42 };
	struct tsd_layout layout;
	struct fake_memory glibc_memory = { .memory.read = fake_read };
	put_u32(&glibc_memory, 0x7000 + 0x30, 0);
	put_u32(&glibc_memory, 0x7000 + 0x2d0, 42);
	assert_null(find(EM_X86_64, &nameless, NULL, &glibc_memory, thread, &layout));
	assert_string_equal(layout.row, "glibc 2.31-2.44");

	struct fake_memory musl_memory = { .memory.read = fake_read };
	put_u32(&musl_memory, 0x7000 + 0x30, 42);
	assert_null(find(EM_X86_64, &nameless, NULL, &musl_memory, thread, &layout));
	assert_string_equal(layout.row, "musl 1.2.3-1.2.6");

	put_u32(&musl_memory, 0x7000 + 0x2d0, 42);
	assert_unsupported(find(EM_X86_64, &nameless, NULL, &musl_memory, thread, &layout),
			   "several", "x86-64");

	struct fake_memory other_memory = { .memory.read = fake_read };
	put_u32(&other_memory, 0x7000 + 0x2d0, 43);
	assert_unsupported(find(EM_X86_64, &silent_glibc, NULL, &other_memory, thread, &layout),
			   "no measured row fits", "glibc");
}

static void test_thread_decides_between_distances(void **state)
{
	static const uint32_t distances[] = { 1792, 1824, 1856 };
	struct tsd_layout layout;
	assert_unsupported(find(EM_AARCH64, &silent_glibc_aarch64, NULL, NULL, no_thread, &layout),
			   "aarch64", "several");
	for (size_t i = 0; i < COUNT(distances); i++) {
		struct fake_memory fake = { .memory.read = fake_read };
		struct tsd_thread thread = { .pointer = 0x7000, .tid = 42 };
		put_u32(&fake, 0x7000 - distances[i] + 0xd0, 42);
		assert_null(find(EM_AARCH64, &silent_glibc_aarch64, NULL, &fake, thread, &layout));
		assert_int_equal(layout.pthread_below, distances[i]);
	}
}

/* ---- slots ---- */

static struct tsd_layout row_named(const char *cpu, const char *name)
{
	size_t count;
	const struct tsd_layout *rows = tsd_rows(&count);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(rows[i].cpu, cpu) && !strcmp(rows[i].row, name))
			return rows[i];
	fail_msg("no row %s", name);
	return rows[0];
}

static void test_slots_of_the_first_block(void **state)
{
	struct tsd_layout layout = row_named("x86-64", "glibc 2.31-2.44");
	struct fake_memory fake = { .memory.read = fake_read };
	struct tsd_thread thread = { .pointer = 0x700000, .tid = 42 };
	put_u32(&fake, 0x700000 + 0x2d0, 42);
	uint64_t address;
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 0, &address), REASON_OK);
	assert_int_equal(address, 0x700318);
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 5, &address), REASON_OK);
	assert_int_equal(address, 0x700368);
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 31, &address), REASON_OK);
	assert_int_equal(address, 0x700508);

	uint64_t value;
	put_u64(&fake, 0x700368, 0xabc0);
	assert_int_equal(tsd_read(&fake.memory, &layout, &thread, 5, &value), REASON_OK);
	assert_int_equal(value, 0xabc0);
	assert_int_equal(tsd_read(&fake.memory, &layout, &thread, 6, &value), REASON_MEMORY_FAULT);
}

static void test_slots_of_further_blocks(void **state)
{
	struct tsd_layout layout = row_named("x86-64", "glibc 2.31-2.44");
	struct fake_memory fake = { .memory.read = fake_read };
	struct tsd_thread thread = { .pointer = 0x700000 };
	put_u64(&fake, 0x700000 + 0x510 + 8, 0x900000);
	put_u64(&fake, 0x700000 + 0x510 + 16, 0);
	put_u64(&fake, 0x700000 + 0x510 + 31 * 8, 0xa00000);
	uint64_t address, value;
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 32, &address), REASON_OK);
	assert_int_equal(address, 0x900008);
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 40, &address), REASON_OK);
	assert_int_equal(address, 0x900088);
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 1023, &address), REASON_OK);
	assert_int_equal(address, 0xa001f8);

	/* No block yet: the value is NULL. */
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 64, &address), REASON_OK);
	assert_int_equal(address, 0);
	assert_int_equal(tsd_read(&fake.memory, &layout, &thread, 64, &value), REASON_OK);
	assert_int_equal(value, 0);

	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 96, &address),
			 REASON_MEMORY_FAULT);
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 1024, &address), REASON_LIMIT);
}

static void test_distance_is_applied_once(void **state)
{
	struct tsd_layout layout = row_named("aarch64", "glibc 2.36-2.39");
	struct fake_memory fake = { .memory.read = fake_read };
	struct tsd_thread thread = { .pointer = 0x700740, .tid = 42 }; /* pthread at 0x700000 */
	put_u32(&fake, 0x7000d0, 42);
	put_u64(&fake, 0x700318, 0x900000);
	uint64_t address;
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 1, &address), REASON_OK);
	assert_int_equal(address, 0x700128);
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 33, &address), REASON_OK);
	assert_int_equal(address, 0x900018);
}

static void test_slots_of_musl(void **state)
{
	struct fake_memory fake = { .memory.read = fake_read };
	struct tsd_thread thread = { .pointer = 0x700000 };
	put_u64(&fake, 0x700000 + 128, 0x900000);
	put_u64(&fake, 0x700000 - 88, 0xa00000);
	struct tsd_layout layout = row_named("x86-64", "musl 1.2.3-1.2.6");
	uint64_t address;
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 0, &address), REASON_OK);
	assert_int_equal(address, 0x900000);
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 127, &address), REASON_OK);
	assert_int_equal(address, 0x9003f8);
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 128, &address), REASON_LIMIT);

	layout = row_named("aarch64", "musl 1.2.3-1.2.6");
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 3, &address), REASON_OK);
	assert_int_equal(address, 0xa00018);
}

static void test_thread_pointer_of_another_thread(void **state)
{
	struct tsd_layout layout = row_named("x86-64", "glibc 2.31-2.44");
	struct fake_memory fake = { .memory.read = fake_read };
	put_u32(&fake, 0x7002d0, 43);
	struct tsd_thread thread = { .pointer = 0x700000, .tid = 42 };
	uint64_t address = 77;
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 0, &address),
			 REASON_BAD_THREAD_POINTER);
	thread.pointer = 0x800000; /* nothing there */
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 0, &address),
			 REASON_BAD_THREAD_POINTER);
	thread = (struct tsd_thread){ .pointer = 0 }; /* a thread that has not set it up yet */
	assert_int_equal(tsd_slot(&fake.memory, &layout, &thread, 0, &address),
			 REASON_BAD_THREAD_POINTER);
	assert_int_equal(address, 77);
}

static void test_thread_local_through_the_dtv(void **state)
{
	struct tsd_layout layout = row_named("x86-64", "glibc 2.31-2.44");
	struct fake_memory fake = { .memory.read = fake_read };
	struct tsd_thread thread = { .pointer = 0x700000 };
	put_u64(&fake, 0x700008, 0x900010);   /* dtv */
	put_u64(&fake, 0x900000, 4);          /* dtv[-1]: length */
	put_u64(&fake, 0x900020, 0xa00000);   /* dtv[1] */
	put_u64(&fake, 0x900030, UINT64_MAX); /* dtv[2]: not allocated */
	put_u64(&fake, 0x900040, 0);          /* dtv[3] */
	uint64_t address;
	assert_int_equal(tls_address(&fake.memory, &layout, &thread, 1, 0x28, &address), REASON_OK);
	assert_int_equal(address, 0xa00028);
	assert_int_equal(tls_address(&fake.memory, &layout, &thread, 2, 0x28, &address), REASON_OK);
	assert_int_equal(address, 0);
	assert_int_equal(tls_address(&fake.memory, &layout, &thread, 3, 0x28, &address), REASON_OK);
	assert_int_equal(address, 0);
	/* This thread's DTV has not grown to module 5 yet. */
	assert_int_equal(tls_address(&fake.memory, &layout, &thread, 5, 0x28, &address), REASON_OK);
	assert_int_equal(address, 0);
	assert_int_equal(tls_address(&fake.memory, &layout, &thread, 4, 0x28, &address),
			 REASON_MEMORY_FAULT);
	assert_int_equal(tls_address(&fake.memory, &layout, &thread, 0, 0x28, &address),
			 REASON_LIMIT);
	fake.words[1].value = UINT64_MAX / 2;
	assert_int_equal(tls_address(&fake.memory, &layout, &thread, 1, 0x28, &address),
			 REASON_LIMIT);
}

static void test_thread_state_of_a_thread(void **state)
{
	struct fake_memory fake = { .memory.read = fake_read };
	struct tstate_source source = {
		.kind = TSTATE_KEY,
		.layout = row_named("x86-64", "glibc 2.31-2.44"),
	};
	struct tsd_thread thread = { .pointer = 0x700000 };
	put_u64(&fake, 0x700318, 0xbeef0);
	uint64_t tstate = 77, address = 77;
	assert_int_equal(tstate_source_address(&source, &fake.memory, &thread, &address),
			 REASON_OK);
	assert_int_equal(address, 0x700318);
	assert_int_equal(tstate_source_read(&source, &fake.memory, &thread, &tstate), REASON_OK);
	assert_int_equal(tstate, 0xbeef0);

	fake.words[0].value = 0xbeef1;
	assert_int_equal(tstate_source_read(&source, &fake.memory, &thread, &tstate),
			 REASON_BAD_THREAD_STATE);
	fake.words[0].value = 0;
	assert_int_equal(tstate_source_read(&source, &fake.memory, &thread, &tstate),
			 REASON_NO_THREAD_STATE);

	source.kind = TSTATE_TLS_LOCAL;
	source.tls_offset = -0x28;
	put_u64(&fake, 0x6fffd8, 0xbeef8);
	assert_int_equal(tstate_source_read(&source, &fake.memory, &thread, &tstate), REASON_OK);
	assert_int_equal(tstate, 0xbeef8);

	source.kind = TSTATE_TLS_DTV;
	source.tls_module = 1;
	put_u64(&fake, 0x700008, 0x900010);
	put_u64(&fake, 0x900000, 1);
	put_u64(&fake, 0x900020, UINT64_MAX);
	assert_int_equal(tstate_source_address(&source, &fake.memory, &thread, &address),
			 REASON_NO_THREAD_STATE);
	assert_int_equal(address, 0x700318);
}

/* ---- the interpreter ---- */

/* mov GOT(%rip),%rax …: 3.11, GOT slot at 0x207 from the body, key at + 0x250. */
static const uint8_t got_35[] = {
	0x48, 0x8b, 0x05, 0x00, 0x02, 0x00, 0x00, 0x48, 0x83, 0xb8, 0x48, 0x02,
	0x00, 0x00, 0x00, 0x74, 0x0f, 0x48, 0x8d, 0xb8, 0x50, 0x02, 0x00, 0x00,
	0xe9, 0xf3, 0x3b, 0xe6, 0xff, 0x0f, 0x1f, 0x00, 0x31, 0xc0, 0xc3,
};
static const uint8_t unknown_code[] = { 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3 };
/* cmpq …; mov key(%rip),%edi: 3.6, key at vaddr 0x2000; the body is at 0x1000. */
static const uint8_t int_27[] = {
	0x48, 0x83, 0x3d, 0x70, 0xa1, 0x18, 0x00, 0x00, 0x74, 0x0e, 0x8b, 0x3d, 0xf0, 0x0f,
	0x00, 0x00, 0xe9, 0x4b, 0xa7, 0xee, 0xff, 0x0f, 0x1f, 0x00, 0x31, 0xc0, 0xc3,
};
static const uint8_t tail_call[] = { 0xe9, 0x4b, 0x26, 0xed, 0xff };
/* mov %fs:-0x28,%rax; ret: 3.15 */
static const uint8_t tls_14[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x64, 0x48, 0x8b,
				  0x04, 0x25, 0xd8, 0xff, 0xff, 0xff, 0xc3 };
/* lea pair(%rip),%rdi; call; mov 0x28(%rax),%rax: 3.15, pair at vaddr 0x2010; the body is at
 * 0x1001. */
static const uint8_t tls_29[] = {
	0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x3d, 0x00, 0x10, 0x00, 0x00,
	0xe8, 0x5c, 0x9d, 0xcf, 0xff, 0x5d, 0x48, 0x8b, 0x80, 0x28, 0x00, 0x00, 0x00, 0xc3,
};

#define GETTER(vaddr, body)                                                                        \
	{                                                                                          \
		"PyGILState_GetThisThreadState", vaddr, body, sizeof(body), false                  \
	}

#define BIAS    UINT64_C(0x10000)
#define RUNTIME UINT64_C(0x50000)

static struct error *find_source(const struct image *image, enum py_key_kind kind,
				 uint32_t key_offset, uint64_t runtime_address,
				 struct fake_memory *fake, struct tstate_source *source)
{
	struct py_layout layout = { .key_kind = kind, .runtime_auto_tss_key = key_offset };
	struct tsd_runtime runtime = {
		.image = image,
		.bias = BIAS,
		.runtime_address = runtime_address,
		.layout = &layout,
		.memory = &fake->memory,
	};
	struct tsd_layout tsd = row_named("x86-64", "glibc 2.31-2.44");
	return tsd_find_source(&runtime, &tsd, source);
}

/* The body is at 0x1001 so that the GOT slot is aligned: 0x1001 + 7 + 0x200 = 0x1208. */
static const struct image library_3_11 = { .machine = EM_X86_64,
					   .symbols = { GETTER(0x1001, got_35) } };

static void test_layout_and_code_agree(void **state)
{
	struct fake_memory fake = { .memory.read = fake_read };
	put_u64(&fake, BIAS + 0x1208, RUNTIME);
	put_u32(&fake, RUNTIME + 0x250, 1);
	put_u32(&fake, RUNTIME + 0x254, 0);
	struct tstate_source source;
	assert_null(find_source(&library_3_11, PY_KEY_RUNTIME, 0x250, RUNTIME, &fake, &source));
	assert_int_equal(source.kind, TSTATE_KEY);
	assert_int_equal(source.key, 0);
	assert_string_equal(source.origin,
			    "pthread key 0 (layout, _PyRuntime + 0x250; agrees with code of "
			    "shape got-35)");
}

static void test_code_alone(void **state)
{
	struct fake_memory fake = { .memory.read = fake_read };
	put_u64(&fake, BIAS + 0x1208, RUNTIME);
	put_u32(&fake, RUNTIME + 0x250, 1);
	put_u32(&fake, RUNTIME + 0x254, 7);
	struct tstate_source source;
	assert_null(find_source(&library_3_11, PY_KEY_RUNTIME, PY_ABSENT, 0, &fake, &source));
	assert_int_equal(source.key, 7);
	assert_string_equal(source.origin, "pthread key 7 (code of shape got-35)");
}

static void test_layout_alone(void **state)
{
	static const struct image image = { .machine = EM_X86_64,
					    .symbols = { GETTER(0x1001, unknown_code) } };
	struct fake_memory fake = { .memory.read = fake_read };
	put_u32(&fake, RUNTIME + 0x250, 1);
	put_u32(&fake, RUNTIME + 0x254, 7);
	struct tstate_source source;
	assert_null(find_source(&image, PY_KEY_RUNTIME, 0x250, RUNTIME, &fake, &source));
	assert_int_equal(source.key, 7);
	assert_non_null(strstr(source.origin, "layout, _PyRuntime + 0x250"));
	assert_non_null(strstr(source.origin, "no measured shape"));

	assert_unsupported(find_source(&image, PY_KEY_RUNTIME, 0x250, 0, &fake, &source),
			   "PyGILState_GetThisThreadState", "55 48 89 e5");
}

static void test_code_is_believed_where_the_layout_differs(void **state)
{
	struct fake_memory fake = { .memory.read = fake_read };
	put_u64(&fake, BIAS + 0x1208, RUNTIME);
	put_u32(&fake, RUNTIME + 0x250, 1);
	put_u32(&fake, RUNTIME + 0x254, 7);
	put_u32(&fake, RUNTIME + 0x248, 1);
	put_u32(&fake, RUNTIME + 0x24c, 8);
	struct tstate_source source;
	assert_null(find_source(&library_3_11, PY_KEY_RUNTIME, 0x248, RUNTIME, &fake, &source));
	assert_int_equal(source.key, 7);
	assert_string_equal(source.origin, "pthread key 7 (code of shape got-35; differs from "
					   "layout, _PyRuntime + 0x248)");
}

static void test_key_that_is_not_there(void **state)
{
	struct fake_memory fake = { .memory.read = fake_read };
	struct tstate_source source = { .key = 77 };
	put_u64(&fake, BIAS + 0x1208, RUNTIME);
	_cleanup_error_ struct error *fault =
		find_source(&library_3_11, PY_KEY_RUNTIME, 0x250, RUNTIME, &fake, &source);
	assert_int_equal(fault->code, ERROR_FAULT);

	put_u32(&fake, RUNTIME + 0x250, 0);
	put_u32(&fake, RUNTIME + 0x254, 0);
	_cleanup_error_ struct error *early =
		find_source(&library_3_11, PY_KEY_RUNTIME, 0x250, RUNTIME, &fake, &source);
	assert_int_equal(early->code, ERROR_NOT_PYTHON);

	fake.words[1].value = 2;
	_cleanup_error_ struct error *no_tss =
		find_source(&library_3_11, PY_KEY_RUNTIME, 0x250, RUNTIME, &fake, &source);
	assert_int_equal(no_tss->code, ERROR_CORRUPT);

	fake.words[1].value = 1;
	fake.words[2].value = 1024;
	_cleanup_error_ struct error *no_key =
		find_source(&library_3_11, PY_KEY_RUNTIME, 0x250, RUNTIME, &fake, &source);
	assert_int_equal(no_key->code, ERROR_CORRUPT);
	assert_int_equal(source.key, 77);
}

static void test_plain_int_key(void **state)
{
	static const struct image image = {
		.machine = EM_X86_64,
		.symbols = { GETTER(0x1000, int_27),
			     { "PyThread_get_key_value", 0x1100, tail_call, 5, false },
			     { "autoTLSkey", 0x2000, NULL, 4, false } },
	};
	struct fake_memory fake = { .memory.read = fake_read };
	struct tstate_source source;
	put_u32(&fake, BIAS + 0x2000, 3);
	assert_null(find_source(&image, PY_KEY_INT_SYMBOL, PY_ABSENT, 0, &fake, &source));
	assert_int_equal(source.key, 3);
	assert_string_equal(source.origin, "pthread key 3 (symbol autoTLSkey; agrees with code of "
					   "shape int-27)");

	fake.words[0].value = UINT32_MAX;
	_cleanup_error_ struct error *early =
		find_source(&image, PY_KEY_INT_SYMBOL, PY_ABSENT, 0, &fake, &source);
	assert_int_equal(early->code, ERROR_NOT_PYTHON);
}

/* 2.7 searches a list of its own in PyThread_get_key_value. */
static void test_int_key_that_is_none_of_pthreads(void **state)
{
	static const struct image image = {
		.machine = EM_X86_64,
		.symbols = { GETTER(0x1000, int_27),
			     { "PyThread_get_key_value", 0x1100, unknown_code, 6, false } },
	};
	struct fake_memory fake = { .memory.read = fake_read };
	struct tstate_source source;
	put_u32(&fake, BIAS + 0x2000, 1);
	assert_unsupported(find_source(&image, PY_KEY_INT_SYMBOL, PY_ABSENT, 0, &fake, &source),
			   "list of its own", "libmade-up.so");
}

static void test_thread_local_of_a_program(void **state)
{
	/* 0x29 bytes, aligned to 8: the block begins 0x30 below the thread pointer. */
	static const struct image image = {
		.machine = EM_X86_64,
		.type = ET_EXEC,
		.tls_size = 0x29,
		.tls_align = 8,
		.symbols = { GETTER(0x1001, tls_14), { "_Py_tss_gilstate", 8, NULL, 8, true } },
	};
	struct fake_memory fake = { .memory.read = fake_read };
	struct tstate_source source;
	assert_null(find_source(&image, PY_KEY_THREAD_LOCAL, PY_ABSENT, 0, &fake, &source));
	assert_int_equal(source.kind, TSTATE_TLS_LOCAL);
	assert_int_equal(source.tls_offset, -0x28);
	assert_string_equal(source.origin, "thread-local (symbol _Py_tss_gilstate; agrees with "
					   "code of shape tls-14)");
}

static void test_symbol_of_a_librarys_thread_local_is_no_distance(void **state)
{
	struct image image = {
		.machine = EM_X86_64,
		.type = ET_DYN,
		.tls_size = 0x29,
		.tls_align = 8,
		.symbols = { GETTER(0x1001, unknown_code),
			     { "_Py_tss_gilstate", 8, NULL, 8, true } },
	};
	struct fake_memory fake = { .memory.read = fake_read };
	struct tstate_source source;
	assert_unsupported(find_source(&image, PY_KEY_THREAD_LOCAL, PY_ABSENT, 0, &fake, &source),
			   "PyGILState_GetThisThreadState", "shape");
	image.has_interp = true; /* a PIE program */
	assert_null(find_source(&image, PY_KEY_THREAD_LOCAL, PY_ABSENT, 0, &fake, &source));
	assert_int_equal(source.tls_offset, -0x28);
}

static void test_thread_local_of_a_library(void **state)
{
	static const struct image image = { .machine = EM_X86_64,
					    .symbols = { GETTER(0x1001, tls_29) } };
	struct fake_memory fake = { .memory.read = fake_read };
	struct tstate_source source;
	put_u64(&fake, BIAS + 0x2010, 3);
	put_u64(&fake, BIAS + 0x2018, 0x100);
	assert_null(find_source(&image, PY_KEY_THREAD_LOCAL, PY_ABSENT, 0, &fake, &source));
	assert_int_equal(source.kind, TSTATE_TLS_DTV);
	assert_int_equal(source.tls_module, 3);
	assert_int_equal(source.tls_offset, 0x128);
	assert_non_null(strstr(source.origin, "thread-local of module 3 (code of shape tls-29)"));

	fake.words[0].value = 0;
	_cleanup_error_ struct error *err =
		find_source(&image, PY_KEY_THREAD_LOCAL, PY_ABSENT, 0, &fake, &source);
	assert_int_equal(err->code, ERROR_CORRUPT);
}

/* One row a line: libc machine pthread_below first_block specific key_size data tid name */
static int print_rows(void)
{
	size_t count;
	const struct tsd_layout *rows = tsd_rows(&count);
	for (size_t i = 0; i < count; i++)
		printf("%s %s %" PRIu32 " 0x%" PRIx32 " 0x%" PRIx32 " %" PRIu32 " %" PRIu32
		       " 0x%" PRIx32 " %s\n",
		       rows[i].libc == TSD_MUSL ? "musl" : "glibc", rows[i].cpu,
		       rows[i].pthread_below, rows[i].first_block, rows[i].specific,
		       rows[i].key_size, rows[i].data, rows[i].tid, rows[i].row);
	return 0;
}

/* ---- the interpreter, on aarch64 ---- */

/* 3.15: mrs x1; x0 = &descriptor at vaddr 0x2010; blr x2; ldr x0, [x1, x0]; the body is at 0x1000. */
static const uint32_t tlsdesc_12[] = {
	0xd503233f, 0xd53bd041, 0xa9bf7bfd, 0x910003fd, 0xb0000000, 0xf9400802,
	0x91004000, 0xd63f0040, 0xf8606820, 0xa8c17bfd, 0xd50323bf, 0xd65f03c0,
};
static const struct image library_3_15_aarch64 = {
	.machine = EM_AARCH64,
	.symbols = { GETTER(0x1000, tlsdesc_12) },
};

#define RESOLVER UINT64_C(0x70000)
#define ARGUMENT UINT64_C(0x80000)

static void put_code(struct fake_memory *fake, const uint32_t *words, size_t count)
{
	for (size_t i = 0; i < DECODE_RESOLVER_SIZE / 8; i++) {
		uint64_t low = 2 * i < count ? words[2 * i] : 0;
		uint64_t high = 2 * i + 1 < count ? words[2 * i + 1] : 0;
		put_u64(fake, RESOLVER + 8 * i, high << 32 | low);
	}
}

static void put_descriptor(struct fake_memory *fake, uint64_t argument)
{
	put_u64(fake, BIAS + 0x2010, RESOLVER);
	put_u64(fake, BIAS + 0x2018, argument);
}

static void test_descriptor_of_a_library_beside_the_program(void **state)
{
	static const uint32_t resolver[] = { 0xd503245f, 0xf9400400, 0xd65f03c0 };
	struct fake_memory fake = { .memory.read = fake_read };
	struct tstate_source source;
	put_descriptor(&fake, 0x30);
	put_code(&fake, resolver, COUNT(resolver));
	assert_null(find_source(&library_3_15_aarch64, PY_KEY_THREAD_LOCAL, PY_ABSENT, 0, &fake,
				&source));
	assert_int_equal(source.kind, TSTATE_TLS_LOCAL);
	assert_int_equal(source.tls_offset, 0x30);
	assert_string_equal(source.origin, "thread-local (code of shape tlsdesc-12)");
}

static void test_descriptor_of_a_library_loaded_late(void **state)
{
	static const uint32_t resolver[] = { 0xd503233f, 0xa9be0be1, 0xa90113e3, 0xd53bd044,
					     0xf9400401, 0xf9400080, 0xf9400823, 0xf9400002,
					     0xeb02007f, 0x54000188, 0xa9400c22, 0x8b021000,
					     0xf9400000 };
	struct fake_memory fake = { .memory.read = fake_read };
	struct tstate_source source = { .tls_module = 77 };
	put_descriptor(&fake, ARGUMENT);
	put_code(&fake, resolver, COUNT(resolver));
	_cleanup_error_ struct error *fault =
		find_source(&library_3_15_aarch64, PY_KEY_THREAD_LOCAL, PY_ABSENT, 0, &fake,
			    &source);
	assert_int_equal(fault->code, ERROR_FAULT);

	put_u64(&fake, ARGUMENT, 3);
	put_u64(&fake, ARGUMENT + 8, 0x20);
	assert_null(find_source(&library_3_15_aarch64, PY_KEY_THREAD_LOCAL, PY_ABSENT, 0, &fake,
				&source));
	assert_int_equal(source.kind, TSTATE_TLS_DTV);
	assert_int_equal(source.tls_module, 3);
	assert_int_equal(source.tls_offset, 0x20);
	assert_non_null(
		strstr(source.origin, "thread-local of module 3 (code of shape tlsdesc-12)"));

	fake.words[fake.count - 2].value = 0;
	source.tls_module = 77;
	_cleanup_error_ struct error *no_module =
		find_source(&library_3_15_aarch64, PY_KEY_THREAD_LOCAL, PY_ABSENT, 0, &fake,
			    &source);
	assert_int_equal(no_module->code, ERROR_CORRUPT);
	assert_int_equal(source.tls_module, 77);
}

static void test_descriptor_with_another_resolver_is_refused(void **state)
{
	static const uint32_t resolver[] = { 0xd503245f, 0xf81f0fe1, 0xf9400400, 0xd53bd041 };
	struct fake_memory fake = { .memory.read = fake_read };
	struct tstate_source source;
	put_descriptor(&fake, 0x30);
	put_code(&fake, resolver, COUNT(resolver));
	assert_unsupported(find_source(&library_3_15_aarch64, PY_KEY_THREAD_LOCAL, PY_ABSENT, 0,
				       &fake, &source),
			   "libmade-up.so", "no measured shape");
}

/* tcbhead_t of aarch64: dtv first. */
static void test_thread_local_through_the_dtv_on_aarch64(void **state)
{
	struct tsd_layout layout = row_named("aarch64", "glibc 2.41-2.44");
	struct fake_memory fake = { .memory.read = fake_read };
	struct tsd_thread thread = { .pointer = 0x700000 };
	uint64_t address;
	put_u64(&fake, 0x700000, 0x900010);
	put_u64(&fake, 0x900000, 4);
	put_u64(&fake, 0x900030, 0xa00000);
	assert_int_equal(tls_address(&fake.memory, &layout, &thread, 2, 0x20, &address), REASON_OK);
	assert_int_equal(address, 0xa00020);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_shipped_cpu_has_rows),
		cmocka_unit_test(test_other_cpus_are_refused_by_name),
		cmocka_unit_test(test_description_equal_to_a_row),
		cmocka_unit_test(test_description_on_aarch64_gives_the_distance),
		cmocka_unit_test(test_description_in_libpthread),
		cmocka_unit_test(test_unmeasured_description_needs_a_thread),
		cmocka_unit_test(test_absurd_description_is_ignored),
		cmocka_unit_test(test_row_by_the_librarys_name),
		cmocka_unit_test(test_nameless_library_is_refused_without_a_thread),
		cmocka_unit_test(test_thread_decides_between_libraries),
		cmocka_unit_test(test_thread_decides_between_distances),
		cmocka_unit_test(test_slots_of_the_first_block),
		cmocka_unit_test(test_slots_of_further_blocks),
		cmocka_unit_test(test_distance_is_applied_once),
		cmocka_unit_test(test_slots_of_musl),
		cmocka_unit_test(test_thread_pointer_of_another_thread),
		cmocka_unit_test(test_thread_local_through_the_dtv),
		cmocka_unit_test(test_thread_state_of_a_thread),
		cmocka_unit_test(test_layout_and_code_agree),
		cmocka_unit_test(test_code_alone),
		cmocka_unit_test(test_layout_alone),
		cmocka_unit_test(test_code_is_believed_where_the_layout_differs),
		cmocka_unit_test(test_key_that_is_not_there),
		cmocka_unit_test(test_plain_int_key),
		cmocka_unit_test(test_int_key_that_is_none_of_pthreads),
		cmocka_unit_test(test_thread_local_of_a_program),
		cmocka_unit_test(test_symbol_of_a_librarys_thread_local_is_no_distance),
		cmocka_unit_test(test_thread_local_of_a_library),
		cmocka_unit_test(test_descriptor_of_a_library_beside_the_program),
		cmocka_unit_test(test_descriptor_of_a_library_loaded_late),
		cmocka_unit_test(test_descriptor_with_another_resolver_is_refused),
		cmocka_unit_test(test_thread_local_through_the_dtv_on_aarch64),
	};
	if (argc > 1 && !strcmp(argv[1], "--print-rows"))
		return print_rows();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
