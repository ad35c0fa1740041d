/* SPDX-License-Identifier: MIT */
/* cfi_index.c: the linker's search table, or an index of our own. */
#include "unwind/cfi_index.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"

/* An FDE that starts later may end before the pc: so many entries before it are looked at too. */
#define STEP_BACK_LIMIT 8
/* Version, three encodings, two pointers of at most 8 bytes. */
#define HEADER_SIZE_MAX 20
#define HEADER_VERSION  1

DEFINE_VEC(struct piece_vec, piece_vec, struct cfi_piece)

enum header_state {
	HEADER_UNREAD,
	HEADER_USABLE,
	HEADER_VERIFIED, /* all of it is in order */
	HEADER_NONE,
	HEADER_DAMAGED,
};

/* .eh_frame_hdr's search table: count pairs of pointers, ascending by the first. */
struct search_table {
	enum header_state state;
	struct cfi_section section;
	struct cfi_window window;
	uint64_t offset; /* of the first pair */
	uint64_t count;
	size_t pair_size;
	uint8_t encoding;
};

struct cfi_index {
	struct cfi_section section;
	struct cfi_window window, cie_window;
	struct search_table table;
	struct hash cies; /* offset + 1 → struct cfi_cie */
	struct piece_vec pieces;
	bool has_pieces;
};

struct error *cfi_index_create(const struct cfi_section *section, const struct cfi_section *header,
			       struct cfi_index **index_ret)
{
	if (section->size > CFI_SECTION_LIMIT)
		return error_create(ERROR_CORRUPT, "unwind information of %llu bytes",
				    (unsigned long long)section->size);
	struct cfi_index *index = calloc(1, sizeof(*index));
	if (!index)
		return error_no_memory();
	index->section = *section;
	index->window.section = index->cie_window.section = &index->section;
	index->table.state = HEADER_NONE;
	if (header && header->size) {
		index->table.state = HEADER_UNREAD;
		index->table.section = *header;
		index->table.window.section = &index->table.section;
	}
	*index_ret = index;
	return NULL;
}

void cfi_index_destroy(struct cfi_index *index)
{
	hash_foreach (slot, &index->cies) {
		cfi_cie_deinit(slot->value);
		free(slot->value);
	}
	hash_deinit(&index->cies);
	cfi_window_deinit(&index->window);
	cfi_window_deinit(&index->cie_window);
	cfi_window_deinit(&index->table.window);
	piece_vec_deinit(&index->pieces);
	free(index);
}

const struct cfi_section *cfi_index_section(const struct cfi_index *index)
{
	return &index->section;
}

bool cfi_index_header_is_damaged(const struct cfi_index *index)
{
	return index->table.state == HEADER_DAMAGED;
}

/* ---- entries ---- */

static enum reason find_cie(struct cfi_index *index, uint64_t offset, const struct cfi_cie **ret)
{
	struct cfi_cie *cie = hash_get(&index->cies, offset + 1);
	if (cie) {
		*ret = cie;
		return REASON_OK;
	}
	struct cfi_entry entry;
	enum reason reason = cfi_entry_read(&index->cie_window, offset, &entry);
	if (reason)
		return reason;
	cie = malloc(sizeof(*cie));
	if (!cie)
		return REASON_NO_MEMORY;
	reason = cfi_cie_decode(&index->section, &entry, cie);
	if (reason) {
		free(cie);
		return reason;
	}
	if (!hash_set(&index->cies, offset + 1, cie)) {
		cfi_cie_deinit(cie);
		free(cie);
		return REASON_NO_MEMORY;
	}
	*ret = cie;
	return REASON_OK;
}

static enum reason decode_fde(struct cfi_index *index, const struct cfi_entry *entry,
			      const struct cfi_cie **cie_ret, struct cfi_fde *fde_ret)
{
	if (entry->kind != CFI_ENTRY_FDE)
		return REASON_BAD_CFI;
	const struct cfi_cie *cie;
	enum reason reason = find_cie(index, entry->cie_offset, &cie);
	if (!reason)
		reason = cfi_fde_decode(&index->section, entry, cie, fde_ret);
	if (!reason)
		*cie_ret = cie;
	return reason;
}

