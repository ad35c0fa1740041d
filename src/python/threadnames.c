/* SPDX-License-Identifier: MIT */
/* threadnames.c: the names that Python's threading module gave its threads. */
#include "python/threadnames.h"

#include "base/strbuf.h"
#include "python/dict.h"
#include "python/object.h"
#include "python/text.h"

/* lv_tag: the number of digits above three bits, of which the lowest two are 0 for a positive
 * number. */
#define TAG_SIGN_MASK  3
#define TAG_SIZE_SHIFT 3

/* 2.7 mangles Thread.__name. */
static const char *name_attribute(const struct py_layout *layout)
{
	return layout->text_kind == PY_TEXT_BYTES ? "_Thread__name" : "_name";
}

/* The number of digits of a 3.x int that is positive. */
static bool read_digit_count(struct memory *memory, const struct py_layout *layout,
			     uint64_t address, uint64_t *count_ret)
{
	if (layout->long_tag == PY_ABSENT)
		return memory_read_u64(memory, address + layout->object_size, count_ret);
	uint64_t tag;
	if (!memory_read_u64(memory, address + layout->long_tag, &tag) || tag & TAG_SIGN_MASK)
		return false;
	*count_ret = tag >> TAG_SIZE_SHIFT;
	return true;
}

static bool read_long(struct memory *memory, const struct py_layout *layout, uint64_t address,
		      uint64_t *ret)
{
	uint64_t value = 0, count;
	unsigned bits = layout->long_digit_bits;
	uint32_t digits[5]; /* 64 bits at 15 a digit */
	if (!read_digit_count(memory, layout, address, &count) ||
	    count > sizeof(digits) / sizeof(*digits) || bits == 0 || bits > 32)
		return false;
	size_t digit_size = bits > 15 ? sizeof(uint32_t) : sizeof(uint16_t);
	for (size_t i = (size_t)count; i-- > 0;) {
		uint32_t digit = 0;
		if (!memory_read(memory, address + layout->long_digits + i * digit_size, &digit,
				 digit_size) ||
		    digit >> (bits - 1) > 1 || value >> (64 - bits))
			return false;
		value = value << bits | digit;
	}
	*ret = value;
	return true;
}

/* A thread's ident, the key of threading._active. */
static bool read_ident(struct memory *memory, const struct py_layout *layout, uint64_t address,
		       uint64_t *ident_ret)
{
	bool is_int = layout->int_value != PY_ABSENT;
	uint64_t type;
	if (!memory_read_u64(memory, address + layout->object_type, &type) ||
	    !object_type_is(memory, layout, type, is_int ? OBJECT_IS_INT : OBJECT_IS_LONG))
		return false;
	return is_int ? memory_read_u64(memory, address + layout->int_value, ident_ret)
		      : read_long(memory, layout, address, ident_ret);
}

/* interp->modules['threading'].__dict__['_active'] */
static bool open_active(struct memory *memory, const struct py_layout *layout, uint64_t interp,
			struct dict *dict)
{
	uint64_t modules, module, module_dict, active;
	size_t hint = 0;
	return memory_read_u64(memory, interp + layout->interp_modules, &modules) &&
	       dict_open(memory, layout, modules, dict) &&
	       dict_find(dict, "threading", &hint, &module) &&
	       memory_read_u64(memory, module + layout->module_dict, &module_dict) &&
	       dict_open(memory, layout, module_dict, dict) &&
	       dict_find(dict, "_active", &hint, &active) &&
	       dict_open(memory, layout, active, dict);
}

static bool read_name(struct memory *memory, const struct py_layout *layout, uint64_t thread,
		      size_t *hint, struct strbuf *name)
{
	struct dict attributes;
	uint64_t address;
	return dict_open_instance(memory, layout, thread, &attributes) &&
	       dict_find(&attributes, name_attribute(layout), hint, &address) &&
	       text_read(memory, layout, address, name) == REASON_OK;
}

/* False without memory only. */
static bool append(struct threadnames *names, uint64_t ident, struct strbuf *buf)
{
	_cleanup_free_ char *text = strbuf_steal(buf);
	struct threadname *name = text ? threadname_vec_append(names) : NULL;
	if (!name)
		return false;
	name->ident = ident;
	name->name = no_cleanup(text);
	return true;
}

bool threadnames_read(struct memory *memory, const struct py_layout *layout, uint64_t interp,
		      struct threadnames *names_ret)
{
	struct threadnames names = { 0 };
	struct dict active;
	size_t hint = 0;
	if (!open_active(memory, layout, interp, &active))
		return false;
	for (size_t i = 0; i < active.count; i++) {
		_cleanup_strbuf_ struct strbuf name = { 0 };
		uint64_t key, thread, ident;
		if (!dict_entry(&active, i, &key, &thread) ||
		    !read_ident(memory, layout, key, &ident) ||
		    !read_name(memory, layout, thread, &hint, &name))
			continue;
		if (!append(&names, ident, &name))
			break;
	}
	*names_ret = names;
	return true;
}

void threadnames_deinit(struct threadnames *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i].name);
	threadname_vec_deinit(names);
}

const char *threadnames_find(const struct threadnames *names, uint64_t ident)
{
	for (size_t i = 0; i < names->count; i++) {
		if (names->items[i].ident == ident)
			return names->items[i].name;
	}
	return NULL;
}
