/* SPDX-License-Identifier: MIT */
/* Given the words of a function of a real interpreter, this key; given any other words, none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "arch/decode.h"
#include "key_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void set_word(struct fixture *fixture, size_t number, uint32_t word)
{
	for (size_t i = 0; i < 4; i++)
		fixture->body[4 * number + i] = (uint8_t)(word >> 8 * i);
}

static struct fixture build(uint64_t address, const uint32_t *words, size_t count)
{
	struct fixture fixture = { .size = 4 * count, .address = address };
	for (size_t i = 0; i < count; i++)
		set_word(&fixture, i, words[i]);
	return fixture;
}

/* clang-format off */

/*
 * What every byte of a shape is, from the lowest of each word: # checked, j filled in by linking and not looked at, b the same but
 * for the opcode that shares it, v a reference that nothing else confirms.
 */
#define PINNED "####"
#define PINNED_4 PINNED PINNED PINNED PINNED
#define ADRP   "vvvv"
#define IMM    "#vv#"
#define B      "jjjb"
#define GOT_8   ADRP IMM PINNED PINNED PINNED B PINNED PINNED
#define GOT_19  PINNED_4 ADRP IMM PINNED B PINNED_4 PINNED B PINNED_4 PINNED
#define PAGE_9  ADRP IMM PINNED_4 B PINNED PINNED
#define PAGE_8  ADRP IMM PINNED PINNED PINNED B PINNED PINNED
#define PAGE_9_BTI PINNED ADRP IMM PINNED PINNED PINNED B PINNED PINNED
#define PAGE_18 PINNED_4 ADRP PINNED B PINNED_4 PINNED B PINNED_4 PINNED
#define FOLD_8  PINNED_4 PINNED B PINNED PINNED
#define FOLD_9  PINNED_4 PINNED PINNED B PINNED PINNED
#define TLS_11  PINNED_4 IMM IMM PINNED PINNED PINNED IMM PINNED
/* movz: from bit 27 of the distance on it is refused; movk: its lowest bits too */
#define TLS_13  PINNED_4 "vv##" "#vv#" PINNED_4 PINNED IMM PINNED
#define TLSDESC_12 PINNED_4 ADRP PINNED PINNED PINNED PINNED_4

