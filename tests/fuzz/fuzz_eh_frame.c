/* SPDX-License-Identifier: MIT */
/*
 * Call frame information from a section's bytes to rows. Input: a byte of flags (1: .debug_frame's format, 2: a zero length ends
 * it, 4: a CPU that signs return addresses), the section.
 */
#include "cfi_check.h"

#define VADDR UINT64_C(0x10000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	struct arch arch = arch_x86_64;
	arch.negates_ra_state = data[0] & 4;
	const struct cfi_section none = { 0 };
	const struct cfi_section section = {
		.vaddr = data[0] & 1 ? 0 : VADDR,
		.size = size - 1,
		.data = data + 1,
		.is_debug_frame = data[0] & 1,
		.is_terminated = data[0] & 2,
	};
	struct cfi_table *table;
	struct error *err = data[0] & 1 ? cfi_table_create(&arch, &none, NULL, &section, &table)
					: cfi_table_create(&arch, &section, NULL, &none, &table);
	if (err) {
		error_destroy(err);
		return 0;
	}
	static const uint64_t pcs[] = { 0, VADDR - 1, VADDR, 0x400000, UINT64_MAX - 1, UINT64_MAX };
	for (size_t i = 0; i < sizeof(pcs) / sizeof(*pcs); i++)
		check_lookup(table, pcs[i]);
	check_pieces(table, data[0] & 1 ? cfi_table_debug_frame(table) : cfi_table_eh_frame(table),
		     1000);
	cfi_table_destroy(table);
	return 0;
}
