/* SPDX-License-Identifier: MIT */
/* code_map.c: an address in a process → what code is there and which rule unwinds it. */
#include "unwind/code_map.h"

#include <stdlib.h>

#include "base/hash.h"
#include "image/rootfs.h"
#include "image/vdso.h"
#include "unwind/cfi_section.h"
#include "unwind/exits.h"
#include "unwind/recorded.h"

/* Direct-mapped: a power of two. A profile's distinct pcs are some thousands. */
#define CACHE_SIZE 4096
/* Tables of generated code: one for each range that was walked through. */
#define GENERATED_MAX 65536
/* Bytes from clone's system call to the new thread's code: 10 in glibc's clone3. */
#define CLONE_GAP_MAX 32

struct cached {
	uint64_t address; /* 0: free */
	struct code_place place;
};

DEFINE_VEC(struct jitdump_vec, jitdump_vec, struct jitdump *)

struct code_map {
	struct modules *modules;
	struct recorded *recorded; /* in the place of all the rest: the code of a capsule */
	const struct process *process;
	struct memory *memory;
	const struct arch *arch;
	uint64_t generation;
	struct hash tables;    /* module → cfi_table */
	struct hash generated; /* code_range sequence → cfi_table */
	struct image *vdso;
	struct cfi_table *vdso_table;
	uint64_t vdso_bias;
	struct rootfs root;
	bool has_root;
	struct jitdump_vec jitdumps;
	struct perfmap *perfmap;    /* opened when there is generated code without a name */
	bool looked_for_perfmap;    /* since the mappings last changed */
	struct exits exits;         /* of code that the process has made */
	struct exits module_exits;  /* of files' code: kept as long as the modules are the same */
	struct cfi_row *signal_row; /* of every trampoline that ends a signal */
	uint64_t now_ns;            /* of the last refresh */
	uint64_t answers;           /* how often the cache was dropped */
	struct cached cache[CACHE_SIZE];
};

/* pc and all other registers as the kernel has put them on the stack; cfa = *(sp + offset). */
static struct cfi_row *make_signal_row(const struct arch *arch)
{
	struct cfi_row *row = calloc(1, sizeof(*row) + arch->registers * sizeof(row->rules[0]));
	if (!row)
		return NULL;
	*row = (struct cfi_row){
		.cfa_kind = CFI_CFA_DEREF,
		.cfa_register = (uint8_t)arch->sp,
		.cfa_offset = (int32_t)arch->signal_offset(arch->sp),
		.return_register = (uint8_t)arch->pc,
		.flags = CFI_ROW_SIGNAL_FRAME,
	};
	for (unsigned reg = 0; reg < arch->registers; reg++)
		if (reg != arch->sp)
			row->rules[row->rule_count++] = (struct cfi_rule){
				.reg = (uint8_t)reg,
				.kind = CFI_RULE_AT_REGISTER,
				.base = (uint8_t)arch->sp,
				.offset = (int32_t)arch->signal_offset(reg),
			};
	return row;
}

/* Without code or process. */
static struct code_map *create(struct memory *memory, const struct arch *arch)
{
	struct code_map *map = calloc(1, sizeof(*map));
	if (!map)
		return NULL;
	map->memory = memory;
	map->arch = arch;
	map->generation = UINT64_MAX;
	map->signal_row = make_signal_row(arch);
	if (map->signal_row)
		return map;
	free(map);
	return NULL;
}

struct error *code_map_create(struct modules *modules, const struct process *process,
			      struct memory *memory, const struct arch *arch,
			      struct code_map **map_ret)
{
	struct code_map *map = create(memory, arch);
	if (!map)
		return error_no_memory();
	map->modules = modules;
	map->process = process;
	_cleanup_error_ struct error *err = rootfs_open(process, &map->root);
	map->has_root = !err;
	*map_ret = map;
	return NULL;
}

struct error *code_map_create_recorded(const struct capsule_code *code, struct memory *memory,
				       const struct arch *arch, struct code_map **map_ret)
{
	struct code_map *map = create(memory, arch);
	if (!map)
		return error_no_memory();
	struct error *err = recorded_create(code, arch, &map->recorded);
	if (err) {
		code_map_destroy(map);
		return err;
	}
	*map_ret = map;
	return NULL;
}

