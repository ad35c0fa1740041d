/* SPDX-License-Identifier: MIT */
/*
 * text.h: string objects of the target, as UTF-8 and as bytes.
 *
 * 3.x: every kind of str; lone surrogates (undecodable bytes of a file name among them) become
 * three bytes each, as with Python's "surrogatepass". 2.7: byte strings; a byte that is not part of
 * UTF-8 becomes U+DC00 + byte, which is how 3.x stores the same byte of the same file name
 * ("surrogateescape"): it can be had back, and writers need one rule of escaping for all versions.
 * U+0000, which no C string holds, becomes U+2400.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "base/strbuf.h"
#include "python/layout.h"
#include "target/memory.h"

/* Longer strings are cut here (in characters; bytes in 2.7) and end with "…". A path has at most
 * 4096 bytes. */
#define TEXT_LENGTH_KEPT 4096
/* No name and no table is longer than this: the object is not what it seems. */
#define TEXT_LENGTH_SANE (UINT64_C(1) << 28)
/* Of an object this many bytes are read at once: header and characters of an ordinary name. */
#define TEXT_PEEK_SIZE 256

/* A str or bytes object: its header understood, and its first bytes. */
struct text_peek {
	uint64_t address;
	uint64_t type;
	uint64_t data;   /* address of the characters */
	uint64_t length; /* in characters */
	uint32_t unit;   /* bytes a character: 1, 2 or 4 */
	bool ascii;
	bool is_bytes; /* characters are bytes in no known encoding */
	size_t size;   /* the whole object, but at most TEXT_PEEK_SIZE */
	uint8_t bytes[TEXT_PEEK_SIZE];
};

/*
 * Looks at the str (2.7: byte string) object at @address. REASON_BAD_TEXT if type, state word or
 * length are not those of one. Its type is asked for its flags unless it is @known_type, an earlier
 * peek's type (0: none). One read besides that, two for an object that crosses a page.
 */
enum reason text_peek(struct memory *memory, const struct py_layout *layout, uint64_t known_type,
		      uint64_t address, struct text_peek *peek_ret);
/* The same for a bytes object (2.7: byte string). */
enum reason text_peek_bytes(struct memory *memory, const struct py_layout *layout,
			    uint64_t known_type, uint64_t address, struct text_peek *peek_ret);
/* Appends the text to @out, reading what the peek does not hold. On failure @out is as before. */
enum reason text_finish(struct memory *memory, const struct text_peek *peek, struct strbuf *out);
/* The first @count characters as they are in memory, @count at most peek->length. */
enum reason text_copy(struct memory *memory, const struct text_peek *peek, size_t count,
		      uint8_t *buffer);
/*
 * A number for what never changes of the str (2.7: byte string) object whose first @size bytes, a
 * peek's size, are @bytes: type, length, kind, characters. What the interpreter fills in later
 * (hash, UTF-8 copy, interning) is left out. Two objects with the same number count as equal.
 */
uint64_t text_digest(const struct py_layout *layout, const uint8_t *bytes, size_t size,
		     uint64_t seed);
/* The same for a bytes object. */
uint64_t text_digest_bytes(const struct py_layout *layout, const uint8_t *bytes, size_t size,
			   uint64_t seed);

/* text_peek and text_finish. */
enum reason text_read(struct memory *memory, const struct py_layout *layout, uint64_t address,
		      struct strbuf *out);
