/* SPDX-License-Identifier: MIT */
/* detect_scan.c: bounded searches in the data of one module. */
#include "python/detect_scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define CHUNK ((size_t)1 << 16)
/* Read with a chunk, so that nothing is cut at its end: longer than any text looked for. */
#define OVERLAP 512
/* The writable data of one module; a static program with its .bss is some megabytes. */
#define WRITABLE_LIMIT  ((uint64_t)64 << 20)
#define READ_ONLY_LIMIT ((uint64_t)512 << 20)
/* Py_GetVersion's buffer is 250 bytes, 300 from 3.12 on. */
#define BANNER_LIMIT 300
/* PTHREAD_KEYS_MAX */
#define KEY_LIMIT 1024
/* Interpreters of one runtime. */
#define INTERP_LIMIT 4096

struct chunk {
	uint64_t address;
	const uint8_t *data;
	size_t size; /* bytes to look at */
	size_t held; /* bytes there: size and what follows */
};

/* False ends the search. */
typedef bool chunk_fn(const struct chunk *chunk, void *context);

static bool read_both(struct memory *memory, uint64_t address, uint8_t *buffer, size_t size,
		      size_t extra, size_t *held_ret)
{
	*held_ret = size + extra;
	if (memory_read(memory, address, buffer, size + extra))
		return true;
	*held_ret = size;
	return extra && memory_read(memory, address, buffer, size);
}

static bool scan_range(struct memory *memory, uint64_t start, uint64_t size, uint8_t *buffer,
		       chunk_fn *fn, void *context)
{
	for (uint64_t at = 0; at < size; at += CHUNK) {
		uint64_t left = size - at;
		struct chunk chunk = {
			.address = start + at,
			.data = buffer,
			.size = left < CHUNK ? left : CHUNK,
		};
		uint64_t extra = left - chunk.size < OVERLAP ? left - chunk.size : OVERLAP;
		if (read_both(memory, chunk.address, buffer, chunk.size, extra, &chunk.held) &&
		    !fn(&chunk, context))
			return false;
	}
	return true;
}

static void scan_writable(struct memory *memory, const struct module *module, chunk_fn *fn,
			  void *context)
{
	_cleanup_free_ uint8_t *buffer = malloc(CHUNK + OVERLAP);
	size_t count;
	const struct image_segment *segments = image_segments(module->image, &count);
	uint64_t left = WRITABLE_LIMIT;
	for (size_t i = 0; i < count && buffer; i++) {
		if (!segments[i].write)
			continue;
		uint64_t size = segments[i].memory_size < left ? segments[i].memory_size : left;
		left -= size;
		/* Aligned, as the words in it are. */
		uint64_t start = (module->bias + segments[i].vaddr) & ~UINT64_C(7);
		if (!scan_range(memory, start, size, buffer, fn, context))
			return;
	}
}

/* ---- the version text ---- */

static size_t parse_number(const char *text, size_t size, unsigned *ret)
{
	size_t i = 0;
	unsigned value = 0;
	while (i < size && i < 3 && isdigit((unsigned char)text[i]))
		value = value * 10 + (unsigned)(text[i++] - '0');
	*ret = value;
	return value < 256 ? i : 0;
}

static size_t parse_level(const char *text, size_t size)
{
	size_t at = 0;
	if (size > 1 && text[0] == 'r' && text[1] == 'c')
		at = 2;
	else if (size && (text[0] == 'a' || text[0] == 'b' || text[0] == 'c'))
		at = 1;
	while (at && at < size && at < 5 && isdigit((unsigned char)text[at]))
		at++;
	return at + (at < size && text[at] == '+');
}

size_t scan_parse_version(const char *text, size_t size, py_version *version_ret)
{
	unsigned parts[3];
	size_t at = 0;
	for (int i = 0; i < 3; i++) {
		if (i && (at == size || text[at++] != '.'))
			return 0;
		size_t length = parse_number(text + at, size - at, &parts[i]);
		if (!length)
			return 0;
		at += length;
	}
	if (parts[0] != 2 && parts[0] != 3)
		return 0;
	at += parse_level(text + at, size - at);
	*version_ret = PY_VERSION(parts[0], parts[1], parts[2]);
	return at;
}