static void clear_tables(struct hash *tables)
{
	hash_foreach (slot, tables)
		cfi_table_destroy(slot->value);
	hash_deinit(tables);
}

static void clear_cache(struct code_map *map)
{
	map->answers++;
	for (size_t i = 0; i < CACHE_SIZE; i++)
		map->cache[i].address = 0;
}

static void clear_vdso(struct code_map *map)
{
	if (map->vdso_table)
		cfi_table_destroy(map->vdso_table);
	map->vdso_table = NULL;
	if (map->vdso)
		image_close(map->vdso);
	map->vdso = NULL;
}

static void close_jitdumps(struct code_map *map)
{
	vec_foreach (jitdump, &map->jitdumps)
		jitdump_close(*jitdump);
	map->jitdumps.count = 0;
	clear_tables(&map->generated);
}

void code_map_destroy(struct code_map *map)
{
	close_jitdumps(map);
	jitdump_vec_deinit(&map->jitdumps);
	if (map->perfmap)
		perfmap_close(map->perfmap);
	exits_clear(&map->exits);
	exits_clear(&map->module_exits);
	clear_tables(&map->tables);
	clear_vdso(map);
	if (map->has_root)
		rootfs_close(&map->root);
	if (map->recorded)
		recorded_destroy(map->recorded);
	free(map->signal_row);
	free(map);
}

static void open_vdso(struct code_map *map)
{
	const struct mapping *mapping = vdso_mapping(modules_maps(map->modules));
	size_t count;
	if (!mapping || map->vdso)
		return;
	error_destroy(vdso_open(map->memory, mapping, &map->vdso));
	if (!map->vdso)
		return;
	const struct image_segment *segments = image_segments(map->vdso, &count);
	map->vdso_bias = mapping->start - (count ? segments[0].vaddr : 0);
	error_destroy(cfi_table_create_image(map->vdso, &map->vdso_table));
}

static void open_jitdumps(struct code_map *map)
{
	const struct maps *maps = modules_maps(map->modules);
	const struct mapping *mapping;
	size_t index = 0;
	close_jitdumps(map);
	while (map->has_root && (mapping = jitdump_next_mapping(maps, &index))) {
		struct jitdump *jitdump = NULL;
		_cleanup_error_ struct error *err =
			jitdump_open(&map->root, mapping, map->arch->elf_machine, &jitdump);
		if (err)
			continue;
		struct jitdump **slot = jitdump_vec_append(&map->jitdumps);
		if (slot)
			*slot = jitdump;
		else
			jitdump_close(jitdump);
	}
}

/* Tables of modules that are gone go too: another module may get their address. */
static void drop_old_tables(struct code_map *map)
{
	struct hash kept = { 0 };
	for (size_t i = 0; i < modules_count(map->modules); i++) {
		uint64_t key = (uint64_t)(uintptr_t)modules_get(map->modules, i);
		void *table = hash_remove(&map->tables, key);
		if (table && !hash_set(&kept, key, table))
			cfi_table_destroy(table);
	}
	clear_tables(&map->tables);
	map->tables = kept;
}

/* True if it has become another. */
static bool update_perfmap(struct code_map *map)
{
	if (!map->perfmap)
		return false;
	uint64_t generation = perfmap_generation(map->perfmap);
	perfmap_update(map->perfmap, map->now_ns);
	return generation != perfmap_generation(map->perfmap);
}

void code_map_refresh(struct code_map *map, uint64_t now_ns)
{
	bool changed = false;
	if (map->generation != modules_generation(map->modules)) {
		map->generation = modules_generation(map->modules);
		drop_old_tables(map);
		exits_clear(&map->module_exits);
		open_vdso(map);
		open_jitdumps(map);
		map->looked_for_perfmap = map->perfmap != NULL;
		changed = true;
	}
	map->now_ns = now_ns;
	changed = update_perfmap(map) || changed;
	vec_foreach (jitdump, &map->jitdumps) {
		uint64_t generation = jitdump_generation(*jitdump);
		jitdump_update(*jitdump, now_ns);
		changed = changed || generation != jitdump_generation(*jitdump);
	}
	if (changed)
		clear_cache(map);
	exits_refresh(&map->exits, changed, now_ns);
}

