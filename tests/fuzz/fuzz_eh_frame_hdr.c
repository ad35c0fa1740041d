/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame_hdr and the .eh_frame that it belongs to. Input: a 16-bit size, so many bytes of header, the section. Whatever the
 * header says, an FDE that is found must cover the pc.
 */
#include "cfi_check.h"

#define HEADER_VADDR  UINT64_C(0x8000)
#define SECTION_VADDR UINT64_C(0x10000)

static void check_found(struct cfi_index *index, uint64_t pc)
{
	struct cfi_found found = { 0 };
	const struct cfi_cie *cie;
	struct cfi_fde fde;
	enum reason reason = cfi_index_find(index, pc, &found);
	CHECK(reason == REASON_OK || reason == REASON_NO_CFI);
	CHECK(found.start <= pc && (pc < found.end || pc == UINT64_MAX));
	if (reason)
		return;
	CHECK(cfi_index_fde(index, found.fde_offset, &cie, &fde) == REASON_OK);
	CHECK(fde.start <= found.start && found.end - fde.start <= fde.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t header_size;
	if (size < sizeof(header_size))
		return 0;
	memcpy(&header_size, data, sizeof(header_size));
	data += sizeof(header_size);
	size -= sizeof(header_size);
	if (header_size > size)
		return 0;
	const struct cfi_section header = { .vaddr = HEADER_VADDR,
					    .size = header_size,
					    .data = data };
	const struct cfi_section section = { .vaddr = SECTION_VADDR,
					     .size = size - header_size,
					     .data = data + header_size };
	const struct cfi_section none = { 0 };
	struct cfi_table *table;
	if (cfi_table_create(&arch_x86_64, &section, &header, &none, &table))
		return 0;
	struct cfi_index *index = cfi_table_eh_frame(table);
	const struct cfi_piece *pieces = NULL;
	size_t count = 0;
	for (uint64_t pc = 0x3f00; pc < 0x4200; pc += 0x10)
		if (index)
			check_found(index, pc);
	if (index && !cfi_index_pieces(index, &pieces, &count)) {
		for (size_t i = 0; i < count && i < 100; i++) {
			check_found(index, pieces[i].start - 1);
			check_found(index, pieces[i].start);
			check_found(index, pieces[i].start + pieces[i].size);
		}
	}
	check_pieces(table, index, 200);
	cfi_table_destroy(table);
	return 0;
}
