/* SPDX-License-Identifier: MIT */
/* text.c: string objects of the target. */
#include "python/text.h"

#include <string.h>

#include "base/hash.h"
#include "python/object.h"

#define PAGE_SIZE_LEAST 4096
#define CODEPOINT_LAST  0x10ffff
#define SYMBOL_FOR_NULL 0x2400
#define SURROGATE_BYTES 0xdc00 /* + byte: "surrogateescape" of PEP 383 */
#define ELLIPSIS        0x2026

/* The state word of a str, taken apart. */
struct kind {
	uint32_t unit;
	bool compact;
	bool ascii;
};

static uint64_t field(const uint8_t *bytes, uint32_t offset, size_t size)
{
	uint64_t value = 0;
	memcpy(&value, bytes + offset, size);
	return value;
}

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Bytes at the start of an object that tell its type, length and kind. An ASCII string may end a
 * mapping where more would fault. */
static size_t header_size(const struct py_layout *layout, bool is_bytes)
{
	return is_bytes ? layout->object_size + 8
			: most(layout->unicode_state + 4, layout->unicode_length + 8);
}

static struct kind parse_kind(const struct py_layout *layout, const uint8_t *bytes)
{
	uint32_t state = (uint32_t)field(bytes, layout->unicode_state, 4);
	return (struct kind){
		.unit = state >> layout->unicode_kind_shift & 7,
		.compact = state >> layout->unicode_compact_shift & 1,
		.ascii = state >> layout->unicode_ascii_shift & 1,
	};
}

/* Offset of the characters, or of the pointer to them. */
static uint32_t data_offset(const struct py_layout *layout, struct kind kind)
{
	return !kind.compact ? layout->unicode_any_data
	       : kind.ascii  ? layout->unicode_ascii_data
			     : layout->unicode_compact_data;
}

/* The offsets that a peek needs are inside it. */
static bool layout_fits(const struct py_layout *layout, bool is_bytes)
{
	const uint32_t last = TEXT_PEEK_SIZE - 8;
	if (layout->object_type > last)
		return false;
	if (is_bytes)
		return layout->object_size <= last && layout->bytes_data <= last;
	return layout->unicode_length <= last && layout->unicode_state <= last &&
	       layout->unicode_ascii_data <= last && layout->unicode_compact_data <= last &&
	       layout->unicode_any_data <= last;
}

/* The part of an object that a peek holds, when its data starts or is pointed to at @offset. */
static size_t whole_size(const struct text_peek *peek, uint32_t offset, bool is_inline)
{
	uint64_t size = offset + (is_inline ? peek->length * peek->unit : 8);
	return size < TEXT_PEEK_SIZE ? (size_t)size : TEXT_PEEK_SIZE;
}

static bool parse_bytes(const struct py_layout *layout, struct text_peek *peek)
{
	peek->is_bytes = true;
	peek->unit = 1;
	peek->length = field(peek->bytes, layout->object_size, 8);
	if (peek->length > TEXT_LENGTH_SANE)
		return false;
	peek->data = peek->address + layout->bytes_data;
	peek->size = whole_size(peek, layout->bytes_data, true);
	return true;
}

static bool parse_unicode(const struct py_layout *layout, struct text_peek *peek)
{
	struct kind kind = parse_kind(layout, peek->bytes);
	peek->unit = kind.unit;
	peek->ascii = kind.ascii;
	peek->length = field(peek->bytes, layout->unicode_length, 8);
	if ((kind.unit != 1 && kind.unit != 2 && kind.unit != 4) ||
	    (kind.ascii && kind.unit != 1) || peek->length > TEXT_LENGTH_SANE)
		return false;
	uint32_t offset = data_offset(layout, kind);
	peek->data = kind.compact ? peek->address + offset : 0; /* 0: not known yet */
	peek->size = whole_size(peek, offset, kind.compact);
	return true;
}

/* Reads header and, as far as they are certain to be mapped when the header is, the following
 * bytes. */