/* "VERSION (BUILD) [COMPILER]": the length of VERSION, 0 if @text does not look so. */
static size_t parse_banner(const char *text, size_t size, py_version *version_ret)
{
	size = size < BANNER_LIMIT ? size : BANNER_LIMIT;
	if (!memchr(text, '\0', size))
		return 0;
	size_t length = scan_parse_version(text, size, version_ret);
	if (!length || length >= PY_VERSION_TEXT_MAX || strncmp(text + length, " (", 2))
		return 0;
	const char *close = strchr(text + length, ')');
	if (!close || !strchr(close, '[') || text[strlen(text) - 1] != ']')
		return 0;
	return length;
}

struct version_search {
	py_version version;
	char text[PY_VERSION_TEXT_MAX];
	bool found;
	bool ambiguous;
	uint8_t before; /* the byte before the next chunk */
	uint64_t next;
};

static bool look_for_banner(const struct chunk *chunk, void *context)
{
	struct version_search *search = context;
	uint8_t before = search->next == chunk->address ? search->before : 0;
	for (size_t i = 0; i < chunk->size; before = chunk->data[i++]) {
		py_version version;
		const char *text = (const char *)chunk->data + i;
		if (before || (*text != '2' && *text != '3'))
			continue;
		size_t length = parse_banner(text, chunk->held - i, &version);
		if (!length)
			continue;
		if (search->found && (strncmp(search->text, text, length) || search->text[length]))
			search->ambiguous = true;
		memcpy(search->text, text, length);
		search->text[length] = '\0';
		search->version = version;
		search->found = true;
	}
	search->before = before;
	search->next = chunk->address + chunk->size;
	return !search->ambiguous;
}

static bool is_in_segment(const struct image *image, const struct image_segment *segment,
			  const char *text, size_t size, uint8_t *buffer, uint64_t *left)
{
	for (uint64_t at = 0; at < segment->file_size && *left; at += CHUNK) {
		uint64_t rest = segment->file_size - at;
		size_t n = rest < CHUNK + OVERLAP ? rest : CHUNK + OVERLAP;
		*left -= n < *left ? n : *left;
		if (image_read(image, segment->vaddr + at, buffer, n) &&
		    memmem(buffer, n, text, size))
			return true;
	}
	return false;
}

/* @text with its NUL in the read-only data of @image. */
static bool is_in_read_only(const struct image *image, const char *text)
{
	_cleanup_free_ uint8_t *buffer = malloc(CHUNK + OVERLAP);
	size_t count;
	const struct image_segment *segments = image_segments(image, &count);
	uint64_t left = READ_ONLY_LIMIT;
	for (size_t i = 0; i < count && buffer; i++) {
		if (!segments[i].write &&
		    is_in_segment(image, &segments[i], text, strlen(text) + 1, buffer, &left))
			return true;
	}
	return false;
}

bool scan_version_text(struct memory *memory, const struct module *module, py_version *version_ret,
		       char text_ret[PY_VERSION_TEXT_MAX])
{
	struct version_search search = { 0 };
	scan_writable(memory, module, look_for_banner, &search);
	if (!search.found || search.ambiguous || !is_in_read_only(module->image, search.text))
		return false;
	*version_ret = search.version;
	memcpy(text_ret, search.text, sizeof(search.text));
	return true;
}

/* ---- the debug offsets ---- */

struct offsets_search {
	uint64_t address;
	py_version version;
	unsigned count;
};

static bool look_for_cookie(const struct chunk *chunk, void *context)
{
	struct offsets_search *search = context;
	for (size_t i = 0; i < chunk->size; i += 8) {
		if (!py_layout_parse_version(chunk->data + i, chunk->held - i, &search->version))
			continue;
		search->address = chunk->address + i;
		search->count++;
	}
	return search->count < 2;
}

bool scan_debug_offsets(struct memory *memory, const struct module *module, uint64_t *address_ret,
			py_version *version_ret)
{
	struct offsets_search search = { 0 };
	scan_writable(memory, module, look_for_cookie, &search);
	if (search.count != 1)
		return false;
	*address_ret = search.address;
	*version_ret = search.version;
	return true;
}

/* ---- the first interpreter, by structure ---- */

struct head_search {
	struct memory *memory;
	const struct maps *maps;
	const struct py_layout *layout;
	uint64_t address;
	size_t interps; /* in the list that starts there */
	unsigned count; /* different places that fit equally well */
};