/* vaddr and offset by hand from objdump -d of the file that the fixture was cut from. */
static const struct key_case {
	const char *fixture;
	const char *shape;
	enum key_ref_kind kind;
	uint64_t vaddr;
	int64_t offset;
	uint32_t in_runtime; /* offset of the Py_tss_t in _PyRuntime; 0: it is not there */
	const char *bytes;
} key_cases[] = {
	{ "aarch64-3.9-debian-program",       "page-9",     KEY_REF_TSS,            0x918ae8, 0,     0x258, PAGE_9 },
	{ "aarch64-3.9-debian-library",       "got-8",      KEY_REF_RUNTIME,        0x52ac98, 0x258, 0x258, GOT_8 },
	{ "aarch64-3.9-debian-embedded",      "fold-8-x2",  KEY_REF_TSS,            0x8d3c88, 0,     0x258, FOLD_8 },
	{ "aarch64-3.11-debian-program",      "page-8",     KEY_REF_TSS,            0xa36268, 0,     0x260, PAGE_8 },
	{ "aarch64-3.11-debian-library",      "got-8",      KEY_REF_RUNTIME,        0x61fcc0, 0x260, 0x260, GOT_8 },
	{ "aarch64-3.11-debian-embedded",     "fold-8",     KEY_REF_TSS,            0xa26660, 0,     0x260, FOLD_8 },
	{ "aarch64-3.13-debian-program",      "page-9-bti", KEY_REF_TSS,            0xa27f08, 0,     0x870, PAGE_9_BTI },
	{ "aarch64-3.13-debian-library",      "got-19",     KEY_REF_RUNTIME,        0x69fc70, 0x870, 0x870, GOT_19 },
	{ "aarch64-3.13-debian-embedded",     "page-18",    KEY_REF_TSS,            0xa68960, 0,     0x870, PAGE_18 },
	{ "aarch64-3.13-forky-program",       "page-9-bti", KEY_REF_TSS,            0xaa8108, 0,     0x870, PAGE_9_BTI },
	{ "aarch64-3.13-forky-library",       "got-19",     KEY_REF_RUNTIME,        0x6cfc80, 0x870, 0x870, GOT_19 },
	{ "aarch64-3.14-debian-program",      "fold-9-bti", KEY_REF_TSS,            0xb4a5c8, 0,     0x920, FOLD_9 },
	{ "aarch64-3.14-debian-library",      "got-19",     KEY_REF_RUNTIME,        0x77fb20, 0x920, 0x920, GOT_19 },
	{ "aarch64-3.14-debian-embedded",     "page-18",    KEY_REF_TSS,            0xaab150, 0,     0x920, PAGE_18 },
	{ "aarch64-3.15-debian-program",      "tls-11",     KEY_REF_TLS_LOCAL,      0,        0x20,  0,     TLS_11 },
	{ "aarch64-3.15-debian-library",      "tlsdesc-12", KEY_REF_TLS_DESCRIPTOR, 0x8812d0, 0,     0,     TLSDESC_12 },
	{ "aarch64-3.15-debian-embedded",     "tls-11",     KEY_REF_TLS_LOCAL,      0,        0x20,  0,     TLS_11 },
	{ "aarch64-3.15-debian-embedded-pie", "tls-13",     KEY_REF_TLS_LOCAL,      0,        0x20,  0,     TLS_13 },
};

#define HEAD_3      ADRP IMM PINNED
#define HEAD_4      ADRP IMM IMM PINNED
#define HEAD_4_BTI  PINNED ADRP IMM PINNED
#define HEAD_5_BTI  PINNED ADRP IMM IMM PINNED
#define HEAD_8      PINNED PINNED ADRP PINNED PINNED PINNED IMM PINNED
#define HEAD_10_BTI PINNED ADRP IMM PINNED PINNED PINNED IMM PINNED PINNED PINNED

static const struct head_case {
	const char *fixture;
	const char *shape;
	bool in_runtime;
	uint64_t vaddr;
	uint32_t offset;
	const char *bytes;
} head_cases[] = {
	{ "aarch64-3.9-debian-program-head",       "head-3",      false, 0x9188b0, 0,     HEAD_3 },
	{ "aarch64-3.9-debian-library-head",       "head-4",      true,  0x52ac98, 0x20,  HEAD_4 },
	{ "aarch64-3.9-debian-embedded-head",      "head-3",      false, 0x8d3a50, 0,     HEAD_3 },
	{ "aarch64-3.11-debian-program-head",      "head-3",      false, 0xa36030, 0,     HEAD_3 },
	{ "aarch64-3.11-debian-library-head",      "head-4",      true,  0x61fcc0, 0x28,  HEAD_4 },
	{ "aarch64-3.11-debian-embedded-head",     "head-3",      false, 0xa26428, 0,     HEAD_3 },
	{ "aarch64-3.13-debian-program-head",      "head-4-bti",  false, 0xa27910, 0,     HEAD_4_BTI },
	{ "aarch64-3.13-debian-library-head",      "head-5-bti",  true,  0x69fc70, 0x278, HEAD_5_BTI },
	{ "aarch64-3.13-debian-embedded-head",     "head-4-bti",  false, 0xa68368, 0,     HEAD_4_BTI },
	{ "aarch64-3.13-forky-program-head",       "head-4-bti",  false, 0xaa7b10, 0,     HEAD_4_BTI },
	{ "aarch64-3.13-forky-library-head",       "head-5-bti",  true,  0x6cfc80, 0x278, HEAD_5_BTI },
	{ "aarch64-3.14-debian-program-head",      "head-4-bti",  false, 0xb49fd0, 0,     HEAD_4_BTI },
	{ "aarch64-3.14-debian-library-head",      "head-5-bti",  true,  0x77fb20, 0x328, HEAD_5_BTI },
	{ "aarch64-3.14-debian-embedded-head",     "head-4-bti",  false, 0xaaab58, 0,     HEAD_4_BTI },
	{ "aarch64-3.15-debian-program-head",      "head-8",      false, 0xc02010, 0,     HEAD_8 },
	{ "aarch64-3.15-debian-library-head",      "head-10-bti", true,  0x87fa30, 0x3a8, HEAD_10_BTI },
	{ "aarch64-3.15-debian-embedded-head",     "head-8",      false, 0xb723a8, 0,     HEAD_8 },
	{ "aarch64-3.15-debian-embedded-pie-head", "head-10-bti", true,  0x84fa88, 0x3a8, HEAD_10_BTI },
};

