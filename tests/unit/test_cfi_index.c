/* SPDX-License-Identifier: MIT */
/*
 * From pc to FDE: by .eh_frame_hdr, by an index of our own where that is missing or damaged, with
 * overlapping, empty and broken FDEs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cfi_bytes.h"
#include "unwind/cfi_index.h"

#define HEADER_VADDR UINT64_C(0x8000)

/* Functions a at 0x4000 (0x20 bytes), b at 0x4020 (0x10), a gap of 0x10, c at 0x4040 (0x100); c
 * comes first in the section. */
struct three {
	struct bytes section;
	struct bytes header;
	size_t a, b, c;
};

static void add_pair(struct bytes *header, uint64_t start, size_t fde)
{
	put_u32(header, start - HEADER_VADDR);
	put_u32(header, EH_FRAME_VADDR + fde - HEADER_VADDR);
}

/* ld's encodings: pc-relative section pointer, 32-bit count, a table relative to the header. */
static void begin_header(struct bytes *header, uint32_t count)
{
	put(header, "\1\x1b\3\x3b", 4);
	put_u32(header, EH_FRAME_VADDR - (HEADER_VADDR + 4));
	put_u32(header, count);
}

static void three_functions(struct three *t)
{
	memset(t, 0, sizeof(*t));
	size_t cie = add_cie(&t->section);
	t->c = add_fde(&t->section, cie, 0x4040, 0x100, NULL, 0);
	t->a = add_fde(&t->section, cie, 0x4000, 0x20, NULL, 0);
	t->b = add_fde(&t->section, cie, 0x4020, 0x10, NULL, 0);
	begin_header(&t->header, 3);
	add_pair(&t->header, 0x4000, t->a);
	add_pair(&t->header, 0x4020, t->b);
	add_pair(&t->header, 0x4040, t->c);
}

static struct cfi_index *create(const struct bytes *section, const struct bytes *header)
{
	struct cfi_index *index = NULL;
	struct cfi_section s = section_of(section);
	struct cfi_section h = { .vaddr = HEADER_VADDR };
	if (header) {
		h.size = header->size;
		h.data = header->data;
	}
	assert_null(cfi_index_create(&s, &h, &index));
	return index;
}

static void check_found(struct cfi_index *index, uint64_t pc, uint64_t start, uint64_t end,
			size_t fde)
{
	struct cfi_found found;
	assert_int_equal(cfi_index_find(index, pc, &found), REASON_OK);
	assert_int_equal(found.start, start);
	assert_int_equal(found.end, end);
	assert_int_equal(found.fde_offset, fde);
}

static void check_gap(struct cfi_index *index, uint64_t pc, uint64_t start, uint64_t end)
{
	struct cfi_found found;
	assert_int_equal(cfi_index_find(index, pc, &found), REASON_NO_CFI);
	assert_int_equal(found.start, start);
	assert_int_equal(found.end, end);
}

static void check_three(struct cfi_index *index, const struct three *t)
{
	check_gap(index, 0, 0, 0x4000);
	check_gap(index, 0x3fff, 0, 0x4000);
	check_found(index, 0x4000, 0x4000, 0x4020, t->a);
	check_found(index, 0x401f, 0x4000, 0x4020, t->a);
	check_found(index, 0x4020, 0x4020, 0x4030, t->b);
	check_gap(index, 0x4030, 0x4030, 0x4040);
	check_gap(index, 0x403f, 0x4030, 0x4040);
	check_found(index, 0x413f, 0x4040, 0x4140, t->c);
	check_gap(index, 0x4140, 0x4140, UINT64_MAX);
	check_gap(index, UINT64_MAX - 1, 0x4140, UINT64_MAX);
}

static void test_header(void **state)
{
	struct three t;
	three_functions(&t);
	_cleanup_cfi_index_ struct cfi_index *index = create(&t.section, &t.header);
	check_three(index, &t);
	assert_false(cfi_index_header_is_damaged(index));
}

static void test_own_index(void **state)
{
	struct three t;
	three_functions(&t);
	_cleanup_cfi_index_ struct cfi_index *index = create(&t.section, NULL);
	check_three(index, &t);
	assert_false(cfi_index_header_is_damaged(index));
}

static void test_header_of_other_encodings(void **state)
{
	struct three t;
	three_functions(&t);
	struct bytes header = { .size = 0 };
	put(&header, "\1\0\2\0", 4); /* absolute pointer, 16-bit count, absolute table */
	put_u64(&header, EH_FRAME_VADDR);
	put_u16(&header, 3);
	put_u64(&header, 0x4000);
	put_u64(&header, EH_FRAME_VADDR + t.a);
	put_u64(&header, 0x4020);
	put_u64(&header, EH_FRAME_VADDR + t.b);
	put_u64(&header, 0x4040);
	put_u64(&header, EH_FRAME_VADDR + t.c);
	_cleanup_cfi_index_ struct cfi_index *index = create(&t.section, &header);
	check_three(index, &t);
	assert_false(cfi_index_header_is_damaged(index));
}

