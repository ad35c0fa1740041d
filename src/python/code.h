/* SPDX-License-Identifier: MIT */
/*
 * code.h: code objects of the target: the names, file and line table behind a frame.
 *
 * Reading one takes half a dozen reads, so they are cached by address. An address can be given to
 *another code object at any time the target runs; therefore the cache is validated, not trusted.
 *Every entry lists the few small ranges of memory whose content tells it from another code object:
 *the code object's own pointers, and type, length and first characters of the strings and the table
 *behind them. In one sample:
 *
 *	inside the stop		addresses of code objects are noted; code_cache_get_checked for
 *those that are volatile after the resume	code_cache_get for each distinct address, one
 *vectored read of all their code_ranges, code_cache_validate for each after the sample
 *code_cache_sweep
 *
 * An entry that does not match is dropped, its address is volatile from then on, and the caller
 *counts REASON_CODE_CHANGED for the frame: it cannot know which of the two the frame had.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/reason.h"
#include "python/layout.h"
#include "target/memory.h"

/* Entries, and bytes of all entries, that a cache keeps; those that were not used lately go first.
 */
#define CODE_CACHE_ENTRIES_MAX 16384
#define CODE_CACHE_BYTES_MAX   (32 * 1024 * 1024)
/* Addresses that are remembered as volatile; one more, and all are forgotten. */
#define CODE_VOLATILE_MAX 65536

/* The code object, name, qualified name, file name, line table. */
#define CODE_RANGES_MAX 5
/* No range is longer. */
#define CODE_RANGE_SIZE_MAX PY_LIMIT_CODE

struct code {
	uint64_t address;
	char *name;     /* qualified where the version has qualified names; UTF-8 as text.h says */
	char *filename; /* as in co_filename: often not absolute */
	uint32_t firstlineno;
	enum py_line_kind line_kind;
	uint8_t *table;
	size_t table_size;

	struct memory_range ranges[CODE_RANGES_MAX];
	size_t range_count;
	size_t ranges_bytes; /* sum of the ranges' sizes */
	uint64_t digest;     /* of their content */
};

/*
 * Reads the code object at @address. @code_type is the address of PyCode_Type; where that is 0
 * (unknown) the type's name decides. REASON_BAD_CODE if it is no code object, REASON_BAD_TEXT,
 * REASON_BAD_LINE_TABLE or REASON_LIMIT if what it points to is not what it should be.
 */
enum reason code_read(struct memory *memory, const struct py_layout *layout, uint64_t code_type,
		      uint64_t address, struct code **code_ret);
void code_destroy(struct code *code);
DEFINE_CLEANUP(code_cleanup, struct code, code_destroy)
#define _cleanup_code_ _cleanup_(code_cleanup)

/* The line of the instruction at @lasti_bytes: lines_find over the code's table. LINE_NONE is a
 * possible answer. */
enum reason code_line(const struct code *code, int64_t lasti_bytes, uint32_t *line_ret);

/* The ranges to read again; together code->ranges_bytes. */
const struct memory_range *code_ranges(const struct code *code, size_t *count_ret);
/* True if @bytes, the ranges' content one after the other, is that of the very code object that was
 * read. */
bool code_matches(const struct code *code, const struct py_layout *layout, const uint8_t *bytes);

struct code_cache;

/* @layout must outlive the cache. */
struct error *code_cache_create(const struct py_layout *layout, uint64_t code_type,
				struct code_cache **cache_ret);
void code_cache_destroy(struct code_cache *cache);
DEFINE_CLEANUP(code_cache_cleanup, struct code_cache, code_cache_destroy)
#define _cleanup_code_cache_ _cleanup_(code_cache_cleanup)

/*
 * The code object at @address, read if the cache has none for that address; not validated. The
 * result stays readable, even when the entry is dropped or evicted, until code_cache_sweep.
 */
enum reason code_cache_get(struct code_cache *cache, struct memory *memory, uint64_t address,
			   const struct code **code_ret);
/* The same, but an entry is compared with memory first and read anew if it does not match: right
 * for a stopped target. */
enum reason code_cache_get_checked(struct code_cache *cache, struct memory *memory,
				   uint64_t address, const struct code **code_ret);
/*
 * code_matches; on a mismatch the entry is dropped and its address becomes volatile. Calling it
 * twice, or for a code object that has been evicted since, is fine.
 */
bool code_cache_validate(struct code_cache *cache, const struct code *code, const uint8_t *bytes);
bool code_cache_is_volatile(const struct code_cache *cache, uint64_t address);
/* Releases what was dropped or evicted. Pointers from the cache that a caller still holds become
 * invalid. */
void code_cache_sweep(struct code_cache *cache);
size_t code_cache_count(const struct code_cache *cache);
