/* SPDX-License-Identifier: MIT */
/*
 * Code objects, strings, dicts and ints of a hostile interpreter. Input: a byte for the layout, a
 * byte for the time the memory changes, then the memory, which starts at address 0 so that pointers
 * hit something. Everything must end, within limits.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/fake_python.h"
#include "python/code.h"
#include "python/text.h"
#include "python/threadnames.h"

/* About six reads a key and a dict of DICT_ENTRIES_MAX entries at most, four times. */
#define READS_MAX 2000000

struct fuzz_memory {
	struct memory memory;
	const uint8_t *data;
	size_t size;
	size_t reads, change_after;
};

static bool fuzz_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct fuzz_memory *fuzz = (struct fuzz_memory *)memory;
	if (++fuzz->reads > READS_MAX)
		abort();
	if (address > fuzz->size || size > fuzz->size - address)
		return false;
	memcpy(buffer, fuzz->data + address, size);
	if (fuzz->reads > fuzz->change_after && size)
		((uint8_t *)buffer)[fuzz->reads % size] ^= (uint8_t)fuzz->reads;
	return true;
}

static struct py_layout choose_layout(unsigned which)
{
	struct py_layout layout = fake_layout();
	layout.code_size = 120;
	layout.code_name = 40;
	layout.code_filename = 48;
	layout.code_linetable = 56;
	layout.code_firstlineno = 64;
	layout.line_kind = (enum py_line_kind)(which % 4);
	layout.dict_keys = 32;
	layout.dict_values = 40;
	layout.dict_mask = 24;
	layout.dict_kind = (enum py_dict_kind)(which / 4 % 3);
	layout.attributes_kind = (enum py_attributes_kind)(which / 12 % 4);
	layout.text_kind = layout.dict_kind == PY_DICT_TABLE ? PY_TEXT_BYTES : PY_TEXT_UNICODE;
	layout.int_value = layout.dict_kind == PY_DICT_TABLE ? 16 : PY_ABSENT;
	layout.long_tag = layout.attributes_kind >= PY_ATTRIBUTES_TAGGED ? 16 : PY_ABSENT;
	layout.keys_size = 8;
	layout.keys_log2_index_bytes = 9;
	layout.keys_kind = 10;
	layout.keys_nentries = 24;
	layout.keys_indices = 32;
	layout.unicode_entry_size = 16;
	layout.unicode_entry_key = 0;
	layout.unicode_entry_value = 8;
	layout.flag_managed_dict = FAKE_MANAGED;
	layout.flag_inline_values = FAKE_INLINE;
	layout.managed_dict = 24;
	layout.managed_values = 32;
	layout.values_data = 8;
	layout.values_capacity = 0;
	layout.values_valid = 3;
	/* Close together, so that small inputs reach far. */
	layout.type_flags = 32;
	layout.type_basicsize = 40;
	layout.type_dictoffset = 48;
	layout.type_cached_keys = 56;
	layout.interp_modules = 0;
	return layout;
}

static void look_at_code(struct memory *memory, const struct py_layout *layout, uint64_t address)
{
	_cleanup_code_cache_ struct code_cache *cache = NULL;
	const struct code *code = NULL;
	uint32_t line;
	_cleanup_error_ struct error *err = code_cache_create(layout, 0, &cache);
	if (err || code_cache_get(cache, memory, address, &code) != REASON_OK)
		return;
	if (strlen(code->name) > 4 * TEXT_LENGTH_KEPT + 3 || !code->filename)
		abort();
	code_line(code, 64, &line);
	code_cache_get_checked(cache, memory, address, &code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	struct py_layout layout = choose_layout(data[0]);
	struct fuzz_memory fuzz = {
		.memory.read = fuzz_read,
		.data = data + 2,
		.size = size - 2,
		.change_after = data[1] == 0 ? SIZE_MAX : data[1],
	};
	look_at_code(&fuzz.memory, &layout, 0);
	struct threadnames names;
	if (threadnames_read(&fuzz.memory, &layout, 0, &names))
		threadnames_deinit(&names);
	return 0;
}
