/* SPDX-License-Identifier: MIT */
/* code.c: code objects of the target. */
#include "python/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "python/lines.h"
#include "python/text.h"

/* What a code object itself says. */
struct code_head {
	uint64_t type;
	uint64_t name;
	uint64_t qualname;
	uint64_t filename;
	uint64_t linetable;
	uint64_t firstlineno;
};

static uint64_t field(const uint8_t *bytes, uint32_t offset, size_t size)
{
	uint64_t value = 0;
	memcpy(&value, bytes + offset, size);
	return value;
}

static bool layout_fits(const struct py_layout *layout)
{
	const uint32_t size = layout->code_size;
	const uint32_t offsets[] = {
		layout->object_type,    layout->code_name,        layout->code_filename,
		layout->code_linetable, layout->code_firstlineno,
	};
	if (size < 8 || size > CODE_RANGE_SIZE_MAX)
		return false;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		if (offsets[i] > size - 8)
			return false;
	}
	return layout->code_qualname == PY_ABSENT || layout->code_qualname <= size - 8;
}

static struct code_head parse_head(const struct py_layout *layout, const uint8_t *bytes)
{
	uint32_t qualname = layout->code_qualname;
	if (qualname == PY_ABSENT)
		qualname = layout->code_name;
	return (struct code_head){
		.type = field(bytes, layout->object_type, 8),
		.name = field(bytes, layout->code_name, 8),
		.qualname = field(bytes, qualname, 8),
		.filename = field(bytes, layout->code_filename, 8),
		.linetable = field(bytes, layout->code_linetable, 8),
		.firstlineno = field(bytes, layout->code_firstlineno, 4),
	};
}

static bool is_code_type(struct memory *memory, const struct py_layout *layout, uint64_t code_type,
			 uint64_t type)
{
	static const char expected[] = "code";
	char name[sizeof(expected)];
	uint64_t name_address;
	if (code_type)
		return type == code_type;
	return memory_read_u64(memory, type + layout->type_name, &name_address) &&
	       memory_read(memory, name_address, name, sizeof(name)) &&
	       memcmp(name, expected, sizeof(name)) == 0;
}

static void add_range(struct code *code, uint64_t address, size_t size)
{
	code->ranges[code->range_count++] = (struct memory_range){ address, size };
	code->ranges_bytes += size;
}

static enum reason read_text(struct memory *memory, const struct text_peek *peek, char **text_ret)
{
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	enum reason reason = text_finish(memory, peek, &buf);
	if (reason != REASON_OK)
		return reason;
	char *text = strbuf_steal(&buf);
	if (!text)
		return REASON_NO_MEMORY;
	*text_ret = text;
	return REASON_OK;
}

/* Names and file name, and the ranges and digest of their objects. */
static enum reason read_texts(struct memory *memory, const struct py_layout *layout,
			      const struct code_head *head, struct code *code)
{
	const uint64_t addresses[] = { head->name, head->qualname, head->filename };
	char **const texts[] = { NULL, &code->name, &code->filename };
	struct text_peek peek = { 0 };
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		enum reason reason;
		if (i == 0 && head->name == head->qualname)
			continue;
		reason = text_peek(memory, layout, peek.type, addresses[i], &peek);
		if (reason == REASON_OK && texts[i])
			reason = read_text(memory, &peek, texts[i]);
		if (reason != REASON_OK)
			return reason;
		add_range(code, addresses[i], peek.size);
		code->digest = text_digest(layout, peek.bytes, peek.size, code->digest);
	}
	return REASON_OK;
}

static enum reason read_table(struct memory *memory, const struct py_layout *layout,
			      const struct code_head *head, struct code *code)
{
	struct text_peek peek;
	enum reason reason = text_peek_bytes(memory, layout, 0, head->linetable, &peek);
	if (reason != REASON_OK)
		return reason == REASON_BAD_TEXT ? REASON_BAD_LINE_TABLE : reason;
	if (peek.length > LINES_TABLE_MAX)
		return REASON_LIMIT;
	code->table_size = (size_t)peek.length;
	code->table = malloc(code->table_size + !code->table_size);
	if (!code->table)
		return REASON_NO_MEMORY;
	add_range(code, head->linetable, peek.size);
	code->digest = text_digest_bytes(layout, peek.bytes, peek.size, code->digest);
	return text_copy(memory, &peek, code->table_size, code->table);
}

