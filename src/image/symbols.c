/* SPDX-License-Identifier: MIT */
/* symbols.c: .dynsym by its own hash tables, .symtab by an index built at first need. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "image/image_private.h"

/* Entries of one PT_DYNAMIC; real ones have about 40. */
#define DYNAMIC_LIMIT 1024
/* A chain of a hash table that is longer is a loop, made on purpose. */
#define CHAIN_LIMIT  4096
#define BUCKET_LIMIT 1000000
/* A large browser or compiler has a million symbols. */
#define SYMBOL_LIMIT  16000000
#define STRINGS_LIMIT ((uint64_t)1 << 30)
#define NAME_LIMIT    4096

static bool is_defined(const Elf64_Sym *symbol)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_name &&
	       ELF64_ST_TYPE(symbol->st_info) != STT_SECTION &&
	       ELF64_ST_TYPE(symbol->st_info) != STT_FILE;
}

static struct image_symbol to_symbol(const Elf64_Sym *symbol)
{
	return (struct image_symbol){
		.vaddr = symbol->st_value,
		.size = symbol->st_size,
		.is_tls = ELF64_ST_TYPE(symbol->st_info) == STT_TLS,
	};
}

/*
 * Entries of the dynamic section that are addresses: those of the file, or, in a process whose C
 * library relocates the section in place as glibc does, already moved by the bias.
 */
static uint64_t to_vaddr(const struct image *image, uint64_t value)
{
	if (!image->memory || !image->bias)
		return value;
	vec_foreach (segment, &image->segments) {
		if (value - image->bias - segment->vaddr < segment->memory_size)
			return value - image->bias;
	}
	return value;
}

