/* SPDX-License-Identifier: MIT */
/* tsd_layout.c: the C library's description of itself, and the rows measured for those without. */
#include "python/tsd_layout.h"

#include <string.h>

#include "arch/arch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* glibc: PTHREAD_KEY_1STLEVEL_SIZE × PTHREAD_KEY_2NDLEVEL_SIZE; musl: PTHREAD_KEYS_MAX. */
#define GLIBC_BLOCK_KEYS 32
#define GLIBC_KEY_MAX    1024
#define MUSL_KEY_MAX     128

#define GLIBC(cpu_, name, below, first, specific_, tid_, dtv_)                                     \
	{                                                                                          \
		.libc = TSD_GLIBC, .cpu = cpu_, .pthread_below = (below), .first_block = (first),  \
		.specific = (specific_), .block_keys = GLIBC_BLOCK_KEYS, .key_max = GLIBC_KEY_MAX, \
		.key_size = 16, .data = 8, .tid = (tid_), .dtv = (dtv_), .dtv_entry = 16,          \
		.row = name, .origin = "measured row " name,                                       \
	}
#define MUSL(cpu_, name, below, specific_, tid_)                                                   \
	{                                                                                          \
		.libc = TSD_MUSL, .cpu = cpu_, .pthread_below = (below), .specific = (specific_),  \
		.block_keys = MUSL_KEY_MAX, .key_max = MUSL_KEY_MAX, .key_size = 8, .tid = (tid_), \
		.row = name, .origin = "measured row " name,                                       \
	}

/* clang-format off */

/*
 * Measured by contrib/tsd-probe.c; tests/live/test_tsd_probe.py measures again on this machine. A
 * range names the versions at its ends, both measured. The DTV pointer is tcbhead_t's second word on
 * x86-64, its first on aarch64.
 */
static const struct tsd_layout rows[] = {
	/*    cpu        name               below  first  specific  tid    dtv */
	GLIBC("x86-64",  "glibc 2.31-2.44",    0, 0x310, 0x510,    0x2d0, 8),
	GLIBC("aarch64", "glibc 2.31",      1792, 0x110, 0x310,    0xd0,  0),
	GLIBC("aarch64", "glibc 2.36-2.39", 1856, 0x110, 0x310,    0xd0,  0),
	GLIBC("aarch64", "glibc 2.41-2.44", 1824, 0x110, 0x310,    0xd0,  0),
	/*    cpu        name              below  specific  tid */
	MUSL("x86-64",   "musl 1.2.3-1.2.6",   0, 0x80,    0x30),
	MUSL("aarch64",  "musl 1.2.3-1.2.6", 200, 0x70,    0x20),
};

/* clang-format on */

const struct tsd_layout *tsd_rows(size_t *count_ret)
{
	*count_ret = COUNT(rows);
	return rows;
}

/* ---- layout of the C library ---- */

/* nptl_db: a field is described by {bits of an element, elements, offset}. */
struct db_field {
	uint32_t bits;
	uint32_t count;
	uint32_t offset;
};

/* No struct pthread is larger: 2304 bytes on x86-64 (glibc 2.36). */
#define PTHREAD_SIZE_MAX 65536

static bool db_read(const struct image *image, const char *name, void *buffer, size_t size)
{
	struct image_symbol symbol;
	return image_symbol(image, name, &symbol) && !symbol.is_tls && symbol.size == size &&
	       image_read(image, symbol.vaddr, buffer, size);
}

static bool db_read_size(const struct image *image, const char *name, uint32_t *size_ret)
{
	return db_read(image, name, size_ret, sizeof(*size_ret));
}

/* Offset of a field of @bits bits in all. */
static bool db_read_field(const struct image *image, const char *name, uint32_t bits,
			  uint32_t *offset_ret)
{
	struct db_field field;
	if (!db_read(image, name, &field, sizeof(field)) ||
	    (uint64_t)field.bits * field.count != bits)
		return false;
	*offset_ret = field.offset;
	return true;
}

/*
 * What @image says of its own layout; false if it says nothing or nothing credible. @row is any of
 * this CPU's for glibc: what no version varies in.
 */
static bool db_layout(const struct image *image, const struct tsd_layout *row,
		      struct tsd_layout *layout_ret)
{
	uint32_t pthread_size, key_size, data, specific, tid;
	if (!db_read_size(image, "_thread_db_sizeof_pthread", &pthread_size) ||
	    !db_read_size(image, "_thread_db_sizeof_pthread_key_data", &key_size) ||
	    !db_read_field(image, "_thread_db_pthread_key_data_data", 64, &data) ||
	    !db_read_field(image, "_thread_db_pthread_specific", GLIBC_BLOCK_KEYS * 64,
			   &specific) ||
	    !db_read_field(image, "_thread_db_pthread_tid", 32, &tid))
		return false;

	if (pthread_size > PTHREAD_SIZE_MAX || specific > pthread_size || tid > pthread_size ||
	    key_size < 8 || key_size > 64 || data > key_size - 8 ||
	    specific < GLIBC_BLOCK_KEYS * key_size)
		return false;

	*layout_ret = (struct tsd_layout){
		.libc = TSD_GLIBC,
		.cpu = row->cpu,
		/* TLS variant I (aarch64): struct pthread ends at the thread pointer. */
		.pthread_below = row->pthread_below ? pthread_size : 0,
		/* struct pthread: specific_1stblock[32]; specific[32]; */
		.first_block = specific - GLIBC_BLOCK_KEYS * key_size,
		.specific = specific,
		.block_keys = GLIBC_BLOCK_KEYS,
		.key_max = GLIBC_KEY_MAX,
		.key_size = key_size,
		.data = data,
		.tid = tid,
		/* Not described; it has not moved in any measured version. */
		.dtv = row->dtv,
		.dtv_entry = row->dtv_entry,
	};
	return true;
}