static enum reason code_fill(struct memory *memory, const struct py_layout *layout,
			     uint64_t code_type, struct code *code)
{
	uint8_t bytes[CODE_RANGE_SIZE_MAX];
	if (!layout_fits(layout))
		return REASON_BAD_CODE;
	if (!memory_read(memory, code->address, bytes, layout->code_size))
		return REASON_MEMORY_FAULT;
	struct code_head head = parse_head(layout, bytes);
	if (!is_code_type(memory, layout, code_type, head.type) || head.firstlineno > INT32_MAX)
		return REASON_BAD_CODE;

	code->firstlineno = (uint32_t)head.firstlineno;
	code->line_kind = layout->line_kind;
	add_range(code, code->address, layout->code_size);
	code->digest = hash_bytes(&head, sizeof(head), 0);
	enum reason reason = read_texts(memory, layout, &head, code);
	return reason == REASON_OK ? read_table(memory, layout, &head, code) : reason;
}

enum reason code_read(struct memory *memory, const struct py_layout *layout, uint64_t code_type,
		      uint64_t address, struct code **code_ret)
{
	_cleanup_code_ struct code *code = calloc(1, sizeof(*code));
	if (!code)
		return REASON_NO_MEMORY;
	code->address = address;
	enum reason reason = code_fill(memory, layout, code_type, code);
	if (reason == REASON_OK)
		*code_ret = no_cleanup(code);
	return reason;
}

void code_destroy(struct code *code)
{
	if (!code)
		return;
	free(code->name);
	free(code->filename);
	free(code->table);
	free(code);
}

enum reason code_line(const struct code *code, int64_t lasti_bytes, uint32_t *line_ret)
{
	return lines_find(code->line_kind, code->table, code->table_size, code->firstlineno,
			  lasti_bytes, line_ret);
}

const struct memory_range *code_ranges(const struct code *code, size_t *count_ret)
{
	*count_ret = code->range_count;
	return code->ranges;
}

bool code_matches(const struct code *code, const struct py_layout *layout, const uint8_t *bytes)
{
	struct code_head head = parse_head(layout, bytes);
	uint64_t digest = hash_bytes(&head, sizeof(head), 0);
	bytes += code->ranges[0].size;
	for (size_t i = 1; i < code->range_count; i++) {
		size_t size = code->ranges[i].size;
		bool is_table = i == code->range_count - 1;
		digest = is_table ? text_digest_bytes(layout, bytes, size, digest)
				  : text_digest(layout, bytes, size, digest);
		bytes += size;
	}
	return digest == code->digest;
}

struct entry {
	struct code *code;
	size_t bytes;
	size_t slot;        /* its place in the clock */
	bool used;          /* asked for again since the hand came by */
	struct entry *next; /* among the retired */
};

struct code_cache {
	const struct py_layout *layout;
	uint64_t code_type;
	struct hash by_address; /* → struct entry */
	struct hash volatiles;  /* address → anything */
	struct entry **clock;   /* CODE_CACHE_ENTRIES_MAX slots, the first count in use */
	size_t count;
	size_t bytes;
	size_t hand;
	struct entry *retired;
};

struct error *code_cache_create(const struct py_layout *layout, uint64_t code_type,
				struct code_cache **cache_ret)
{
	_cleanup_code_cache_ struct code_cache *cache = calloc(1, sizeof(*cache));
	if (!cache)
		return error_no_memory();
	cache->layout = layout;
	cache->code_type = code_type;
	cache->clock = calloc(CODE_CACHE_ENTRIES_MAX, sizeof(struct entry *));
	if (!cache->clock)
		return error_no_memory();
	*cache_ret = no_cleanup(cache);
	return NULL;
}

static void entry_destroy(struct entry *entry)
{
	code_destroy(entry->code);
	free(entry);
}

void code_cache_destroy(struct code_cache *cache)
{
	if (!cache)
		return;
	code_cache_sweep(cache);
	for (size_t i = 0; i < cache->count; i++)
		entry_destroy(cache->clock[i]);
	free(cache->clock);
	hash_deinit(&cache->by_address);
	hash_deinit(&cache->volatiles);
	free(cache);
}

