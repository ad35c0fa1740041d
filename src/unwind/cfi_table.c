/* SPDX-License-Identifier: MIT */
/* cfi_table.c: look-up in, and lazy compilation of, the rows of an image. */
#include "unwind/cfi_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "unwind/cfi_exec.h"
#include "unwind/cfi_image.h"
#include "unwind/cfi_pool.h"

/* Slots of the cache by pc, powers of two: most images need few, the one with the interpreter loop thousands. */
#define RECENT_COUNT_MIN 64
#define RECENT_COUNT_MAX 16384
/* Four times what the largest library here has in all. */
#define RANGES_LIMIT (UINT32_C(1) << 22)
/* Offsets in a function are 32 bits. */
#define FUNCTION_SIZE_LIMIT UINT32_MAX

/* Row number where instructions are bad. */
#define ROW_BAD UINT32_MAX

/* A row is in force from its offset to that of the next range, the last one to the function's end.
 */
struct range {
	uint32_t offset; /* from the function's start */
	uint32_t row;    /* number in the pool, or ROW_BAD */
};

/* What is known about the vaddrs of one FDE, or of a gap. Functions do not overlap. */
struct function {
	uint64_t start;
	uint32_t size;
	uint32_t first_range;
	uint32_t range_count; /* 0: a gap, or bad from the start */
	uint32_t reason;      /* why there is no row, where there is none */
};

DEFINE_VEC(struct range_vec, range_vec, struct range)
DEFINE_VEC(struct function_vec, function_vec, struct function)

struct recent {
	uint64_t pc;
	const struct cfi_row *row; /* NULL: the slot is free */
};

struct cfi_table {
	struct recent *recent; /* direct-mapped */
	size_t recent_count;
	size_t recent_used;
	const struct arch *arch;
	struct function_vec functions; /* ascending by start */
	struct range_vec ranges;
	struct cfi_pool pool;
	struct cfi_index *eh_frame, *debug_frame; /* NULL: none */
	const struct image
		*debug_images[2]; /* where .debug_frame is looked for when it is first needed */
	struct cfi_exec exec;     /* here because it is large */
};

/* ---- creation ---- */

static struct error *create(const struct arch *arch, struct cfi_table **table_ret)
{
	struct cfi_table *table = calloc(1, sizeof(*table));
	if (!table)
		return error_no_memory();
	table->arch = arch;
	table->recent_count = RECENT_COUNT_MIN;
	table->recent = calloc(RECENT_COUNT_MIN, sizeof(*table->recent));
	if (!table->recent) {
		free(table);
		return error_no_memory();
	}
	*table_ret = table;
	return NULL;
}

void cfi_table_destroy(struct cfi_table *table)
{
	if (table->eh_frame)
		cfi_index_destroy(table->eh_frame);
	if (table->debug_frame)
		cfi_index_destroy(table->debug_frame);
	cfi_pool_deinit(&table->pool);
	range_vec_deinit(&table->ranges);
	function_vec_deinit(&table->functions);
	free(table->recent);
	free(table);
}

struct error *cfi_table_create(const struct arch *arch, const struct cfi_section *eh_frame,
			       const struct cfi_section *header,
			       const struct cfi_section *debug_frame, struct cfi_table **table_ret)
{
	_cleanup_cfi_table_ struct cfi_table *table = NULL;
	struct error *err = create(arch, &table);
	if (!err && eh_frame->size)
		err = cfi_index_create(eh_frame, header, &table->eh_frame);
	if (!err && debug_frame->size)
		err = cfi_index_create(debug_frame, NULL, &table->debug_frame);
	if (err)
		return err;
	*table_ret = no_cleanup(table);
	return NULL;
}

