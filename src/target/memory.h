/* SPDX-License-Identifier: MIT */
/*
 * memory.h: the one way in which memory of a target is read.
 *
 * An interface with several implementations: live (memory_live.h), copied inside a stop or recorded (snapshot/blocks.h). A read
 * gives all the bytes or fails; it never gives zeroes instead, and a failed read leaves the buffer's content unspecified.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the target that are to be read together. */
struct memory_range {
	uint64_t address;
	size_t size;
};

struct memory {
	/* True if all @size bytes at @address are in @buffer. */
	bool (*read)(struct memory *memory, uint64_t address, void *buffer, size_t size);
	/* A hint that [@address, @address + @size) will be read piece by piece. NULL where it makes no difference. */
	void (*prefetch)(struct memory *memory, uint64_t address, size_t size);
};

__attribute__((warn_unused_result)) static inline bool
memory_read(struct memory *memory, uint64_t address, void *buffer, size_t size)
{
	return memory->read(memory, address, buffer, size);
}

static inline void memory_prefetch(struct memory *memory, uint64_t address, size_t size)
{
	if (memory->prefetch)
		memory->prefetch(memory, address, size);
}

__attribute__((warn_unused_result)) static inline bool
memory_read_u64(struct memory *memory, uint64_t address, uint64_t *ret)
{
	return memory_read(memory, address, ret, sizeof(*ret));
}

__attribute__((warn_unused_result)) static inline bool
memory_read_u32(struct memory *memory, uint64_t address, uint32_t *ret)
{
	return memory_read(memory, address, ret, sizeof(*ret));
}