/* Given this damage, the answers are the same, from an index of our own. */
static void check_damaged(const struct three *t, const struct bytes *header)
{
	_cleanup_cfi_index_ struct cfi_index *index = create(&t->section, header);
	check_three(index, t);
	assert_true(cfi_index_header_is_damaged(index));
}

static void test_damaged_headers(void **state)
{
	struct three t;
	three_functions(&t);

	static const struct {
		size_t at;
		uint8_t value;
	} bytes[] = {
		{ 0, 2 },                  /* version */
		{ 1, 0xff },               /* no section pointer */
		{ 2, 0xff },               /* no count */
		{ 3, 0xff },               /* no table */
		{ 3, 0x01 },               /* pairs of no fixed size cannot be searched */
		{ 3, 0x09 },  { 3, 0xbb }, /* indirect */
		{ 3, 0x5b },               /* aligned */
		{ 8, 4 },                  /* one pair more than there is room for */
		{ 8, 0 },     { 11, 0xff }, { 12, 0x10 }, /* the first function starts elsewhere */
		{ 16, 0x01 },                             /* an FDE that is none */
		{ 19, 0x70 },                             /* an FDE outside the section */
	};
	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++) {
		struct bytes damaged = t.header;
		damaged.data[bytes[i].at] = bytes[i].value;
		check_damaged(&t, &damaged);
	}
	/* Cut anywhere. */
	for (size_t size = 1; size < t.header.size; size++) {
		struct bytes damaged = t.header;
		damaged.size = size;
		check_damaged(&t, &damaged);
	}
}

static void test_unsorted_header(void **state)
{
	struct three t;
	three_functions(&t);
	struct bytes header = { .size = 0 };
	begin_header(&header, 3);
	add_pair(&header, 0x4040, t.c);
	add_pair(&header, 0x4000, t.a);
	add_pair(&header, 0x4020, t.b);
	check_damaged(&t, &header);
}

/* A table without one of the functions is in order by itself: what it lacks is a gap. Linkers make
 * no such table. */
static void test_fde_of_another_function(void **state)
{
	struct three t;
	three_functions(&t);
	struct bytes header = { .size = 0 };
	begin_header(&header, 3);
	add_pair(&header, 0x4000, t.b);
	add_pair(&header, 0x4020, t.a);
	add_pair(&header, 0x4040, t.c);
	check_damaged(&t, &header);
}

static void test_empty_section(void **state)
{
	struct bytes section = { .size = 0 };
	_cleanup_cfi_index_ struct cfi_index *index = create(&section, NULL);
	check_gap(index, 0x4000, 0, UINT64_MAX);
}

/* Outer 0x4000..0x4100, inner 0x4020..0x4040, another outer 0x40f0..0x4110 that begins in the
 * first. */
static void overlapping(struct bytes *section, struct bytes *header, size_t fdes[3])
{
	size_t cie = add_cie(section);
	fdes[0] = add_fde(section, cie, 0x4000, 0x100, NULL, 0);
	fdes[1] = add_fde(section, cie, 0x4020, 0x20, NULL, 0);
	fdes[2] = add_fde(section, cie, 0x40f0, 0x20, NULL, 0);
	begin_header(header, 3);
	add_pair(header, 0x4000, fdes[0]);
	add_pair(header, 0x4020, fdes[1]);
	add_pair(header, 0x40f0, fdes[2]);
}

static void check_overlapping(struct cfi_index *index, const size_t fdes[3])
{
	check_found(index, 0x401f, 0x4000, 0x4020, fdes[0]);
	check_found(index, 0x4020, 0x4020, 0x4040, fdes[1]);
	check_found(index, 0x4040, 0x4040, 0x40f0, fdes[0]);
	check_found(index, 0x40f0, 0x40f0, 0x4110, fdes[2]);
	check_gap(index, 0x4110, 0x4110, UINT64_MAX);
}

static void test_overlapping_fdes(void **state)
{
	struct bytes section = { .size = 0 }, header = { .size = 0 };
	size_t fdes[3];
	overlapping(&section, &header, fdes);
	_cleanup_cfi_index_ struct cfi_index *own = create(&section, NULL);
	check_overlapping(own, fdes);
	_cleanup_cfi_index_ struct cfi_index *by_header = create(&section, &header);
	check_overlapping(by_header, fdes);
	assert_false(cfi_index_header_is_damaged(by_header));

	const struct cfi_piece *pieces;
	size_t count;
	assert_int_equal(cfi_index_pieces(own, &pieces, &count), REASON_OK);
	assert_int_equal(count, 4);
}