/* clang-format on */

static bool decode_key(const struct fixture *f, struct key_ref *ref)
{
	_cleanup_error_ struct error *err = decode_aarch64_key(f->body, f->size, f->address, ref);
	if (err)
		assert_int_equal(err->code, ERROR_UNSUPPORTED);
	return !err;
}

static bool decode_head(const struct fixture *f, struct head_ref *ref)
{
	_cleanup_error_ struct error *err =
		decode_aarch64_interp_head(f->body, f->size, f->address, ref);
	if (err)
		assert_int_equal(err->code, ERROR_UNSUPPORTED);
	return !err;
}

static void assert_key_refused(const struct fixture *f, const char *first, const char *second)
{
	struct key_ref ref = { .vaddr = 77 };
	_cleanup_error_ struct error *err = decode_aarch64_key(f->body, f->size, f->address, &ref);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_UNSUPPORTED);
	if (!strstr(err->message, first) || !strstr(err->message, second))
		fail_msg("\"%s\" names not both %s and %s", err->message, first, second);
	assert_int_equal(ref.vaddr, 77);
}

static void test_key_of_every_build(void **state)
{
	for (size_t i = 0; i < COUNT(key_cases); i++) {
		const struct key_case *c = &key_cases[i];
		struct fixture f = fixture_load(c->fixture);
		struct key_ref ref;
		if (!decode_key(&f, &ref))
			fail_msg("%s is refused", c->fixture);
		if (strcmp(ref.shape, c->shape) != 0 || ref.kind != c->kind ||
		    ref.vaddr != c->vaddr || ref.offset != c->offset)
			fail_msg("%s: decoded %s, kind %d, 0x%" PRIx64 " + 0x%" PRIx64
				 "; measured %s, kind %d, 0x%" PRIx64 " + 0x%" PRIx64,
				 c->fixture, ref.shape, ref.kind, ref.vaddr, ref.offset, c->shape,
				 c->kind, c->vaddr, c->offset);
	}
}

static uint64_t in_runtime(const struct fixture *f, const struct key_ref *ref)
{
	return ref->kind == KEY_REF_RUNTIME ? (uint64_t)ref->offset : ref->vaddr - f->runtime;
}

static void test_builds_of_a_version_agree(void **state)
{
	for (size_t i = 0; i < COUNT(key_cases); i++) {
		const struct key_case *c = &key_cases[i];
		if (!c->in_runtime)
			continue;
		struct fixture f = fixture_load(c->fixture);
		struct key_ref ref;
		assert_true(decode_key(&f, &ref));
		if (in_runtime(&f, &ref) != c->in_runtime)
			fail_msg("%s: _PyRuntime + 0x%" PRIx64 ", other builds 0x%" PRIx32,
				 c->fixture, in_runtime(&f, &ref), c->in_runtime);
	}
}

