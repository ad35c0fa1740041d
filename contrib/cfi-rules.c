/* SPDX-License-Identifier: MIT */
/*
 * cfi-rules: prints the unwind rules of an ELF file as unwind/ compiles them.
 *
 *   cfi-rules [-d] FILE [FUNCTION|ADDRESS]...   rules of all FDEs, or of those that cover an
 * address cfi-rules -s [-d] FILE                      counts by kind cfi-rules -c [-d] FILE
 * FUNCTION|ADDRESS     a fixture for tests/rules: bytes of the FDE and its CIE, and the rules
 *
 * -d: .debug_frame instead of .eh_frame. A line "fde OFFSET START END" is followed by a line a
 * range of pc: its first address and the row (unwind/cfi_text.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "unwind/cfi_image.h"
#include "unwind/cfi_table.h"
#include "unwind/cfi_text.h"

struct tool {
	const char *path;
	struct image *image;
	struct cfi_table *table;
	struct cfi_index *index;
};

static int fail(struct error *err)
{
	fprintf(stderr, "cfi-rules: %s\n", err->message);
	error_destroy(err);
	return 1;
}

static struct error *open_file(struct tool *tool, bool is_debug_frame)
{
	int fd = open(tool->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(errno, "cannot open %s", tool->path);
	struct error *err = image_open(fd, tool->path, &tool->image);
	if (err) {
		close(fd);
		return err;
	}
	struct cfi_section section = { 0 }, header = { 0 };
	const struct cfi_section none = { 0 };
	if (is_debug_frame)
		cfi_image_debug_frame(tool->image, &section);
	else
		cfi_image_eh_frame(tool->image, &section, &header);
	const struct arch *arch = arch_by_machine(image_machine(tool->image));
	if (!arch)
		return error_create(ERROR_UNSUPPORTED, "%s: an unknown CPU", tool->path);
	if (is_debug_frame)
		err = cfi_table_create(arch, &none, NULL, &section, &tool->table);
	else
		err = cfi_table_create(arch, &section, &header, &none, &tool->table);
	if (err)
		return err;
	tool->index = is_debug_frame ? cfi_table_debug_frame(tool->table)
				     : cfi_table_eh_frame(tool->table);
	return NULL;
}

static void close_file(struct tool *tool)
{
	if (tool->table)
		cfi_table_destroy(tool->table);
	if (tool->image)
		image_close(tool->image);
}

/* Visits the ranges in [@start, @end); prints them if @text is given. */
static void print_ranges(struct tool *tool, uint64_t start, uint64_t end, struct strbuf *text)
{
	uint64_t range_start, range_end;
	for (uint64_t pc = start; pc < end; pc = range_end) {
		const struct cfi_row *row;
		enum reason reason =
			cfi_table_lookup_range(tool->table, pc, &row, &range_start, &range_end);
		if (!text)
			continue;
		strbuf_reset(text);
		if (reason)
			strbuf_adds(text, reason_name(reason));
		else
			cfi_text_row(tool->table, row, text);
		printf("%" PRIx64 " %s\n", pc, text->text);
	}
}

static int print_all(struct tool *tool, struct strbuf *text)
{
	const struct cfi_piece *pieces;
	size_t count;
	enum reason reason =
		tool->index ? cfi_index_pieces(tool->index, &pieces, &count) : REASON_NO_CFI;
	if (reason) {
		fprintf(stderr, "cfi-rules: %s: %s\n", tool->path, reason_text(reason));
		return reason == REASON_NO_CFI ? 0 : 1;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t start = pieces[i].start, end = start + pieces[i].size;
		if (text)
			printf("fde %" PRIx32 " %" PRIx64 " %" PRIx64 "\n", pieces[i].fde_offset,
			       start, end);
		print_ranges(tool, start, end, text);
	}
	return 0;
}

