/* SPDX-License-Identifier: MIT */
/* image.c: ELF headers by libelf, content by bounded reads of file, bytes or process. */
#include "image/image.h"

#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/image_private.h"
#include "image/unzstd.h"

/* Of 2022; older headers do not have it. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* Real files have at most about 20 program headers; a core file of a large process is no image. */
#define SEGMENT_LIMIT 128
#define SECTION_LIMIT 1000000
/* Debug information of the largest libraries is larger, its .debug_frame is not. */
#define SECTION_DATA_LIMIT (UINT64_C(256) << 20)
/* PT_NOTE of a file with many notes is some kilobytes. */
#define NOTES_LIMIT 65536
/* ELF and program headers are read from a process within this many bytes of its first page. */
#define HEADER_LIMIT (sizeof(Elf64_Ehdr) + SEGMENT_LIMIT * sizeof(Elf64_Phdr))

/* ---- bytes ---- */

bool image_read_file(const struct image *image, uint64_t offset, void *buffer, size_t size)
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

bool image_read_segment(const struct image *image, uint64_t vaddr, void *buffer, size_t size)
{
	const struct image_segment *segment = find_segment(image, vaddr, size);
	if (!segment)
		return false;
	if (image->memory)
		return memory_read(image->memory, vaddr + image->bias, buffer, size);
	uint64_t offset;
	return !__builtin_add_overflow(segment->offset, vaddr - segment->vaddr, &offset) &&
	       image_read_file(image, offset, buffer, size);
}