enum reason cfi_index_fde(struct cfi_index *index, uint64_t fde_offset,
			  const struct cfi_cie **cie_ret, struct cfi_fde *fde_ret)
{
	struct cfi_entry entry;
	enum reason reason = cfi_entry_read(&index->window, fde_offset, &entry);
	return reason ? reason : decode_fde(index, &entry, cie_ret, fde_ret);
}

/* ---- an index of our own ---- */

/* Linkers leave FDEs of discarded functions in .debug_frame, at address 0. */
static bool is_code(const struct image *image, uint64_t vaddr)
{
	if (!image)
		return true;
	size_t count;
	const struct image_segment *segments = image_segments(image, &count);
	for (size_t i = 0; i < count; i++)
		if (segments[i].exec && vaddr >= segments[i].vaddr &&
		    vaddr - segments[i].vaddr < segments[i].memory_size)
			return true;
	return false;
}

static enum reason add_fde(struct cfi_index *index, const struct cfi_entry *entry,
			   struct piece_vec *fdes)
{
	const struct cfi_cie *cie;
	struct cfi_fde fde;
	enum reason reason = decode_fde(index, entry, &cie, &fde);
	if (reason == REASON_NO_MEMORY)
		return reason;
	/* One bad FDE does not make the others bad. */
	if (reason || fde.size == 0 || !is_code(index->section.image, fde.start))
		return REASON_OK;
	struct cfi_piece *piece = piece_vec_append(fdes);
	if (!piece)
		return REASON_NO_MEMORY;
	*piece = (struct cfi_piece){
		.start = fde.start,
		.size = fde.size > UINT32_MAX ? UINT32_MAX : (uint32_t)fde.size,
		.fde_offset = (uint32_t)entry->offset,
	};
	return REASON_OK;
}

/* Where entries cannot be told apart any more the pass ends; what was found before is good. */
static enum reason scan(struct cfi_index *index, struct piece_vec *fdes)
{
	struct cfi_window window = { .section = &index->section, .chunk = CFI_WINDOW_CHUNK_SCAN };
	struct cfi_entry entry = { 0 };
	enum reason reason = REASON_OK;
	while (!reason && !cfi_entry_read(&window, entry.next, &entry) &&
	       entry.kind != CFI_ENTRY_TERMINATOR) {
		if (entry.kind == CFI_ENTRY_FDE)
			reason = add_fde(index, &entry, fdes);
	}
	cfi_window_deinit(&window);
	return reason;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct cfi_piece *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* The first in the section last: it is then the inner one. */
	return x->fde_offset > y->fde_offset ? -1 : x->fde_offset < y->fde_offset;
}

/* FDEs that are open at position, the innermost last. */
struct sweep {
	uint64_t position;
	struct piece_vec open;
	struct piece_vec *pieces;
};

static uint64_t piece_end(const struct cfi_piece *piece)
{
	return piece->start + piece->size;
}

/* Emits what is in force from position to @limit. */
static bool sweep_to(struct sweep *sweep, uint64_t limit)
{
	while (sweep->open.count && sweep->position < limit) {
		const struct cfi_piece *top = &sweep->open.items[sweep->open.count - 1];
		uint64_t end = piece_end(top) < limit ? piece_end(top) : limit;
		if (end > sweep->position) {
			struct cfi_piece *piece = piece_vec_append(sweep->pieces);
			if (!piece)
				return false;
			piece->start = sweep->position;
			piece->size = (uint32_t)(end - sweep->position);
			piece->fde_offset = top->fde_offset;
			sweep->position = end;
		}
		if (piece_end(top) <= sweep->position)
			sweep->open.count--;
	}
	sweep->position = limit;
	return true;
}

static enum reason split_overlaps(const struct piece_vec *fdes, struct piece_vec *pieces)
{
	struct sweep sweep = { .pieces = pieces };
	bool is_ok = true;
	for (size_t i = 0; is_ok && i < fdes->count; i++) {
		is_ok = sweep_to(&sweep, fdes->items[i].start);
		struct cfi_piece *open = is_ok ? piece_vec_append(&sweep.open) : NULL;
		is_ok = open != NULL;
		if (open)
			*open = fdes->items[i];
	}
	is_ok = is_ok && sweep_to(&sweep, UINT64_MAX);
	piece_vec_deinit(&sweep.open);
	return is_ok ? REASON_OK : REASON_NO_MEMORY;
}

