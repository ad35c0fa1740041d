/* SPDX-License-Identifier: MIT */
/* image_private.h: what image.c and symbols.c share. Private to image/. */
#pragma once

#include <gelf.h>

#include "base/vec.h"
#include "image/image.h"

/* SHA-1 has 20 bytes; linkers allow any number. */
#define BUILD_ID_LIMIT 64

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

/* A section that was unpacked by us. */
struct section_copy {
	size_t index;
	uint8_t *data;
	size_t size;
};

DEFINE_VEC(struct copy_vec, copy_vec, struct section_copy)

/* What is loaded on demand: behind a pointer, since a look-up does not change what the image is. */
struct loaded {
	struct dynamic dynamic;
	struct symtab symtab;
	bool build_id_looked;
	uint8_t build_id[BUILD_ID_LIMIT];
	size_t build_id_size;
	struct copy_vec copies;
};

struct image {
	char *name;
	unsigned other_holders; /* image_ref */
	int fd;                 /* -1: from bytes or memory */
	uint8_t *data;          /* copied bytes; of an image from memory its headers only */
	size_t data_size;
	struct memory *memory;
	uint64_t bias; /* of an image from memory */
	Elf *elf;
	uint16_t machine, type;
	struct segment_vec segments;
	uint64_t dynamic_vaddr, dynamic_size;
	uint64_t eh_frame_hdr_vaddr, eh_frame_hdr_size; /* size 0: there is none */
	uint64_t tls_size, tls_align, tls_vaddr;
	bool has_tls;
	uint64_t notes_vaddr[8], notes_size[8];
	size_t notes_count;
	struct loaded *loaded;
};

/* Where a table of symbols and its strings are: file offsets or vaddrs. */
struct symbol_table {
	uint64_t symbols, count;
	uint64_t strings, strings_size;
};

/* @size bytes at a file offset; false for an image from memory, which has no file. */
bool image_read_file(const struct image *image, uint64_t offset, void *buffer, size_t size);
/* As image_read; in a process also of writable segments, which may have been relocated. */
bool image_read_segment(const struct image *image, uint64_t vaddr, void *buffer, size_t size);
/* The bytes of note segment @number, to be freed; NULL if they are more than @limit or cannot be read. */
uint8_t *image_read_notes(const struct image *image, size_t number, size_t limit);
/* The first section of that name (NULL: any) and type (SHT_NULL: any). */
bool image_find_section(const struct image *image, const char *name, uint32_t type,
			GElf_Shdr *shdr_ret);
/* How much of [@offset, @offset + @size) the file holds: a header may promise more. */
uint64_t image_clamp_to_file(const struct image *image, uint64_t offset, uint64_t size);
/* .dynsym as PT_DYNAMIC describes it, in vaddrs; the number of symbols comes from its hash table. */
bool image_dynamic_table(const struct image *image, struct symbol_table *table_ret);
