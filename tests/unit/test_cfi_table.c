/* SPDX-License-Identifier: MIT */
/*
 * The compiled table: what is looked up, what is shared, what is remembered; and the golden rules of tests/rules, FDEs cut from
 * real libraries with the rows that they give.
 */
#include <elf.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cfi_bytes.h"
#include "unwind/cfi_table.h"
#include "unwind/cfi_text.h"

static struct cfi_table *create_for(const struct arch *arch, const struct cfi_section *eh_frame,
				    const struct cfi_section *debug_frame)
{
	static const struct cfi_section none;
	struct cfi_table *table = NULL;
	assert_null(cfi_table_create(arch, eh_frame ? eh_frame : &none, NULL,
				     debug_frame ? debug_frame : &none, &table));
	return table;
}

static struct cfi_table *create(const struct cfi_section *eh_frame,
				const struct cfi_section *debug_frame)
{
	return create_for(&arch_x86_64, eh_frame, debug_frame);
}

/* The row at @pc as text, or the reason. Static. */
static const char *look_up(struct cfi_table *table, uint64_t pc)
{
	static struct strbuf text;
	const struct cfi_row *row;
	strbuf_reset(&text);
	enum reason reason = cfi_table_lookup(table, pc, &row);
	if (reason)
		return reason_name(reason);
	cfi_text_row(table, row, &text);
	return text.text;
}

/* push rbp; mov rsp, rbp; …; leave; ret: at 0x4000 and, the same again, at 0x4100. */
static const uint8_t usual[] = { 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x5b, 0xc6, 0x0c, 7, 8 };

static void two_functions(struct bytes *b)
{
	size_t cie = add_cie(b);
	add_fde(b, cie, 0x4000, 0x20, usual, sizeof(usual));
	add_fde(b, cie, 0x4100, 0x20, usual, sizeof(usual));
}

static void test_lookup(void **state)
{
	struct bytes b = { .size = 0 };
	two_functions(&b);
	struct cfi_section section = section_of(&b);
	_cleanup_cfi_table_ struct cfi_table *table = create(&section, NULL);
	for (int round = 0; round < 2; round++) {
		assert_string_equal(look_up(table, 0x3fff), "no_cfi");
		assert_string_equal(look_up(table, 0x4000), "cfa=rsp+8 rip=[cfa-8]");
		assert_string_equal(look_up(table, 0x4001), "cfa=rsp+16 rbp=[cfa-16] rip=[cfa-8]");
		assert_string_equal(look_up(table, 0x4003), "cfa=rsp+16 rbp=[cfa-16] rip=[cfa-8]");
		assert_string_equal(look_up(table, 0x4004), "cfa=rbp+16 rbp=[cfa-16] rip=[cfa-8]");
		assert_string_equal(look_up(table, 0x401e), "cfa=rbp+16 rbp=[cfa-16] rip=[cfa-8]");
		assert_string_equal(look_up(table, 0x401f), "cfa=rsp+8 rip=[cfa-8]");
		assert_string_equal(look_up(table, 0x4020), "no_cfi");
		assert_string_equal(look_up(table, 0x4104), "cfa=rbp+16 rbp=[cfa-16] rip=[cfa-8]");
		assert_string_equal(look_up(table, 0), "no_cfi");
		assert_string_equal(look_up(table, UINT64_MAX), "no_cfi");
	}
}

