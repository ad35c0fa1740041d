/* SPDX-License-Identifier: MIT */
/*
 * fake_python.h: Python objects built by hand in a recorded memory, for tests.
 *
 * One block of bytes; a read that is not inside what was given out fails. Offsets are those of real
 * 64-bit builds, written out here a second time so that the code under test is not checked against
 * its own table.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "python/layout.h"
#include "target/memory.h"

#define FAKE_BASE UINT64_C(0x7f0000000000)
#define FAKE_SIZE (1 << 18)

struct fake {
	struct memory memory;
	unsigned reads;
	size_t used;
	uint8_t bytes[FAKE_SIZE];
};

static bool fake_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct fake *fake = (struct fake *)memory;
	fake->reads++;
	if (address < FAKE_BASE || address - FAKE_BASE > fake->used ||
	    size > fake->used - (address - FAKE_BASE))
		return false;
	memcpy(buffer, fake->bytes + (address - FAKE_BASE), size);
	return true;
}

static inline void fake_init(struct fake *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->memory.read = fake_read;
}

static inline uint64_t fake_alloc(struct fake *fake, size_t size)
{
	uint64_t address = FAKE_BASE + fake->used;
	fake->used += (size + 15) & ~(size_t)15;
	if (fake->used > FAKE_SIZE)
		abort();
	return address;
}

static inline void fake_put(struct fake *fake, uint64_t address, const void *data, size_t size)
{
	memcpy(fake->bytes + (address - FAKE_BASE), data, size);
}

static inline void fake_put_u64(struct fake *fake, uint64_t address, uint64_t value)
{
	fake_put(fake, address, &value, sizeof(value));
}

static inline void fake_put_u32(struct fake *fake, uint64_t address, uint32_t value)
{
	fake_put(fake, address, &value, sizeof(value));
}

static inline void fake_put_u8(struct fake *fake, uint64_t address, uint8_t value)
{
	fake_put(fake, address, &value, sizeof(value));
}

/* tp_flags: the kinds of object */
#define FAKE_INT     (UINT64_C(1) << 23)
#define FAKE_LONG    (UINT64_C(1) << 24)
#define FAKE_BYTES   (UINT64_C(1) << 27)
#define FAKE_UNICODE (UINT64_C(1) << 28)
#define FAKE_DICT    (UINT64_C(1) << 29)
#define FAKE_INLINE  (UINT64_C(1) << 2)
#define FAKE_MANAGED (UINT64_C(1) << 4)

static inline uint64_t fake_type(struct fake *fake, uint64_t flags, const char *name)
{
	uint64_t text = fake_alloc(fake, strlen(name) + 1);
	fake_put(fake, text, name, strlen(name) + 1);
	uint64_t type = fake_alloc(fake, 900);
	fake_put_u64(fake, type + 24, text);
	fake_put_u64(fake, type + 168, flags);
	return type;
}

static inline uint64_t fake_object(struct fake *fake, uint64_t type, size_t size)
{
	uint64_t object = fake_alloc(fake, size);
	fake_put_u64(fake, object, 1);
	fake_put_u64(fake, object + 8, type);
	return object;
}

/* Everything absent, then what all versions share. */
static inline struct py_layout fake_layout(void)
{
	struct py_layout layout;
	memset(&layout, 0xff, sizeof(layout));
	layout.executable_tag_mask = 0;
	layout.free_threaded = layout.debug_build = false;
	layout.lasti_scale = 1;
	layout.text_kind = PY_TEXT_UNICODE;
	layout.dict_kind = PY_DICT_KEYS;
	layout.attributes_kind = PY_ATTRIBUTES_DICT;
	layout.line_kind = PY_LINES_LNOTAB;
	layout.object_type = 8;
	layout.object_size = 16;
	layout.bytes_hash = 24;
	layout.bytes_data = 32;
	layout.unicode_length = 16;
	layout.unicode_hash = 24;
	layout.unicode_state = 32;
	layout.unicode_kind_shift = 2;
	layout.unicode_compact_shift = 5;
	layout.unicode_ascii_shift = 6;
	layout.unicode_ascii_data = 48;
	layout.unicode_compact_data = 72;
	layout.unicode_any_data = 72;
	layout.type_name = 24;
	layout.type_flags = 168;
	layout.type_basicsize = 32;
	layout.type_dictoffset = 288;
	layout.interp_modules = 0x40;
	layout.module_dict = 16;
	layout.long_digits = 24;
	layout.long_digit_bits = 30;
	layout.dict_used = 16;
	layout.entry_size = 24;
	layout.entry_key = 8;
	layout.entry_value = 16;
	return layout;
}

static inline uint64_t fake_bytes(struct fake *fake, uint64_t type, const void *data, size_t size)
{
	uint64_t object = fake_object(fake, type, 32 + size + 1);
	fake_put_u64(fake, object + 16, size);
	fake_put_u64(fake, object + 24, UINT64_MAX);
	fake_put(fake, object + 32, data, size);
	return object;
}

/* A compact ASCII str, interned. */
static inline uint64_t fake_ascii(struct fake *fake, uint64_t type, const char *text)
{
	size_t length = strlen(text);
	uint64_t object = fake_object(fake, type, 48 + length + 1);
	fake_put_u64(fake, object + 16, length);
	fake_put_u64(fake, object + 24, 0x1234);
	fake_put_u32(fake, object + 32, 1 | 1 << 2 | 1 << 5 | 1 << 6);
	fake_put(fake, object + 48, text, length);
	return object;
}

/* A compact str of @unit bytes a character that is not ASCII. */
static inline uint64_t fake_compact(struct fake *fake, uint64_t type, uint32_t unit,
				    const void *data, size_t length)
{
	uint64_t object = fake_object(fake, type, 72 + (length + 1) * unit);
	fake_put_u64(fake, object + 16, length);
	fake_put_u64(fake, object + 24, UINT64_MAX);
	fake_put_u32(fake, object + 32, unit << 2 | 1 << 5);
	fake_put(fake, object + 72, data, length * unit);
	return object;
}