/* The mutex before the key is 8 bytes longer here; there are two of them in 3.9 and 3.11. */
static void test_cpus_agree_from_3_12_on(void **state)
{
	static const struct {
		const char *aarch64, *x86_64;
		uint32_t difference;
	} pairs[] = {
		{ "aarch64-3.9-debian-library", "x86_64-3.9-debian-library", 16 },
		{ "aarch64-3.11-debian-program", "x86_64-3.11-debian-program", 16 },
		{ "aarch64-3.13-debian-program", "x86_64-3.13-debian-program", 0 },
		{ "aarch64-3.13-debian-library", "x86_64-3.13-source-library", 0 },
		{ "aarch64-3.14-debian-program", "x86_64-3.14-debian-program", 0 },
		{ "aarch64-3.14-debian-embedded", "x86_64-3.14-debian-library", 0 },
	};
	for (size_t i = 0; i < COUNT(pairs); i++) {
		struct fixture ours = fixture_load(pairs[i].aarch64);
		struct fixture theirs = fixture_load(pairs[i].x86_64);
		struct key_ref our_ref, their_ref;
		assert_true(decode_key(&ours, &our_ref));
		assert_null(
			decode_x86_64_key(theirs.body, theirs.size, theirs.address, &their_ref));
		assert_int_equal(in_runtime(&ours, &our_ref),
				 in_runtime(&theirs, &their_ref) + pairs[i].difference);
	}
}

static void test_every_shape_has_a_fixture(void **state)
{
	static const char *const shapes[] = {
		"got-8",     "got-19", "page-9",     "page-8", "page-9-bti", "page-18",
		"fold-8-x2", "fold-8", "fold-9-bti", "tls-11", "tls-13",     "tlsdesc-12",
	};
	for (size_t s = 0; s < COUNT(shapes); s++) {
		size_t used = 0;
		for (size_t i = 0; i < COUNT(key_cases); i++)
			used += !strcmp(key_cases[i].shape, shapes[s]);
		assert_int_not_equal(used, 0);
	}
}

/* What becomes of the 255 other values of one byte. */
struct corruption {
	unsigned refused;
	unsigned same;
	unsigned other;
};

static char corruption_class(const struct corruption *c)
{
	if (c->refused == 255)
		return '#';
	if (c->same == 255)
		return 'j';
	if (c->other == 0)
		return 'b';
	/* A reference may be refused as impossible, but is never taken for the old one. */
	return c->same == 0 ? 'v' : '?';
}

static void check_classes(const char *fixture, const char *got, const char *want)
{
	if (strcmp(got, want) != 0)
		fail_msg("%s\n  is     %s\n  wanted %s", fixture, got, want);
}

static void test_key_every_corrupt_byte(void **state)
{
	for (size_t i = 0; i < COUNT(key_cases); i++) {
		const struct key_case *c = &key_cases[i];
		struct fixture f = fixture_load(c->fixture);
		char classes[DECODE_BODY_MAX + 1] = "";
		for (size_t at = 0; at < f.size; at++) {
			struct corruption seen = { 0 };
			for (unsigned flip = 1; flip < 256; flip++) {
				struct key_ref ref;
				f.body[at] ^= flip;
				if (!decode_key(&f, &ref))
					seen.refused++;
				else if (ref.kind == c->kind && ref.vaddr == c->vaddr &&
					 ref.offset == c->offset)
					seen.same++;
				else
					seen.other++;
				f.body[at] ^= flip;
			}
			classes[at] = corruption_class(&seen);
		}
		check_classes(c->fixture, classes, c->bytes);
	}
}