static void test_functions_are_compiled_when_asked_for(void **state)
{
	struct bytes b = { .size = 0 };
	two_functions(&b);
	struct cfi_section section = section_of(&b);
	_cleanup_cfi_table_ struct cfi_table *table = create(&section, NULL);
	struct cfi_table_stats stats;
	cfi_table_stats(table, &stats);
	assert_int_equal(stats.functions, 0);
	look_up(table, 0x4110);
	look_up(table, 0x4101);
	cfi_table_stats(table, &stats);
	assert_int_equal(stats.functions, 1);
	assert_int_equal(stats.ranges, 4);
	assert_int_equal(stats.rows, 3);
	assert_int_equal(stats.cfa[CFI_CFA_REGISTER], 4);
	assert_int_equal(stats.rules[CFI_RULE_AT_CFA], 6);

	/* Equal rows are one row. */
	look_up(table, 0x4000);
	cfi_table_stats(table, &stats);
	assert_int_equal(stats.functions, 2);
	assert_int_equal(stats.ranges, 8);
	assert_int_equal(stats.rows, 3);
	const struct cfi_row *row, *other;
	assert_int_equal(cfi_table_lookup(table, 0x4000, &row), REASON_OK);
	assert_int_equal(cfi_table_lookup(table, 0x411f, &other), REASON_OK);
	assert_ptr_equal(row, other);

	/* A gap is remembered whole. */
	look_up(table, 0x4030);
	look_up(table, 0x40f0);
	look_up(table, UINT64_MAX);
	cfi_table_stats(table, &stats);
	assert_int_equal(stats.gaps, 1);
}

static void test_ranges(void **state)
{
	struct bytes b = { .size = 0 };
	two_functions(&b);
	struct cfi_section section = section_of(&b);
	_cleanup_cfi_table_ struct cfi_table *table = create(&section, NULL);
	const struct cfi_row *row;
	uint64_t start, end;
	assert_int_equal(cfi_table_lookup_range(table, 0x4005, &row, &start, &end), REASON_OK);
	assert_int_equal(start, 0x4004);
	assert_int_equal(end, 0x401f);
	assert_int_equal(cfi_table_lookup_range(table, 0x4050, &row, &start, &end), REASON_NO_CFI);
	assert_int_equal(start, 0x4020);
	assert_int_equal(end, 0x4100);
}

/* Rows stay where they are while a thousand others come. Function f has the CFAs rsp + 128 (f + 1) + 0 to 119. */
static void test_rows_do_not_move(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_cie(&b);
	add_fde(&b, cie, 0x4000, 8, NULL, 0);
	for (unsigned f = 0; f < 12; f++) {
		uint8_t instructions[4 * 120];
		for (unsigned i = 0; i < 120; i++)
			memcpy(instructions + i * 4,
			       (uint8_t[]){ 0x41, 0x0e, (uint8_t)(0x80 | i), (uint8_t)(f + 1) }, 4);
		add_fde(&b, cie, 0x5000 + f * 0x100, 0x100, instructions, sizeof(instructions));
	}
	struct cfi_section section = section_of(&b);
	_cleanup_cfi_table_ struct cfi_table *table = create(&section, NULL);
	const struct cfi_row *row, *again;
	assert_int_equal(cfi_table_lookup(table, 0x4000, &row), REASON_OK);
	for (uint64_t pc = 0x5bff; pc >= 0x5000; pc--)
		assert_int_equal(cfi_table_lookup(table, pc, &again), REASON_OK);
	assert_int_equal(cfi_table_lookup(table, 0x4000, &again), REASON_OK);
	assert_ptr_equal(row, again);
	assert_int_equal(row->cfa_offset, 8);
	assert_string_equal(look_up(table, 0x5000 + 100), "cfa=rsp+227 rip=[cfa-8]");
	assert_string_equal(look_up(table, 0x5b00 + 100), "cfa=rsp+1635 rip=[cfa-8]");
	struct cfi_table_stats stats;
	cfi_table_stats(table, &stats);
	assert_int_equal(stats.functions, 13);
	assert_int_equal(stats.rows, 1 + 12 * 120);
	assert_int_equal(stats.ranges, 1 + 12 * 121);
}