static enum reason build_pieces(struct cfi_index *index)
{
	struct piece_vec fdes = { 0 }, pieces = { 0 };
	enum reason reason = scan(index, &fdes);
	if (!reason && fdes.count)
		qsort(fdes.items, fdes.count, sizeof(*fdes.items), compare_pieces);
	if (!reason)
		reason = split_overlaps(&fdes, &pieces);
	piece_vec_deinit(&fdes);
	if (reason) {
		piece_vec_deinit(&pieces);
		return reason;
	}
	index->pieces = pieces;
	index->has_pieces = true;
	return REASON_OK;
}

enum reason cfi_index_pieces(struct cfi_index *index, const struct cfi_piece **pieces_ret,
			     size_t *count_ret)
{
	enum reason reason = index->has_pieces ? REASON_OK : build_pieces(index);
	if (reason)
		return reason;
	*pieces_ret = index->pieces.items;
	*count_ret = index->pieces.count;
	return REASON_OK;
}

static enum reason find_piece(struct cfi_index *index, uint64_t pc, struct cfi_found *found_ret)
{
	const struct cfi_piece *pieces;
	size_t count;
	enum reason reason = cfi_index_pieces(index, &pieces, &count);
	if (reason)
		return reason;
	size_t low = 0, high = count; /* the number of pieces that start at or before pc */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (pieces[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}

	uint64_t next = low < count ? pieces[low].start : UINT64_MAX;
	const struct cfi_piece *piece = low ? &pieces[low - 1] : NULL;
	uint64_t end = piece ? piece_end(piece) : 0;
	if (pc >= end) {
		*found_ret = (struct cfi_found){ .start = end, .end = next };
		return REASON_NO_CFI;
	}
	*found_ret = (struct cfi_found){ .start = piece->start,
					 .end = end,
					 .fde_offset = piece->fde_offset };
	return REASON_OK;
}

/* ---- .eh_frame_hdr ---- */

/* Bytes of a pointer that has always as many; 0 for one that has not and so cannot be searched. */
static size_t fixed_size(uint8_t encoding)
{
	if (encoding == CFI_PE_OMIT || encoding & CFI_PE_INDIRECT ||
	    (encoding & CFI_PE_RELATIVE) == CFI_PE_ALIGNED)
		return 0;
	switch (encoding & CFI_PE_FORMAT) {
	case CFI_PE_UDATA2:
	case CFI_PE_SDATA2:
		return 2;
	case CFI_PE_UDATA4:
	case CFI_PE_SDATA4:
		return 4;
	case CFI_PE_ABSPTR:
	case CFI_PE_SIGNED:
	case CFI_PE_UDATA8:
	case CFI_PE_SDATA8:
		return 8;
	default:
		return 0;
	}
}

static struct cfi_pointer_base header_base(const struct search_table *table, uint64_t offset)
{
	return (struct cfi_pointer_base){
		.vaddr = table->section.vaddr + offset,
		.data = table->section.vaddr,
		.address_size = 8,
	};
}

static bool read_header(struct search_table *table)
{
	size_t size = table->section.size < HEADER_SIZE_MAX ? table->section.size : HEADER_SIZE_MAX;
	struct reader r = reader_make(cfi_window_get(&table->window, 0, size), size);
	if (!r.start)
		return false;
	const struct cfi_pointer_base base = header_base(table, 0);
	uint8_t version, section_encoding, count_encoding;
	uint64_t ignored;
	if (!reader_u8(&r, &version) || version != HEADER_VERSION ||
	    !reader_u8(&r, &section_encoding) || !reader_u8(&r, &count_encoding) ||
	    !reader_u8(&r, &table->encoding) ||
	    !cfi_pointer_read(&r, section_encoding, &base, &ignored) ||
	    !cfi_pointer_read(&r, count_encoding, &base, &table->count))
		return false;
	table->offset = reader_offset(&r);
	table->pair_size = 2 * fixed_size(table->encoding);
	return table->pair_size && table->count &&
	       table->count <= (table->section.size - table->offset) / table->pair_size;
}

static bool read_pair(struct search_table *table, uint64_t number, uint64_t *start_ret,
		      uint64_t *fde_vaddr_ret)
{
	uint64_t offset = table->offset + number * table->pair_size;
	struct reader r = reader_make(cfi_window_get(&table->window, offset, table->pair_size),
				      table->pair_size);
	const struct cfi_pointer_base base = header_base(table, offset);
	return r.start && cfi_pointer_read(&r, table->encoding, &base, start_ret) &&
	       cfi_pointer_read(&r, table->encoding, &base, fde_vaddr_ret);
}

/* A wrong table may hide an FDE: before a gap is believed, all pairs must ascend and point into the
 * section. */
static bool verify_table(struct cfi_index *index)
{
	struct search_table *table = &index->table;
	if (table->state == HEADER_VERIFIED)
		return true;
	uint64_t before = 0;
	table->window.chunk = CFI_WINDOW_CHUNK_SCAN;
	for (uint64_t i = 0; i < table->count; i++) {
		uint64_t start, fde_vaddr;
		if (!read_pair(table, i, &start, &fde_vaddr) || start < before ||
		    fde_vaddr - index->section.vaddr >= index->section.size)
			return false;
		before = start;
	}
	table->window.chunk = 0;
	cfi_window_deinit(&table->window);
	table->state = HEADER_VERIFIED;
	return true;
}

/* How many pairs start at or before @pc, and where the next one starts. */
static bool search_table(struct search_table *table, uint64_t pc, uint64_t *count_ret,
			 uint64_t *next_ret)
{
	uint64_t low = 0, high = table->count, next = UINT64_MAX;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2, start, fde_vaddr;
		if (!read_pair(table, middle, &start, &fde_vaddr))
			return false;
		if (start <= pc) {
			low = middle + 1;
		} else {
			high = middle;
			next = start;
		}
	}
	*count_ret = low;
	*next_ret = next;
	return true;
}