static void test_two_fdes_at_one_start(void **state)
{
	struct bytes section = { .size = 0 };
	size_t cie = add_cie(&section);
	size_t first = add_fde(&section, cie, 0x4000, 0x10, NULL, 0);
	size_t second = add_fde(&section, cie, 0x4000, 0x20, NULL, 0);
	_cleanup_cfi_index_ struct cfi_index *index = create(&section, NULL);
	check_found(index, 0x4000, 0x4000, 0x4010, first);
	check_found(index, 0x4010, 0x4010, 0x4020, second);
}

static void test_empty_fde(void **state)
{
	struct bytes section = { .size = 0 }, header = { .size = 0 };
	size_t cie = add_cie(&section);
	size_t a = add_fde(&section, cie, 0x4000, 0x20, NULL, 0);
	size_t empty = add_fde(&section, cie, 0x4008, 0, NULL, 0);
	begin_header(&header, 2);
	add_pair(&header, 0x4000, a);
	add_pair(&header, 0x4008, empty);
	_cleanup_cfi_index_ struct cfi_index *own = create(&section, NULL);
	check_found(own, 0x4010, 0x4000, 0x4020, a);
	_cleanup_cfi_index_ struct cfi_index *by_header = create(&section, &header);
	check_found(by_header, 0x4007, 0x4000, 0x4008, a);
	check_found(by_header, 0x4010, 0x4008, 0x4020, a);
}

static void test_one_broken_fde(void **state)
{
	struct bytes section = { .size = 0 };
	size_t cie = add_cie(&section);
	size_t a = add_fde(&section, cie, 0x4000, 0x20, NULL, 0);
	size_t broken = add_fde(&section, cie, 0x4020, 0x20, NULL, 0);
	size_t c = add_fde(&section, cie, 0x4040, 0x20, NULL, 0);
	section.data[broken + 4] = 0x05; /* its CIE would be in the middle of another entry */
	_cleanup_cfi_index_ struct cfi_index *index = create(&section, NULL);
	check_found(index, 0x4010, 0x4000, 0x4020, a);
	check_gap(index, 0x4020, 0x4020, 0x4040);
	check_found(index, 0x4050, 0x4040, 0x4060, c);
}

/* What follows a length that lies is lost, what comes before is not. */
static void test_broken_length(void **state)
{
	struct three t;
	three_functions(&t);
	t.section.data[t.b + 3] = 0x7f;
	_cleanup_cfi_index_ struct cfi_index *index = create(&t.section, NULL);
	check_found(index, 0x4000, 0x4000, 0x4020, t.a);
	check_gap(index, 0x4020, 0x4020, 0x4040);
	check_found(index, 0x4040, 0x4040, 0x4140, t.c);
}

static void test_debug_frame(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = begin_entry(&b, UINT32_MAX);
	put(&b, "\1\0\1\x78\20\x0c\7\10", 8);
	end_entry(&b, cie);
	size_t fde = begin_entry(&b, (uint32_t)cie);
	put_u64(&b, 0x400100);
	put_u64(&b, 0x20);
	end_entry(&b, fde);
	struct cfi_section section = { .size = b.size, .data = b.data, .is_debug_frame = true };
	_cleanup_cfi_index_ struct cfi_index *index = NULL;
	assert_null(cfi_index_create(&section, NULL, &index));
	check_found(index, 0x400110, 0x400100, 0x400120, fde);

	const struct cfi_cie *cie_decoded;
	struct cfi_fde fde_decoded;
	assert_int_equal(cfi_index_fde(index, fde, &cie_decoded, &fde_decoded), REASON_OK);
	assert_int_equal(cie_decoded->offset, cie);
	assert_int_equal(fde_decoded.start, 0x400100);
	assert_int_equal(cfi_index_fde(index, cie, &cie_decoded, &fde_decoded), REASON_BAD_CFI);
	assert_int_equal(cfi_index_fde(index, b.size + 4, &cie_decoded, &fde_decoded),
			 REASON_BAD_CFI);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_own_index),
		cmocka_unit_test(test_header_of_other_encodings),
		cmocka_unit_test(test_damaged_headers),
		cmocka_unit_test(test_unsorted_header),
		cmocka_unit_test(test_fde_of_another_function),
		cmocka_unit_test(test_empty_section),
		cmocka_unit_test(test_overlapping_fdes),
		cmocka_unit_test(test_two_fdes_at_one_start),
		cmocka_unit_test(test_empty_fde),
		cmocka_unit_test(test_one_broken_fde),
		cmocka_unit_test(test_broken_length),
		cmocka_unit_test(test_debug_frame),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
