/* SPDX-License-Identifier: MIT */
/* jitdump.c: records are read one after another as the file grows. */
#include "image/jitdump.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/reader.h"
#include "image/growth.h"

#define JITDUMP_MAGIC   0x4a695444
#define JITDUMP_VERSION 1

enum record_id {
	RECORD_LOAD = 0,
	RECORD_MOVE = 1,
	RECORD_DEBUG_INFO = 2,
	RECORD_CLOSE = 3,
	RECORD_UNWINDING = 4,
};

#define FILE_HEADER_SIZE   40
#define RECORD_HEADER_SIZE 16
#define LOAD_FIXED_SIZE    40 /* after the record header, before the name */
#define MOVE_FIXED_SIZE    48
#define UNWIND_FIXED_SIZE  24

/* A record is one function; code of several megabytes is made by no compiler of this kind. */
#define RECORD_SIZE_LIMIT (UINT32_C(64) << 20)
#define CODE_SIZE_LIMIT   (UINT64_C(64) << 20)
#define UNWIND_SIZE_LIMIT (UINT64_C(256) << 10)
#define UNWIND_KEPT_LIMIT ((size_t)64 << 20)
/* Of one call. A move costs as much as an update of all ranges. */
#define RECORDS_AT_ONCE 20000
#define MOVES_AT_ONCE   32

DEFINE_VEC(struct pointer_vec, pointer_vec, uint8_t *)

/* What an unwinding record says about the load record that follows it. */
struct unwinding {
	const uint8_t *bytes; /* .eh_frame, then .eh_frame_hdr; NULL: none */
	size_t size;
	size_t header_size;
};

struct jitdump {
	int fd;
	uint64_t offset; /* of the next record */
	bool finished;
	struct unwinding unwinding;
	struct pointer_vec kept; /* unwind bytes, as long as the file is open */
	size_t kept_bytes;
	size_t last_size; /* of the last of them: equal ones are kept once */
	struct code_ranges ranges;
	uint64_t generation;
	struct growth growth;
};

struct record {
	uint32_t id;
	uint32_t size;
	uint64_t offset;
};

/* ---- finding it ---- */

/* "/tmp/jit-123.dump" */
static bool is_jitdump_path(const char *path)
{
	const char *name = path_base(path);
	if (strncmp(name, "jit-", 4))
		return false;
	size_t digits = strspn(name + 4, "0123456789");
	return digits && !strcmp(name + 4 + digits, ".dump");
}

const struct mapping *jitdump_next_mapping(const struct maps *maps, size_t *index)
{
	while (*index < maps->count) {
		const struct mapping *mapping = &maps->items[(*index)++];
		if (mapping->exec && !mapping->offset && mapping->inode && !mapping->deleted &&
		    is_jitdump_path(mapping->path))
			return mapping;
	}
	return NULL;
}

/* ---- opening ---- */

