/* SPDX-License-Identifier: MIT */
/*
 * memory_pages.h: memory that is read page by page, each page once.
 *
 * For a look at many small objects that lie close together, as names of threads do: a field is then no system call. What it gives
 * is as old as the first read of its page, so it is made for one look and ended after it.
 */
#pragma once

#include "base/cleanup.h"
#include "target/memory.h"

#define MEMORY_PAGE_SIZE  4096
#define MEMORY_PAGE_SLOTS 64

struct memory_pages {
	struct memory memory;
	struct memory *below;                  /* not owned */
	uint64_t addresses[MEMORY_PAGE_SLOTS]; /* of the page in each slot; 1: none */
	uint8_t (*bytes)[MEMORY_PAGE_SIZE]; /* NULL without memory: then all is read from below */
};

/* @below must outlive it. */
void memory_pages_init(struct memory_pages *pages, struct memory *below);
void memory_pages_deinit(struct memory_pages *pages);
static inline void memory_pages_cleanup(struct memory_pages *pages)
{
	memory_pages_deinit(pages);
}
#define _cleanup_memory_pages_ _cleanup_(memory_pages_cleanup)