bool image_read(const struct image *image, uint64_t vaddr, void *buffer, size_t size)
{
	const struct image_segment *segment = find_segment(image, vaddr, size);
	if (!segment || (image->memory && segment->write))
		return false;
	return image_read_segment(image, vaddr, buffer, size);
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

static void free_loaded(struct loaded *loaded)
{
	vec_foreach (copy, &loaded->copies)
		free(copy->data);
	copy_vec_deinit(&loaded->copies);
	free(loaded->symtab.entries);
	free(loaded);
}

struct image *image_ref(struct image *image)
{
	image->other_holders++;
	return image;
}

void image_close(struct image *image)
{
	if (image->other_holders) {
		image->other_holders--;
		return;
	}
	if (image->elf)
		elf_end(image->elf);
	if (image->fd >= 0)
		close(image->fd);
	if (image->loaded)
		free_loaded(image->loaded);
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
	case PT_GNU_EH_FRAME:
		image->eh_frame_hdr_vaddr = phdr->p_vaddr;
		image->eh_frame_hdr_size = phdr->p_filesz;
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

bool image_eh_frame_hdr(const struct image *image, uint64_t *vaddr_ret, uint64_t *size_ret)
{
	if (!image->eh_frame_hdr_size)
		return false;
	*vaddr_ret = image->eh_frame_hdr_vaddr;
	*size_ret = image->eh_frame_hdr_size;
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

uint8_t *image_read_notes(const struct image *image, size_t number, size_t limit)
{
	uint64_t size = image->notes_size[number];
	if (!size || size > limit)
		return NULL;
	_cleanup_free_ uint8_t *notes = malloc(size);
	if (!notes || !image_read_segment(image, image->notes_vaddr[number], notes, size))
		return NULL;
	return no_cleanup(notes);
}

static void load_build_id(const struct image *image)
{
	for (size_t i = 0; i < image->notes_count; i++) {
		_cleanup_free_ uint8_t *notes = image_read_notes(image, i, NOTES_LIMIT);
		if (notes && parse_notes(image->loaded, notes, image->notes_size[i]))
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

static Elf_Scn *find_section(const struct image *image, const char *name, uint32_t type,
			     GElf_Shdr *shdr_ret)
{
	size_t count, names;
	if (elf_getshdrnum(image->elf, &count) || count > SECTION_LIMIT ||
	    (name && elf_getshdrstrndx(image->elf, &names)))
		return NULL;
	for (size_t i = 1; i < count; i++) {
		Elf_Scn *scn = elf_getscn(image->elf, i);
		GElf_Shdr shdr;
		if (!scn || !gelf_getshdr(scn, &shdr))
			return NULL;
		if (type != SHT_NULL && shdr.sh_type != type)
			continue;
		const char *found = name ? elf_strptr(image->elf, names, shdr.sh_name) : NULL;
		if (name && (!found || strcmp(found, name)))
			continue;
		*shdr_ret = shdr;
		return scn;
	}
	return NULL;
}

bool image_find_section(const struct image *image, const char *name, uint32_t type,
			GElf_Shdr *shdr_ret)
{
	return find_section(image, name, type, shdr_ret) != NULL;
}

bool image_section(const struct image *image, const char *name, struct image_section *section_ret)
{
	GElf_Shdr shdr;
	if (!image_find_section(image, name, SHT_NULL, &shdr))
		return false;
	*section_ret = (struct image_section){
		.vaddr = shdr.sh_addr,
		.offset = shdr.sh_offset,
		.size = shdr.sh_size,
		.has_bits = shdr.sh_type != SHT_NOBITS,
	};
	return true;
}

/*
 * ELFCOMPRESS_ZSTD, which libelf unpacks from 0.189 on: a copy of our own, kept with the image. Only
 * the size that the header claims is known before.
 */
static bool unpack_zstd(const struct image *image, size_t index, const GElf_Shdr *shdr,
			const GElf_Chdr *chdr, const struct section_copy **copy_ret)
{
	struct copy_vec *copies = &image->loaded->copies;
	vec_foreach (copy, copies) {
		if (copy->index != index)
			continue;
		*copy_ret = copy;
		return true;
	}
	if (shdr->sh_size <= sizeof(Elf64_Chdr) ||
	    image_clamp_to_file(image, shdr->sh_offset, shdr->sh_size) != shdr->sh_size)
		return false;
	size_t size = shdr->sh_size - sizeof(Elf64_Chdr);
	_cleanup_free_ uint8_t *packed = malloc(size);
	_cleanup_free_ uint8_t *data = malloc(chdr->ch_size ? chdr->ch_size : 1);
	if (!packed || !data ||
	    !image_read_file(image, shdr->sh_offset + sizeof(Elf64_Chdr), packed, size) ||
	    !unzstd(packed, size, data, chdr->ch_size))
		return false;
	struct section_copy *copy = copy_vec_append(copies);
	if (!copy)
		return false;
	*copy = (struct section_copy){ index, no_cleanup(data), chdr->ch_size };
	*copy_ret = copy;
	return true;
}

bool image_section_data(const struct image *image, const char *name, const uint8_t **data_ret,
			size_t *size_ret)
{
	GElf_Shdr shdr;
	GElf_Chdr chdr;
	Elf_Scn *scn = find_section(image, name, SHT_NULL, &shdr);
	if (!scn || shdr.sh_type == SHT_NOBITS || shdr.sh_size > SECTION_DATA_LIMIT)
		return false;
	/* Once libelf has unpacked a section, it has no such header any more. */
	bool is_packed = shdr.sh_flags & SHF_COMPRESSED;
	if (is_packed && (!gelf_getchdr(scn, &chdr) || chdr.ch_size > SECTION_DATA_LIMIT))
		return false;
	const struct section_copy *copy;
	if (is_packed && chdr.ch_type == ELFCOMPRESS_ZSTD) {
		if (!unpack_zstd(image, elf_ndxscn(scn), &shdr, &chdr, &copy))
			return false;
		*data_ret = copy->data;
		*size_ret = copy->size;
		return true;
	}
	if (is_packed && elf_compress(scn, 0, 0) < 0)
		return false;
	Elf_Data *data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf)
		return false;
	*data_ret = data->d_buf;
	*size_ret = data->d_size;
	return true;
}