static void test_head_of_every_build(void **state)
{
	for (size_t i = 0; i < COUNT(head_cases); i++) {
		const struct head_case *c = &head_cases[i];
		struct fixture f = fixture_load(c->fixture);
		struct head_ref ref;
		if (!decode_head(&f, &ref))
			fail_msg("%s is refused", c->fixture);
		if (strcmp(ref.shape, c->shape) != 0 || ref.in_runtime != c->in_runtime ||
		    ref.vaddr != c->vaddr || ref.offset != c->offset)
			fail_msg("%s: decoded %s, 0x%" PRIx64 " + 0x%" PRIx32
				 "; measured %s, 0x%" PRIx64 " + 0x%" PRIx32,
				 c->fixture, ref.shape, ref.vaddr, ref.offset, c->shape, c->vaddr,
				 c->offset);
	}
}

static void test_head_every_corrupt_byte(void **state)
{
	for (size_t i = 0; i < COUNT(head_cases); i++) {
		const struct head_case *c = &head_cases[i];
		struct fixture f = fixture_load(c->fixture);
		char classes[DECODE_BODY_MAX + 1] = "";
		for (size_t at = 0; at < f.size; at++) {
			struct corruption seen = { 0 };
			for (unsigned flip = 1; flip < 256; flip++) {
				struct head_ref ref;
				f.body[at] ^= flip;
				if (!decode_head(&f, &ref))
					seen.refused++;
				else if (ref.in_runtime == c->in_runtime && ref.vaddr == c->vaddr &&
					 ref.offset == c->offset)
					seen.same++;
				else
					seen.other++;
				f.body[at] ^= flip;
			}
			classes[at] = corruption_class(&seen);
		}
		check_classes(c->fixture, classes, c->bytes);
	}
}

static void test_cut_or_longer_body_is_refused(void **state)
{
	for (size_t i = 0; i < COUNT(key_cases); i++) {
		struct fixture f = fixture_load(key_cases[i].fixture);
		size_t whole = f.size;
		struct key_ref ref;
		for (f.size = 0; f.size <= whole + 4; f.size++)
			assert_int_equal(decode_key(&f, &ref), f.size == whole);
	}
}

/* A body of which nothing depends on its place needs no address. */
static void test_place_is_needed_where_it_counts(void **state)
{
	for (size_t i = 0; i < COUNT(key_cases); i++) {
		struct fixture f = fixture_load(key_cases[i].fixture);
		f.address = 0;
		struct key_ref ref;
		if (key_cases[i].kind == KEY_REF_TLS_LOCAL)
			assert_true(decode_key(&f, &ref));
		else
			assert_key_refused(&f, key_cases[i].shape, "without its address");
	}
	struct fixture f = fixture_load("aarch64-3.11-debian-program");
	f.address += 2;
	assert_key_refused(&f, "page-8", "without its address");
}

static void test_refusal_names_words_and_size(void **state)
{
	static const uint32_t words[] = { 0xa9bf7bfd, 0x910003fd, 0xd65f03c0 };
	struct fixture f = build(0x1000, words, COUNT(words));
	assert_key_refused(&f, "PyGILState_GetThisThreadState", "12 bytes");
	assert_key_refused(&f, "aarch64", "a9bf7bfd 910003fd");
}

static void test_references_that_disagree_are_refused(void **state)
{
	/* ldr w0, [x0, #612] → #616 */
	struct fixture f = fixture_load("aarch64-3.11-debian-program");
	set_word(&f, 4, 0xb9426800);
	assert_key_refused(&f, "page-8", "two different things");
	/* the descriptor's resolver at #720, its address #728 */
	f = fixture_load("aarch64-3.15-debian-library");
	set_word(&f, 6, 0x910b6000);
	assert_key_refused(&f, "tlsdesc-12", "two different things");
}

static void test_misaligned_key_is_refused(void **state)
{
	/* add x0, x0, #8 → #10, and nothing to tell it from the right one but that */
	struct fixture f = fixture_load("aarch64-3.11-debian-program");
	set_word(&f, 1, 0x91002800);
	assert_key_refused(&f, "page-8", "impossible place");
}