struct error *cfi_table_create_image(const struct image *image, struct cfi_table **table_ret)
{
	const struct arch *arch = arch_by_machine(image_machine(image));
	if (!arch)
		return error_create(ERROR_UNSUPPORTED, "%s: no unwinding of %s code",
				    image_name(image), arch_machine_name(image_machine(image)));
	struct cfi_section eh_frame = { 0 }, header = { 0 };
	const struct cfi_section none = { 0 };
	cfi_image_eh_frame(image, &eh_frame, &header);
	struct error *err = cfi_table_create(arch, &eh_frame, &header, &none, table_ret);
	if (err)
		return error_prefix(err, "%s", image_name(image));
	(*table_ret)->debug_images[0] = image;
	return NULL;
}

void cfi_table_set_debug_image(struct cfi_table *table, const struct image *debug_image)
{
	table->debug_images[1] = debug_image;
}

const struct arch *cfi_table_arch(const struct cfi_table *table)
{
	return table->arch;
}

struct cfi_index *cfi_table_eh_frame(const struct cfi_table *table)
{
	return table->eh_frame;
}

struct cfi_index *cfi_table_debug_frame(struct cfi_table *table)
{
	for (size_t i = 0; i < 2; i++) {
		const struct image *image = table->debug_images[i];
		struct cfi_section section;
		table->debug_images[i] = NULL;
		if (!image || table->debug_frame || !cfi_image_debug_frame(image, &section))
			continue;
		/* Without it there is one source less: no reason to fail. */
		error_destroy(cfi_index_create(&section, NULL, &table->debug_frame));
	}
	return table->debug_frame;
}

const uint8_t *cfi_table_expression(const struct cfi_table *table, int32_t number, size_t *size_ret)
{
	return cfi_pool_expression(&table->pool, number, size_ret);
}

/* ---- compiling ---- */

/* The source and the FDE that cover a pc, and the bounds of that answer. */
struct source {
	struct cfi_index *index;
	struct cfi_found found;
};

static void intersect(struct cfi_found *found, const struct cfi_found *with)
{
	found->start = found->start > with->start ? found->start : with->start;
	found->end = found->end < with->end ? found->end : with->end;
	found->fde_offset = with->fde_offset;
}

static enum reason find_source(struct cfi_table *table, uint64_t pc, struct source *source_ret)
{
	struct source source = { .found = { .start = 0, .end = UINT64_MAX } };
	enum reason reason = REASON_NO_CFI;
	for (int i = 0; i < 2 && reason == REASON_NO_CFI; i++) {
		struct cfi_found found;
		source.index = i == 0 ? table->eh_frame : cfi_table_debug_frame(table);
		if (!source.index)
			continue;
		reason = cfi_index_find(source.index, pc, &found);
		if (reason == REASON_OK || reason == REASON_NO_CFI)
			intersect(&source.found, &found);
	}
	*source_ret = source;
	return reason;
}

