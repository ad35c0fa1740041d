/* SPDX-License-Identifier: MIT */
/* exits.c: rows made from code. */
#include "unwind/exits.h"

#include <stdlib.h>

#include "base/clock.h"

#define ROWS_MAX   4096
#define ROWS_NS    (100 * NS_PER_MS)
#define PAGE_BYTES 4096

/* In the place of a row: the code is not simple. */
static struct cfi_row none;

void exits_clear(struct exits *exits)
{
	hash_foreach (slot, &exits->rows)
		if (slot->value != &none)
			free(slot->value);
	hash_deinit(&exits->rows);
}

void exits_refresh(struct exits *exits, bool changed, uint64_t now_ns)
{
	if (!changed && now_ns - exits->cleared_ns <= ROWS_NS)
		return;
	exits->cleared_ns = now_ns;
	exits_clear(exits);
}

static struct cfi_row *make_row(const struct arch *arch, const struct flow_exit *exit)
{
	struct cfi_row *row =
		calloc(1, sizeof(*row) + (exit->saved_count + 1) * sizeof(row->rules[0]));
	if (!row)
		return NULL;
	row->cfa_kind = CFI_CFA_REGISTER;
	row->cfa_register = (uint8_t)exit->base;
	row->cfa_offset = exit->cfa;
	row->return_register = (uint8_t)arch->return_address;
	for (unsigned i = 0; i < exit->saved_count; i++)
		row->rules[row->rule_count++] = (struct cfi_rule){
			.reg = exit->saved[i].reg,
			.kind = CFI_RULE_AT_CFA,
			.offset = exit->saved[i].at,
		};
	if (!exit->in_register)
		row->rules[row->rule_count++] = (struct cfi_rule){
			.reg = (uint8_t)arch->return_address,
			.kind = CFI_RULE_AT_CFA,
			.offset = exit->returns,
		};
	return row;
}

static bool find_straight(const struct flow *flow, struct memory *memory, uint64_t pc,
			  struct flow_exit *exit)
{
	uint8_t code[FLOW_EXIT_BYTES];
	size_t size = sizeof(code), left = PAGE_BYTES - pc % PAGE_BYTES;
	/* The page may be the last of its mapping. */
	if (!memory_read(memory, pc, code, size)) {
		if (left >= size || !memory_read(memory, pc, code, left))
			return false;
		size = left;
	}
	return flow->exit(code, size, exit);
}

/* Reads at most @bytes before and after the page of @pc, as far as there is memory. */
static bool find_with_jumps(const struct flow *flow, struct memory *memory, uint64_t pc,
			    size_t bytes, struct flow_exit *exit, struct memory_range *read_ret)
{
	uint8_t code[2 * FLOW_LEAF_BYTES];
	uint64_t page = pc & ~(uint64_t)(PAGE_BYTES - 1);
	uint64_t start = page, end = page;
	/* From the middle outwards. */
	size_t middle = FLOW_LEAF_BYTES;
	while (end - page < bytes &&
	       memory_read(memory, end, code + middle + (end - page), PAGE_BYTES))
		end += PAGE_BYTES;
	if (end == page)
		return false;
	while (page - start < bytes && start >= PAGE_BYTES &&
	       memory_read(memory, start - PAGE_BYTES, code + middle - (page - start) - PAGE_BYTES,
			   PAGE_BYTES))
		start -= PAGE_BYTES;
	*read_ret = (struct memory_range){ start, end - start };
	return flow->exit_of_leaf(code + middle - (page - start), end - start, pc - start, exit);
}

static bool find_in_stub(const struct flow *flow, struct memory *memory, uint64_t pc,
			 struct flow_exit *exit, struct memory_range *read_ret)
{
	uint8_t code[3 * FLOW_STUB_BYTES];
	size_t before = FLOW_STUB_BYTES + sizeof(uint32_t), size = sizeof(code);
	uint64_t page = pc % PAGE_BYTES;
	/* Where a page next to it is not there, the stub is in this one. */
	if (!memory_read(memory, pc - before, code, size)) {
		before = page < before ? page : before;
		size = size < PAGE_BYTES - page + before ? size : PAGE_BYTES - page + before;
		if (!memory_read(memory, pc - before, code, size))
			return false;
	}
	uint64_t start = (pc - before) & ~(uint64_t)(PAGE_BYTES - 1);
	uint64_t last = (pc - before + size - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	*read_ret = (struct memory_range){ start, last + PAGE_BYTES - start };
	return flow->exit_of_stub(code, size, before, exit);
}

/*
 * Nothing is taken off the stack before the return: so it is at a function's start, and nowhere behind a call where the stack is
 * aligned for calls.
 */
static bool is_start(const struct arch *arch, const struct flow_exit *exit)
{
	return exit->base == arch->sp && exit->cfa == -arch->return_address_at;
}

/* Reads what is nearest first, and of code with jumps at most @bytes to either side; *read_ret is empty where all is at @pc itself. */
static bool find_exit(const struct flow *flow, struct memory *memory, uint64_t pc, bool after_call,
		      size_t bytes, struct flow_exit *exit, struct memory_range *read_ret)
{
	*read_ret = (struct memory_range){ 0 };
	if (find_straight(flow, memory, pc, exit))
		return true;
	if (after_call)
		return false;
	return (flow->exit_of_stub && find_in_stub(flow, memory, pc, exit, read_ret)) ||
	       (flow->exit_of_leaf && find_with_jumps(flow, memory, pc, bytes, exit, read_ret));
}

static struct cfi_row *read_row(const struct arch *arch, struct memory *memory, uint64_t pc,
				bool after_call)
{
	const struct flow *flow = flow_by_machine(arch->elf_machine);
	struct flow_exit exit;
	struct memory_range read;
	if (!flow || !find_exit(flow, memory, pc, after_call, FLOW_LEAF_BYTES, &exit, &read) ||
	    (after_call && is_start(arch, &exit)))
		return NULL;
	return make_row(arch, &exit);
}

bool exits_memory(const struct arch *arch, struct memory *memory, uint64_t pc,
		  struct memory_range *range_ret)
{
	const struct flow *flow = flow_by_machine(arch->elf_machine);
	struct flow_exit exit;
	struct memory_range read = { 0 };
	bool found = false;
	for (size_t bytes = PAGE_BYTES; flow && !found && bytes <= FLOW_LEAF_BYTES; bytes *= 2)
		found = find_exit(flow, memory, pc, false, bytes, &exit, &read);
	if (!found || !read.size)
		return false;
	*range_ret = read;
	return true;
}

const struct cfi_row *exits_find(struct exits *exits, const struct arch *arch,
				 struct memory *memory, uint64_t pc, bool after_call)
{
	/* No process has code at the complement of an address of code. */
	uint64_t key = after_call ? ~pc : pc;
	struct cfi_row *row = hash_get(&exits->rows, key);
	if (row)
		return row == &none ? NULL : row;
	if (exits->rows.count >= ROWS_MAX)
		exits_clear(exits);
	row = read_row(arch, memory, pc, after_call);
	if (!hash_set(&exits->rows, key, row ? row : &none)) {
		free(row);
		return NULL;
	}
	return row;
}
