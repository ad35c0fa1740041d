/* SPDX-License-Identifier: MIT */
/* stubs.c: names for stubs of a procedure linkage table. */
#include "image/stubs.h"

#include <elf.h>
#include <string.h>

#include "arch/arch.h"

#define STUB_SIZE 16

static const char *const plts[] = { ".plt", ".plt.sec", ".plt.got" };

static bool in_plt(const struct image *image, uint64_t vaddr)
{
	for (size_t i = 0; i < sizeof(plts) / sizeof(plts[0]); i++) {
		struct image_section section;
		if (image_section(image, plts[i], &section) && vaddr >= section.vaddr &&
		    vaddr - section.vaddr < section.size)
			return true;
	}
	return false;
}

/* The symbol's name in .dynsym; NULL for one without. */
static const char *symbol_name(const struct image *image, uint64_t number)
{
	const uint8_t *symbols, *strings;
	size_t symbols_size, strings_size;
	Elf64_Sym symbol;
	if (!number || !image_section_data(image, ".dynsym", &symbols, &symbols_size) ||
	    !image_section_data(image, ".dynstr", &strings, &strings_size) ||
	    number >= symbols_size / sizeof(symbol))
		return NULL;
	memcpy(&symbol, symbols + number * sizeof(symbol), sizeof(symbol));
	if (symbol.st_name >= strings_size ||
	    !memchr(strings + symbol.st_name, 0, strings_size - symbol.st_name) ||
	    !strings[symbol.st_name])
		return NULL;
	return (const char *)strings + symbol.st_name;
}

static bool find_relocation(const struct image *image, const char *table,
			    const struct flow_stub *stub, Elf64_Rela *relocation_ret)
{
	const uint8_t *bytes;
	size_t size;
	if (!image_section_data(image, table, &bytes, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(Elf64_Rela); i++) {
		Elf64_Rela relocation;
		memcpy(&relocation, bytes + i * sizeof(relocation), sizeof(relocation));
		if (stub->has_slot ? relocation.r_offset != stub->slot : i != stub->number)
			continue;
		*relocation_ret = relocation;
		return true;
	}
	return false;
}

bool stub_find(const struct image *image, uint64_t vaddr, struct stub *stub_ret)
{
	const struct flow *flow = flow_by_machine(image_machine(image));
	uint64_t start = vaddr & ~(uint64_t)(STUB_SIZE - 1);
	uint8_t code[STUB_SIZE];
	struct flow_stub found;
	Elf64_Rela relocation;
	if (!flow || !in_plt(image, vaddr) || !image_read(image, start, code, sizeof(code)) ||
	    !flow->stub(code, sizeof(code), start, &found))
		return false;
	if (!find_relocation(image, ".rela.plt", &found, &relocation) &&
	    !(found.has_slot && find_relocation(image, ".rela.dyn", &found, &relocation)))
		return false;
	struct stub stub = {
		.name = symbol_name(image, ELF64_R_SYM(relocation.r_info)),
		.chooser = (uint64_t)relocation.r_addend,
	};
	if (!stub.name && ELF64_R_SYM(relocation.r_info))
		return false;
	*stub_ret = stub;
	return true;
}