static bool same_layout(const struct tsd_layout *a, const struct tsd_layout *b)
{
	return a->libc == b->libc && !strcmp(a->cpu, b->cpu) &&
	       a->pthread_below == b->pthread_below && a->first_block == b->first_block &&
	       a->specific == b->specific && a->key_size == b->key_size && a->data == b->data &&
	       a->tid == b->tid;
}

/* glibc's first row for @cpu; with @like the one that equals it. */
static const struct tsd_layout *glibc_row(const char *cpu, const struct tsd_layout *like)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].libc == TSD_GLIBC && !strcmp(rows[i].cpu, cpu) &&
		    (!like || same_layout(&rows[i], like)))
			return &rows[i];
	return NULL;
}

/* True if there is a thread to try and @layout fits it. */
static bool confirmed(const struct tsd_request *request, const struct tsd_layout *layout)
{
	return request->memory && request->thread.tid &&
	       tsd_check(request->memory, layout, &request->thread) == REASON_OK;
}

static struct error *finish_described(const struct tsd_request *request, struct tsd_layout *layout,
				      struct tsd_layout *layout_ret)
{
	const struct tsd_layout *equal = glibc_row(layout->cpu, layout);
	if (equal) {
		layout->row = equal->row;
		layout->origin = "libc's own _thread_db_* data, equal to a measured row";
	} else if (confirmed(request, layout)) {
		layout->origin = "libc's own _thread_db_* data, confirmed by a thread's id";
	} else {
		return error_create(ERROR_UNSUPPORTED,
				    "glibc on %s describes thread-specific data unlike any "
				    "measured version, and no thread confirms it",
				    layout->cpu);
	}
	*layout_ret = *layout;
	return NULL;
}

enum libc_name { LIBC_UNKNOWN, LIBC_GLIBC, LIBC_MUSL };

static enum libc_name libc_identify(const struct tsd_request *request)
{
	struct image_symbol symbol;
	for (size_t i = 0; i < request->image_count; i++) {
		const struct image *image = request->images[i];
		if (image_symbol(image, "gnu_get_libc_version", &symbol))
			return LIBC_GLIBC;
		/* musl's dynamic linker is its libc; its second stage is an exported function. */
		if (image_symbol(image, "__dls2b", &symbol) &&
		    image_symbol(image, "pthread_getspecific", &symbol))
			return LIBC_MUSL;
	}
	return LIBC_UNKNOWN;
}

static const char *libc_text(enum libc_name libc)
{
	return libc == LIBC_GLIBC ? "glibc" : libc == LIBC_MUSL ? "musl" : "an unknown C library";
}

/* The row that fits where the C library does not describe itself. */
static struct error *find_row(const struct tsd_request *request, const char *cpu,
			      struct tsd_layout *layout_ret)
{
	enum libc_name libc = libc_identify(request);
	bool can_try = request->memory && request->thread.tid;
	const struct tsd_layout *found = NULL;
	size_t candidates = 0;
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (strcmp(rows[i].cpu, cpu) != 0 ||
		    (libc == LIBC_GLIBC && rows[i].libc != TSD_GLIBC) ||
		    (libc == LIBC_MUSL && rows[i].libc != TSD_MUSL))
			continue;
		if (can_try && !confirmed(request, &rows[i]))
			continue;
		found = &rows[i];
		candidates++;
	}

	/* Without a thread a row needs the library's name. */
	if (candidates != 1 || (!can_try && libc == LIBC_UNKNOWN))
		return error_create(ERROR_UNSUPPORTED, "thread-specific data of %s on %s: %s",
				    libc_text(libc), arch_machine_name(request->machine),
				    candidates ? "several measured rows may be right"
					       : "no measured row fits");
	*layout_ret = *found;
	return NULL;
}

struct error *tsd_layout_find(const struct tsd_request *request, struct tsd_layout *layout_ret)
{
	const char *cpu = arch_machine_name(request->machine);
	const struct tsd_layout *row = glibc_row(cpu, NULL);
	if (!row)
		return error_create(ERROR_UNSUPPORTED,
				    "thread-specific data has not been measured on %s", cpu);

	for (size_t i = 0; i < request->image_count; i++) {
		struct tsd_layout layout;
		if (image_machine(request->images[i]) == request->machine &&
		    db_layout(request->images[i], row, &layout))
			return finish_described(request, &layout, layout_ret);
	}
	return find_row(request, cpu, layout_ret);
}

uint64_t tsd_pthread(const struct tsd_layout *layout, const struct tsd_thread *thread)
{
	return thread->pointer - layout->pthread_below;
}

enum reason tsd_check(struct memory *memory, const struct tsd_layout *layout,
		      const struct tsd_thread *thread)
{
	if (thread->pointer <= layout->pthread_below)
		return REASON_BAD_THREAD_POINTER;
	if (!thread->tid)
		return REASON_OK;
	uint32_t tid;
	if (!memory_read_u32(memory, tsd_pthread(layout, thread) + layout->tid, &tid) ||
	    tid != thread->tid)
		return REASON_BAD_THREAD_POINTER;
	return REASON_OK;
}
