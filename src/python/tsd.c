/* SPDX-License-Identifier: MIT */
/* tsd.c: a thread's slots, and the place that an interpreter keeps its thread states in. */
#include "python/tsd.h"

#include <elf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"

/*
 * glibc   pthread + first_block:  slot 0 … slot 31
 *         pthread + specific:     → block 0 (the same), → block 1 (keys 32–63), …
 * musl    pthread + specific:     → slot 0 … slot 127
 * slot    glibc {sequence number, value}, musl {value}
 */
enum reason tsd_slot(struct memory *memory, const struct tsd_layout *layout,
		     const struct tsd_thread *thread, uint32_t key, uint64_t *address_ret)
{
	if (key >= layout->key_max)
		return REASON_LIMIT;
	enum reason reason = tsd_check(memory, layout, thread);
	if (reason)
		return reason;

	uint64_t pthread = tsd_pthread(layout, thread);
	uint64_t block = pthread + layout->first_block;
	if (layout->libc == TSD_MUSL || key >= layout->block_keys) {
		uint64_t pointer = pthread + layout->specific + 8 * (key / layout->block_keys);
		if (!memory_read_u64(memory, pointer, &block))
			return REASON_MEMORY_FAULT;
	}
	uint64_t in_block = (uint64_t)(key % layout->block_keys) * layout->key_size + layout->data;
	*address_ret = block ? block + in_block : 0;
	return REASON_OK;
}

enum reason tsd_read(struct memory *memory, const struct tsd_layout *layout,
		     const struct tsd_thread *thread, uint32_t key, uint64_t *value_ret)
{
	uint64_t address;
	enum reason reason = tsd_slot(memory, layout, thread, key, &address);
	if (reason)
		return reason;
	if (!address) {
		*value_ret = 0;
		return REASON_OK;
	}
	return memory_read_u64(memory, address, value_ret) ? REASON_OK : REASON_MEMORY_FAULT;
}

/* glibc: TLS_DTV_UNALLOCATED. */
#define DTV_UNALLOCATED UINT64_MAX

/* Far more modules with thread-locals than any process has. */
#define DTV_LENGTH_MAX 65536

/*
 * dtv[-1] {length, –}   dtv[0] {generation, –}   dtv[1 … length] {block of that module, –}
 *    ↑ *(thread pointer + layout->dtv) points at dtv[0]
 */
enum reason tls_address(struct memory *memory, const struct tsd_layout *layout,
			const struct tsd_thread *thread, uint64_t module, uint64_t offset,
			uint64_t *address_ret)
{
	enum reason reason = tsd_check(memory, layout, thread);
	if (reason)
		return reason;

	uint64_t dtv, length, block;
	if (!memory_read_u64(memory, thread->pointer + layout->dtv, &dtv) ||
	    !memory_read_u64(memory, dtv - layout->dtv_entry, &length))
		return REASON_MEMORY_FAULT;
	if (module == 0 || length > DTV_LENGTH_MAX)
		return REASON_LIMIT;
	/* A DTV grows when its thread first touches a block: one too short has none. */
	if (module > length) {
		*address_ret = 0;
		return REASON_OK;
	}
	if (!memory_read_u64(memory, dtv + module * layout->dtv_entry, &block))
		return REASON_MEMORY_FAULT;
	*address_ret = block == 0 || block == DTV_UNALLOCATED ? 0 : block + offset;
	return REASON_OK;
}

/* ---- the interpreter's place ---- */

/* What one way of looking says. */
struct place {
	enum place_kind { PLACE_NONE, PLACE_TSS, PLACE_INT, PLACE_TLS_LOCAL, PLACE_TLS_DTV } kind;
	uint64_t address; /* of the Py_tss_t or int in the target */
	uint64_t module;
	int64_t offset;
	char means[64];
};