uint64_t code_map_generation(const struct code_map *map)
{
	return map->answers;
}

bool code_map_is_code(const struct code_map *map, uint64_t address)
{
	if (map->recorded)
		return recorded_is_code(map->recorded, address);
	const struct mapping *mapping = maps_find(modules_maps(map->modules), address);
	return mapping && mapping->exec;
}

struct image *code_map_vdso(const struct code_map *map)
{
	return map->vdso;
}

struct cfi_table *code_map_table(struct code_map *map, struct module *module)
{
	struct image *image = module_image(map->modules, module);
	if (!image)
		return NULL;
	uint64_t key = (uint64_t)(uintptr_t)module;
	struct cfi_table *table = hash_get(&map->tables, key);
	if (table)
		return table;
	_cleanup_error_ struct error *err = cfi_table_create_image(image, &table);
	if (err)
		return NULL;
	if (!hash_set(&map->tables, key, table)) {
		cfi_table_destroy(table);
		return NULL;
	}
	return table;
}

/* glibc leaves these instructions without a rule: whether they have a caller depends on what the system call returned. */
static bool is_before_outermost(struct cfi_table *table, uint64_t vaddr)
{
	const struct cfi_row *row;
	uint64_t start, end;
	return cfi_table_lookup_range(table, vaddr, &row, &start, &end) == REASON_NO_CFI &&
	       end - start <= CLONE_GAP_MAX && !cfi_table_lookup(table, end, &row) &&
	       row->flags & CFI_ROW_OUTERMOST;
}

static void look_up(struct cfi_table *table, uint64_t address, struct code_place *place)
{
	place->reason =
		table ? cfi_table_lookup(table, address - place->bias, &place->row) : REASON_NO_CFI;
	if (place->reason)
		place->row = NULL;
	if (table && place->reason == REASON_NO_CFI)
		place->is_clone = is_before_outermost(table, address - place->bias);
	place->table = table;
}

static void find_in_module(struct code_map *map, struct module *module, uint64_t address,
			   struct code_place *place)
{
	place->kind = CODE_MODULE;
	place->module = module;
	place->reason = REASON_NO_CFI;
	place->image = module_image(map->modules, module);
	if (!place->image)
		return;
	place->bias = module->bias;
	look_up(code_map_table(map, module), address, place);
}

/* Unwind information of one generated function. */
static struct cfi_table *table_of_range(struct code_map *map, const struct code_range *range)
{
	struct cfi_table *table = hash_get(&map->generated, range->sequence + 1);
	if (table || !range->eh_frame || map->generated.count >= GENERATED_MAX)
		return table;
	struct cfi_section eh_frame = {
		.data = range->eh_frame,
		.size = range->eh_frame_size,
		.vaddr = range->eh_frame_address,
	};
	struct cfi_section none = { 0 };
	_cleanup_error_ struct error *err =
		cfi_table_create(map->arch, &eh_frame, NULL, &none, &table);
	if (err)
		return NULL;
	if (!hash_set(&map->generated, range->sequence + 1, table)) {
		cfi_table_destroy(table);
		return NULL;
	}
	return table;
}

/* Opened late: most processes have none, and others' is read for nothing where all code has a file. */
static const struct code_range *find_in_perfmap(struct code_map *map, uint64_t address)
{
	if (!map->perfmap && map->has_root && !map->looked_for_perfmap) {
		map->looked_for_perfmap = true;
		error_destroy(perfmap_open(&map->root, &map->perfmap));
		update_perfmap(map);
	}
	return map->perfmap ? perfmap_find(map->perfmap, modules_maps(map->modules), address)
			    : NULL;
}