static bool read_at(int fd, uint64_t offset, void *buffer, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n =
			pread(fd, (uint8_t *)buffer + done, size - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* magic, version, size of this header, machine, padding, pid, timestamp, flags. */
static struct error *check_header(int fd, const char *name, uint16_t machine, uint32_t *size_ret)
{
	uint8_t bytes[FILE_HEADER_SIZE];
	if (!read_at(fd, 0, bytes, sizeof(bytes)))
		return error_create(ERROR_CORRUPT, "%s has no complete jitdump header", name);
	struct reader r = reader_make(bytes, sizeof(bytes));
	uint32_t magic = 0, version = 0, size = 0, elf_machine = 0;
	reader_u32(&r, &magic);
	reader_u32(&r, &version);
	reader_u32(&r, &size);
	reader_u32(&r, &elf_machine);
	if (magic != JITDUMP_MAGIC || version != JITDUMP_VERSION)
		return error_create(ERROR_UNSUPPORTED, "%s is not a jitdump file of version %d",
				    name, JITDUMP_VERSION);
	if (size < FILE_HEADER_SIZE || size > 4096 || size % 8)
		return error_create(ERROR_CORRUPT, "%s has a jitdump header of %u bytes", name,
				    size);
	/* CPython 3.13.0 writes 0. */
	if (elf_machine && elf_machine != machine)
		return error_create(ERROR_UNSUPPORTED, "%s is for ELF machine %u, not %u", name,
				    elf_machine, machine);
	*size_ret = size;
	return NULL;
}

struct error *jitdump_open_fd(int fd, const char *name, uint16_t machine,
			      struct jitdump **jitdump_ret)
{
	uint32_t header_size = 0;
	struct error *err = check_header(fd, name, machine, &header_size);
	if (err)
		return err;
	struct jitdump *jitdump = calloc(1, sizeof(*jitdump));
	if (!jitdump)
		return error_no_memory();
	jitdump->fd = fd;
	jitdump->offset = header_size;
	jitdump->growth = growth_make();
	*jitdump_ret = jitdump;
	return NULL;
}

struct error *jitdump_open(const struct rootfs *root, const struct mapping *mapping,
			   uint16_t machine, struct jitdump **jitdump_ret)
{
	_cleanup_close_ int fd = rootfs_open_own_file(root, mapping->path);
	if (fd < 0)
		return error_errno(errno, "cannot open the jitdump file %s", mapping->path);
	struct stat st;
	if (fstat(fd, &st) || st.st_ino != mapping->inode)
		return error_create(ERROR_GONE, "%s is not the file that is mapped any more",
				    mapping->path);
	struct error *err = jitdump_open_fd(fd, mapping->path, machine, jitdump_ret);
	if (!err)
		fd = -1;
	return err;
}

void jitdump_close(struct jitdump *jitdump)
{
	vec_foreach (bytes, &jitdump->kept)
		free(*bytes);
	pointer_vec_deinit(&jitdump->kept);
	code_ranges_deinit(&jitdump->ranges);
	close(jitdump->fd);
	free(jitdump);
}

/* ---- unwind information ---- */

/*
 * The address that .eh_frame's bytes are to be decoded at, relative to the code, so that the first
 * entry of the search table (LSB 5.0 §10.6.2) is the start of the code. The bytes are relative to
 * themselves, and writers differ in how far behind the code they imagine them. Only the table as
 * writers of jitdump make it, pcrel and datarel sdata4, is understood.
 */
static bool distance_by_header(const struct unwinding *unwinding, uint64_t *distance_ret)
{
	size_t eh_frame_size = unwinding->size - unwinding->header_size;
	struct reader r = reader_make(unwinding->bytes + eh_frame_size, unwinding->header_size);
	static const uint8_t expected[] = { 1, 0x1b, 0x03, 0x3b };
	const uint8_t *encodings = reader_bytes(&r, sizeof(expected));
	int32_t to_eh_frame = 0, to_code = 0;
	uint32_t count = 0;
	if (!encodings || memcmp(encodings, expected, sizeof(expected)) ||
	    !reader_i32(&r, &to_eh_frame) || !reader_u32(&r, &count) || !count ||
	    !reader_i32(&r, &to_code) || to_eh_frame != -(int64_t)eh_frame_size - 4)
		return false;
	*distance_ret = (uint64_t)(-(int64_t)to_code - (int64_t)eh_frame_size);
	return true;
}

static void apply_unwinding(const struct unwinding *unwinding, struct code_range *range)
{
	if (!unwinding->bytes || unwinding->size == unwinding->header_size)
		return;
	/* Without a table: where perf puts the bytes in the object that it makes of them. */
	uint64_t distance = (range->size + 7) & ~UINT64_C(7);
	distance_by_header(unwinding, &distance);
	range->eh_frame = unwinding->bytes;
	range->eh_frame_size = unwinding->size - unwinding->header_size;
	range->eh_frame_address = range->address + distance;
}

/* @bytes, or the last ones kept if they are the same. Takes over @bytes; NULL at a limit. */
static const uint8_t *keep(struct jitdump *jitdump, uint8_t *bytes, size_t size)
{
	size_t count = jitdump->kept.count;
	if (count && jitdump->last_size == size &&
	    !memcmp(jitdump->kept.items[count - 1], bytes, size)) {
		free(bytes);
		return jitdump->kept.items[count - 1];
	}
	uint8_t **slot = jitdump->kept_bytes + size > UNWIND_KEPT_LIMIT
				 ? NULL
				 : pointer_vec_append(&jitdump->kept);
	if (!slot) {
		free(bytes);
		return NULL;
	}
	*slot = bytes;
	jitdump->kept_bytes += size;
	jitdump->last_size = size;
	return bytes;
}

/* size of .eh_frame and .eh_frame_hdr, of .eh_frame_hdr, mapped size, the bytes. */
static bool read_unwinding(struct jitdump *jitdump, const struct record *record)
{
	uint64_t sizes[3];
	uint64_t at = record->offset + RECORD_HEADER_SIZE;
	jitdump->unwinding = (struct unwinding){ 0 };
	if (record->size < RECORD_HEADER_SIZE + UNWIND_FIXED_SIZE ||
	    !read_at(jitdump->fd, at, sizes, sizeof(sizes)))
		return false;
	if (sizes[0] > record->size - RECORD_HEADER_SIZE - UNWIND_FIXED_SIZE || sizes[1] > sizes[0])
		return false;
	if (!sizes[0] || sizes[0] > UNWIND_SIZE_LIMIT)
		return true;
	uint8_t *bytes = malloc(sizes[0]);
	if (!bytes || !read_at(jitdump->fd, at + UNWIND_FIXED_SIZE, bytes, sizes[0])) {
		free(bytes);
		return false;
	}
	jitdump->unwinding.bytes = keep(jitdump, bytes, sizes[0]);
	jitdump->unwinding.size = sizes[0];
	jitdump->unwinding.header_size = sizes[1];
	return true;
}

/* ---- records ---- */

/*
 * pid, tid, vma, code address, code size, code index, the name, the code. False if the record
 * contradicts itself or a limit is reached.
 */
static bool read_load(struct jitdump *jitdump, const struct record *record)
{
	uint8_t bytes[LOAD_FIXED_SIZE + CODE_RANGE_NAME_LIMIT];
	struct unwinding unwinding = jitdump->unwinding;
	jitdump->unwinding = (struct unwinding){ 0 };
	size_t size = record->size - RECORD_HEADER_SIZE;
	size_t read_size = size < sizeof(bytes) ? size : sizeof(bytes);
	if (size <= LOAD_FIXED_SIZE ||
	    !read_at(jitdump->fd, record->offset + RECORD_HEADER_SIZE, bytes, read_size))
		return false;
	struct code_range range = { 0 };
	struct reader r = reader_make(bytes, read_size);
	reader_skip(&r, 16);
	reader_u64(&r, &range.address);
	reader_u64(&r, &range.size);
	reader_skip(&r, 8);
	size_t left = reader_left(&r);
	const char *name = reader_bytes(&r, left);
	size_t length = strnlen(name, left);
	/* A name that does not end in what was read is cut; in a whole record it must end. */
	if ((length == left && read_size == size) || range.size > CODE_SIZE_LIMIT ||
	    range.size > size - LOAD_FIXED_SIZE - length)
		return false;
	if (!range.size)
		return true;
	apply_unwinding(&unwinding, &range);
	return code_ranges_add(&jitdump->ranges, &range, name, length);
}

/* pid, tid, vma, old address, new address, code size, code index. */
static bool read_move(struct jitdump *jitdump, const struct record *record)
{
	uint64_t fields[MOVE_FIXED_SIZE / 8];
	if (record->size < RECORD_HEADER_SIZE + MOVE_FIXED_SIZE ||
	    !read_at(jitdump->fd, record->offset + RECORD_HEADER_SIZE, fields, sizeof(fields)))
		return false;
	/* Of code that was never told of: nothing to move. */
	code_ranges_move(&jitdump->ranges, fields[2], fields[3]);
	return true;
}

/* False if nothing after this record can be trusted, or is wanted. */
static bool read_record(struct jitdump *jitdump, const struct record *record)
{
	switch (record->id) {
	case RECORD_LOAD:
		return read_load(jitdump, record);
	case RECORD_MOVE:
		return read_move(jitdump, record);
	case RECORD_UNWINDING:
		return read_unwinding(jitdump, record);
	case RECORD_CLOSE:
		return false;
	case RECORD_DEBUG_INFO: /* lines of the source: frames have names only */
	default:                /* the format says: skip what you do not know */
		return true;
	}
}

/* The record at the current offset; false while it is not all there. */
static bool next_record(struct jitdump *jitdump, uint64_t file_size, struct record *record_ret)
{
	uint32_t header[2];
	if (file_size < jitdump->offset || file_size - jitdump->offset < RECORD_HEADER_SIZE ||
	    !read_at(jitdump->fd, jitdump->offset, header, sizeof(header)))
		return false;
	if (header[1] < RECORD_HEADER_SIZE || header[1] > RECORD_SIZE_LIMIT) {
		jitdump->finished = true;
		return false;
	}
	if (header[1] > file_size - jitdump->offset)
		return false;
	*record_ret = (struct record){ header[0], header[1], jitdump->offset };
	return true;
}

/* True if it stopped at a limit of this call. */
static bool read_records(struct jitdump *jitdump, uint64_t file_size)
{
	struct record record;
	size_t moves = 0;
	for (size_t i = 0; next_record(jitdump, file_size, &record); i++) {
		moves += record.id == RECORD_MOVE;
		if (i == RECORDS_AT_ONCE || moves > MOVES_AT_ONCE ||
		    !growth_take(&jitdump->growth, record.size))
			return true;
		jitdump->offset += record.size;
		if (!read_record(jitdump, &record)) {
			jitdump->finished = true;
			return false;
		}
	}
	return false;
}

bool jitdump_update(struct jitdump *jitdump, uint64_t now_ns)
{
	struct stat st;
	if (jitdump->finished || fstat(jitdump->fd, &st) || st.st_size < 0)
		return false;
	growth_advance(&jitdump->growth, now_ns);
	uint64_t sequence = jitdump->ranges.sequence;
	bool more = read_records(jitdump, (uint64_t)st.st_size);
	code_ranges_update(&jitdump->ranges);
	jitdump->generation += sequence != jitdump->ranges.sequence;
	return more;
}

/* ---- look-up ---- */

const struct code_range *jitdump_find(const struct jitdump *jitdump, const struct maps *maps,
				      uint64_t address)
{
	return code_ranges_find(&jitdump->ranges, maps, address);
}

uint64_t jitdump_generation(const struct jitdump *jitdump)
{
	return jitdump->generation;
}

size_t jitdump_count(const struct jitdump *jitdump)
{
	return jitdump->ranges.sorted.count;
}

bool jitdump_is_finished(const struct jitdump *jitdump)
{
	return jitdump->finished;
}
