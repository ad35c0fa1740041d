/* SPDX-License-Identifier: MIT */
/* dict.c: dictionaries and instance attributes of the target. */
#include "python/dict.h"

#include <string.h>

#include "python/object.h"
#include "python/text.h"

/* dk_log2_index_bytes of a dict with DICT_ENTRIES_MAX entries: twice as many indices of 4 bytes. */
#define LOG2_INDEX_BYTES_MAX 19
#define DICTOFFSET_MAX       (1 << 20)

static bool read_u8(struct memory *memory, uint64_t address, uint8_t *ret)
{
	return memory_read(memory, address, ret, sizeof(*ret));
}

/* 2.7: one array of entries. */
static bool open_table(struct dict *dict, uint64_t address)
{
	const struct py_layout *layout = dict->layout;
	uint64_t mask;
	if (!memory_read_u64(dict->memory, address + layout->dict_keys, &dict->entries) ||
	    !memory_read_u64(dict->memory, address + layout->dict_mask, &mask) ||
	    mask >= DICT_ENTRIES_MAX)
		return false;
	dict->count = (size_t)mask + 1;
	dict->entry_size = layout->entry_size;
	dict->key_offset = layout->entry_key;
	dict->value_offset = layout->entry_value;
	return true;
}

/* 3.6 to 3.10: the size of an index follows from the number of indices. */
static bool find_entries(struct dict *dict, uint64_t keys)
{
	uint64_t size;
	if (!memory_read_u64(dict->memory, keys + dict->layout->keys_size, &size) ||
	    size > 2 * DICT_ENTRIES_MAX)
		return false;
	unsigned index_bytes = size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;
	dict->entries = keys + dict->layout->keys_indices + size * index_bytes;
	return true;
}

/* 3.11 on; dicts that have had only strings as keys have entries without a hash. */
static bool find_entries_log2(struct dict *dict, uint64_t keys)
{
	const struct py_layout *layout = dict->layout;
	uint8_t log2_index_bytes, kind;
	if (!read_u8(dict->memory, keys + layout->keys_log2_index_bytes, &log2_index_bytes) ||
	    !read_u8(dict->memory, keys + layout->keys_kind, &kind) ||
	    log2_index_bytes > LOG2_INDEX_BYTES_MAX)
		return false;
	dict->entries = keys + layout->keys_indices + (UINT64_C(1) << log2_index_bytes);
	if (kind != 0) {
		dict->entry_size = layout->unicode_entry_size;
		dict->key_offset = layout->unicode_entry_key;
		dict->value_offset = layout->unicode_entry_value;
	}
	return true;
}

/* 3.x: a keys object, and the values if they are elsewhere. */
static bool open_keys(struct dict *dict, uint64_t keys, uint64_t values)
{
	const struct py_layout *layout = dict->layout;
	uint64_t count;
	dict->entry_size = layout->entry_size;
	dict->key_offset = layout->entry_key;
	dict->value_offset = layout->entry_value;
	dict->values = values;
	if (!memory_read_u64(dict->memory, keys + layout->keys_nentries, &count) ||
	    count > DICT_ENTRIES_MAX)
		return false;
	dict->count = (size_t)count;
	return layout->dict_kind == PY_DICT_KEYS ? find_entries(dict, keys)
						 : find_entries_log2(dict, keys);
}

/* The first value of a PyDictValues; up to 3.10 there is no such struct, only its array. */
static uint64_t values_start(const struct py_layout *layout, uint64_t values)
{
	return layout->values_data == PY_ABSENT ? values : values + layout->values_data;
}

static bool open_dict(struct dict *dict, uint64_t address)
{
	const struct py_layout *layout = dict->layout;
	uint64_t type, keys, values;
	if (!memory_read_u64(dict->memory, address + layout->object_type, &type) ||
	    !object_type_is(dict->memory, layout, type, OBJECT_IS_DICT))
		return false;
	if (layout->dict_kind == PY_DICT_TABLE)
		return open_table(dict, address);
	return memory_read_u64(dict->memory, address + layout->dict_keys, &keys) &&
	       memory_read_u64(dict->memory, address + layout->dict_values, &values) &&
	       open_keys(dict, keys, values ? values_start(layout, values) : 0);
}

static bool entry_fits(const struct dict *dict)
{
	return dict->entry_size >= 16 && dict->entry_size <= DICT_ENTRY_SIZE_MAX &&
	       dict->key_offset <= dict->entry_size - 8 &&
	       dict->value_offset <= dict->entry_size - 8;
}

bool dict_open(struct memory *memory, const struct py_layout *layout, uint64_t address,
	       struct dict *dict_ret)
{
	struct dict dict = { .memory = memory, .layout = layout };
	if (!open_dict(&dict, address) || !entry_fits(&dict))
		return false;
	*dict_ret = dict;
	return true;
}

/* A dict pointer at a fixed offset of the object. */
static bool open_at_dictoffset(struct dict *dict, uint64_t address, uint64_t type)
{
	uint64_t offset, pointer;
	return memory_read_u64(dict->memory, type + dict->layout->type_dictoffset, &offset) &&
	       offset - 1 < DICTOFFSET_MAX &&
	       memory_read_u64(dict->memory, address + offset, &pointer) &&
	       open_dict(dict, pointer);
}

static bool open_values(struct dict *dict, uint64_t type, uint64_t values)
{
	uint64_t keys;
	return memory_read_u64(dict->memory, type + dict->layout->type_cached_keys, &keys) &&
	       open_keys(dict, keys, values_start(dict->layout, values));
}