static bool read_start(struct memory *memory, size_t header, struct text_peek *peek,
		       size_t *size_ret)
{
	size_t size = PAGE_SIZE_LEAST - peek->address % PAGE_SIZE_LEAST;
	size = most(size < TEXT_PEEK_SIZE ? size : TEXT_PEEK_SIZE, header);
	if (!memory_read(memory, peek->address, peek->bytes, size)) {
		size = header; /* copied memory has no more than what was copied */
		if (!memory_read(memory, peek->address, peek->bytes, size))
			return false;
	}
	*size_ret = size;
	return true;
}

static enum reason peek_object(struct memory *memory, const struct py_layout *layout, bool is_bytes,
			       uint64_t known_type, uint64_t address, struct text_peek *peek_ret)
{
	struct text_peek peek = { .address = address };
	size_t size;
	if (!layout_fits(layout, is_bytes))
		return REASON_BAD_TEXT;
	if (!read_start(memory, header_size(layout, is_bytes), &peek, &size))
		return REASON_MEMORY_FAULT;

	if (!(is_bytes ? parse_bytes(layout, &peek) : parse_unicode(layout, &peek)))
		return REASON_BAD_TEXT;
	peek.type = field(peek.bytes, layout->object_type, 8);
	if ((!known_type || peek.type != known_type) &&
	    !object_type_is(memory, layout, peek.type,
			    is_bytes ? OBJECT_IS_BYTES : OBJECT_IS_UNICODE))
		return REASON_BAD_TEXT;

	if (peek.size > size &&
	    !memory_read(memory, address + size, peek.bytes + size, peek.size - size))
		return REASON_MEMORY_FAULT;
	if (!peek.data)
		peek.data = field(peek.bytes, layout->unicode_any_data, 8);
	*peek_ret = peek;
	return REASON_OK;
}

enum reason text_peek(struct memory *memory, const struct py_layout *layout, uint64_t known_type,
		      uint64_t address, struct text_peek *peek_ret)
{
	bool is_bytes = layout->text_kind == PY_TEXT_BYTES;
	return peek_object(memory, layout, is_bytes, known_type, address, peek_ret);
}

enum reason text_peek_bytes(struct memory *memory, const struct py_layout *layout,
			    uint64_t known_type, uint64_t address, struct text_peek *peek_ret)
{
	return peek_object(memory, layout, true, known_type, address, peek_ret);
}

static uint64_t digest(const uint8_t *bytes, size_t size, const uint64_t words[4], uint32_t data,
		       uint64_t seed)
{
	seed = hash_bytes(words, 4 * sizeof(*words), seed);
	return data < size ? hash_bytes(bytes + data, size - data, seed) : seed;
}

uint64_t text_digest_bytes(const struct py_layout *layout, const uint8_t *bytes, size_t size,
			   uint64_t seed)
{
	if (size < header_size(layout, true))
		return seed;
	const uint64_t words[4] = { field(bytes, layout->object_type, 8),
				    field(bytes, layout->object_size, 8) };
	return digest(bytes, size, words, layout->bytes_data, seed);
}

uint64_t text_digest(const struct py_layout *layout, const uint8_t *bytes, size_t size,
		     uint64_t seed)
{
	if (layout->text_kind == PY_TEXT_BYTES)
		return text_digest_bytes(layout, bytes, size, seed);
	if (size < header_size(layout, false))
		return seed;
	struct kind kind = parse_kind(layout, bytes);
	const uint64_t words[4] = { field(bytes, layout->object_type, 8),
				    field(bytes, layout->unicode_length, 8), kind.unit,
				    (uint64_t)kind.compact << 1 | kind.ascii };
	return digest(bytes, size, words, data_offset(layout, kind), seed);
}

