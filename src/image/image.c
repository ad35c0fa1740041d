/* SPDX-License-Identifier: MIT */
/* image.c: ELF headers by libelf; symbols and content by bounded reads of the file, the bytes or
 * the process. */
#include "image/image.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

/* Real files have at most about 20 program headers; a core file of a large process is no image. */
#define SEGMENT_LIMIT 1024
#define SECTION_LIMIT 1000000
/* PT_NOTE of a file with many notes is some kilobytes. */
#define NOTES_LIMIT    65536
#define BUILD_ID_LIMIT 64
/* Entries of one PT_DYNAMIC; real ones have about 40. */
#define DYNAMIC_LIMIT 1024
/* A chain of a hash table that is longer is a loop, made on purpose. */
#define CHAIN_LIMIT 4096
/* A large browser or compiler has a million symbols. */
#define SYMBOL_LIMIT  16000000
#define STRINGS_LIMIT ((uint64_t)1 << 30)
#define NAME_LIMIT    4096
/* ELF and program headers are read from a process within this many bytes of its first page. */
#define HEADER_LIMIT (sizeof(Elf64_Ehdr) + SEGMENT_LIMIT * sizeof(Elf64_Phdr))

DEFINE_VEC(struct segment_vec, segment_vec, struct image_segment)

/* .dynsym as PT_DYNAMIC describes it: vaddrs, 0 where there is no such table. */
struct dynamic {
	bool looked;
	uint64_t symbols;
	uint64_t strings, strings_size;
	uint64_t gnu_hash;
	uint64_t sysv_hash;
};

struct index_entry {
	uint32_t hash; /* of the name */
	uint32_t symbol;
};

/* .symtab: file offsets, and its defined symbols sorted by the hash of their name. */
struct symtab {
	bool looked;
	uint64_t symbols, strings, strings_size;
	struct index_entry *entries;
	size_t count;
};

/* What is loaded on demand: behind a pointer, since a look-up does not change what the image is. */
struct loaded {
	struct dynamic dynamic;
	struct symtab symtab;
	bool build_id_looked;
	uint8_t build_id[BUILD_ID_LIMIT];
	size_t build_id_size;
};

struct image {
	char *name;
	int fd;        /* -1: from bytes or memory */
	uint8_t *data; /* copied bytes; of an image from memory its headers only */
	size_t data_size;
	struct memory *memory;
	uint64_t bias; /* of an image from memory */
	Elf *elf;
	uint16_t machine, type;
	struct segment_vec segments;
	uint64_t dynamic_vaddr, dynamic_size;
	uint64_t tls_size, tls_align, tls_vaddr;
	bool has_tls;
	uint64_t notes_vaddr[8], notes_size[8];
	size_t notes_count;
	struct loaded *loaded;
};

/* ---- bytes ---- */