static void load_dynamic(const struct image *image)
{
	struct dynamic *dynamic = &image->loaded->dynamic;
	uint64_t count = image->dynamic_size / sizeof(Elf64_Dyn);
	count = count > DYNAMIC_LIMIT ? DYNAMIC_LIMIT : count;
	for (uint64_t i = 0; i < count; i++) {
		Elf64_Dyn entry;
		if (!image_read_segment(image, image->dynamic_vaddr + i * sizeof(entry), &entry,
					sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			return;
		switch (entry.d_tag) {
		case DT_SYMTAB:
			dynamic->symbols = to_vaddr(image, entry.d_un.d_ptr);
			break;
		case DT_STRTAB:
			dynamic->strings = to_vaddr(image, entry.d_un.d_ptr);
			break;
		case DT_STRSZ:
			dynamic->strings_size = entry.d_un.d_val;
			break;
		case DT_GNU_HASH:
			dynamic->gnu_hash = to_vaddr(image, entry.d_un.d_ptr);
			break;
		case DT_HASH:
			dynamic->sysv_hash = to_vaddr(image, entry.d_un.d_ptr);
			break;
		default:
			break;
		}
	}
}

static const struct dynamic *get_dynamic(const struct image *image)
{
	struct dynamic *dynamic = &image->loaded->dynamic;
	if (!dynamic->looked)
		load_dynamic(image);
	dynamic->looked = true;
	return dynamic;
}

static bool read_u32(const struct image *image, uint64_t vaddr, uint32_t *ret)
{
	return image_read_segment(image, vaddr, ret, sizeof(*ret));
}

/* True if symbol @index of .dynsym is a definition of @name. */
static bool match_dynamic(const struct image *image, uint32_t index, const char *name,
			  Elf64_Sym *symbol_ret)
{
	const struct dynamic *dynamic = &image->loaded->dynamic;
	char text[NAME_LIMIT];
	size_t size = strlen(name) + 1;
	Elf64_Sym symbol;
	if (!image_read_segment(image, dynamic->symbols + (uint64_t)index * sizeof(symbol), &symbol,
				sizeof(symbol)) ||
	    !is_defined(&symbol) || size > sizeof(text) || symbol.st_name > dynamic->strings_size ||
	    size > dynamic->strings_size - symbol.st_name ||
	    !image_read_segment(image, dynamic->strings + symbol.st_name, text, size) ||
	    memcmp(text, name, size))
		return false;
	*symbol_ret = symbol;
	return true;
}

static uint32_t gnu_hash(const char *name, size_t *length_ret)
{
	uint32_t hash = 5381;
	size_t i;
	for (i = 0; i < NAME_LIMIT && name[i]; i++)
		hash = hash * 33 + (uint8_t)name[i];
	if (length_ret)
		*length_ret = i;
	return hash;
}

/* gABI, "Hash Table". */
static uint32_t sysv_hash(const char *name)
{
	uint32_t hash = 0;
	for (const uint8_t *p = (const uint8_t *)name; *p; p++) {
		hash = (hash << 4) + *p;
		hash ^= hash >> 24 & 0xf0;
		hash &= 0x0fffffff;
	}
	return hash;
}

/*
 * DT_GNU_HASH: nbuckets, first hashed symbol, bloom words, bloom shift; the bloom words; the
 * buckets; then for each hashed symbol its hash, whose lowest bit is set at the end of a bucket's
 * chain.
 */
static bool find_gnu(const struct image *image, uint64_t table, const char *name,
		     Elf64_Sym *symbol_ret)
{
	uint32_t header[4];
	if (!image_read_segment(image, table, header, sizeof(header)))
		return false;
	uint32_t bucket_count = header[0], first = header[1], words = header[2], shift = header[3];
	if (!bucket_count || !words || shift > 31)
		return false;
	uint64_t bloom_at = table + sizeof(header);
	uint64_t buckets_at = bloom_at + (uint64_t)words * 8;
	uint64_t chains_at = buckets_at + (uint64_t)bucket_count * 4;

	uint32_t hash = gnu_hash(name, NULL), index;
	uint64_t bloom, mask = UINT64_C(1) << hash % 64 | UINT64_C(1) << (hash >> shift) % 64;
	if (!image_read_segment(image, bloom_at + (uint64_t)(hash / 64 % words) * 8, &bloom,
				sizeof(bloom)) ||
	    (bloom & mask) != mask ||
	    !read_u32(image, buckets_at + (uint64_t)(hash % bucket_count) * 4, &index))
		return false;
	for (size_t i = 0; index >= first && i < CHAIN_LIMIT; i++, index++) {
		uint32_t found;
		if (!read_u32(image, chains_at + (uint64_t)(index - first) * 4, &found))
			return false;
		if ((found | 1) == (hash | 1) && match_dynamic(image, index, name, symbol_ret))
			return true;
		if (found & 1)
			return false;
	}
	return false;
}

/* DT_HASH: nbucket, nchain, buckets, chains. */
static bool find_sysv(const struct image *image, uint64_t table, const char *name,
		      Elf64_Sym *symbol_ret)
{
	uint32_t header[2], index;
	if (!image_read_segment(image, table, header, sizeof(header)) || !header[0])
		return false;
	uint64_t buckets_at = table + sizeof(header);
	uint64_t chains_at = buckets_at + (uint64_t)header[0] * 4;
	if (!read_u32(image, buckets_at + (uint64_t)(sysv_hash(name) % header[0]) * 4, &index))
		return false;
	for (size_t i = 0; index && index < header[1] && i < CHAIN_LIMIT; i++) {
		if (match_dynamic(image, index, name, symbol_ret))
			return true;
		if (!read_u32(image, chains_at + (uint64_t)index * 4, &index))
			return false;
	}
	return false;
}

bool image_dynamic_symbol(const struct image *image, const char *name,
			  struct image_symbol *symbol_ret)
{
	const struct dynamic *dynamic = get_dynamic(image);
	Elf64_Sym symbol;
	if (!dynamic->symbols || !dynamic->strings)
		return false;
	if (!(dynamic->gnu_hash && find_gnu(image, dynamic->gnu_hash, name, &symbol)) &&
	    !(dynamic->sysv_hash && find_sysv(image, dynamic->sysv_hash, name, &symbol)))
		return false;
	*symbol_ret = to_symbol(&symbol);
	return true;
}

/* The symbols of a bucket end where the lowest bit of a hash is set. */
static bool count_gnu(const struct image *image, uint64_t table, uint64_t *count_ret)
{
	uint32_t header[4], last = 0;
	if (!image_read_segment(image, table, header, sizeof(header)) || header[0] > BUCKET_LIMIT)
		return false;
	uint64_t buckets_at = table + sizeof(header) + (uint64_t)header[2] * 8;
	uint64_t chains_at = buckets_at + (uint64_t)header[0] * 4;
	for (uint32_t at = 0; at < header[0];) {
		uint32_t buckets[1024], n = header[0] - at < 1024 ? header[0] - at : 1024;
		if (!image_read_segment(image, buckets_at + (uint64_t)at * 4, buckets, n * 4))
			return false;
		for (uint32_t i = 0; i < n; i++)
			last = buckets[i] > last ? buckets[i] : last;
		at += n;
	}
	if (last < header[1])
		return false;
	for (size_t i = 0; i < CHAIN_LIMIT; i++, last++) {
		uint32_t hash;
		if (!read_u32(image, chains_at + (uint64_t)(last - header[1]) * 4, &hash))
			return false;
		if (hash & 1) {
			*count_ret = (uint64_t)last + 1;
			return true;
		}
	}
	return false;
}

bool image_dynamic_table(const struct image *image, struct symbol_table *table_ret)
{
	const struct dynamic *dynamic = get_dynamic(image);
	struct symbol_table table = {
		.symbols = dynamic->symbols,
		.strings = dynamic->strings,
		.strings_size = dynamic->strings_size,
	};
	uint32_t count;
	if (!table.symbols || !table.strings)
		return false;
	/* DT_HASH: nbucket, nchain, which is the number of symbols. */
	if (dynamic->sysv_hash && read_u32(image, dynamic->sysv_hash + 4, &count))
		table.count = count;
	else if (!dynamic->gnu_hash || !count_gnu(image, dynamic->gnu_hash, &table.count))
		return false;
	*table_ret = table;
	return true;
}

static int compare_entries(const void *a, const void *b)
{
	const struct index_entry *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

/* Only what the file really holds: a header may promise more than there is memory. */
uint64_t image_clamp_to_file(const struct image *image, uint64_t offset, uint64_t size)
{
	struct stat st;
	uint64_t file_size = image->data_size;
	if (image->fd >= 0)
		file_size = fstat(image->fd, &st) ? 0 : (uint64_t)st.st_size;
	if (offset >= file_size)
		return 0;
	return size < file_size - offset ? size : file_size - offset;
}

/*
 * False when there is nothing to look up in. @budget bounds the bytes hashed: without it, many
 * symbols that share one long name would cost their product.
 */
static bool add_entry(struct symtab *symtab, const char *strings, const Elf64_Sym *symbol,
		      uint32_t index, uint64_t *budget)
{
	if (!is_defined(symbol) || symbol->st_name >= symtab->strings_size)
		return true;
	size_t length;
	uint32_t hash = gnu_hash(strings + symbol->st_name, &length);
	if (length > *budget)
		return false;
	*budget -= length;
	symtab->entries[symtab->count++] = (struct index_entry){ .hash = hash, .symbol = index };
	return true;
}

static bool add_entries(const struct image *image, struct symtab *symtab, const char *strings,
			uint64_t count)
{
	Elf64_Sym chunk[1024];
	uint64_t budget = 4 * symtab->strings_size + NAME_LIMIT;
	for (uint64_t at = 0; at < count;) {
		uint64_t n = count - at < 1024 ? count - at : 1024;
		if (!image_read_file(image, symtab->symbols + at * sizeof(*chunk), chunk,
				     n * sizeof(*chunk)))
			return false;
		for (uint64_t i = 0; i < n; i++) {
			if (!add_entry(symtab, strings, &chunk[i], (uint32_t)(at + i), &budget))
				return false;
		}
		at += n;
	}
	return true;
}

static void load_symtab(const struct image *image)
{
	struct symtab *symtab = &image->loaded->symtab;
	GElf_Shdr shdr, strings_shdr;
	if (image->memory || !image_find_section(image, NULL, SHT_SYMTAB, &shdr))
		return;
	Elf_Scn *scn = elf_getscn(image->elf, shdr.sh_link);
	if (!scn || !gelf_getshdr(scn, &strings_shdr) || strings_shdr.sh_type != SHT_STRTAB)
		return;
	uint64_t count =
		image_clamp_to_file(image, shdr.sh_offset, shdr.sh_size) / sizeof(Elf64_Sym);
	count = count > SYMBOL_LIMIT ? SYMBOL_LIMIT : count;
	symtab->symbols = shdr.sh_offset;
	symtab->strings = strings_shdr.sh_offset;
	symtab->strings_size =
		image_clamp_to_file(image, strings_shdr.sh_offset, strings_shdr.sh_size);
	if (!count || !symtab->strings_size || symtab->strings_size > STRINGS_LIMIT)
		return;

	_cleanup_free_ char *strings = malloc(symtab->strings_size + 1);
	symtab->entries = reallocarray(NULL, count, sizeof(*symtab->entries));
	if (!strings || !symtab->entries ||
	    !image_read_file(image, symtab->strings, strings, symtab->strings_size))
		return;
	strings[symtab->strings_size] = '\0';
	if (!add_entries(image, symtab, strings, count))
		symtab->count = 0;
	qsort(symtab->entries, symtab->count, sizeof(*symtab->entries), compare_entries);
}

static bool match_symtab(const struct image *image, uint32_t index, const char *name,
			 Elf64_Sym *symbol_ret)
{
	const struct symtab *symtab = &image->loaded->symtab;
	char text[NAME_LIMIT];
	size_t size = strlen(name) + 1;
	return size <= sizeof(text) &&
	       image_read_file(image, symtab->symbols + (uint64_t)index * sizeof(*symbol_ret),
			       symbol_ret, sizeof(*symbol_ret)) &&
	       is_defined(symbol_ret) &&
	       image_read_file(image, symtab->strings + symbol_ret->st_name, text, size) &&
	       !memcmp(text, name, size);
}

/* A global definition before a local one of the same name. */
static bool find_in_symtab(const struct image *image, const char *name,
			   struct image_symbol *symbol_ret)
{
	struct symtab *symtab = &image->loaded->symtab;
	if (!symtab->looked)
		load_symtab(image);
	symtab->looked = true;

	uint32_t hash = gnu_hash(name, NULL);
	size_t low = 0, high = symtab->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (symtab->entries[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = false;
	for (; low < symtab->count && symtab->entries[low].hash == hash; low++) {
		Elf64_Sym symbol;
		if (!match_symtab(image, symtab->entries[low].symbol, name, &symbol))
			continue;
		bool local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
		if (!found || !local)
			*symbol_ret = to_symbol(&symbol);
		found = true;
		if (!local)
			return true;
	}
	return found;
}

bool image_symbol(const struct image *image, const char *name, struct image_symbol *symbol_ret)
{
	return image_dynamic_symbol(image, name, symbol_ret) ||
	       find_in_symtab(image, name, symbol_ret);
}