/* The characters that the peek holds, and the number of their bytes. */
static const uint8_t *peeked_data(const struct text_peek *peek, size_t *size_ret)
{
	uint64_t offset = peek->data - peek->address;
	*size_ret = 0;
	if (offset >= peek->size)
		return peek->bytes;
	size_t have = peek->size - (size_t)offset;
	uint64_t want = peek->length * peek->unit;
	*size_ret = want < have ? (size_t)want : have;
	return peek->bytes + offset;
}

enum reason text_copy(struct memory *memory, const struct text_peek *peek, size_t count,
		      uint8_t *buffer)
{
	size_t size = count * peek->unit;
	size_t have;
	const uint8_t *data = peeked_data(peek, &have);
	if (have > size)
		have = size;
	if (have)
		memcpy(buffer, data, have);
	if (size > have && !memory_read(memory, peek->data + have, buffer + have, size - have))
		return REASON_MEMORY_FAULT;
	return REASON_OK;
}

/* Length of the UTF-8 sequence at @p, 0 if it is none (RFC 3629: shortest form, no surrogates). */
static size_t utf8_sequence(const uint8_t *p, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t size = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc0 ? 2 : 0;
	if (size == 1)
		return 1;
	if (!size || size > left || p[0] >= 0xf8)
		return 0;
	uint32_t codepoint = p[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		codepoint = codepoint << 6 | (p[i] & 0x3f);
	}
	bool valid = codepoint >= least[size] && codepoint <= CODEPOINT_LAST &&
		     (codepoint < 0xd800 || codepoint > 0xdfff);
	return valid ? size : 0;
}

static void decode_bytes(const uint8_t *data, size_t size, struct strbuf *out)
{
	for (size_t i = 0; i < size;) {
		size_t sequence = utf8_sequence(data + i, size - i);
		if (!data[i])
			strbuf_add_codepoint(out, SYMBOL_FOR_NULL);
		else if (sequence)
			strbuf_add(out, data + i, sequence);
		else
			strbuf_add_codepoint(out, SURROGATE_BYTES | data[i]);
		i += sequence ? sequence : 1;
	}
}

static enum reason decode_unicode(const struct text_peek *peek, const uint8_t *data, size_t count,
				  struct strbuf *out)
{
	const uint32_t last = peek->ascii ? 0x7f : CODEPOINT_LAST;
	for (size_t i = 0; i < count; i++) {
		uint32_t codepoint = 0;
		memcpy(&codepoint, data + i * peek->unit, peek->unit);
		if (codepoint > last)
			return REASON_BAD_TEXT;
		strbuf_add_codepoint(out, codepoint ? codepoint : SYMBOL_FOR_NULL);
	}
	return REASON_OK;
}

static enum reason decode(struct memory *memory, const struct text_peek *peek, struct strbuf *out)
{
	uint8_t data[TEXT_LENGTH_KEPT * 4];
	bool cut = peek->length > TEXT_LENGTH_KEPT;
	size_t count = cut ? TEXT_LENGTH_KEPT : (size_t)peek->length;
	enum reason reason = text_copy(memory, peek, count, data);
	if (reason != REASON_OK)
		return reason;
	if (peek->is_bytes)
		decode_bytes(data, count, out);
	else
		reason = decode_unicode(peek, data, count, out);
	if (cut)
		strbuf_add_codepoint(out, ELLIPSIS);
	if (out->failed)
		return REASON_NO_MEMORY;
	return reason;
}

enum reason text_finish(struct memory *memory, const struct text_peek *peek, struct strbuf *out)
{
	size_t length = out->length;
	enum reason reason = decode(memory, peek, out);
	if (reason != REASON_OK && out->text) {
		out->length = length;
		out->text[length] = '\0';
	}
	return reason;
}

enum reason text_read(struct memory *memory, const struct py_layout *layout, uint64_t address,
		      struct strbuf *out)
{
	struct text_peek peek;
	enum reason reason = text_peek(memory, layout, 0, address, &peek);
	return reason == REASON_OK ? text_finish(memory, &peek, out) : reason;
}