/* @size bytes at file offset @offset. */
static bool read_file(const struct image *image, uint64_t offset, void *buffer, size_t size)
{
	uint64_t end;
	if (__builtin_add_overflow(offset, size, &end) || end > INT64_MAX || image->memory)
		return false;
	if (image->fd < 0) {
		if (end > image->data_size)
			return false;
		memcpy(buffer, image->data + offset, size);
		return true;
	}
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(image->fd, (uint8_t *)buffer + done, size - done,
				  (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static const struct image_segment *find_segment(const struct image *image, uint64_t vaddr,
						size_t size)
{
	vec_foreach (segment, &image->segments) {
		if (vaddr < segment->vaddr || vaddr - segment->vaddr > segment->file_size)
			continue;
		if (size <= segment->file_size - (vaddr - segment->vaddr))
			return segment;
	}
	return NULL;
}

/* As image_read; a writable segment of a process too, whose .dynamic is what it was but for
 * relocation. */
static bool read_segment(const struct image *image, uint64_t vaddr, void *buffer, size_t size)
{
	const struct image_segment *segment = find_segment(image, vaddr, size);
	if (!segment)
		return false;
	if (image->memory)
		return memory_read(image->memory, vaddr + image->bias, buffer, size);
	uint64_t offset;
	return !__builtin_add_overflow(segment->offset, vaddr - segment->vaddr, &offset) &&
	       read_file(image, offset, buffer, size);
}

bool image_read(const struct image *image, uint64_t vaddr, void *buffer, size_t size)
{
	const struct image_segment *segment = find_segment(image, vaddr, size);
	if (!segment || (image->memory && segment->write))
		return false;
	return read_segment(image, vaddr, buffer, size);
}

/* ---- opening ---- */

static struct error *create(const char *name, struct image **image_ret)
{
	_cleanup_image_ struct image *image = calloc(1, sizeof(*image));
	if (!image)
		return error_no_memory();
	image->fd = -1;
	image->name = strdup(name);
	image->loaded = calloc(1, sizeof(*image->loaded));
	if (!image->name || !image->loaded)
		return error_no_memory();
	*image_ret = no_cleanup(image);
	return NULL;
}

void image_close(struct image *image)
{
	if (image->elf)
		elf_end(image->elf);
	if (image->fd >= 0)
		close(image->fd);
	if (image->loaded)
		free(image->loaded->symtab.entries);
	free(image->loaded);
	segment_vec_deinit(&image->segments);
	free(image->data);
	free(image->name);
	free(image);
}

static struct error *add_segment(struct image *image, const GElf_Phdr *phdr)
{
	uint64_t end;
	if (phdr->p_filesz > phdr->p_memsz ||
	    __builtin_add_overflow(phdr->p_vaddr, phdr->p_memsz, &end) ||
	    __builtin_add_overflow(phdr->p_offset, phdr->p_filesz, &end))
		return error_create(ERROR_CORRUPT, "%s: a program header contradicts itself",
				    image->name);
	struct image_segment *segment = segment_vec_append(&image->segments);
	if (!segment)
		return error_no_memory();
	*segment = (struct image_segment){
		.offset = phdr->p_offset,
		.vaddr = phdr->p_vaddr,
		.file_size = phdr->p_filesz,
		.memory_size = phdr->p_memsz,
		.read = phdr->p_flags & PF_R,
		.write = phdr->p_flags & PF_W,
		.exec = phdr->p_flags & PF_X,
	};
	return NULL;
}

static struct error *add_header(struct image *image, const GElf_Phdr *phdr)
{
	switch (phdr->p_type) {
	case PT_LOAD:
		return add_segment(image, phdr);
	case PT_DYNAMIC:
		image->dynamic_vaddr = phdr->p_vaddr;
		image->dynamic_size = phdr->p_filesz;
		break;
	case PT_TLS:
		image->has_tls = true;
		image->tls_size = phdr->p_memsz;
		image->tls_align = phdr->p_align;
		image->tls_vaddr = phdr->p_vaddr;
		break;
	case PT_NOTE:
		if (image->notes_count < sizeof(image->notes_vaddr) / sizeof(uint64_t)) {
			image->notes_vaddr[image->notes_count] = phdr->p_vaddr;
			image->notes_size[image->notes_count++] = phdr->p_filesz;
		}
		break;
	default:
		break;
	}
	return NULL;
}

static struct error *read_headers(struct image *image)
{
	GElf_Ehdr ehdr;
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF)
		return error_create(ERROR_UNSUPPORTED, "%s is not an ELF file", image->name);
	if (gelf_getclass(image->elf) != ELFCLASS64 || !gelf_getehdr(image->elf, &ehdr) ||
	    ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return error_create(ERROR_UNSUPPORTED, "%s is not a 64-bit little-endian ELF file",
				    image->name);
	image->machine = ehdr.e_machine;
	image->type = ehdr.e_type;

	size_t count;
	if (elf_getphdrnum(image->elf, &count) || count > SEGMENT_LIMIT)
		return error_create(ERROR_CORRUPT, "%s: the program headers are not readable",
				    image->name);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;
		if (!gelf_getphdr(image->elf, (int)i, &phdr))
			return error_create(ERROR_CORRUPT, "%s: program header %zu is missing",
					    image->name, i);
		struct error *err = add_header(image, &phdr);
		if (err)
			return err;
	}
	return NULL;
}

struct error *image_open(int fd, const char *name, struct image **image_ret)
{
	_cleanup_image_ struct image *image = NULL;
	struct error *err = create(name, &image);
	if (err)
		return err;
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return error_create(ERROR_UNSUPPORTED, "%s is not a regular file", name);
	elf_version(EV_CURRENT);
	/* Not ELF_C_READ_MMAP: a mapped file that is truncated meanwhile raises SIGBUS. */
	image->elf = elf_begin(fd, ELF_C_READ, NULL);
	err = read_headers(image);
	if (err)
		return err;
	image->fd = fd;
	*image_ret = no_cleanup(image);
	return NULL;
}

static struct error *open_copy(struct image *image, const void *data, size_t size)
{
	image->data = malloc(size ? size : 1);
	if (!image->data)
		return error_no_memory();
	if (size)
		memcpy(image->data, data, size);
	image->data_size = size;
	elf_version(EV_CURRENT);
	image->elf = elf_memory((char *)image->data, size);
	return read_headers(image);
}

struct error *image_open_bytes(const void *data, size_t size, const char *name,
			       struct image **image_ret)
{
	_cleanup_image_ struct image *image = NULL;
	struct error *err = create(name, &image);
	if (!err)
		err = open_copy(image, data, size);
	if (err)
		return err;
	*image_ret = no_cleanup(image);
	return NULL;
}

/* The ELF header at @address and its program headers as the bytes of a file without sections. */
static struct error *copy_headers(struct memory *memory, uint64_t address, const char *name,
				  uint8_t **data_ret, size_t *size_ret)
{
	Elf64_Ehdr ehdr;
	if (!memory_read(memory, address, &ehdr, sizeof(ehdr)))
		return error_create(ERROR_FAULT, "%s: its ELF header is not readable in memory",
				    name);
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return error_create(ERROR_UNSUPPORTED, "%s is not a 64-bit little-endian ELF file",
				    name);
	size_t table_size = (size_t)ehdr.e_phnum * sizeof(Elf64_Phdr);
	if (ehdr.e_phoff > HEADER_LIMIT - sizeof(Elf64_Phdr) || ehdr.e_phnum > SEGMENT_LIMIT ||
	    ehdr.e_phoff + table_size > HEADER_LIMIT)
		return error_create(ERROR_CORRUPT, "%s: the program headers are not readable",
				    name);
	ehdr.e_shoff = 0;
	ehdr.e_shnum = 0;
	ehdr.e_shstrndx = 0;

	size_t size = ehdr.e_phoff + table_size;
	size = size < sizeof(ehdr) ? sizeof(ehdr) : size;
	_cleanup_free_ uint8_t *data = calloc(1, size);
	if (!data)
		return error_no_memory();
	if (table_size &&
	    !memory_read(memory, address + ehdr.e_phoff, data + ehdr.e_phoff, table_size))
		return error_create(ERROR_FAULT, "%s: its program headers are not readable", name);
	memcpy(data, &ehdr, sizeof(ehdr));
	*data_ret = no_cleanup(data);
	*size_ret = size;
	return NULL;
}

/* The segment that holds the ELF header says where it should be. */
static bool find_bias(const struct image *image, uint64_t address, uint64_t *bias_ret)
{
	vec_foreach (segment, &image->segments) {
		if (segment->offset || !segment->file_size)
			continue;
		*bias_ret = address - segment->vaddr;
		return true;
	}
	return false;
}

struct error *image_open_memory(struct memory *memory, uint64_t address, const char *name,
				struct image **image_ret)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t size = 0;
	struct error *err = copy_headers(memory, address, name, &data, &size);
	if (err)
		return err;
	_cleanup_image_ struct image *image = NULL;
	err = create(name, &image);
	if (!err)
		err = open_copy(image, data, size);
	if (err)
		return err;
	if (!find_bias(image, address, &image->bias))
		return error_create(ERROR_CORRUPT, "%s: no segment holds its ELF header", name);
	image->memory = memory;
	*image_ret = no_cleanup(image);
	return NULL;
}

/* ---- what the headers say ---- */

const char *image_name(const struct image *image)
{
	return image->name;
}

uint16_t image_machine(const struct image *image)
{
	return image->machine;
}

uint16_t image_type(const struct image *image)
{
	return image->type;
}

const struct image_segment *image_segments(const struct image *image, size_t *count_ret)
{
	*count_ret = image->segments.count;
	return image->segments.items;
}

bool image_tls(const struct image *image, uint64_t *size_ret, uint64_t *align_ret,
	       uint64_t *vaddr_ret)
{
	if (!image->has_tls)
		return false;
	*size_ret = image->tls_size;
	*align_ret = image->tls_align;
	*vaddr_ret = image->tls_vaddr;
	return true;
}

static uint64_t round_up_4(uint64_t value)
{
	return (value + 3) & ~UINT64_C(3);
}

/* gABI, "Note Section": namesz, descsz, type, then name and desc, each padded to 4. */
static bool parse_notes(struct loaded *loaded, const uint8_t *notes, size_t size)
{
	size_t at = 0;
	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		uint64_t name_size = round_up_4(note.n_namesz);
		if (name_size > size - at || note.n_descsz > size - at - name_size)
			return false;
		const uint8_t *name = notes + at;
		const uint8_t *desc = name + name_size;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(name, "GNU", 4) && note.n_descsz && note.n_descsz <= BUILD_ID_LIMIT) {
			memcpy(loaded->build_id, desc, note.n_descsz);
			loaded->build_id_size = note.n_descsz;
			return true;
		}
		uint64_t left = size - at - name_size;
		uint64_t desc_size = round_up_4(note.n_descsz);
		if (desc_size > left)
			return false;
		at += name_size + desc_size;
	}
	return false;
}