/* The FDE of a pair, which must be where the pair says. */
static bool pair_fde(struct cfi_index *index, uint64_t number, uint64_t *offset_ret,
		     struct cfi_fde *fde_ret)
{
	uint64_t start, fde_vaddr;
	const struct cfi_cie *cie;
	if (!read_pair(&index->table, number, &start, &fde_vaddr))
		return false;
	*offset_ret = fde_vaddr - index->section.vaddr;
	return *offset_ret < index->section.size &&
	       !cfi_index_fde(index, *offset_ret, &cie, fde_ret) && fde_ret->start == start;
}

/* REASON_BAD_CFI: the table contradicts itself. */
static enum reason find_by_table(struct cfi_index *index, uint64_t pc, struct cfi_found *found_ret)
{
	struct cfi_found found = { 0 };
	uint64_t count, offset;
	if (!search_table(&index->table, pc, &count, &found.end))
		return REASON_BAD_CFI;
	for (unsigned back = 1; back <= STEP_BACK_LIMIT && back <= count; back++) {
		struct cfi_fde fde;
		if (!pair_fde(index, count - back, &offset, &fde) || fde.start > pc)
			return REASON_BAD_CFI;
		uint64_t end = fde.start + fde.size;
		if (pc < end) {
			found.start = found.start > fde.start ? found.start : fde.start;
			found.end = found.end < end ? found.end : end;
			found.fde_offset = offset;
			*found_ret = found;
			return REASON_OK;
		}
		found.start = found.start > end ? found.start : end;
	}
	/* The gap ends where the next FDE starts, not only its pair. */
	struct cfi_fde next;
	if (!verify_table(index) ||
	    (count < index->table.count && !pair_fde(index, count, &offset, &next)))
		return REASON_BAD_CFI;
	*found_ret = found;
	return REASON_NO_CFI;
}

enum reason cfi_index_find(struct cfi_index *index, uint64_t pc, struct cfi_found *found_ret)
{
	struct search_table *table = &index->table;
	if (table->state == HEADER_UNREAD)
		table->state = read_header(table) ? HEADER_USABLE : HEADER_DAMAGED;
	if (table->state == HEADER_USABLE || table->state == HEADER_VERIFIED) {
		enum reason reason = find_by_table(index, pc, found_ret);
		if (reason != REASON_BAD_CFI)
			return reason;
		table->state = HEADER_DAMAGED;
	}
	return find_piece(index, pc, found_ret);
}