static void test_expressions_are_numbered_once(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_cie(&b);
	static const uint8_t expression[] = { 0x0f, 3, 0x77, 8, 0x20 };
	add_fde(&b, cie, 0x4000, 0x10, expression, sizeof(expression));
	add_fde(&b, cie, 0x4010, 0x10, expression, sizeof(expression));
	struct cfi_section section = section_of(&b);
	_cleanup_cfi_table_ struct cfi_table *table = create(&section, NULL);
	const struct cfi_row *row, *other;
	assert_int_equal(cfi_table_lookup(table, 0x4000, &row), REASON_OK);
	assert_int_equal(cfi_table_lookup(table, 0x4010, &other), REASON_OK);
	assert_ptr_equal(row, other);
	assert_int_equal(row->cfa_kind, CFI_CFA_EXPRESSION);
	size_t size;
	const uint8_t *bytes = cfi_table_expression(table, row->cfa_offset, &size);
	assert_int_equal(size, 3);
	assert_memory_equal(bytes, expression + 2, 3);
	assert_null(cfi_table_expression(table, 1, &size));
	assert_null(cfi_table_expression(table, -1, &size));
}

/* What was good before the damage stays good. */
static void test_damaged_instructions(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_cie(&b);
	add_fde(&b, cie, 0x4000, 0x10, (const uint8_t[]){ 0x44, 0x0e, 16, 0x44, 0x3f }, 5);
	struct cfi_section section = section_of(&b);
	_cleanup_cfi_table_ struct cfi_table *table = create(&section, NULL);
	assert_string_equal(look_up(table, 0x4003), "cfa=rsp+8 rip=[cfa-8]");
	assert_string_equal(look_up(table, 0x4007), "cfa=rsp+16 rip=[cfa-8]");
	assert_string_equal(look_up(table, 0x4008), "bad_cfi");
	assert_string_equal(look_up(table, 0x400f), "bad_cfi");
	struct cfi_table_stats stats;
	cfi_table_stats(table, &stats);
	assert_int_equal(stats.bad, 1);
}

static void test_function_of_more_than_four_gigabytes(void **state)
{
	struct bytes b = { .size = 0 };
	size_t cie = add_cie_with(&b, "", NULL, 0, (const uint8_t[]){ 0x0c, 7, 8, 0x90, 1 }, 5);
	size_t fde = begin_entry(&b, (uint32_t)(b.size + 4 - cie));
	put_u64(&b, 0x1000);
	put_u64(&b, UINT64_C(1) << 40);
	put(&b, "\x41\x0e\x10", 3);
	end_entry(&b, fde);
	struct cfi_section section = section_of(&b);
	_cleanup_cfi_table_ struct cfi_table *table = create(&section, NULL);
	assert_string_equal(look_up(table, 0x1000), "cfa=rsp+8 rip=[cfa-8]");
	assert_string_equal(look_up(table, 0x1001), "cfa=rsp+16 rip=[cfa-8]");
	assert_string_equal(look_up(table, 0x80001000), "cfa=rsp+16 rip=[cfa-8]");
}

/* A gap of more than that is known in parts, each of which holds the pc that it was made for. */
static void test_gap_of_more_than_four_gigabytes(void **state)
{
	struct bytes b = { .size = 0 };
	two_functions(&b);
	struct cfi_section section = section_of(&b);
	_cleanup_cfi_table_ struct cfi_table *table = create(&section, NULL);
	const struct cfi_row *row;
	uint64_t start, end, pc = UINT64_C(1) << 36;
	struct cfi_table_stats stats;
	for (uint64_t i = 0; i < 10; i++) {
		assert_int_equal(cfi_table_lookup_range(table, pc + i, &row, &start, &end),
				 REASON_NO_CFI);
		assert_true(start <= pc && pc + i < end);
	}
	cfi_table_stats(table, &stats);
	assert_int_equal(stats.gaps, 1);
	assert_string_equal(look_up(table, 0x4120), "no_cfi");
	assert_string_equal(look_up(table, pc - (UINT64_C(1) << 33)), "no_cfi");
	assert_string_equal(look_up(table, 0x4100), "cfa=rsp+8 rip=[cfa-8]");
}

/* ---- .debug_frame ---- */