static void place_means(struct place *place, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void place_means(struct place *place, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(place->means, sizeof(place->means), format, ap);
	va_end(ap);
}

static bool same_place(const struct place *a, const struct place *b)
{
	return a->kind == b->kind && a->address == b->address && a->module == b->module &&
	       a->offset == b->offset;
}

/* All bytes of function @name; false if it is not there or longer than any measured one. */
static bool read_body(const struct image *image, const char *name, uint8_t *body, size_t *size_ret,
		      uint64_t *vaddr_ret)
{
	struct image_symbol symbol;
	if (!image_symbol(image, name, &symbol) || symbol.is_tls || symbol.size == 0 ||
	    symbol.size > DECODE_BODY_MAX || !image_read(image, symbol.vaddr, body, symbol.size))
		return false;
	*size_ret = symbol.size;
	*vaddr_ret = symbol.vaddr;
	return true;
}

static struct error *read_failed(const struct tsd_runtime *runtime, const char *what,
				 uint64_t address)
{
	return error_create(ERROR_FAULT, "cannot read %s of %s at 0x%" PRIx64, what,
			    image_name(runtime->image), address);
}

static struct error *resolve_runtime(const struct tsd_runtime *runtime, const struct key_ref *ref,
				     struct place *place)
{
	uint64_t slot = runtime->bias + ref->vaddr;
	uint64_t base;
	if (!memory_read_u64(runtime->memory, slot, &base))
		return read_failed(runtime, "the GOT", slot);
	place->kind = PLACE_TSS;
	place->address = base + (uint64_t)ref->offset;
	return NULL;
}

/* @offset in the thread-local block of module number @module. */
static struct error *use_module(const struct tsd_runtime *runtime, uint64_t module, uint64_t offset,
				struct place *place)
{
	if (module == 0 || module > DTV_LENGTH_MAX)
		return error_create(ERROR_CORRUPT,
				    "%s has module number %" PRIu64 " for its thread-locals",
				    image_name(runtime->image), module);
	place->kind = PLACE_TLS_DTV;
	place->module = module;
	place->offset = (int64_t)offset;
	return NULL;
}

/* The pair that __tls_get_addr is given: module number, offset in its block. */
static struct error *resolve_dtv(const struct tsd_runtime *runtime, const struct key_ref *ref,
				 struct place *place)
{
	uint64_t address = runtime->bias + ref->vaddr;
	uint64_t pair[2];
	if (!memory_read(runtime->memory, address, pair, sizeof(pair)))
		return read_failed(runtime, "the thread-local's descriptor", address);
	return use_module(runtime, pair[0], pair[1] + (uint64_t)ref->offset, place);
}

/*
 * {resolver, argument}, filled in when the library was loaded: the argument is the distance from
 * the thread pointer where there was room for the library's thread-locals beside the program's,
 * else it points to {module number, offset in its block}. The resolver's code tells which.
 */
static struct error *resolve_descriptor(const struct tsd_runtime *runtime,
					const struct decoder *decoder, const struct key_ref *ref,
					struct place *place)
{
	uint64_t address = runtime->bias + ref->vaddr;
	uint64_t pair[2], dynamic[2];
	uint8_t code[DECODE_RESOLVER_SIZE];
	if (!decoder->tls_resolver)
		return error_create(ERROR_UNSUPPORTED,
				    "TLS descriptors have not been measured here");
	if (!memory_read(runtime->memory, address, pair, sizeof(pair)))
		return read_failed(runtime, "the thread-local's descriptor", address);
	if (!memory_read(runtime->memory, pair[0], code, sizeof(code)))
		return read_failed(runtime, "the resolver of a thread-local", pair[0]);

	switch (decoder->tls_resolver(code, sizeof(code))) {
	case TLS_RESOLVER_STATIC:
		place->kind = PLACE_TLS_LOCAL;
		place->offset = (int64_t)(pair[1] + (uint64_t)ref->offset);
		return NULL;
	case TLS_RESOLVER_DYNAMIC:
		if (!memory_read(runtime->memory, pair[1], dynamic, sizeof(dynamic)))
			return read_failed(runtime, "the thread-local's place", pair[1]);
		return use_module(runtime, dynamic[0], dynamic[1] + (uint64_t)ref->offset, place);
	case TLS_RESOLVER_UNKNOWN:
		break;
	}
	return error_create(ERROR_UNSUPPORTED,
			    "the resolver of %s's thread-locals has no measured shape",
			    image_name(runtime->image));
}

static struct error *resolve(const struct tsd_runtime *runtime, const struct decoder *decoder,
			     const struct key_ref *ref, struct place *place)
{
	switch (ref->kind) {
	case KEY_REF_RUNTIME:
		return resolve_runtime(runtime, ref, place);
	case KEY_REF_TSS:
		place->kind = PLACE_TSS;
		place->address = runtime->bias + ref->vaddr;
		return NULL;
	case KEY_REF_INT:
		place->kind = PLACE_INT;
		place->address = runtime->bias + ref->vaddr;
		return NULL;
	case KEY_REF_TLS_LOCAL:
		place->kind = PLACE_TLS_LOCAL;
		place->offset = ref->offset;
		return NULL;
	case KEY_REF_TLS_DTV:
		return resolve_dtv(runtime, ref, place);
	case KEY_REF_TLS_DESCRIPTOR:
		return resolve_descriptor(runtime, decoder, ref, place);
	}
	return error_create(ERROR_UNSUPPORTED, "unknown kind of reference");
}

static struct error *place_by_code(const struct tsd_runtime *runtime, const struct decoder *decoder,
				   struct place *place_ret)
{
	static const char function[] = "PyGILState_GetThisThreadState";
	if (!decoder)
		return error_create(ERROR_UNSUPPORTED, "code of %s on %s has not been measured",
				    function, arch_machine_name(image_machine(runtime->image)));

	uint8_t body[DECODE_BODY_MAX];
	size_t size;
	uint64_t vaddr;
	if (!read_body(runtime->image, function, body, &size, &vaddr))
		return error_create(ERROR_UNSUPPORTED, "%s has no readable %s of a measured size",
				    image_name(runtime->image), function);

	struct key_ref ref;
	struct error *err = decoder->decode_key(body, size, vaddr, &ref);
	if (err)
		return error_prefix(err, "%s", image_name(runtime->image));
	struct place place = { 0 };
	err = resolve(runtime, decoder, &ref, &place);
	if (err)
		return err;
	place_means(&place, "code of shape %s", ref.shape);
	*place_ret = place;
	return NULL;
}

/*
 * A program's thread-locals are at a distance that linking fixed; a library's are not.
 * Variant II, x86-64: the block ends at the thread pointer, aligned.
 * Variant I, aarch64: the block follows a header of two words, aligned.
 */
static bool tls_distance(const struct tsd_runtime *runtime, const struct tsd_layout *tsd,
			 uint64_t in_block, int64_t *distance_ret)
{
	struct image_section section;
	uint64_t size, align, vaddr;
	bool program = image_type(runtime->image) == ET_EXEC ||
		       image_section(runtime->image, ".interp", &section);
	if (!program || !image_tls(runtime->image, &size, &align, &vaddr) || in_block >= size ||
	    size > INT32_MAX || align > INT32_MAX)
		return false;
	if (align == 0)
		align = 1;
	uint64_t block = tsd->pthread_below ? (16 + align - 1) / align * align
					    : -((size + align - 1) / align * align);
	*distance_ret = (int64_t)(block + in_block);
	return true;
}

static void place_by_layout(const struct tsd_runtime *runtime, const struct tsd_layout *tsd,
			    struct place *place)
{
	const struct py_layout *layout = runtime->layout;
	struct image_symbol symbol;
	switch (layout->key_kind) {
	case PY_KEY_RUNTIME:
		if (!runtime->runtime_address || layout->runtime_auto_tss_key == PY_ABSENT)
			return;
		place->kind = PLACE_TSS;
		place->address = runtime->runtime_address + layout->runtime_auto_tss_key;
		place_means(place, "layout, _PyRuntime + 0x%" PRIx32, layout->runtime_auto_tss_key);
		return;
	case PY_KEY_INT_SYMBOL:
		if (!image_symbol(runtime->image, "autoTLSkey", &symbol) || symbol.is_tls)
			return;
		place->kind = PLACE_INT;
		place->address = runtime->bias + symbol.vaddr;
		place_means(place, "symbol autoTLSkey");
		return;
	case PY_KEY_THREAD_LOCAL:
		/* _Py_tss_tstate beside it is NULL in a thread that does not hold the GIL. */
		if (!image_symbol(runtime->image, "_Py_tss_gilstate", &symbol) || !symbol.is_tls ||
		    !tls_distance(runtime, tsd, symbol.vaddr, &place->offset))
			return;
		place->kind = PLACE_TLS_LOCAL;
		place_means(place, "symbol _Py_tss_gilstate");
		return;
	}
}

/* 3.7 on: Py_tss_t {int is_initialized; pthread_key_t key}. */
static struct error *read_tss(const struct tsd_runtime *runtime, uint64_t address,
			      uint32_t *key_ret)
{
	uint32_t tss[2];
	if (!memory_read(runtime->memory, address, tss, sizeof(tss)))
		return read_failed(runtime, "the thread-state key", address);
	if (tss[0] == 0)
		return error_create(ERROR_NOT_PYTHON, "the interpreter of %s is not initialised",
				    image_name(runtime->image));
	if (tss[0] != 1)
		return error_create(ERROR_CORRUPT, "there is no Py_tss_t at 0x%" PRIx64 " of %s",
				    address, image_name(runtime->image));
	*key_ret = tss[1];
	return NULL;
}

/* 3.6: a pthread key, −1 until it is created. 2.7: an index of the interpreter's own. */
static struct error *read_int(const struct tsd_runtime *runtime, const struct decoder *decoder,
			      uint64_t address, uint32_t *key_ret)
{
	uint8_t body[DECODE_BODY_MAX];
	size_t size;
	uint64_t vaddr;
	if (!decoder || !read_body(runtime->image, "PyThread_get_key_value", body, &size, &vaddr) ||
	    !decoder->is_tail_call(body, size))
		return error_create(ERROR_UNSUPPORTED,
				    "%s keeps its thread states in a list of its own, "
				    "not under a pthread key",
				    image_name(runtime->image));
	if (!memory_read_u32(runtime->memory, address, key_ret))
		return read_failed(runtime, "the thread-state key", address);
	if (*key_ret == UINT32_MAX)
		return error_create(ERROR_NOT_PYTHON, "the interpreter of %s is not initialised",
				    image_name(runtime->image));
	return NULL;
}

static struct error *place_use(const struct tsd_runtime *runtime, const struct decoder *decoder,
			       const struct place *place, struct tstate_source *source)
{
	struct error *err = NULL;
	source->tls_module = place->module;
	source->tls_offset = place->offset;
	switch (place->kind) {
	case PLACE_TSS:
	case PLACE_INT:
		source->kind = TSTATE_KEY;
		err = place->kind == PLACE_TSS
			      ? read_tss(runtime, place->address, &source->key)
			      : read_int(runtime, decoder, place->address, &source->key);
		if (!err && source->key >= source->layout.key_max)
			err = error_create(ERROR_CORRUPT,
					   "thread-state key %" PRIu32 " of %s is no pthread key",
					   source->key, image_name(runtime->image));
		return err;
	case PLACE_TLS_LOCAL:
		source->kind = TSTATE_TLS_LOCAL;
		return NULL;
	case PLACE_TLS_DTV:
		source->kind = TSTATE_TLS_DTV;
		if (!source->layout.dtv_entry)
			err = error_create(ERROR_UNSUPPORTED,
					   "the DTV of %s on %s has not been measured",
					   source->layout.row ? source->layout.row : "this libc",
					   source->layout.cpu);
		return err;
	case PLACE_NONE:
		break;
	}
	return error_create(ERROR_UNSUPPORTED, "no thread-state key found");
}

static void describe(struct tstate_source *source, const char *used, const char *verdict,
		     const char *other)
{
	char what[48];
	if (source->kind == TSTATE_KEY)
		snprintf(what, sizeof(what), "pthread key %" PRIu32, source->key);
	else if (source->kind == TSTATE_TLS_DTV)
		snprintf(what, sizeof(what), "thread-local of module %" PRIu64, source->tls_module);
	else
		snprintf(what, sizeof(what), "thread-local");
	snprintf(source->origin, sizeof(source->origin), "%s (%s%s%s)", what, used, verdict, other);
}

struct error *tsd_find_source(const struct tsd_runtime *runtime, const struct tsd_layout *layout,
			      struct tstate_source *source_ret)
{
	const struct decoder *decoder = decoder_by_machine(image_machine(runtime->image));
	struct place coded = { 0 }, laid_out = { 0 };
	place_by_layout(runtime, layout, &laid_out);
	_cleanup_error_ struct error *code_error = place_by_code(runtime, decoder, &coded);
	if (code_error && laid_out.kind == PLACE_NONE)
		return no_cleanup(code_error);

	struct tstate_source source = { .layout = *layout };
	struct error *err = place_use(runtime, decoder, code_error ? &laid_out : &coded, &source);
	if (err)
		return err;

	if (code_error)
		describe(&source, laid_out.means, "; its code has no measured shape", "");
	else if (laid_out.kind == PLACE_NONE)
		describe(&source, coded.means, "", "");
	else if (same_place(&coded, &laid_out))
		describe(&source, laid_out.means, "; agrees with ", coded.means);
	else
		describe(&source, coded.means, "; differs from ", laid_out.means);
	*source_ret = source;
	return NULL;
}

enum reason tstate_source_address(const struct tstate_source *source, struct memory *memory,
				  const struct tsd_thread *thread, uint64_t *address_ret)
{
	uint64_t address = 0;
	enum reason reason = REASON_OK;
	switch (source->kind) {
	case TSTATE_KEY:
		reason = tsd_slot(memory, &source->layout, thread, source->key, &address);
		break;
	case TSTATE_TLS_LOCAL:
		reason = tsd_check(memory, &source->layout, thread);
		address = thread->pointer + (uint64_t)source->tls_offset;
		break;
	case TSTATE_TLS_DTV:
		reason = tls_address(memory, &source->layout, thread, source->tls_module,
				     (uint64_t)source->tls_offset, &address);
		break;
	}
	if (reason)
		return reason;
	if (!address)
		return REASON_NO_THREAD_STATE;
	*address_ret = address;
	return REASON_OK;
}

enum reason tstate_source_read(const struct tstate_source *source, struct memory *memory,
			       const struct tsd_thread *thread, uint64_t *tstate_ret)
{
	uint64_t address, tstate;
	enum reason reason = tstate_source_address(source, memory, thread, &address);
	if (reason)
		return reason;
	if (!memory_read_u64(memory, address, &tstate))
		return REASON_MEMORY_FAULT;
	if (!tstate)
		return REASON_NO_THREAD_STATE;
	if (tstate % 8)
		return REASON_BAD_THREAD_STATE;
	*tstate_ret = tstate;
	return REASON_OK;
}
