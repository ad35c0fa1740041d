/* SPDX-License-Identifier: MIT */
/* recorded.c: the code that a native stack leads through, out of a process and back. */
#include "unwind/recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/function_name.h"
#include "unwind/cfi_entry.h"
#include "unwind/cfi_index.h"

/* ---- saving ---- */

struct saver {
	struct code_map *map;
	const struct debuginfo_places *places;
	struct capsule_code *code;
	struct symbolizer *symbolizer; /* of the image below, kept from frame to frame */
	const struct image *image;
};

static char *build_id_of(const struct image *image)
{
	size_t size = 0;
	const uint8_t *id = image ? image_build_id(image, &size) : NULL;
	char *text = id ? malloc(2 * size + 1) : NULL;
	for (size_t i = 0; text && i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	return text;
}

static bool find_module(struct saver *saver, const struct code_place *place, uint32_t *index_ret)
{
	struct capsule_modules *modules = &saver->code->modules;
	for (size_t i = 0; i < modules->count; i++) {
		if (modules->items[i].bias != place->bias ||
		    strcmp(modules->items[i].path, code_place_path(place)))
			continue;
		*index_ret = (uint32_t)i;
		return true;
	}
	struct capsule_module *module = capsule_modules_vec_append(modules);
	if (!module)
		return false;
	*index_ret = (uint32_t)(modules->count - 1);
	module->path = strdup(code_place_path(place));
	module->build_id = build_id_of(place->image);
	module->bias = place->bias;
	return module->path;
}

/* As in a profile. */
static char *name_of(struct saver *saver, const struct code_place *place, uint64_t address)
{
	if (place->row && (place->row->flags & CFI_ROW_SIGNAL_FRAME))
		return strdup("[signal]");
	if (place->kind == CODE_GENERATED)
		return strdup(place->range->name);
	if (!place->image)
		return NULL;
	if (saver->image != place->image) {
		if (saver->symbolizer)
			symbolizer_destroy(saver->symbolizer);
		saver->symbolizer = NULL;
		saver->image = place->image;
		error_destroy(symbolizer_create(place->image, code_place_path(place), saver->places,
						&saver->symbolizer));
	}
	return saver->symbolizer
		       ? function_name(saver->symbolizer, place->image, address - place->bias)
		       : NULL;
}

/* The FDE that the table found: .eh_frame comes first there too. */
static struct cfi_index *find_index(struct cfi_table *table, uint64_t vaddr,
				    struct cfi_found *found)
{
	struct cfi_index *index = cfi_table_eh_frame(table);
	if (index && !cfi_index_find(index, vaddr, found))
		return index;
	index = cfi_table_debug_frame(table);
	return index && !cfi_index_find(index, vaddr, found) ? index : NULL;
}

static uint8_t *read_entry(const struct cfi_section *section, uint64_t offset, size_t *size_ret,
			   uint64_t *cie_ret)
{
	struct cfi_window window = { .section = section };
	struct cfi_entry entry;
	uint8_t *copy = NULL;
	if (!cfi_entry_read(&window, offset, &entry)) {
		size_t size = (size_t)(entry.next - entry.offset);
		const uint8_t *bytes = cfi_window_get(&window, entry.offset, size);
		copy = bytes ? malloc(size) : NULL;
		if (copy)
			memcpy(copy, bytes, size);
		*size_ret = size;
		*cie_ret = entry.cie_offset;
	}
	cfi_window_deinit(&window);
	return copy;
}

/*
 * In .eh_frame the CIE pointer says how far before itself the CIE is, in .debug_frame where in the section. It follows the length,
 * of 4 or 12 bytes.
 */
static void set_cie_pointer(uint8_t *fde, size_t cie_size, bool is_debug_frame)
{
	bool is_long = fde[0] == 0xff && fde[1] == 0xff && fde[2] == 0xff && fde[3] == 0xff;
	size_t at = is_long ? 12 : 4;
	uint32_t back = (uint32_t)(cie_size + at);
	if (!is_debug_frame)
		memcpy(fde + at, &back, sizeof(back));
	else
		memset(fde + at, 0, is_long ? 8 : 4);
}

static bool save_cfi(const struct cfi_section *section, uint64_t fde_offset,
		     struct capsule_function *function)
{
	size_t fde_size, cie_size;
	uint64_t cie_offset, none;
	_cleanup_free_ uint8_t *fde = read_entry(section, fde_offset, &fde_size, &cie_offset);
	_cleanup_free_ uint8_t *cie =
		fde ? read_entry(section, cie_offset, &cie_size, &none) : NULL;
	if (!cie || fde_size < 20)
		return false;
	uint8_t *both = malloc(cie_size + fde_size);
	if (!both)
		return false;
	memcpy(both, cie, cie_size);
	memcpy(both + cie_size, fde, fde_size);
	set_cie_pointer(both + cie_size, cie_size, section->is_debug_frame);
	function->cfi = both;
	function->cfi_size = cie_size + fde_size;
	function->cfi_vaddr = section->is_debug_frame ? 0 : section->vaddr + fde_offset - cie_size;
	function->debug_frame = section->is_debug_frame;
	return true;
}

static bool save_function(struct saver *saver, uint64_t address)
{
	const struct code_place *place = code_map_find(saver->map, address);
	struct capsule_function *function = capsule_functions_vec_append(&saver->code->functions);
	struct cfi_found found;
	if (!function || !find_module(saver, place, &function->module))
		return false;
	function->start = address;
	function->end = address + 1;
	function->kind = place->kind;
	function->clone = place->is_clone;
	function->name = name_of(saver, place, address);
	struct cfi_index *index =
		place->table ? find_index(place->table, address - place->bias, &found) : NULL;
	if (!index || !save_cfi(cfi_index_section(index), found.fde_offset, function))
		return true;
	function->start = found.start + place->bias;
	function->end = found.end + place->bias;
	return true;
}

static bool save_executable(const struct maps *maps, struct capsule_ranges *ranges)
{
	vec_foreach (mapping, maps) {
		if (!mapping->exec)
			continue;
		struct memory_range *range = capsule_ranges_vec_append(ranges);
		if (!range)
			return false;
		*range = (struct memory_range){ mapping->start, mapping->end - mapping->start };
	}
	return true;
}

bool recorded_save(struct code_map *map, struct modules *modules,
		   const struct debuginfo_places *places, const struct native_frames *frames,
		   struct capsule_code *code)
{
	struct saver saver = { .map = map, .places = places, .code = code };
	bool ok = save_executable(modules_maps(modules), &code->executable);
	vec_foreach (frame, frames)
		ok = ok && (capsule_code_find(code, frame->address) ||
			    save_function(&saver, frame->address));
	if (saver.symbolizer)
		symbolizer_destroy(saver.symbolizer);
	return ok;
}

/* ---- answering ---- */

struct recorded {
	const struct capsule_code *code;
	const struct arch *arch;
	struct cfi_table **tables; /* one a function, NULL until it is needed */
};

struct error *recorded_create(const struct capsule_code *code, const struct arch *arch,
			      struct recorded **recorded_ret)
{
	struct recorded *recorded = calloc(1, sizeof(*recorded));
	if (!recorded)
		return error_no_memory();
	recorded->code = code;
	recorded->arch = arch;
	recorded->tables = calloc(code->functions.count + 1, sizeof(struct cfi_table *));
	if (!recorded->tables) {
		free(recorded);
		return error_no_memory();
	}
	*recorded_ret = recorded;
	return NULL;
}

void recorded_destroy(struct recorded *recorded)
{
	for (size_t i = 0; i < recorded->code->functions.count; i++)
		if (recorded->tables[i])
			cfi_table_destroy(recorded->tables[i]);
	free(recorded->tables);
	free(recorded);
}

static struct cfi_table *table_of(struct recorded *recorded,
				  const struct capsule_function *function)
{
	struct cfi_table **table = &recorded->tables[function - recorded->code->functions.items];
	struct cfi_section section = {
		.vaddr = function->cfi_vaddr,
		.size = function->cfi_size,
		.data = function->cfi,
		.is_debug_frame = function->debug_frame,
	};
	const struct cfi_section none = { 0 };
	if (!*table && function->cfi)
		error_destroy(cfi_table_create(recorded->arch,
					       function->debug_frame ? &none : &section, NULL,
					       function->debug_frame ? &section : &none, table));
	return *table;
}

void recorded_find(struct recorded *recorded, uint64_t address, struct code_place *place_ret)
{
	struct code_place place = { .kind = CODE_NONE, .reason = REASON_NO_CODE };
	const struct capsule_function *function = capsule_code_find(recorded->code, address);
	if (function && function->kind <= CODE_ANONYMOUS) {
		place.kind = (enum code_kind)function->kind;
		place.bias = recorded->code->modules.items[function->module].bias;
		place.is_clone = function->clone;
		place.table = table_of(recorded, function);
		place.reason = place.table ? cfi_table_lookup(place.table, address - place.bias,
							      &place.row)
					   : REASON_NO_CFI;
	}
	if (place.reason)
		place.row = NULL;
	*place_ret = place;
}

bool recorded_is_code(const struct recorded *recorded, uint64_t address)
{
	vec_foreach (range, &recorded->code->executable)
		if (address >= range->address && address - range->address < range->size)
			return true;
	return false;
}