static struct cfi_section debug_frame(struct bytes *b, uint64_t start, uint64_t size)
{
	size_t cie = begin_entry(b, UINT32_MAX);
	put(b, "\1\0\1\x78\20\x0c\7\x18", 8);
	end_entry(b, cie);
	size_t fde = begin_entry(b, (uint32_t)cie);
	put_u64(b, start);
	put_u64(b, size);
	end_entry(b, fde);
	return (struct cfi_section){ .size = b->size, .data = b->data, .is_debug_frame = true };
}

static void test_debug_frame_fills_gaps(void **state)
{
	struct bytes b = { .size = 0 }, d = { .size = 0 };
	two_functions(&b);
	struct cfi_section section = section_of(&b), debug = debug_frame(&d, 0x4010, 0x30);
	_cleanup_cfi_table_ struct cfi_table *table = create(&section, &debug);
	assert_string_equal(look_up(table, 0x401f), "cfa=rsp+8 rip=[cfa-8]");
	assert_string_equal(look_up(table, 0x4020), "cfa=rsp+24 rip=[cfa-8]");
	assert_string_equal(look_up(table, 0x403f), "cfa=rsp+24 rip=[cfa-8]");
	assert_string_equal(look_up(table, 0x4040), "no_cfi");
	const struct cfi_row *row;
	uint64_t start, end;
	assert_int_equal(cfi_table_lookup_range(table, 0x4050, &row, &start, &end), REASON_NO_CFI);
	assert_int_equal(start, 0x4040);
	assert_int_equal(end, 0x4100);
}

static void test_debug_frame_alone(void **state)
{
	struct bytes d = { .size = 0 };
	struct cfi_section debug = debug_frame(&d, 0x4010, 0x30);
	_cleanup_cfi_table_ struct cfi_table *table = create(NULL, &debug);
	assert_string_equal(look_up(table, 0x4010), "cfa=rsp+24 rip=[cfa-8]");
	assert_string_equal(look_up(table, 0x400f), "no_cfi");
}

static void test_no_section_at_all(void **state)
{
	_cleanup_cfi_table_ struct cfi_table *table = create(NULL, NULL);
	assert_string_equal(look_up(table, 0x4010), "no_cfi");
	assert_string_equal(look_up(table, 0x4010), "no_cfi");
}

/* ---- images ---- */

/* This program's own file, as it is, without section headers, from memory, cut: the same rows. */
static void strip_section_headers(uint8_t *data)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)data;
	ehdr->e_shoff = 0;
	ehdr->e_shnum = 0;
	ehdr->e_shstrndx = 0;
}

static uint8_t *read_file(const char *path, size_t *size_ret)
{
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	size_t size = (size_t)ftell(f);
	rewind(f);
	uint8_t *data = malloc(size);
	assert_int_equal(fread(data, 1, size, f), size);
	fclose(f);
	*size_ret = size;
	return data;
}

/* Rows of all pieces of the image, as one text. Each pc is looked up by .eh_frame_hdr, which must serve. */
static char *all_rows(const struct image *image)
{
	_cleanup_cfi_table_ struct cfi_table *table = NULL;
	assert_null(cfi_table_create_image(image, &table));
	struct cfi_index *index = cfi_table_eh_frame(table);
	assert_non_null(index);
	const struct cfi_piece *pieces;
	size_t count;
	assert_int_equal(cfi_index_pieces(index, &pieces, &count), REASON_OK);
	struct strbuf text = { 0 };
	for (size_t i = 0; i < count; i++) {
		uint64_t pc = pieces[i].start, end = pc + pieces[i].size, start;
		for (uint64_t next; pc < end; pc = next) {
			const struct cfi_row *row;
			strbuf_addf(&text, "%llx ", (unsigned long long)pc);
			if (cfi_table_lookup_range(table, pc, &row, &start, &next))
				strbuf_adds(&text, "-");
			else
				cfi_text_row(table, row, &text);
			strbuf_addc(&text, '\n');
		}
	}
	assert_false(cfi_index_header_is_damaged(index));
	return strbuf_steal(&text);
}

