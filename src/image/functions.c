/* SPDX-License-Identifier: MIT */
/* functions.c: symbols of code, sorted by address; one is chosen and named when asked for. */
#include "image/functions.h"

#include <stdlib.h>
#include <string.h>

#include "image/image_private.h"

/* struct entry has 24 bits for a symbol's index. A large browser has a million functions. */
#define SYMBOL_LIMIT ((uint64_t)1 << 24)
#define ENTRY_LIMIT  ((size_t)1 << 22)
/* Sections of a table with one a function (-ffunction-sections, not linked) are many. */
#define SECTION_LIMIT 65536
/* Symbols that are looked at before an address: a function inside another one is rare. */
#define WALK_LIMIT  64
#define ALIAS_LIMIT 64
/* Of an image from memory, symbols and names are copied. */
#define COPY_LIMIT      ((uint64_t)16 << 20)
#define SYMBOLS_AT_ONCE 1024

/* Lower is better. */
enum {
	RANK_LOCAL = 1,
	RANK_NO_TYPE = 2,
	RANK_NO_SIZE = 4,
};

struct entry {
	uint32_t start; /* from the span's start */
	uint32_t size;  /* of RANK_NO_SIZE: to the end of the section */
	uint32_t symbol : 24;
	uint32_t rank : 8;
};

DEFINE_VEC(struct entry_vec, entry_vec, struct entry)

struct section {
	uint64_t start;
	uint64_t end;
	bool exec;
};

struct functions {
	const struct image *image;
	struct functions_span span;
	bool in_file; /* the table has file offsets, else vaddrs */
	struct symbol_table table;
	uint8_t *copy; /* of an image from memory: symbols, then strings */
	struct entry_vec entries;
};

/* What is needed while loading only. */
struct loader {
	struct functions *functions;
	struct section *sections;
	size_t section_count; /* 0: no section headers */
	bool no_memory;
};

bool functions_span(const struct image *image, struct functions_span *span_ret)
{
	struct functions_span span = { UINT64_MAX, 0 };
	vec_foreach (segment, &image->segments) {
		uint64_t end = segment->vaddr + segment->memory_size;
		if (!segment->exec || end <= segment->vaddr)
			continue;
		span.start = segment->vaddr < span.start ? segment->vaddr : span.start;
		span.end = end > span.end ? end : span.end;
	}
	if (span.start >= span.end)
		return false;
	*span_ret = span;
	return true;
}

/* ---- bytes of the table ---- */

static bool read_table(const struct functions *functions, uint64_t at, void *buffer, size_t size)
{
	uint64_t symbols_size = functions->table.count * sizeof(Elf64_Sym);
	if (!functions->copy)
		return functions->in_file ? image_read_file(functions->image, at, buffer, size)
					  : image_read_segment(functions->image, at, buffer, size);
	if (at - functions->table.symbols <= symbols_size &&
	    size <= symbols_size - (at - functions->table.symbols)) {
		memcpy(buffer, functions->copy + (at - functions->table.symbols), size);
		return true;
	}
	if (at - functions->table.strings > functions->table.strings_size ||
	    size > functions->table.strings_size - (at - functions->table.strings))
		return false;
	memcpy(buffer, functions->copy + symbols_size + (at - functions->table.strings), size);
	return true;
}

static bool copy_table(struct functions *functions)
{
	uint64_t symbols_size = functions->table.count * sizeof(Elf64_Sym);
	if (functions->table.strings_size > COPY_LIMIT || symbols_size > COPY_LIMIT)
		return false;
	_cleanup_free_ uint8_t *copy = malloc(symbols_size + functions->table.strings_size);
	if (!copy || !read_table(functions, functions->table.symbols, copy, symbols_size) ||
	    !read_table(functions, functions->table.strings, copy + symbols_size,
			functions->table.strings_size))
		return false;
	functions->copy = no_cleanup(copy);
	return true;
}

