/* SPDX-License-Identifier: MIT */
/* cfi_entry.c: CIEs, FDEs and encoded pointers. */
#include "unwind/cfi_entry.h"

#include <stdlib.h>
#include <string.h>

/* An initial length with this value is followed by one of 64 bits; DWARF 5 §7.4. */
#define LENGTH_64 UINT32_MAX
/* From here to LENGTH_64: reserved. */
#define LENGTH_RESERVED UINT32_C(0xfffffff0)

/* ---- encoded pointers ---- */

static bool read_signed(struct reader *r, unsigned size, uint64_t *ret)
{
	const uint8_t *bytes = reader_bytes(r, size);
	if (!bytes)
		return false;
	uint64_t value = 0;
	memcpy(&value, bytes, size);
	unsigned unused_bits = 64 - 8 * size;
	*ret = (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
	return true;
}

static bool read_unsigned(struct reader *r, unsigned size, uint64_t *ret)
{
	const uint8_t *bytes = reader_bytes(r, size);
	if (!bytes)
		return false;
	uint64_t value = 0;
	memcpy(&value, bytes, size);
	*ret = value;
	return true;
}

static bool read_format(struct reader *r, unsigned format, unsigned address_size, uint64_t *ret)
{
	int64_t value;
	switch (format) {
	case CFI_PE_ABSPTR:
		return read_unsigned(r, address_size, ret);
	case CFI_PE_SIGNED:
		return read_signed(r, address_size, ret);
	case CFI_PE_ULEB128:
		return reader_uleb128(r, ret);
	case CFI_PE_SLEB128:
		if (!reader_sleb128(r, &value))
			return false;
		*ret = (uint64_t)value;
		return true;
	case CFI_PE_UDATA2:
		return read_unsigned(r, 2, ret);
	case CFI_PE_UDATA4:
		return read_unsigned(r, 4, ret);
	case CFI_PE_UDATA8:
	case CFI_PE_SDATA8:
		return read_unsigned(r, 8, ret);
	case CFI_PE_SDATA2:
		return read_signed(r, 2, ret);
	case CFI_PE_SDATA4:
		return read_signed(r, 4, ret);
	default:
		return false;
	}
}

static bool skip_to_aligned(struct reader *r, uint64_t position, unsigned size)
{
	return reader_skip(r, (size_t)(-position & (size - 1)));
}

bool cfi_pointer_read(struct reader *reader, uint8_t encoding, const struct cfi_pointer_base *base,
		      uint64_t *ret)
{
	if (encoding == CFI_PE_OMIT || (base->address_size != 4 && base->address_size != 8))
		return false;

	uint64_t position = base->vaddr + reader_offset(reader);
	uint64_t origin = 0;
	switch (encoding & CFI_PE_RELATIVE) {
	case 0:
		break;
	case CFI_PE_PCREL:
		origin = position;
		break;
	case CFI_PE_TEXTREL:
		origin = base->text;
		break;
	case CFI_PE_DATAREL:
		origin = base->data;
		break;
	case CFI_PE_FUNCREL:
		origin = base->function;
		break;
	case CFI_PE_ALIGNED:
		if (!skip_to_aligned(reader, position, base->address_size))
			return false;
		break;
	default:
		return false;
	}

	uint64_t value;
	if (!read_format(reader, encoding & CFI_PE_FORMAT, base->address_size, &value))
		return false;
	value += origin;
	if (encoding & CFI_PE_INDIRECT) {
		uint64_t target = 0;
		if (!base->image || !image_read(base->image, value, &target, base->address_size))
			return false;
		value = target;
	}
	*ret = value;
	return true;
}

static struct cfi_pointer_base section_base(const struct cfi_section *section, uint64_t offset,
					    unsigned address_size)
{
	return (struct cfi_pointer_base){
		.vaddr = section->vaddr + offset,
		.text = section->text_base,
		.data = section->data_base,
		.address_size = address_size,
		.image = section->image,
	};
}

/* ---- entries ---- */

/* The bytes that follow the length: their offset and number; none for a terminator or padding. */
static enum reason read_length(struct cfi_window *window, uint64_t offset, uint64_t *content_ret,
			       uint64_t *length_ret, bool *is_64_ret)
{
	const uint8_t *bytes = cfi_window_get(window, offset, 4);
	if (!bytes)
		return REASON_BAD_CFI;
	uint32_t length;
	memcpy(&length, bytes, sizeof(length));
	*content_ret = offset + 4;
	*length_ret = length;
	*is_64_ret = length == LENGTH_64;
	if (length < LENGTH_RESERVED)
		return REASON_OK;
	if (!*is_64_ret)
		return REASON_BAD_CFI;

	bytes = cfi_window_get(window, offset + 4, 8);
	if (!bytes)
		return REASON_BAD_CFI;
	memcpy(length_ret, bytes, sizeof(*length_ret));
	*content_ret = offset + 12;
	return REASON_OK;
}

/* In .eh_frame the CIE id is 0 and a CIE pointer counts back from its own place; in .debug_frame
 * the id is all ones and a CIE pointer counts from the section's start. */
static bool set_kind(const struct cfi_section *section, uint64_t id, uint64_t id_offset, bool is_64,
		     struct cfi_entry *entry)
{
	if (section->is_debug_frame) {
		bool is_cie = id == (is_64 ? UINT64_MAX : UINT32_MAX);
		entry->kind = is_cie ? CFI_ENTRY_CIE : CFI_ENTRY_FDE;
		entry->cie_offset = is_cie ? 0 : id;
		return true;
	}
	entry->kind = id ? CFI_ENTRY_FDE : CFI_ENTRY_CIE;
	entry->cie_offset = id ? id_offset - id : 0;
	return id <= id_offset;
}

enum reason cfi_entry_read(struct cfi_window *window, uint64_t offset, struct cfi_entry *entry_ret)
{
	const struct cfi_section *section = window->section;
	if (offset == section->size) {
		*entry_ret = (struct cfi_entry){ .kind = CFI_ENTRY_TERMINATOR,
						 .offset = offset,
						 .next = offset };
		return REASON_OK;
	}

	uint64_t content, length;
	bool is_64;
	enum reason reason = read_length(window, offset, &content, &length, &is_64);
	if (reason)
		return reason;
	if (length == 0) {
		*entry_ret =
			(struct cfi_entry){ .kind = section->is_terminated ? CFI_ENTRY_TERMINATOR
									   : CFI_ENTRY_PADDING,
					    .offset = offset,
					    .next = content };
		return REASON_OK;
	}
	if (length > CFI_ENTRY_LIMIT)
		return REASON_BAD_CFI;
	const uint8_t *bytes = cfi_window_get(window, content, length);
	if (!bytes)
		return REASON_BAD_CFI;

	/* LSB: in .eh_frame these are 4 bytes whatever the length's size. */
	unsigned id_size = is_64 && section->is_debug_frame ? 8 : 4;
	struct reader r = reader_make(bytes, length);
	uint64_t id;
	struct cfi_entry entry = { .offset = offset, .next = content + length };
	if (!read_unsigned(&r, id_size, &id) || !set_kind(section, id, content, is_64, &entry))
		return REASON_BAD_CFI;
	entry.body = r.pos;
	entry.body_size = reader_left(&r);
	entry.body_offset = content + id_size;
	*entry_ret = entry;
	return REASON_OK;
}

/* ---- CIE ---- */

void cfi_cie_deinit(struct cfi_cie *cie)
{
	free(cie->instructions);
	cie->instructions = NULL;
	cie->instructions_size = 0;
}

/* One letter of the augmentation string; false for an unknown one, after which the data's layout is
 * unknown too. */
static bool read_augmentation(char letter, struct reader *data, const struct cfi_pointer_base *base,
			      struct cfi_cie *cie)
{
	uint8_t encoding;
	uint64_t ignored;
	switch (letter) {
	case 'L':
		return reader_u8(data, &encoding);
	case 'R':
		return reader_u8(data, &cie->fde_encoding);
	case 'P':
		if (!reader_u8(data, &encoding))
			return false;
		/* The personality routine is of no interest, where its pointer ends is. */
		return encoding == CFI_PE_OMIT ||
		       cfi_pointer_read(data, encoding & ~CFI_PE_INDIRECT, base, &ignored);
	case 'S':
		cie->is_signal_frame = true;
		return true;
	case 'B':
		cie->is_key_b = true;
		return true;
	case 'G': /* aarch64: tagged stack memory, nothing that a walk needs */
		return true;
	default:
		return false;
	}
}

/* @r is behind the alignment factors; @r->start is the body's start, @offset its offset. */
static bool read_augmentations(struct reader *r, const struct cfi_section *section, uint64_t offset,
			       const char *letters, struct cfi_cie *cie)
{
	struct cfi_pointer_base base = section_base(section, offset, cie->address_size);
	if (letters[0] != 'z') {
		/* Without 'z' there is no length to skip unknown data by. */
		for (; *letters; letters++)
			if (!read_augmentation(*letters, r, &base, cie))
				return false;
		return true;
	}

	uint64_t size;
	if (!reader_uleb128(r, &size) || size > reader_left(r))
		return false;
	cie->is_augmented = true;
	struct reader data = *r;
	data.end = data.pos + size;
	for (letters++; *letters; letters++)
		if (!read_augmentation(*letters, &data, &base, cie))
			break;
	return !data.failed && reader_skip(r, size);
}

static bool read_return_register(struct reader *r, struct cfi_cie *cie)
{
	uint64_t number;
	if (cie->version == 1)
		return reader_u8(r, &cie->return_register);
	if (!reader_uleb128(r, &number) || number > UINT8_MAX)
		return false;
	cie->return_register = (uint8_t)number;
	return true;
}

static bool version_is_known(uint8_t version)
{
	return version == 1 || version == 3 || version == 4;
}

/* Everything before the instructions. */
static bool read_cie_header(struct reader *r, const struct cfi_section *section, uint64_t offset,
			    struct cfi_cie *cie)
{
	if (!reader_u8(r, &cie->version) || !version_is_known(cie->version))
		return false;
	const char *letters = reader_string(r);
	if (!letters)
		return false;
	cie->address_size = 8;
	if (strcmp(letters, "eh") == 0) { /* GCC 2: a pointer to its own tables */
		letters += 2;
		if (!reader_skip(r, cie->address_size))
			return false;
	}
	if (cie->version == 4 &&
	    (!reader_u8(r, &cie->address_size) || !reader_u8(r, &cie->segment_size)))
		return false;
	if ((cie->address_size != 4 && cie->address_size != 8) || cie->segment_size > 8)
		return false;
	return reader_uleb128(r, &cie->code_align) && reader_sleb128(r, &cie->data_align) &&
	       read_return_register(r, cie) && read_augmentations(r, section, offset, letters, cie);
}

enum reason cfi_cie_decode(const struct cfi_section *section, const struct cfi_entry *entry,
			   struct cfi_cie *cie_ret)
{
	if (entry->kind != CFI_ENTRY_CIE)
		return REASON_BAD_CFI;
	struct cfi_cie cie = { .offset = entry->offset };
	struct reader r = reader_make(entry->body, entry->body_size);
	if (!read_cie_header(&r, section, entry->body_offset, &cie))
		return REASON_BAD_CFI;

	cie.instructions_size = reader_left(&r);
	cie.instructions_vaddr = section->vaddr + entry->body_offset + reader_offset(&r);
	cie.instructions = malloc(cie.instructions_size + 1);
	if (!cie.instructions)
		return REASON_NO_MEMORY;
	memcpy(cie.instructions, r.pos, cie.instructions_size);
	*cie_ret = cie;
	return REASON_OK;
}

/* ---- FDE ---- */

enum reason cfi_fde_decode(const struct cfi_section *section, const struct cfi_entry *entry,
			   const struct cfi_cie *cie, struct cfi_fde *fde_ret)
{
	if (entry->kind != CFI_ENTRY_FDE || entry->cie_offset != cie->offset)
		return REASON_BAD_CFI;
	struct cfi_pointer_base base = section_base(section, entry->body_offset, cie->address_size);
	struct reader r = reader_make(entry->body, entry->body_size);
	struct cfi_fde fde;
	uint64_t end, augmentation_size = 0;
	if (!reader_skip(&r, cie->segment_size) ||
	    !cfi_pointer_read(&r, cie->fde_encoding, &base, &fde.start) ||
	    !read_format(&r, cie->fde_encoding & CFI_PE_FORMAT, cie->address_size, &fde.size) ||
	    __builtin_add_overflow(fde.start, fde.size, &end))
		return REASON_BAD_CFI;
	if (cie->is_augmented &&
	    (!reader_uleb128(&r, &augmentation_size) || augmentation_size > reader_left(&r) ||
	     !reader_skip(&r, augmentation_size)))
		return REASON_BAD_CFI;

	fde.instructions = r.pos;
	fde.instructions_size = reader_left(&r);
	fde.instructions_vaddr = section->vaddr + entry->body_offset + reader_offset(&r);
	*fde_ret = fde;
	return REASON_OK;
}