/* As measured elsewhere: a library of 19 instructions with #0x608 twice, through the GOT. */
static void test_library_of_3_12_by_built_words(void **state)
{
	static const uint32_t words[] = {
		0xd503233f, 0xa9be7bfd, 0x910003fd, 0xf9000bf3, 0xd0001fb3, 0xf9463a73, 0x91182260,
		0x94003981, 0x340000c0, 0x91182260, 0xf9400bf3, 0xa8c27bfd, 0xd50323bf, 0x14003915,
		0xf9400bf3, 0xd2800000, 0xa8c27bfd, 0xd50323bf, 0xd65f03c0,
	};
	struct fixture f = build(0x2a9ee0, words, COUNT(words));
	struct key_ref ref;
	assert_int_equal(f.size, 76);
	assert_true(decode_key(&f, &ref));
	assert_int_equal(ref.kind, KEY_REF_RUNTIME);
	assert_int_equal(ref.offset, 0x608);
	assert_int_equal(ref.vaddr, 0x69fc70);
}

/* As measured elsewhere: an executable of 18 instructions with #0xab8 twice, in a page. */
static void test_executable_of_3_12_by_built_words(void **state)
{
	static const uint32_t words[] = {
		0xd503233f, 0xa9be7bfd, 0x910003fd, 0xf9000bf3, 0xb0002db3, 0x912ae260,
		0x94000fa2, 0x340000c0, 0x912ae260, 0xf9400bf3, 0xa8c27bfd, 0xd50323bf,
		0x14000f9f, 0xf9400bf3, 0xd2800000, 0xa8c27bfd, 0xd50323bf, 0xd65f03c0,
	};
	struct fixture f = build(0x5a1ff0, words, COUNT(words));
	struct key_ref ref;
	assert_int_equal(f.size, 72);
	assert_true(decode_key(&f, &ref));
	assert_int_equal(ref.kind, KEY_REF_TSS);
	/* adrp is in the page after the body's first: 0x5a2000 + 0x5b5 pages */
	assert_int_equal(ref.vaddr, 0xb57ab8);
	/* _PyRuntime would be there: + 0x608 */
	assert_int_equal(ref.vaddr - 0x608, 0xb574b0);
}

static void assert_head_at(uint64_t address, const uint32_t *words, size_t count, uint64_t vaddr)
{
	struct fixture f = build(address, words, count);
	struct head_ref ref;
	assert_true(decode_head(&f, &ref));
	assert_int_equal(ref.vaddr, vaddr);
}

/* adrp x0, −1 page; ldr x0, [x0, #16]; ret */
static void test_page_below_the_body(void **state)
{
	static const uint32_t words[] = { 0xf0ffffe0, 0xf9400800, 0xd65f03c0 };
	assert_head_at(0x401000, words, COUNT(words), 0x400010);
	assert_head_at(0x401ff4, words, COUNT(words), 0x400010);
}

/* adrp x0, −0x100000 pages and 0xfffff pages: 4 GiB to either side. */
static void test_farthest_pages(void **state)
{
	static const uint32_t below[] = { 0x90800000, 0xf9400800, 0xd65f03c0 };
	static const uint32_t above[] = { 0xf07fffe0, 0xf9400800, 0xd65f03c0 };
	assert_head_at(UINT64_C(0x140001000), below, COUNT(below), 0x40001010);
	assert_head_at(0x40001000, above, COUNT(above), UINT64_C(0x140000010));
}

/* bti c; adrp x0, 0 pages; … with the page's boundary between them. */
static void test_page_is_that_of_the_instruction(void **state)
{
	static const uint32_t words[] = { 0xd503245f, 0x90000000, 0xf9400800, 0xd65f03c0 };
	assert_head_at(0x400ff8, words, COUNT(words), 0x400010);
	assert_head_at(0x400ffc, words, COUNT(words), 0x401010);
}