static bool locate_sections(struct functions *functions, uint32_t type)
{
	const struct image *image = functions->image;
	GElf_Shdr shdr, strings;
	if (!image_find_section(image, NULL, type, &shdr) || shdr.sh_type == SHT_NOBITS)
		return false;
	Elf_Scn *scn = elf_getscn(image->elf, shdr.sh_link);
	if (!scn || !gelf_getshdr(scn, &strings) || strings.sh_type != SHT_STRTAB)
		return false;
	functions->in_file = true;
	functions->table.symbols = shdr.sh_offset;
	functions->table.count =
		image_clamp_to_file(image, shdr.sh_offset, shdr.sh_size) / sizeof(Elf64_Sym);
	functions->table.strings = strings.sh_offset;
	functions->table.strings_size =
		image_clamp_to_file(image, strings.sh_offset, strings.sh_size);
	return functions->table.count && functions->table.strings_size;
}

static bool locate(struct functions *functions, enum functions_table which)
{
	if (functions->image->memory)
		return which == FUNCTIONS_DYNSYM &&
		       image_dynamic_table(functions->image, &functions->table) &&
		       functions->table.count <= SYMBOL_LIMIT && copy_table(functions);
	if (locate_sections(functions, which == FUNCTIONS_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM))
		return true;
	return which == FUNCTIONS_DYNSYM &&
	       image_dynamic_table(functions->image, &functions->table);
}

/* ---- loading ---- */

static void load_sections(struct loader *loader)
{
	Elf *elf = loader->functions->image->elf;
	size_t count;
	if (elf_getshdrnum(elf, &count) || !count || count > SECTION_LIMIT)
		return;
	loader->sections = calloc(count, sizeof(*loader->sections));
	if (!loader->sections)
		return;
	for (size_t i = 1; i < count; i++) {
		GElf_Shdr shdr;
		Elf_Scn *scn = elf_getscn(elf, i);
		if (!scn || !gelf_getshdr(scn, &shdr))
			continue;
		struct section *section = &loader->sections[i];
		section->start = shdr.sh_addr;
		if (__builtin_add_overflow(shdr.sh_addr, shdr.sh_size, &section->end))
			section->end = section->start;
		section->exec = shdr.sh_flags & SHF_EXECINSTR;
	}
	loader->section_count = count;
}

/*
 * One past the last address that a symbol at @vaddr can reach; 0 if that is no code. A symbol's
 * section index is right in its own file only, but so are the headers that it is looked up in.
 */
static uint64_t find_end(const struct loader *loader, const Elf64_Sym *symbol)
{
	const struct functions_span *span = &loader->functions->span;
	if (symbol->st_value < span->start || symbol->st_value >= span->end)
		return 0;
	if (!loader->section_count || symbol->st_shndx >= loader->section_count)
		return span->end;
	const struct section *section = &loader->sections[symbol->st_shndx];
	if (!section->exec || symbol->st_value < section->start || symbol->st_value >= section->end)
		return 0;
	return section->end < span->end ? section->end : span->end;
}

/*
 * Symbols without type name code in hand-written assembly. Those that are local and have no size
 * are labels inside of it, or mark where AArch64 code and data begin ("$x", "$d").
 */
static bool is_code(const Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !symbol->st_name)
		return false;
	if (type == STT_NOTYPE)
		return symbol->st_size || ELF64_ST_BIND(symbol->st_info) != STB_LOCAL;
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

static uint8_t rank_of(const Elf64_Sym *symbol)
{
	uint8_t rank = 0;
	if (!symbol->st_size)
		rank |= RANK_NO_SIZE;
	if (ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		rank |= RANK_NO_TYPE;
	if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL)
		rank |= RANK_LOCAL;
	return rank;
}