static void print_stats(const struct tool *tool)
{
	static const char *const cfa_names[] = { "undefined", "register", "deref", "plt",
						 "expression" };
	static const char *const rule_names[] = { "undefined",     "same",
						  "at_cfa",        "at_register",
						  "cfa",           "register",
						  "at_expression", "value_expression" };
	struct cfi_table_stats stats;
	cfi_table_stats(tool->table, &stats);
	printf("functions %zu gaps %zu bad %zu ranges %zu rows %zu expressions %zu bytes %zu "
	       "signal %zu outermost %zu header_damaged %d",
	       stats.functions, stats.gaps, stats.bad, stats.ranges, stats.rows, stats.expressions,
	       stats.bytes, stats.signal_frames, stats.outermost,
	       tool->index ? cfi_index_header_is_damaged(tool->index) : 0);
	for (size_t i = 0; i < CFI_CFA_KINDS_; i++)
		printf(" cfa_%s %zu", cfa_names[i], stats.cfa[i]);
	for (size_t i = 0; i < CFI_RULE_KINDS_; i++)
		printf(" rule_%s %zu", rule_names[i], stats.rules[i]);
	printf("\n");
}

static bool find_address(const struct tool *tool, const char *name, uint64_t *vaddr_ret)
{
	char *end;
	struct image_symbol symbol;
	errno = 0;
	uint64_t vaddr = strtoull(name, &end, 0);
	if (!errno && end != name && !*end) {
		*vaddr_ret = vaddr;
		return true;
	}
	if (!image_symbol(tool->image, name, &symbol))
		return false;
	*vaddr_ret = symbol.vaddr;
	return true;
}

static void print_hex(const char *name, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		printf("%s%02x", i % 32 ? " " : i ? "\n\t" : name, bytes[i]);
	printf("\n");
}

/* An entry with its length, as it lies in the section. */
static bool print_entry(struct cfi_window *window, const char *name, uint64_t offset,
			struct cfi_entry *entry)
{
	if (cfi_entry_read(window, offset, entry))
		return false;
	size_t size = entry->next - entry->offset;
	const uint8_t *bytes = cfi_window_get(window, offset, size);
	if (!bytes)
		return false;
	printf("%s at %" PRIx64 "\n", name, window->section->vaddr + offset);
	print_hex("\t", bytes, size);
	return true;
}

static bool print_bytes(struct tool *tool, uint64_t fde_offset)
{
	struct cfi_window window = { .section = cfi_index_section(tool->index) };
	struct cfi_entry fde, cie;
	bool is_ok = print_entry(&window, "fde", fde_offset, &fde) &&
		     print_entry(&window, "cie", fde.cie_offset, &cie);
	cfi_window_deinit(&window);
	return is_ok;
}

static int print_function(struct tool *tool, const char *name, bool is_cut, struct strbuf *text)
{
	uint64_t vaddr;
	struct cfi_found found;
	if (!find_address(tool, name, &vaddr) || !tool->index ||
	    cfi_index_find(tool->index, vaddr, &found)) {
		fprintf(stderr, "cfi-rules: %s: no FDE for %s\n", tool->path, name);
		return 1;
	}
	if (is_cut) {
		const char *file = strrchr(tool->path, '/');
		printf("# %s of %s\n", name, file ? file + 1 : tool->path);
		printf("machine %u\n", image_machine(tool->image));
		if (!print_bytes(tool, found.fde_offset))
			return 1;
		printf("rows\n");
	} else {
		printf("fde %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", found.fde_offset, found.start,
		       found.end);
	}
	print_ranges(tool, found.start, found.end, text);
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: cfi-rules [-d] [-s | -c] FILE [FUNCTION|ADDRESS]...\n");
	return 2;
}

int main(int argc, char **argv)
{
	bool is_debug_frame = false, is_stats = false, is_cut = false;
	for (int option; (option = getopt(argc, argv, "dsc")) != -1;) {
		if (option == '?')
			return usage();
		is_debug_frame |= option == 'd';
		is_stats |= option == 's';
		is_cut |= option == 'c';
	}
	if (optind == argc || (is_cut && optind + 2 != argc))
		return usage();

	struct tool tool = { .path = argv[optind] };
	_cleanup_strbuf_ struct strbuf text = { 0 };
	struct error *err = open_file(&tool, is_debug_frame);
	int status = err ? fail(err) : 0;
	if (!status && optind + 1 == argc)
		status = print_all(&tool, is_stats ? NULL : &text);
	for (int i = optind + 1; !status && i < argc; i++)
		status = print_function(&tool, argv[i], is_cut, &text);
	if (!status && is_stats)
		print_stats(&tool);
	close_file(&tool);
	return status;
}