static char *all_rows_of_bytes(const uint8_t *data, size_t size)
{
	_cleanup_image_ struct image *image = NULL;
	assert_null(image_open_bytes(data, size, "self", &image));
	return all_rows(image);
}

static void test_image_without_section_headers(void **state)
{
	size_t size;
	_cleanup_free_ uint8_t *data = read_file("/proc/self/exe", &size);
	_cleanup_free_ char *whole = all_rows_of_bytes(data, size);
	assert_non_null(strstr(whole, "outermost"));
	strip_section_headers(data);
	_cleanup_free_ char *stripped = all_rows_of_bytes(data, size);
	assert_string_equal(stripped, whole);
}

static bool read_self(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	memcpy(buffer, (const void *)(uintptr_t)address, size);
	return true;
}

extern const uint8_t __ehdr_start[];

static void test_image_in_memory(void **state)
{
	struct memory memory = { .read = read_self };
	_cleanup_image_ struct image *image = NULL;
	assert_null(image_open_memory(&memory, (uintptr_t)__ehdr_start, "self", &image));
	_cleanup_free_ char *mapped = all_rows(image);
	size_t size;
	_cleanup_free_ uint8_t *data = read_file("/proc/self/exe", &size);
	_cleanup_free_ char *whole = all_rows_of_bytes(data, size);
	assert_string_equal(mapped, whole);
}

/* Of a file that was cut after .eh_frame_hdr, no row is made up: there is none, or the right one. */
static void test_truncated_image(void **state)
{
	size_t size;
	_cleanup_free_ uint8_t *data = read_file("/proc/self/exe", &size);
	_cleanup_image_ struct image *whole = NULL, *cut = NULL;
	_cleanup_cfi_table_ struct cfi_table *whole_table = NULL, *cut_table = NULL;
	assert_null(image_open_bytes(data, size, "self", &whole));
	uint64_t header_vaddr, header_size;
	assert_true(image_eh_frame_hdr(whole, &header_vaddr, &header_size));
	struct image_section section;
	assert_true(image_section(whole, ".eh_frame", &section));
	assert_null(cfi_table_create_image(whole, &whole_table));
	strip_section_headers(data);
	assert_null(image_open_bytes(data, section.offset + section.size / 2, "cut", &cut));
	assert_null(cfi_table_create_image(cut, &cut_table));

	const struct cfi_piece *pieces;
	size_t count, same = 0, missing = 0;
	assert_int_equal(cfi_index_pieces(cfi_table_eh_frame(whole_table), &pieces, &count),
			 REASON_OK);
	for (size_t i = 0; i < count; i++) {
		const struct cfi_row *row, *of_cut;
		assert_int_equal(cfi_table_lookup(whole_table, pieces[i].start, &row), REASON_OK);
		if (cfi_table_lookup(cut_table, pieces[i].start, &of_cut)) {
			missing++;
			continue;
		}
		same++;
		assert_int_equal(cfi_row_size(of_cut), cfi_row_size(row));
		assert_memory_equal(of_cut, row, sizeof(*row));
	}
	assert_true(same > 0 && missing > 0);
}

/* ---- golden rules ---- */

/* A fixture of tests/rules, as contrib/cfi-rules -c writes it. */
struct golden {
	const struct arch *arch;
	struct bytes fde, cie;
	uint64_t fde_vaddr, cie_vaddr;
	struct strbuf rows;
};

static void read_hex(const char *line, struct bytes *bytes)
{
	for (char *end; *line; line = end) {
		unsigned long value = strtoul(line, &end, 16);
		if (end == line)
			return;
		put_u8(bytes, (unsigned)value);
	}
}