static bool add_symbol(struct loader *loader, const Elf64_Sym *symbol, uint64_t index)
{
	struct functions *functions = loader->functions;
	uint64_t end = is_code(symbol) ? find_end(loader, symbol) : 0;
	if (!end || symbol->st_name >= functions->table.strings_size)
		return true;
	uint64_t reach = end - symbol->st_value;
	uint64_t size = symbol->st_size && symbol->st_size < reach ? symbol->st_size : reach;
	if (functions->entries.count >= ENTRY_LIMIT)
		return false;
	struct entry *entry = entry_vec_append(&functions->entries);
	if (!entry) {
		loader->no_memory = true;
		return false;
	}
	*entry = (struct entry){
		.start = (uint32_t)(symbol->st_value - functions->span.start),
		.size = (uint32_t)size,
		.symbol = (uint32_t)index & 0xffffff,
		.rank = rank_of(symbol),
	};
	return true;
}

static void add_symbols(struct loader *loader)
{
	struct functions *functions = loader->functions;
	Elf64_Sym chunk[SYMBOLS_AT_ONCE];
	for (uint64_t at = 0; at < functions->table.count;) {
		uint64_t n = functions->table.count - at;
		n = n < SYMBOLS_AT_ONCE ? n : SYMBOLS_AT_ONCE;
		if (!read_table(functions, functions->table.symbols + at * sizeof(*chunk), chunk,
				n * sizeof(*chunk)))
			return;
		for (uint64_t i = 0; i < n; i++) {
			if (!add_symbol(loader, &chunk[i], at + i))
				return;
		}
		at += n;
	}
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

static bool load_entries(struct functions *functions)
{
	struct loader loader = { .functions = functions };
	load_sections(&loader);
	add_symbols(&loader);
	free(loader.sections);
	if (functions->entries.count)
		qsort(functions->entries.items, functions->entries.count, sizeof(struct entry),
		      compare_entries);
	return !loader.no_memory;
}

struct error *functions_load(const struct image *image, enum functions_table which,
			     const struct functions_span *span, struct functions **functions_ret)
{
	*functions_ret = NULL;
	if (span->end <= span->start || span->end - span->start > UINT32_MAX)
		return NULL;
	_cleanup_functions_ struct functions *functions = calloc(1, sizeof(*functions));
	if (!functions)
		return error_no_memory();
	functions->image = image;
	functions->span = *span;
	if (!locate(functions, which))
		return NULL;
	functions->table.count =
		functions->table.count < SYMBOL_LIMIT ? functions->table.count : SYMBOL_LIMIT;
	if (!load_entries(functions))
		return error_no_memory();
	if (functions->entries.count)
		*functions_ret = no_cleanup(functions);
	return NULL;
}

void functions_destroy(struct functions *functions)
{
	entry_vec_deinit(&functions->entries);
	free(functions->copy);
	free(functions);
}

size_t functions_count(const struct functions *functions)
{
	return functions->entries.count;
}

/* ---- names ---- */

/* "read@@GLIBC_2.2.5": linkers write versions so into .symtab. */
static void cut_version(char *name)
{
	char *at = strchr(name, '@');
	if (at && at != name)
		*at = '\0';
}

static char *read_name(const struct functions *functions, uint32_t index)
{
	Elf64_Sym symbol;
	if (!read_table(functions, functions->table.symbols + (uint64_t)index * sizeof(symbol),
			&symbol, sizeof(symbol)) ||
	    symbol.st_name >= functions->table.strings_size)
		return NULL;
	uint64_t left = functions->table.strings_size - symbol.st_name;
	left = left < FUNCTION_NAME_LIMIT ? left : FUNCTION_NAME_LIMIT;
	uint64_t at = functions->table.strings + symbol.st_name;
	_cleanup_free_ char *name = NULL;
	for (size_t size = left < 128 ? left : 128;; size = left) {
		free(name);
		name = malloc(size + 1);
		if (!name || !read_table(functions, at, name, size))
			return NULL;
		name[size] = '\0';
		if (size == left || memchr(name, '\0', size))
			break;
	}
	cut_version(name);
	return *name ? no_cleanup(name) : NULL;
}

/* True if @a is the better name for what both stand for. */
static bool is_better(const char *a, const char *b)
{
	size_t a_under = strspn(a, "_"), b_under = strspn(b, "_");
	if (a_under != b_under)
		return a_under < b_under;
	size_t a_length = strlen(a), b_length = strlen(b);
	return a_length != b_length ? a_length < b_length : strcmp(a, b) < 0;
}

/* The best of the names that share start and rank of the entry at @first. */
static char *choose_name(const struct functions *functions, size_t first)
{
	const struct entry *entries = functions->entries.items;
	char *best = NULL;
	for (size_t i = first; i < functions->entries.count && i < first + ALIAS_LIMIT; i++) {
		if (entries[i].start != entries[first].start ||
		    entries[i].rank != entries[first].rank)
			break;
		char *name = read_name(functions, entries[i].symbol);
		if (name && (!best || is_better(name, best))) {
			char *worse = best;
			best = name;
			name = worse;
		}
		free(name);
	}
	return best;
}

/* ---- look-up ---- */

/* The number of entries that start at or before @offset. */
static size_t count_before(const struct functions *functions, uint32_t offset)
{
	size_t low = 0, high = functions->entries.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (functions->entries.items[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first entry, which is the best one, that starts where the one at @index does. */
static size_t first_of_start(const struct functions *functions, size_t index)
{
	const struct entry *entries = functions->entries.items;
	for (size_t i = 0; i < ALIAS_LIMIT && index; i++, index--) {
		if (entries[index - 1].start != entries[index].start)
			break;
	}
	return index;
}

static bool covers(const struct entry *entry, uint32_t offset)
{
	return offset - entry->start < entry->size;
}

/* The best entry with a size that covers @offset among those from @index on with its start. */
static bool find_sized(const struct functions *functions, size_t index, uint32_t offset,
		       size_t *index_ret)
{
	const struct entry *entries = functions->entries.items;
	size_t left = functions->entries.count - index;
	left = left < ALIAS_LIMIT ? left : ALIAS_LIMIT;
	for (size_t i = index; i < index + left; i++) {
		if (entries[i].start != entries[index].start || entries[i].rank & RANK_NO_SIZE)
			return false;
		if (!covers(&entries[i], offset))
			continue;
		*index_ret = i;
		return true;
	}
	return false;
}

static bool find_entry(const struct functions *functions, uint32_t offset, size_t *index_ret)
{
	const struct entry *entries = functions->entries.items;
	size_t end = count_before(functions, offset);
	if (!end)
		return false;
	size_t nearest = first_of_start(functions, end - 1);
	for (size_t i = 0, first = nearest; i < WALK_LIMIT; i++) {
		if (find_sized(functions, first, offset, index_ret))
			return true;
		if (!first)
			break;
		first = first_of_start(functions, first - 1);
	}
	/* It has no size, or would have been found. */
	if (!covers(&entries[nearest], offset))
		return false;
	*index_ret = nearest;
	return true;
}

/* Up to the next start, of an entry whose size is only a bound. */
static uint32_t reach_of(const struct functions *functions, size_t index)
{
	const struct entry *entry = &functions->entries.items[index];
	if (!(entry->rank & RANK_NO_SIZE))
		return entry->size;
	size_t next = count_before(functions, entry->start);
	if (next == functions->entries.count)
		return entry->size;
	uint32_t distance = functions->entries.items[next].start - entry->start;
	return distance < entry->size ? distance : entry->size;
}

bool functions_find(const struct functions *functions, uint64_t vaddr,
		    struct function *function_ret)
{
	size_t index;
	if (vaddr < functions->span.start || vaddr >= functions->span.end ||
	    !find_entry(functions, (uint32_t)(vaddr - functions->span.start), &index))
		return false;
	const struct entry *entry = &functions->entries.items[index];
	char *name = choose_name(functions, index);
	if (!name)
		return false;
	*function_ret = (struct function){
		.name = name,
		.vaddr = functions->span.start + entry->start,
		.size = reach_of(functions, index),
		.has_size = !(entry->rank & RANK_NO_SIZE),
	};
	return true;
}