static bool find_generated(struct code_map *map, uint64_t address, struct code_place *place)
{
	vec_foreach (jitdump, &map->jitdumps) {
		const struct code_range *range =
			jitdump_find(*jitdump, modules_maps(map->modules), address);
		if (!range)
			continue;
		place->kind = CODE_GENERATED;
		place->range = range;
		look_up(table_of_range(map, range), address, place);
		return true;
	}
	place->range = find_in_perfmap(map, address);
	if (!place->range)
		return false;
	place->kind = CODE_GENERATED;
	return true;
}

static void find_anew(struct code_map *map, uint64_t address, struct code_place *place)
{
	*place = (struct code_place){ .reason = REASON_NO_CFI };
	if (map->recorded) {
		recorded_find(map->recorded, address, place);
		return;
	}
	struct module *module = modules_find(map->modules, address);
	if (module && code_map_is_code(map, address)) {
		find_in_module(map, module, address, place);
		return;
	}
	const struct mapping *mapping = maps_find(modules_maps(map->modules), address);
	if (!mapping || !mapping->exec) {
		place->reason = REASON_NO_CODE;
		return;
	}
	if (map->vdso && mapping == vdso_mapping(modules_maps(map->modules))) {
		place->kind = CODE_MODULE;
		place->image = map->vdso;
		place->bias = map->vdso_bias;
		look_up(map->vdso_table, address, place);
		return;
	}
	if (!find_generated(map, address, place)) {
		place->kind = CODE_ANONYMOUS;
		place->bias = mapping->start;
	}
}

/* A signal handler's return address is where this begins, one that was interrupted in it may be at its end. */
static bool ends_signal(struct code_map *map, uint64_t address)
{
	enum { BEFORE = FLOW_SIGNAL_BYTES - 1, AFTER = FLOW_SIGNAL_BYTES + 1 };
	const struct flow *flow = flow_by_machine(map->arch->elf_machine);
	uint8_t code[BEFORE + AFTER];
	size_t before = BEFORE, size = sizeof(code);
	if (!flow)
		return false;
	if (!memory_read(map->memory, address - before, code, size)) {
		before = 0;
		size = AFTER;
		if (!memory_read(map->memory, address, code, size))
			return false;
	}
	for (size_t at = 0; at <= before + 1; at++) {
		size_t length = flow->signal_return(code + at, size - at);
		if (length && before < at + length)
			return true;
	}
	return false;
}

/*
 * The code decides, not the unwind information of it: aarch64's vdso has none, or, before Linux 5.8, one that leads to the
 * interrupted function's caller (commit 87676cfca141).
 */
static void find_signal_frame(struct code_map *map, uint64_t address, struct code_place *place)
{
	bool may_be = !place->row || place->row->flags & CFI_ROW_SIGNAL_FRAME;
	if (place->kind != CODE_MODULE || !may_be || !ends_signal(map, address))
		return;
	place->row = map->signal_row;
	place->reason = REASON_OK;
	place->is_clone = false;
}

const struct code_place *code_map_find(struct code_map *map, uint64_t address)
{
	struct cached *cached = &map->cache[hash_mix(address) & (CACHE_SIZE - 1)];
	if (cached->address != address || !address) {
		find_anew(map, address, &cached->place);
		find_signal_frame(map, address, &cached->place);
		/* What is in memory without a file can change from one reading of the maps to the next. */
		cached->address = cached->place.kind == CODE_MODULE ? address : 0;
	}
	return &cached->place;
}

bool code_place_function(const struct code_place *place, uint64_t address, uint64_t *start_ret)
{
	struct cfi_index *index = place->table ? cfi_table_eh_frame(place->table) : NULL;
	struct cfi_found found;
	if (!index || cfi_index_find(index, address - place->bias, &found))
		return false;
	*start_ret = found.start;
	return true;
}

const struct cfi_row *code_map_exit(struct code_map *map, uint64_t pc, bool after_call)
{
	struct module *module = map->modules ? modules_find(map->modules, pc) : NULL;
	bool is_file = module && module_image(map->modules, module);
	return exits_find(is_file ? &map->module_exits : &map->exits, map->arch, map->memory, pc,
			  after_call);
}