static void load_build_id(const struct image *image)
{
	for (size_t i = 0; i < image->notes_count; i++) {
		uint64_t size = image->notes_size[i];
		if (!size || size > NOTES_LIMIT)
			continue;
		_cleanup_free_ uint8_t *notes = malloc(size);
		if (notes && read_segment(image, image->notes_vaddr[i], notes, size) &&
		    parse_notes(image->loaded, notes, size))
			return;
	}
}

const uint8_t *image_build_id(const struct image *image, size_t *size_ret)
{
	struct loaded *loaded = image->loaded;
	if (!loaded->build_id_looked)
		load_build_id(image);
	loaded->build_id_looked = true;
	*size_ret = loaded->build_id_size;
	return loaded->build_id_size ? loaded->build_id : NULL;
}

/* ---- sections ---- */

static bool find_section(const struct image *image, const char *name, uint32_t type,
			 GElf_Shdr *shdr_ret)
{
	size_t count, names;
	if (elf_getshdrnum(image->elf, &count) || count > SECTION_LIMIT ||
	    (name && elf_getshdrstrndx(image->elf, &names)))
		return false;
	for (size_t i = 1; i < count; i++) {
		Elf_Scn *scn = elf_getscn(image->elf, i);
		GElf_Shdr shdr;
		if (!scn || !gelf_getshdr(scn, &shdr))
			return false;
		if (type != SHT_NULL && shdr.sh_type != type)
			continue;
		const char *found = name ? elf_strptr(image->elf, names, shdr.sh_name) : NULL;
		if (name && (!found || strcmp(found, name)))
			continue;
		*shdr_ret = shdr;
		return true;
	}
	return false;
}