static void test_page_below_address_0_is_refused(void **state)
{
	static const uint32_t words[] = { 0x90800000, 0xf9400800, 0xd65f03c0 };
	struct fixture f = build(0x401000, words, COUNT(words));
	struct head_ref ref;
	assert_false(decode_head(&f, &ref));
}

/* The bit that scales an addition counts where it is an offset and is no shape where it is part of an address. */
static void test_shifted_addition(void **state)
{
	struct fixture f = fixture_load("aarch64-3.13-debian-library");
	struct key_ref ref;
	set_word(&f, 6, 0x91400a60); /* add x0, x19, #2, lsl #12 */
	set_word(&f, 9, 0x91400a60);
	assert_true(decode_key(&f, &ref));
	assert_int_equal(ref.offset, 0x2000);

	f = fixture_load("aarch64-3.13-debian-embedded");
	set_word(&f, 5, 0x91400a60);
	set_word(&f, 8, 0x91400a60);
	assert_key_refused(&f, "no measured shape", "72 bytes");
}

/* tls-11 with add x0, x0, #1, lsl #12 and #0x28: 0x1028; inside the two words of the C library's: refused. */
static void test_distance_from_the_thread_pointer(void **state)
{
	struct fixture f = fixture_load("aarch64-3.15-debian-program");
	struct key_ref ref;
	set_word(&f, 4, 0x91400400);
	set_word(&f, 5, 0x9100a000);
	assert_true(decode_key(&f, &ref));
	assert_int_equal(ref.offset, 0x1028);

	set_word(&f, 4, 0x91400000);
	set_word(&f, 5, 0x91002000);
	assert_key_refused(&f, "tls-11", "impossible place");
}

static void test_tail_call(void **state)
{
	static const uint32_t jump[] = { 0x14023e5b }, bti_jump[] = { 0xd503245f, 0x17feb1c2 },
			      call[] = { 0x94023e5b }, load_first[] = { 0xb9400400, 0x14000001 };
	struct fixture f = build(0, jump, 1);
	assert_true(decode_aarch64_is_tail_call(f.body, 4));
	assert_false(decode_aarch64_is_tail_call(f.body, 3));
	assert_false(decode_aarch64_is_tail_call(f.body, 0));
	f = build(0, bti_jump, 2);
	assert_true(decode_aarch64_is_tail_call(f.body, 8));
	assert_false(decode_aarch64_is_tail_call(f.body, 4));
	f = build(0, call, 1);
	assert_false(decode_aarch64_is_tail_call(f.body, 4));
	f = build(0, load_first, 2);
	assert_false(decode_aarch64_is_tail_call(f.body, 8));
}

static enum tls_resolver resolver(const uint32_t *words, size_t count)
{
	struct fixture f = build(0, words, count);
	return decode_aarch64_tls_resolver(f.body, f.size);
}