static void read_golden(const char *path, struct golden *golden)
{
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	char line[1024];
	struct bytes *bytes = NULL;
	unsigned long long vaddr;
	unsigned machine;
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#') {
			continue;
		} else if (sscanf(line, "machine %u", &machine) == 1) {
			golden->arch = arch_by_machine((uint16_t)machine);
		} else if (sscanf(line, "fde at %llx", &vaddr) == 1) {
			golden->fde_vaddr = vaddr;
			bytes = &golden->fde;
		} else if (sscanf(line, "cie at %llx", &vaddr) == 1) {
			golden->cie_vaddr = vaddr;
			bytes = &golden->cie;
		} else if (line[0] == '\t') {
			assert_non_null(bytes);
			read_hex(line, bytes);
		} else if (strcmp(line, "rows\n") != 0) {
			strbuf_adds(&golden->rows, line);
		}
	}
	fclose(f);
}

/* Both entries at their places in a section of zeroes, which are padding. */
static void golden_section(const struct golden *golden, struct cfi_section *section,
			   uint8_t **data_ret)
{
	uint64_t start =
		golden->cie_vaddr < golden->fde_vaddr ? golden->cie_vaddr : golden->fde_vaddr;
	uint64_t cie_end = golden->cie_vaddr + golden->cie.size;
	uint64_t fde_end = golden->fde_vaddr + golden->fde.size;
	uint64_t size = (cie_end > fde_end ? cie_end : fde_end) - start;
	assert_true(size < 100000000);
	uint8_t *data = calloc(1, size);
	assert_non_null(data);
	memcpy(data + (golden->cie_vaddr - start), golden->cie.data, golden->cie.size);
	memcpy(data + (golden->fde_vaddr - start), golden->fde.data, golden->fde.size);
	*section = (struct cfi_section){ .vaddr = start, .size = size, .data = data };
	*data_ret = data;
}

static void check_golden(const char *path)
{
	struct golden golden = { 0 };
	read_golden(path, &golden);
	struct cfi_section section;
	_cleanup_free_ uint8_t *data = NULL;
	golden_section(&golden, &section, &data);
	assert_non_null(golden.arch);
	_cleanup_cfi_table_ struct cfi_table *table = create_for(golden.arch, &section, NULL);
	const struct cfi_piece *pieces;
	size_t count;
	assert_int_equal(cfi_index_pieces(cfi_table_eh_frame(table), &pieces, &count), REASON_OK);
	assert_int_equal(count, 1);

	_cleanup_strbuf_ struct strbuf text = { 0 };
	uint64_t pc = pieces[0].start, end = pc + pieces[0].size, start;
	for (uint64_t next; pc < end; pc = next) {
		const struct cfi_row *row;
		assert_int_equal(cfi_table_lookup_range(table, pc, &row, &start, &next), REASON_OK);
		strbuf_addf(&text, "%llx ", (unsigned long long)pc);
		cfi_text_row(table, row, &text);
		strbuf_addc(&text, '\n');
	}
	if (!golden.rows.text || strcmp(text.text, golden.rows.text) != 0)
		fail_msg("%s: these are the rows:\n%s", path, text.text);
	strbuf_deinit(&golden.rows);
}

static void test_golden_rules(void **state)
{
	glob_t found;
	assert_int_equal(glob(TOP_SRCDIR "/tests/rules/*.txt", 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 18);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_golden(found.gl_pathv[i]);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_functions_are_compiled_when_asked_for),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_rows_do_not_move),
		cmocka_unit_test(test_expressions_are_numbered_once),
		cmocka_unit_test(test_damaged_instructions),
		cmocka_unit_test(test_function_of_more_than_four_gigabytes),
		cmocka_unit_test(test_gap_of_more_than_four_gigabytes),
		cmocka_unit_test(test_debug_frame_fills_gaps),
		cmocka_unit_test(test_debug_frame_alone),
		cmocka_unit_test(test_no_section_at_all),
		cmocka_unit_test(test_image_without_section_headers),
		cmocka_unit_test(test_image_in_memory),
		cmocka_unit_test(test_truncated_image),
		cmocka_unit_test(test_golden_rules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