bool image_section(const struct image *image, const char *name, struct image_section *section_ret)
{
	GElf_Shdr shdr;
	if (!find_section(image, name, SHT_NULL, &shdr))
		return false;
	*section_ret = (struct image_section){
		.vaddr = shdr.sh_addr,
		.offset = shdr.sh_offset,
		.size = shdr.sh_size,
		.has_bits = shdr.sh_type != SHT_NOBITS,
	};
	return true;
}

/* ---- symbols ---- */

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
		if (!read_segment(image, image->dynamic_vaddr + i * sizeof(entry), &entry,
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
	return read_segment(image, vaddr, ret, sizeof(*ret));
}

/* True if symbol @index of .dynsym is a definition of @name. */
static bool match_dynamic(const struct image *image, uint32_t index, const char *name,
			  Elf64_Sym *symbol_ret)
{
	const struct dynamic *dynamic = &image->loaded->dynamic;
	char text[NAME_LIMIT];
	size_t size = strlen(name) + 1;
	Elf64_Sym symbol;
	if (!read_segment(image, dynamic->symbols + (uint64_t)index * sizeof(symbol), &symbol,
			  sizeof(symbol)) ||
	    !is_defined(&symbol) || size > sizeof(text) || symbol.st_name > dynamic->strings_size ||
	    size > dynamic->strings_size - symbol.st_name ||
	    !read_segment(image, dynamic->strings + symbol.st_name, text, size) ||
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
	if (!read_segment(image, table, header, sizeof(header)))
		return false;
	uint32_t bucket_count = header[0], first = header[1], words = header[2], shift = header[3];
	if (!bucket_count || !words || shift > 31)
		return false;
	uint64_t bloom_at = table + sizeof(header);
	uint64_t buckets_at = bloom_at + (uint64_t)words * 8;
	uint64_t chains_at = buckets_at + (uint64_t)bucket_count * 4;

	uint32_t hash = gnu_hash(name, NULL), index;
	uint64_t bloom, mask = UINT64_C(1) << hash % 64 | UINT64_C(1) << (hash >> shift) % 64;
	if (!read_segment(image, bloom_at + (uint64_t)(hash / 64 % words) * 8, &bloom,
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
	if (!read_segment(image, table, header, sizeof(header)) || !header[0])
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

static int compare_entries(const void *a, const void *b)
{
	const struct index_entry *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

/* Only what the file really holds: a header may promise more than there is memory. */
static uint64_t clamp_to_file(const struct image *image, uint64_t offset, uint64_t size)
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
		if (!read_file(image, symtab->symbols + at * sizeof(*chunk), chunk,
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
	if (image->memory || !find_section(image, NULL, SHT_SYMTAB, &shdr))
		return;
	Elf_Scn *scn = elf_getscn(image->elf, shdr.sh_link);
	if (!scn || !gelf_getshdr(scn, &strings_shdr) || strings_shdr.sh_type != SHT_STRTAB)
		return;
	uint64_t count = clamp_to_file(image, shdr.sh_offset, shdr.sh_size) / sizeof(Elf64_Sym);
	count = count > SYMBOL_LIMIT ? SYMBOL_LIMIT : count;
	symtab->symbols = shdr.sh_offset;
	symtab->strings = strings_shdr.sh_offset;
	symtab->strings_size = clamp_to_file(image, strings_shdr.sh_offset, strings_shdr.sh_size);
	if (!count || !symtab->strings_size || symtab->strings_size > STRINGS_LIMIT)
		return;

	_cleanup_free_ char *strings = malloc(symtab->strings_size + 1);
	symtab->entries = reallocarray(NULL, count, sizeof(*symtab->entries));
	if (!strings || !symtab->entries ||
	    !read_file(image, symtab->strings, strings, symtab->strings_size))
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
	       read_file(image, symtab->symbols + (uint64_t)index * sizeof(*symbol_ret), symbol_ret,
			 sizeof(*symbol_ret)) &&
	       is_defined(symbol_ret) &&
	       read_file(image, symtab->strings + symbol_ret->st_name, text, size) &&
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