static void test_resolver_of_every_libc(void **state)
{
	/* glibc 2.31, 2.36 (nop for bti c), 2.41 and 2.43; what follows is another function */
	static const uint32_t plain[] = { 0xf9400400, 0xd65f03c0, 0xf81f0fe1 };
	static const uint32_t nop[] = { 0xd503201f, 0xf9400400, 0xd65f03c0, 0xd503201f };
	static const uint32_t bti[] = { 0xd503245f, 0xf9400400, 0xd65f03c0 };
	assert_int_equal(resolver(plain, COUNT(plain)), TLS_RESOLVER_STATIC);
	assert_int_equal(resolver(nop, COUNT(nop)), TLS_RESOLVER_STATIC);
	assert_int_equal(resolver(bti, COUNT(bti)), TLS_RESOLVER_STATIC);

	/* glibc 2.41, _dl_tlsdesc_dynamic; 2.43's begins with paciasp and branches two words further */
	uint32_t dynamic[] = { 0xd503245f, 0xa9be0be1, 0xa90113e3, 0xd53bd044, 0xf9400401,
			       0xf9400080, 0xf9400823, 0xf9400002, 0xeb02007f, 0x54000168,
			       0xa9400c22, 0x8b021000, 0xf9400000, 0xb100041f };
	assert_int_equal(resolver(dynamic, COUNT(dynamic)), TLS_RESOLVER_DYNAMIC);
	assert_int_equal(resolver(dynamic + 1, COUNT(dynamic) - 1), TLS_RESOLVER_DYNAMIC);
	assert_int_equal(resolver(dynamic, COUNT(dynamic) - 1), TLS_RESOLVER_DYNAMIC);
	assert_int_equal(resolver(dynamic, COUNT(dynamic) - 2), TLS_RESOLVER_UNKNOWN);
	dynamic[0] = 0xd503233f;
	dynamic[9] = 0x54000188;
	assert_int_equal(resolver(dynamic, COUNT(dynamic)), TLS_RESOLVER_DYNAMIC);
	dynamic[11] ^= 1 << 10;
	assert_int_equal(resolver(dynamic, COUNT(dynamic)), TLS_RESOLVER_UNKNOWN);

	/* musl 1.2.3 to 1.2.6 */
	static const uint32_t musl[] = { 0xa9bf0be1, 0xd53bd041, 0xf9400400, 0xa9400800,
					 0xcb010042, 0xf85f8021, 0xf8607821 };
	assert_int_equal(resolver(musl, COUNT(musl)), TLS_RESOLVER_DYNAMIC);

	/* _dl_tlsdesc_undefweak: the address is none */
	static const uint32_t undefined[] = { 0xd503245f, 0xf81f0fe1, 0xf9400400, 0xd53bd041 };
	assert_int_equal(resolver(undefined, COUNT(undefined)), TLS_RESOLVER_UNKNOWN);
	assert_int_equal(resolver(plain, 0), TLS_RESOLVER_UNKNOWN);
	assert_int_equal(resolver(bti, 1), TLS_RESOLVER_UNKNOWN);
}

static void test_decoder_of_the_machine(void **state)
{
	const struct decoder *decoder = decoder_by_machine(EM_AARCH64);
	assert_ptr_equal(decoder, &decoder_aarch64);
	assert_non_null(decoder->decode_key);
	assert_non_null(decoder->decode_interp_head);
	assert_non_null(decoder->is_tail_call);
	assert_non_null(decoder->tls_resolver);
	assert_null(decoder_by_machine(EM_ARM));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key_of_every_build),
		cmocka_unit_test(test_builds_of_a_version_agree),
		cmocka_unit_test(test_cpus_agree_from_3_12_on),
		cmocka_unit_test(test_every_shape_has_a_fixture),
		cmocka_unit_test(test_key_every_corrupt_byte),
		cmocka_unit_test(test_head_of_every_build),
		cmocka_unit_test(test_head_every_corrupt_byte),
		cmocka_unit_test(test_cut_or_longer_body_is_refused),
		cmocka_unit_test(test_place_is_needed_where_it_counts),
		cmocka_unit_test(test_refusal_names_words_and_size),
		cmocka_unit_test(test_references_that_disagree_are_refused),
		cmocka_unit_test(test_misaligned_key_is_refused),
		cmocka_unit_test(test_library_of_3_12_by_built_words),
		cmocka_unit_test(test_executable_of_3_12_by_built_words),
		cmocka_unit_test(test_page_below_the_body),
		cmocka_unit_test(test_farthest_pages),
		cmocka_unit_test(test_page_is_that_of_the_instruction),
		cmocka_unit_test(test_page_below_address_0_is_refused),
		cmocka_unit_test(test_shifted_addition),
		cmocka_unit_test(test_distance_from_the_thread_pointer),
		cmocka_unit_test(test_tail_call),
		cmocka_unit_test(test_resolver_of_every_libc),
		cmocka_unit_test(test_decoder_of_the_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