void code_cache_sweep(struct code_cache *cache)
{
	while (cache->retired) {
		struct entry *entry = cache->retired;
		cache->retired = entry->next;
		entry_destroy(entry);
	}
}

size_t code_cache_count(const struct code_cache *cache)
{
	return cache->count;
}

bool code_cache_is_volatile(const struct code_cache *cache, uint64_t address)
{
	return hash_get(&cache->volatiles, address) != NULL;
}

/* Without memory the address is forgotten: the next mismatch brings it up again. */
static void set_volatile(struct code_cache *cache, uint64_t address)
{
	if (cache->volatiles.count >= CODE_VOLATILE_MAX)
		hash_deinit(&cache->volatiles);
	hash_set(&cache->volatiles, address, cache);
}

/* Takes the entry out; its code object stays readable until the sweep. */
static void retire(struct code_cache *cache, struct entry *entry)
{
	struct entry *last = cache->clock[--cache->count];
	cache->clock[entry->slot] = last;
	last->slot = entry->slot;
	cache->bytes -= entry->bytes;
	hash_remove(&cache->by_address, entry->code->address);
	entry->next = cache->retired;
	cache->retired = entry;
}

static bool is_full(const struct code_cache *cache, size_t extra)
{
	return cache->count > 0 && (cache->count >= CODE_CACHE_ENTRIES_MAX ||
				    cache->bytes + extra > CODE_CACHE_BYTES_MAX);
}

static void make_room(struct code_cache *cache, size_t extra)
{
	while (is_full(cache, extra)) {
		if (cache->hand >= cache->count)
			cache->hand = 0;
		struct entry *entry = cache->clock[cache->hand];
		if (!entry->used)
			retire(cache,
			       entry); /* its slot now has the newest, which is passed over */
		entry->used = false;
		cache->hand++;
	}
}

static enum reason cache_read(struct code_cache *cache, struct memory *memory, uint64_t address,
			      const struct code **code_ret)
{
	_cleanup_code_ struct code *code = NULL;
	enum reason reason = code_read(memory, cache->layout, cache->code_type, address, &code);
	if (reason != REASON_OK)
		return reason;

	_cleanup_free_ struct entry *entry = calloc(1, sizeof(*entry));
	if (!entry)
		return REASON_NO_MEMORY;
	entry->bytes = sizeof(*entry) + sizeof(*code) + strlen(code->name) +
		       strlen(code->filename) + code->table_size;
	make_room(cache, entry->bytes);
	if (!hash_set(&cache->by_address, address, entry))
		return REASON_NO_MEMORY;
	entry->slot = cache->count;
	cache->bytes += entry->bytes;
	*code_ret = entry->code = no_cleanup(code);
	cache->clock[cache->count++] = no_cleanup(entry);
	return REASON_OK;
}

enum reason code_cache_get(struct code_cache *cache, struct memory *memory, uint64_t address,
			   const struct code **code_ret)
{
	struct entry *entry = hash_get(&cache->by_address, address);
	if (!entry)
		return cache_read(cache, memory, address, code_ret);
	entry->used = true;
	*code_ret = entry->code;
	return REASON_OK;
}

static bool still_matches(const struct code_cache *cache, struct memory *memory,
			  const struct code *code)
{
	uint8_t bytes[CODE_RANGES_MAX * CODE_RANGE_SIZE_MAX];
	size_t offset = 0;
	for (size_t i = 0; i < code->range_count; i++) {
		const struct memory_range *range = &code->ranges[i];
		if (!memory_read(memory, range->address, bytes + offset, range->size))
			return false;
		offset += range->size;
	}
	return code_matches(code, cache->layout, bytes);
}

enum reason code_cache_get_checked(struct code_cache *cache, struct memory *memory,
				   uint64_t address, const struct code **code_ret)
{
	struct entry *entry = hash_get(&cache->by_address, address);
	if (entry && !still_matches(cache, memory, entry->code))
		retire(cache, entry);
	return code_cache_get(cache, memory, address, code_ret);
}

bool code_cache_validate(struct code_cache *cache, const struct code *code, const uint8_t *bytes)
{
	if (code_matches(code, cache->layout, bytes))
		return true;
	struct entry *entry = hash_get(&cache->by_address, code->address);
	if (entry && entry->code == code)
		retire(cache, entry);
	set_volatile(cache, code->address);
	return false;
}
