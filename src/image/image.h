/* SPDX-License-Identifier: MIT */
/*
 * image.h: one ELF file, read-only. libelf ends here.
 *
 * Addresses in this interface are those of the file ("vaddr"); a process has them moved by the load
 * bias (modules.h). Symbols of .dynsym and .symtab are looked up by name; nothing is loaded before
 * it is asked for. The bytes are hostile: whatever they say, a look-up ends and answers or fails. A
 * file may even shrink while it is open, so it is read with pread and never mapped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "target/memory.h"

struct image;

struct image_segment { /* one PT_LOAD */
	uint64_t offset;
	uint64_t vaddr;
	uint64_t file_size;
	uint64_t memory_size;
	bool read, write, exec;
};

struct image_section {
	uint64_t vaddr;
	uint64_t offset;
	uint64_t size;
	bool has_bits; /* false: .bss and the like */
};

struct image_symbol {
	uint64_t vaddr; /* of STT_TLS: offset in the module's TLS block */
	uint64_t size;
	bool is_tls;
};

/* Takes over @fd on success. @name is for messages. ERROR_UNSUPPORTED for a file that is no 64-bit
 * little-endian ELF. */
struct error *image_open(int fd, const char *name, struct image **image_ret);
/* The same from the bytes of a file, of which it keeps a copy. */
struct error *image_open_bytes(const void *data, size_t size, const char *name,
			       struct image **image_ret);
/*
 * The same from a process that has the file mapped, its ELF header at @address. @memory must
 * outlive the image. Such an image has no sections and no .symtab, and image_read refuses segments
 * that the process may have written to.
 */
struct error *image_open_memory(struct memory *memory, uint64_t address, const char *name,
				struct image **image_ret);
/* Another holder of the image: it stays open until each has closed it. */
struct image *image_ref(struct image *image);
void image_close(struct image *image);
DEFINE_CLEANUP(image_cleanup, struct image, image_close)
#define _cleanup_image_ _cleanup_(image_cleanup)

const char *image_name(const struct image *image);
/* e_machine and e_type. */
uint16_t image_machine(const struct image *image);
uint16_t image_type(const struct image *image);
/* Owned by the image. */
const struct image_segment *image_segments(const struct image *image, size_t *count_ret);
/* p_memsz, p_align and p_vaddr of PT_TLS; false if there is none. */
bool image_tls(const struct image *image, uint64_t *size_ret, uint64_t *align_ret,
	       uint64_t *vaddr_ret);
/* p_vaddr and p_filesz of PT_GNU_EH_FRAME, the search table of .eh_frame; false if there is none.
 */
bool image_eh_frame_hdr(const struct image *image, uint64_t *vaddr_ret, uint64_t *size_ret);
/* The four bytes of GNU property @type of the notes (.note.gnu.property); false for a file without it. */
bool image_property(const struct image *image, uint32_t type, uint32_t *value_ret);
/* NT_GNU_BUILD_ID; NULL with *size_ret 0 if there is none. */
const uint8_t *image_build_id(const struct image *image, size_t *size_ret);

/*
 * A defined symbol by name, .dynsym first, then .symtab. The first look into .symtab reads all of
 * it and builds an index: for a look-up that is expected to fail in most images, use
 * image_dynamic_symbol.
 */
bool image_symbol(const struct image *image, const char *name, struct image_symbol *symbol_ret);
/* The same in .dynsym only: a few small reads through its hash table, however large the file. */
bool image_dynamic_symbol(const struct image *image, const char *name,
			  struct image_symbol *symbol_ret);
bool image_section(const struct image *image, const char *name, struct image_section *section_ret);
/* All bytes of a section, decompressed if need be; owned by the image. False if it is not there,
 * has none, or is too large. */
bool image_section_data(const struct image *image, const char *name, const uint8_t **data_ret,
			size_t *size_ret);
/* Bytes as they are in the file at @vaddr; false outside what the file holds (.bss is outside). */
bool image_read(const struct image *image, uint64_t vaddr, void *buffer, size_t size);
