/* SPDX-License-Identifier: MIT */
/* stubs.c: names for stubs of a procedure linkage table. */
#include "image/stubs.h"

#include <elf.h>
#include <string.h>

#include "arch/arch.h"

static const char *const plts[] = { ".plt", ".plt.sec", ".plt.got" };

static bool find_plt(const struct image *image, uint64_t vaddr, struct image_section *plt_ret)
{
	for (size_t i = 0; i < sizeof(plts) / sizeof(plts[0]); i++)
		if (image_section(image, plts[i], plt_ret) && vaddr >= plt_ret->vaddr &&
		    vaddr - plt_ret->vaddr < plt_ret->size)
			return true;
	return false;
}

/* The stub that @vaddr lies in: how long one is depends on how the image was linked. */
static bool read_stub(const struct image *image, const struct image_section *plt, uint64_t vaddr,
		      struct flow_stub *stub_ret)
{
	const struct flow *flow = flow_by_machine(image_machine(image));
	uint8_t code[FLOW_STUB_BYTES];
	if (!flow)
		return false;
	uint64_t start = vaddr - vaddr % flow->stub_step;
	for (; start >= plt->vaddr && vaddr - start < sizeof(code); start -= flow->stub_step) {
		uint64_t left = plt->size - (start - plt->vaddr);
		size_t size = left < sizeof(code) ? (size_t)left : sizeof(code);
		if (image_read(image, start, code, size) &&
		    flow->stub(code, size, start, stub_ret) && vaddr - start < stub_ret->size)
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
	struct image_section plt;
	struct flow_stub found;
	Elf64_Rela relocation;
	if (!find_plt(image, vaddr, &plt) || !read_stub(image, &plt, vaddr, &found))
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