/* An object in writable memory may be there. */
static bool is_pointer(const struct head_search *search, uint64_t value)
{
	if (!value || value % 8)
		return false;
	const struct mapping *mapping = maps_find(search->maps, value);
	return mapping && mapping->read && mapping->write;
}

static bool read_pointer(const struct head_search *search, uint64_t address, uint64_t *ret)
{
	return memory_read_u64(search->memory, address, ret) && is_pointer(search, *ret);
}

static bool is_interp(const struct head_search *search, uint64_t interp)
{
	const struct py_layout *layout = search->layout;
	uint64_t tstate, back, thread_id;
	return is_pointer(search, interp) &&
	       read_pointer(search, interp + layout->interp_threads_head, &tstate) &&
	       memory_read_u64(search->memory, tstate + layout->tstate_interp, &back) &&
	       back == interp &&
	       read_pointer(search, tstate + layout->tstate_thread_id, &thread_id);
}

/* Interpreters in the list from @interp on, 0 if it is none. */
static size_t count_interps(const struct head_search *search, uint64_t interp)
{
	size_t count = 0;
	while (interp && count < INTERP_LIMIT) {
		if (!is_interp(search, interp))
			return 0;
		count++;
		if (!memory_read_u64(search->memory, interp + search->layout->interp_next, &interp))
			return 0;
	}
	return interp ? 0 : count;
}

/* The fields of the _PyRuntime around a head at @address, where the version has it. */
static bool fits_runtime(const struct head_search *search, uint64_t address)
{
	const struct py_layout *layout = search->layout;
	if (layout->runtime_interpreters_head == PY_ABSENT)
		return true;
	uint64_t runtime = address - layout->runtime_interpreters_head;
	if (layout->runtime_auto_tss_key != PY_ABSENT) {
		uint32_t key[2]; /* Py_tss_t: _is_initialized, _key */
		if (!memory_read(search->memory, runtime + layout->runtime_auto_tss_key, key,
				 sizeof(key)) ||
		    key[0] != 1 || key[1] >= KEY_LIMIT)
			return false;
	}
	if (layout->runtime_tstate_current != PY_ABSENT) {
		uint64_t current, interp;
		if (!memory_read_u64(search->memory, runtime + layout->runtime_tstate_current,
				     &current))
			return false;
		if (current &&
		    (!is_pointer(search, current) ||
		     !memory_read_u64(search->memory, current + layout->tstate_interp, &interp) ||
		     !is_interp(search, interp)))
			return false;
	}
	return true;
}

/*
 * A second pointer leads to the main interpreter, and to no other. In 2.7 and 3.6 it is a global of
 * its own (autoInterpreterState): while there is one interpreter either serves, otherwise the head
 * is the one whose list is longer. Later it is interpreters.main, the word behind
 * interpreters.head; in 3.12 the words around it can look like a runtime too, since another key
 * follows autoTSSkey.
 */
static void take_place(struct head_search *search, uint64_t address, size_t interps)
{
	bool has_runtime = search->layout->runtime_interpreters_head != PY_ABSENT;
	if (search->count && has_runtime && address == search->address + 8)
		return;
	if (search->count && !has_runtime) {
		if (interps <= search->interps)
			return;
		search->count = 0;
	}
	search->address = address;
	search->interps = interps;
	search->count++;
}

static bool look_for_head(const struct chunk *chunk, void *context)
{
	struct head_search *search = context;
	for (size_t i = 0; i + 8 <= chunk->size; i += 8) {
		uint64_t interp;
		memcpy(&interp, chunk->data + i, sizeof(interp));
		if (!is_interp(search, interp) || !fits_runtime(search, chunk->address + i))
			continue;
		size_t interps = count_interps(search, interp);
		if (interps)
			take_place(search, chunk->address + i, interps);
	}
	return search->count < 2;
}

bool scan_interp_head(struct memory *memory, const struct module *module, const struct maps *maps,
		      const struct py_layout *layout, uint64_t *address_ret)
{
	struct head_search search = { .memory = memory, .maps = maps, .layout = layout };
	scan_writable(memory, module, look_for_head, &search);
	if (search.count != 1)
		return false;
	*address_ret = search.address;
	return true;
}