static bool open_managed_dict(struct dict *dict, uint64_t address)
{
	uint64_t pointer;
	return memory_read_u64(dict->memory, address - dict->layout->managed_dict, &pointer) &&
	       open_dict(dict, pointer);
}

/* 3.11: two words before the object. */
static bool open_separate(struct dict *dict, uint64_t address, uint64_t type)
{
	uint64_t values;
	if (!memory_read_u64(dict->memory, address - dict->layout->managed_values, &values))
		return false;
	return values ? open_values(dict, type, values) : open_managed_dict(dict, address);
}

/* 3.12: one word for both. */
static bool open_tagged(struct dict *dict, uint64_t address, uint64_t type)
{
	uint64_t word;
	if (!memory_read_u64(dict->memory, address - dict->layout->managed_dict, &word))
		return false;
	return word & 1 ? open_values(dict, type, word + 1) : open_dict(dict, word);
}

/* 3.13 on: values at the end of the object, until a dict takes over. */
static bool open_inline(struct dict *dict, uint64_t address, uint64_t type, uint64_t flags)
{
	const struct py_layout *layout = dict->layout;
	uint64_t basicsize;
	uint8_t valid, capacity;
	if (!(flags & layout->flag_inline_values))
		return open_managed_dict(dict, address);
	if (!memory_read_u64(dict->memory, type + layout->type_basicsize, &basicsize) ||
	    basicsize > DICTOFFSET_MAX)
		return false;
	uint64_t values = address + basicsize;
	if (!read_u8(dict->memory, values + layout->values_valid, &valid) ||
	    !read_u8(dict->memory, values + layout->values_capacity, &capacity))
		return false;
	if (!valid)
		return open_managed_dict(dict, address);
	if (!open_values(dict, type, values))
		return false;
	if (dict->count > capacity)
		dict->count = capacity;
	return true;
}

static bool open_attributes(struct dict *dict, uint64_t address)
{
	const struct py_layout *layout = dict->layout;
	uint64_t type, flags;
	if (!memory_read_u64(dict->memory, address + layout->object_type, &type) ||
	    !memory_read_u64(dict->memory, type + layout->type_flags, &flags))
		return false;
	if (layout->attributes_kind == PY_ATTRIBUTES_DICT || !(flags & layout->flag_managed_dict))
		return open_at_dictoffset(dict, address, type);
	switch (layout->attributes_kind) {
	case PY_ATTRIBUTES_DICT:
		break;
	case PY_ATTRIBUTES_SEPARATE:
		return open_separate(dict, address, type);
	case PY_ATTRIBUTES_TAGGED:
		return open_tagged(dict, address, type);
	case PY_ATTRIBUTES_INLINE:
		return open_inline(dict, address, type, flags);
	}
	return false;
}

bool dict_open_instance(struct memory *memory, const struct py_layout *layout, uint64_t address,
			struct dict *dict_ret)
{
	struct dict dict = { .memory = memory, .layout = layout };
	if (!open_attributes(&dict, address) || !entry_fits(&dict))
		return false;
	*dict_ret = dict;
	return true;
}

static bool load_batch(struct dict *dict, size_t start)
{
	size_t count = dict->count - start;
	if (count > DICT_BATCH)
		count = DICT_BATCH;
	dict->batch_count = 0;
	if (!memory_read(dict->memory, dict->entries + (uint64_t)start * dict->entry_size,
			 dict->batch, count * dict->entry_size))
		return false;
	if (dict->values &&
	    !memory_read(dict->memory, dict->values + (uint64_t)start * sizeof(uint64_t),
			 dict->batch_values, count * sizeof(uint64_t)))
		return false;
	dict->batch_start = start;
	dict->batch_count = count;
	return true;
}

bool dict_entry(struct dict *dict, size_t index, uint64_t *key_ret, uint64_t *value_ret)
{
	if (index >= dict->count)
		return false;
	if (index - dict->batch_start >= dict->batch_count && !load_batch(dict, index)) {
		dict->count = index; /* or a wrong count would cost as many failing reads */
		return false;
	}
	size_t i = index - dict->batch_start;
	const uint8_t *entry = dict->batch + i * dict->entry_size;
	uint64_t key, value;
	memcpy(&key, entry + dict->key_offset, sizeof(key));
	memcpy(&value, entry + dict->value_offset, sizeof(value));
	if (dict->values)
		value = dict->batch_values[i];
	if (!key || !value)
		return false;
	*key_ret = key;
	*value_ret = value;
	return true;
}

static bool key_is(struct dict *dict, uint64_t key, const char *name)
{
	size_t length = strlen(name);
	uint8_t text[TEXT_PEEK_SIZE];
	struct text_peek peek;
	if (text_peek(dict->memory, dict->layout, dict->key_type, key, &peek) != REASON_OK)
		return false;
	dict->key_type = peek.type;
	return peek.length == length && peek.unit == 1 && length <= sizeof(text) &&
	       text_copy(dict->memory, &peek, length, text) == REASON_OK &&
	       memcmp(text, name, length) == 0;
}

bool dict_find(struct dict *dict, const char *name, size_t *hint, uint64_t *value_ret)
{
	uint64_t key, value;
	if (dict_entry(dict, *hint, &key, &value) && key_is(dict, key, name)) {
		*value_ret = value;
		return true;
	}
	for (size_t i = 0; i < dict->count; i++) {
		if (!dict_entry(dict, i, &key, &value) || !key_is(dict, key, name))
			continue;
		*hint = i;
		*value_ret = value;
		return true;
	}
	return false;
}
