/* SPDX-License-Identifier: MIT */
/* Encoded pointers, CIEs and FDEs: every encoding, augmentation and version, and bytes that end too
 * early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cfi_bytes.h"
#include "unwind/cfi_entry.h"

/* ---- pointers ---- */

struct pointer_case {
	uint8_t encoding;
	uint8_t bytes[12];
	size_t size; /* of bytes that it takes */
	uint64_t value;
};

/* Read at 0x1004, text 0x2000, data 0x3000, function 0x4000. */
static const struct pointer_case pointer_cases[] = {
	{ 0x00, { 1, 2, 3, 4, 5, 6, 7, 8 }, 8, 0x0807060504030201 },
	{ 0x01, { 0xe5, 0x8e, 0x26 }, 3, 624485 },
	{ 0x02, { 0xfe, 0xff }, 2, 0xfffe },
	{ 0x03, { 0xfe, 0xff, 0xff, 0xff }, 4, 0xfffffffe },
	{ 0x04, { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 8, UINT64_MAX - 1 },
	{ 0x08, { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 8, UINT64_MAX - 1 },
	{ 0x09, { 0x9b, 0xf1, 0x59 }, 3, (uint64_t)-624485 },
	{ 0x0a, { 0xfe, 0xff }, 2, (uint64_t)-2 },
	{ 0x0b, { 0xfe, 0xff, 0xff, 0xff }, 4, (uint64_t)-2 },
	{ 0x0c, { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 8, (uint64_t)-2 },
	{ 0x1b, { 0xfc, 0xff, 0xff, 0xff }, 4, 0x1000 },
	{ 0x23, { 0x10, 0, 0, 0 }, 4, 0x2010 },
	{ 0x3b, { 0xf0, 0xff, 0xff, 0xff }, 4, 0x2ff0 },
	{ 0x43, { 0x10, 0, 0, 0 }, 4, 0x4010 },
	/* aligned: four bytes of padding before it */
	{ 0x50, { 9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8 }, 12, 0x0807060504030201 },
};

static const struct cfi_pointer_base base = {
	.vaddr = 0x1004,
	.text = 0x2000,
	.data = 0x3000,
	.function = 0x4000,
	.address_size = 8,
};

static void test_pointer_encodings(void **state)
{
	for (size_t i = 0; i < sizeof(pointer_cases) / sizeof(*pointer_cases); i++) {
		const struct pointer_case *c = &pointer_cases[i];
		struct reader r = reader_make(c->bytes, c->size);
		uint64_t value = 0;
		assert_true(cfi_pointer_read(&r, c->encoding, &base, &value));
		assert_int_equal(value, c->value);
		assert_int_equal(reader_left(&r), 0);
		r = reader_make(c->bytes, c->size - 1);
		assert_false(cfi_pointer_read(&r, c->encoding, &base, &value));
	}
}

static void test_pointer_of_four_bytes(void **state)
{
	struct cfi_pointer_base small = base;
	small.address_size = 4;
	struct reader r = reader_make("\xfe\xff\xff\xff", 4);
	uint64_t value;
	assert_true(cfi_pointer_read(&r, 0x00, &small, &value));
	assert_int_equal(value, 0xfffffffe);
	r = reader_make("\xfe\xff\xff\xff", 4);
	assert_true(cfi_pointer_read(&r, 0x08, &small, &value));
	assert_int_equal(value, (uint64_t)-2);
}

static void test_pointer_encodings_that_are_none(void **state)
{
	static const uint8_t bytes[16];
	/* omit, the formats between, the relations between; indirect without an image. */
	static const uint8_t encodings[] = { 0xff, 0x05, 0x06, 0x07, 0x0d, 0x0e,
					     0x0f, 0x60, 0x70, 0x80, 0x9b };
	for (size_t i = 0; i < sizeof(encodings); i++) {
		struct reader r = reader_make(bytes, sizeof(bytes));
		uint64_t value = 77;
		assert_false(cfi_pointer_read(&r, encodings[i], &base, &value));
		assert_int_equal(value, 77);
	}
	struct cfi_pointer_base odd = base;
	odd.address_size = 5;
	struct reader r = reader_make(bytes, sizeof(bytes));
	uint64_t value;
	assert_false(cfi_pointer_read(&r, 0x00, &odd, &value));
}

/* ---- entries ---- */

static enum reason read_at(const struct cfi_section *section, uint64_t offset,
			   struct cfi_entry *entry)
{
	struct cfi_window window = { .section = section };
	enum reason reason = cfi_entry_read(&window, offset, entry);
	cfi_window_deinit(&window);
	return reason;
}

static enum reason decode_cie(const struct cfi_section *section, uint64_t offset,
			      struct cfi_cie *cie)
{
	struct cfi_entry entry;
	enum reason reason = read_at(section, offset, &entry);
	return reason ? reason : cfi_cie_decode(section, &entry, cie);
}

static enum reason decode_fde(const struct cfi_section *section, uint64_t offset,
			      const struct cfi_cie *cie, struct cfi_fde *fde)
{
	struct cfi_entry entry;
	enum reason reason = read_at(section, offset, &entry);
	return reason ? reason : cfi_fde_decode(section, &entry, cie, fde);
}

static void test_usual_cie_and_fde(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie_at = add_cie(&b);
	size_t fde_at = add_fde(&b, cie_at, 0x4000, 0x30, (const uint8_t[]){ 0x41, 0x0e, 16 }, 3);
	struct cfi_section section = section_of(&b);

	struct cfi_cie cie;
	assert_int_equal(decode_cie(&section, cie_at, &cie), REASON_OK);
	assert_int_equal(cie.version, 1);
	assert_int_equal(cie.code_align, 1);
	assert_int_equal(cie.data_align, -8);
	assert_int_equal(cie.return_register, 16);
	assert_int_equal(cie.fde_encoding, 0x1b);
	assert_true(cie.is_augmented);
	assert_false(cie.is_signal_frame);
	assert_memory_equal(cie.instructions, ((uint8_t[]){ 0x0c, 7, 8, 0x90, 1 }), 5);

	struct cfi_fde fde;
	assert_int_equal(decode_fde(&section, fde_at, &cie, &fde), REASON_OK);
	assert_int_equal(fde.start, 0x4000);
	assert_int_equal(fde.size, 0x30);
	assert_memory_equal(fde.instructions, ((uint8_t[]){ 0x41, 0x0e, 16 }), 3);

	struct cfi_entry entry;
	assert_int_equal(read_at(&section, fde_at, &entry), REASON_OK);
	assert_int_equal(entry.kind, CFI_ENTRY_FDE);
	assert_int_equal(entry.cie_offset, cie_at);
	assert_int_equal(entry.next, b.size);
	assert_int_equal(read_at(&section, b.size, &entry), REASON_OK);
	assert_int_equal(entry.kind, CFI_ENTRY_TERMINATOR);
	/* An FDE is no CIE, a CIE no FDE, and an FDE belongs to one CIE. */
	assert_int_equal(decode_cie(&section, fde_at, &(struct cfi_cie){ 0 }), REASON_BAD_CFI);
	assert_int_equal(decode_fde(&section, cie_at, &cie, &fde), REASON_BAD_CFI);
	cie.offset = 4;
	assert_int_equal(decode_fde(&section, fde_at, &cie, &fde), REASON_BAD_CFI);
	cfi_cie_deinit(&cie);
}

/* Given a CIE with these augmentation letters and data, this is what it says. */
static void check_augmentation(const char *letters, const uint8_t *data, size_t size,
			       enum reason expected, struct cfi_cie *cie)
{
	struct bytes b = { .size = 0 };
	add_cie_with(&b, letters, data, size, (const uint8_t[]){ 0x0c, 7, 8 }, 3);
	struct cfi_section section = section_of(&b);
	*cie = (struct cfi_cie){ 0 };
	assert_int_equal(decode_cie(&section, 0, cie), expected);
	if (!expected)
		assert_memory_equal(cie->instructions, ((uint8_t[]){ 0x0c, 7, 8 }), 3);
	free(cie->instructions);
}

static void test_augmentations(void **state)
{
	struct cfi_cie cie;
	check_augmentation("zPLRSB", (uint8_t[]){ 0x9b, 1, 2, 3, 4, 0x1b, 0x0b }, 7, REASON_OK,
			   &cie);
	assert_int_equal(cie.fde_encoding, 0x0b);
	assert_true(cie.is_signal_frame);
	assert_true(cie.is_key_b);
	check_augmentation("", NULL, 0, REASON_OK, &cie);
	assert_false(cie.is_augmented);
	assert_int_equal(cie.fde_encoding, 0);
	/* The personality's pointer may be aligned, or not be there. */
	check_augmentation("zPR", (uint8_t[]){ 0xff, 0x03 }, 2, REASON_OK, &cie);
	assert_int_equal(cie.fde_encoding, 0x03);
	/* The body is at 8, the pointer's encoding at 17: 6 bytes to 24, then 8. */
	check_augmentation("zPR", (uint8_t[]){ 0x50, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 3 },
			   16, REASON_OK, &cie);
	assert_int_equal(cie.fde_encoding, 3);
	/* After 'z' an unknown letter ends what is understood; without it, the whole. */
	check_augmentation("zRx", (uint8_t[]){ 0x1b, 1, 2, 3 }, 4, REASON_OK, &cie);
	assert_int_equal(cie.fde_encoding, 0x1b);
	check_augmentation("xR", (uint8_t[]){ 0x1b }, 1, REASON_BAD_CFI, &cie);
	check_augmentation("S", NULL, 0, REASON_OK, &cie);
	assert_true(cie.is_signal_frame);
	/* 'eh' of GCC 2: eight bytes before the alignment factors, which this writer puts after. */
	struct bytes b = { .size = 0 };
	size_t start = begin_entry(&b, 0);
	put(&b,
	    "\1eh\0"
	    "\1\2\3\4\5\6\7\10"
	    "\1\x78\20\x0c\7\10",
	    18);
	end_entry(&b, start);
	struct cfi_section section = section_of(&b);
	assert_int_equal(decode_cie(&section, 0, &cie), REASON_OK);
	assert_int_equal(cie.return_register, 16);
	cfi_cie_deinit(&cie);
	/* Augmentation data that is longer than the entry, or shorter than its letters need. */
	check_augmentation("zR", NULL, 0, REASON_BAD_CFI, &cie);
	check_augmentation("zP", (uint8_t[]){ 0x03, 1, 2 }, 3, REASON_BAD_CFI, &cie);
}

/* Without section headers of their own these follow DWARF: a CIE id of all ones, CIE pointers from
 * the section's start. */
static struct cfi_section debug_section(const struct bytes *b)
{
	return (struct cfi_section){ .size = b->size, .data = b->data, .is_debug_frame = true };
}

static void test_debug_frame_of_version_4(void **state)
{
	struct bytes b = { .size = 0 };
	put_u32(&b, 0); /* padding */
	size_t cie_at = begin_entry(&b, UINT32_MAX);
	put(&b, "\4\0", 2);
	put_u8(&b, 8); /* address size */
	put_u8(&b, 2); /* segment selector size */
	put_u8(&b, 4); /* code alignment */
	put_u8(&b, 0x7c);
	put(&b, "\x9e\x00", 2); /* return register 30 as a padded LEB128 */
	put(&b, "\x0c\x1f\x00", 3);
	end_entry(&b, cie_at);
	size_t fde_at = begin_entry(&b, (uint32_t)cie_at);
	put_u16(&b, 0);
	put_u64(&b, 0x400100);
	put_u64(&b, 0x20);
	end_entry(&b, fde_at);

	struct cfi_section section = debug_section(&b);
	struct cfi_entry entry;
	assert_int_equal(read_at(&section, 0, &entry), REASON_OK);
	assert_int_equal(entry.kind, CFI_ENTRY_PADDING);
	assert_int_equal(entry.next, cie_at);
	struct cfi_cie cie;
	struct cfi_fde fde;
	assert_int_equal(decode_cie(&section, cie_at, &cie), REASON_OK);
	assert_int_equal(cie.code_align, 4);
	assert_int_equal(cie.data_align, -4);
	assert_int_equal(cie.return_register, 30);
	assert_int_equal(decode_fde(&section, fde_at, &cie, &fde), REASON_OK);
	assert_int_equal(fde.start, 0x400100);
	assert_int_equal(fde.size, 0x20);
	cfi_cie_deinit(&cie);
}

static void test_debug_frame_with_64_bit_lengths(void **state)
{
	struct bytes b = { .size = 0 };
	put_u32(&b, UINT32_MAX);
	put_u64(&b, 16);
	put_u64(&b, UINT64_MAX);
	put(&b, "\3\0\1\x78\20\0\0\0", 8);
	put_u32(&b, UINT32_MAX);
	put_u64(&b, 24);
	put_u64(&b, 0);
	put_u64(&b, 0x400100);
	put_u64(&b, 0x20);

	struct cfi_section section = debug_section(&b);
	struct cfi_cie cie;
	struct cfi_fde fde;
	assert_int_equal(decode_cie(&section, 0, &cie), REASON_OK);
	assert_int_equal(decode_fde(&section, 28, &cie, &fde), REASON_OK);
	assert_int_equal(fde.start, 0x400100);
	cfi_cie_deinit(&cie);
}

static void test_eh_frame_with_64_bit_length_has_a_32_bit_id(void **state)
{
	struct bytes b = { .size = 0 };
	put_u32(&b, UINT32_MAX);
	put_u64(&b, 12);
	put_u32(&b, 0);
	put(&b, "\1\0\1\x78\20\x0c\7\10", 8);
	struct cfi_section section = section_of(&b);
	struct cfi_cie cie;
	assert_int_equal(decode_cie(&section, 0, &cie), REASON_OK);
	assert_int_equal(cie.return_register, 16);
	assert_memory_equal(cie.instructions, "\x0c\7\10", 3);
	cfi_cie_deinit(&cie);
}

static void test_zero_length_ends_a_section_of_unknown_size(void **state)
{
	struct bytes b = { .size = 0 };
	put_u32(&b, 0);
	put_u32(&b, 0x12345678);
	struct cfi_section section = section_of(&b);
	struct cfi_entry entry;
	assert_int_equal(read_at(&section, 0, &entry), REASON_OK);
	assert_int_equal(entry.kind, CFI_ENTRY_PADDING);
	section.is_terminated = true;
	assert_int_equal(read_at(&section, 0, &entry), REASON_OK);
	assert_int_equal(entry.kind, CFI_ENTRY_TERMINATOR);
}

static void test_lengths_that_lie(void **state)
{
	static const struct {
		uint32_t length;
		uint32_t id;
	} cases[] = {
		{ 9, 0 },          /* one byte more than there is */
		{ 3, 0 },          /* no room for the id */
		{ 0xfffffff0, 0 }, /* reserved */
		{ UINT32_MAX, 9 }, /* 64 bits with more than there is */
		{ 8, 5 },          /* a CIE before the section */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bytes b = { .size = 0 };
		put_u32(&b, cases[i].length);
		put_u32(&b, cases[i].id);
		put_u32(&b, 0);
		struct cfi_section section = section_of(&b);
		struct cfi_entry entry = { .next = 77 };
		assert_int_equal(read_at(&section, 0, &entry), REASON_BAD_CFI);
		assert_int_equal(entry.next, 77);
	}
}

static void test_versions(void **state)
{
	for (unsigned version = 0; version < 256; version++) {
		struct bytes b = { .size = 0 };
		add_cie(&b);
		b.data[8] = (uint8_t)version;
		struct cfi_section section = section_of(&b);
		struct cfi_cie cie = { 0 };
		bool is_known = version == 1 || version == 3;
		/* Version 4 has two bytes more, which here read as an address size of 1. */
		assert_int_equal(decode_cie(&section, 0, &cie),
				 is_known ? REASON_OK : REASON_BAD_CFI);
		cfi_cie_deinit(&cie);
	}
}

/* An entry that is cut anywhere is refused, never read past. The copy has the exact size, for
 * AddressSanitizer. */
static void test_cut_entries(void **state)
{
	struct bytes b = { .size = 0 };
	add_cie(&b);
	for (size_t size = 0; size < b.size; size++) {
		uint8_t *copy = malloc(size + 1);
		memcpy(copy, b.data, size);
		uint32_t length = size < 4 ? 0 : (uint32_t)(size - 4);
		if (size >= 4)
			memcpy(copy, &length, 4);
		struct cfi_section section = { .vaddr = EH_FRAME_VADDR,
					       .size = size,
					       .data = copy };
		struct cfi_cie cie = { 0 };
		/* From 17 bytes on the header is whole, what is missing are instructions. */
		assert_int_equal(decode_cie(&section, 0, &cie) == REASON_OK, size >= 17);
		cfi_cie_deinit(&cie);
		free(copy);
	}
}

static void test_fde_that_wraps(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie_at = add_cie_with(&b, "", NULL, 0, NULL, 0);
	size_t fde_at = begin_entry(&b, (uint32_t)(b.size + 4 - cie_at));
	put_u64(&b, UINT64_MAX - 15);
	put_u64(&b, 16);
	end_entry(&b, fde_at);
	struct cfi_section section = section_of(&b);
	struct cfi_cie cie;
	struct cfi_fde fde;
	assert_int_equal(decode_cie(&section, cie_at, &cie), REASON_OK);
	assert_int_equal(decode_fde(&section, fde_at, &cie, &fde), REASON_BAD_CFI);
	b.data[b.size - 8] = 15;
	assert_int_equal(decode_fde(&section, fde_at, &cie, &fde), REASON_OK);
	cfi_cie_deinit(&cie);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pointer_encodings),
		cmocka_unit_test(test_pointer_of_four_bytes),
		cmocka_unit_test(test_pointer_encodings_that_are_none),
		cmocka_unit_test(test_usual_cie_and_fde),
		cmocka_unit_test(test_augmentations),
		cmocka_unit_test(test_debug_frame_of_version_4),
		cmocka_unit_test(test_debug_frame_with_64_bit_lengths),
		cmocka_unit_test(test_eh_frame_with_64_bit_length_has_a_32_bit_id),
		cmocka_unit_test(test_zero_length_ends_a_section_of_unknown_size),
		cmocka_unit_test(test_lengths_that_lie),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_cut_entries),
		cmocka_unit_test(test_fde_that_wraps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