/* The position in functions of the first that starts after @pc. */
static size_t function_after(const struct cfi_table *table, uint64_t pc)
{
	size_t low = 0, high = table->functions.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (table->functions.items[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Bounds a new function by what is known already and by what offsets can express. @pc stays inside.
 */
static void clip(const struct cfi_table *table, uint64_t pc, size_t position,
		 struct cfi_found *found)
{
	uint64_t low = pc > FUNCTION_SIZE_LIMIT / 2 ? pc - FUNCTION_SIZE_LIMIT / 2 : 0;
	if (position) {
		const struct function *before = &table->functions.items[position - 1];
		uint64_t end = before->start + before->size;
		low = end > low ? end : low;
	}
	if (found->start < low)
		found->start = low;
	if (position < table->functions.count &&
	    found->end > table->functions.items[position].start)
		found->end = table->functions.items[position].start;
	if (found->end - found->start > FUNCTION_SIZE_LIMIT)
		found->end = found->start + FUNCTION_SIZE_LIMIT;
}

static enum reason add_range(struct cfi_table *table, struct function *function, uint32_t offset,
			     uint32_t row)
{
	if (function->range_count && table->ranges.items[table->ranges.count - 1].row == row)
		return REASON_OK;
	if (table->ranges.count == RANGES_LIMIT)
		return REASON_LIMIT;
	struct range *range = range_vec_append(&table->ranges);
	if (!range)
		return REASON_NO_MEMORY;
	range->offset = offset;
	range->row = row;
	function->range_count++;
	return REASON_OK;
}

/* The ranges of @function, out of the rows of its FDE. */
static enum reason compile_rows(struct cfi_table *table, struct cfi_index *index,
				uint64_t fde_offset, struct function *function)
{
	const struct cfi_cie *cie;
	struct cfi_fde fde;
	enum reason reason = cfi_index_fde(index, fde_offset, &cie, &fde);
	if (reason)
		return reason;
	struct cfi_exec *exec = &table->exec;
	uint64_t end = function->start + function->size;
	cfi_exec_begin(exec, table->arch, cfi_index_section(index), cie, &fde);
	while (cfi_exec_next(exec) && exec->start < end) {
		if (exec->end <= function->start)
			continue;
		uint32_t row = ROW_BAD;
		reason = exec->reason ? exec->reason
				      : cfi_pool_add_row(&table->pool, table->arch, &exec->state,
							 cie, &row);
		if (reason && reason != REASON_BAD_CFI)
			return reason;
		if (reason)
			function->reason = reason;
		uint64_t start = exec->start > function->start ? exec->start : function->start;
		reason = add_range(table, function, (uint32_t)(start - function->start), row);
		if (reason)
			return reason;
	}
	return REASON_OK;
}

static enum reason insert(struct cfi_table *table, size_t position, const struct function *function)
{
	if (!function_vec_append(&table->functions))
		return REASON_NO_MEMORY;
	struct function *place = &table->functions.items[position];
	memmove(place + 1, place, (table->functions.count - 1 - position) * sizeof(*place));
	*place = *function;
	return REASON_OK;
}

/* Adds what is known about @pc to functions; without memory nothing, so that a later try may
 * succeed. */
static enum reason compile(struct cfi_table *table, uint64_t pc, size_t position)
{
	struct source source;
	enum reason reason = find_source(table, pc, &source);
	if (reason && reason != REASON_NO_CFI)
		return reason;
	clip(table, pc, position, &source.found);
	struct function function = {
		.start = source.found.start,
		.size = (uint32_t)(source.found.end - source.found.start),
		.first_range = (uint32_t)table->ranges.count,
	};
	if (!reason)
		reason = compile_rows(table, source.index, source.found.fde_offset, &function);
	/* An FDE read from a process may be another one a moment later. */
	if (!reason && !function.range_count)
		reason = REASON_BAD_CFI;
	if (reason) {
		table->ranges.count = function.first_range;
		function.range_count = 0;
		function.reason = reason;
	}
	if (reason != REASON_NO_MEMORY)
		reason = insert(table, position, &function);
	if (reason)
		table->ranges.count = function.first_range;
	return reason;
}

/* ---- look-up ---- */

static enum reason find_function(struct cfi_table *table, uint64_t pc,
				 const struct function **function_ret)
{
	size_t position = function_after(table, pc);
	if (position) {
		const struct function *function = &table->functions.items[position - 1];
		if (pc - function->start < function->size) {
			*function_ret = function;
			return REASON_OK;
		}
	}
	enum reason reason = compile(table, pc, position);
	if (!reason)
		*function_ret = &table->functions.items[position];
	return reason;
}

/* The last range that starts at or before @offset; the first one starts at 0. */
static uint32_t find_range(const struct range *ranges, uint32_t count, uint32_t offset)
{
	uint32_t low = 0, high = count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (ranges[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

enum reason cfi_table_lookup_range(struct cfi_table *table, uint64_t pc,
				   const struct cfi_row **row_ret, uint64_t *start_ret,
				   uint64_t *end_ret)
{
	/* The one address that no range [start, end) holds. */
	if (pc == UINT64_MAX) {
		*start_ret = *end_ret = pc;
		return REASON_NO_CFI;
	}
	const struct function *function;
	enum reason reason = find_function(table, pc, &function);
	if (reason)
		return reason;
	*start_ret = function->start;
	*end_ret = function->start + function->size;
	if (!function->range_count)
		return function->reason;

	const struct range *ranges = &table->ranges.items[function->first_range];
	uint32_t i = find_range(ranges, function->range_count, (uint32_t)(pc - function->start));
	*start_ret = function->start + ranges[i].offset;
	if (i + 1 < function->range_count)
		*end_ret = function->start + ranges[i + 1].offset;
	if (ranges[i].row == ROW_BAD)
		return function->reason;
	*row_ret = cfi_pool_row(&table->pool, ranges[i].row);
	return REASON_OK;
}

static struct recent *recent_slot(const struct cfi_table *table, uint64_t pc)
{
	return &table->recent[(pc ^ pc >> 12) & (table->recent_count - 1)];
}

/* Twice the slots; without memory it stays as it is. */
static void grow_recent(struct cfi_table *table)
{
	size_t old_count = table->recent_count;
	struct recent *old = table->recent, *bigger = calloc(2 * old_count, sizeof(*bigger));
	if (!bigger)
		return;
	table->recent = bigger;
	table->recent_count = 2 * old_count;
	/* Two of one old slot cannot meet again: used stays what it is. */
	for (size_t i = 0; i < old_count; i++)
		if (old[i].row)
			*recent_slot(table, old[i].pc) = old[i];
	free(old);
}

static void remember(struct cfi_table *table, uint64_t pc, const struct cfi_row *row)
{
	struct recent *slot = recent_slot(table, pc);
	table->recent_used += !slot->row;
	if (table->recent_used > table->recent_count / 4 &&
	    table->recent_count < RECENT_COUNT_MAX) {
		grow_recent(table);
		slot = recent_slot(table, pc);
	}
	slot->pc = pc;
	slot->row = row;
}

enum reason cfi_table_lookup(struct cfi_table *table, uint64_t pc, const struct cfi_row **row_ret)
{
	const struct recent *recent = recent_slot(table, pc);
	if (recent->pc == pc && recent->row) {
		*row_ret = recent->row;
		return REASON_OK;
	}
	uint64_t start, end;
	const struct cfi_row *row;
	enum reason reason = cfi_table_lookup_range(table, pc, &row, &start, &end);
	if (reason)
		return reason;
	remember(table, pc, row);
	*row_ret = row;
	return REASON_OK;
}

/* ---- statistics ---- */

static void count_row(const struct cfi_row *row, struct cfi_table_stats *stats)
{
	stats->cfa[row->cfa_kind]++;
	stats->signal_frames += (row->flags & CFI_ROW_SIGNAL_FRAME) != 0;
	stats->outermost += (row->flags & CFI_ROW_OUTERMOST) != 0;
	for (uint32_t i = 0; i < row->rule_count; i++)
		stats->rules[row->rules[i].kind]++;
}

void cfi_table_stats(const struct cfi_table *table, struct cfi_table_stats *stats_ret)
{
	struct cfi_table_stats stats = { 0 };
	vec_foreach (function, &table->functions) {
		stats.functions += function->reason != REASON_NO_CFI;
		stats.gaps += function->reason == REASON_NO_CFI;
		stats.bad += function->reason && function->reason != REASON_NO_CFI;
	}
	vec_foreach (range, &table->ranges)
		if (range->row != ROW_BAD)
			count_row(cfi_pool_row(&table->pool, range->row), &stats);
	stats.ranges = table->ranges.count;
	stats.rows = table->pool.row_count;
	stats.expressions = table->pool.expressions.count;
	stats.bytes = sizeof(*table) + table->recent_count * sizeof(*table->recent) +
		      table->functions.capacity * sizeof(struct function) +
		      table->ranges.capacity * sizeof(struct range) + cfi_pool_bytes(&table->pool);
	*stats_ret = stats;
}
