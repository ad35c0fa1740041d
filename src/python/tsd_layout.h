/* SPDX-License-Identifier: MIT */
/*
 * tsd_layout.h: how a C library lays out thread-specific data.
 *
 * Asked of the target's own libc, else taken from rows that contrib/tsd-probe measured. The thread
 * pointer is the raw register everywhere in this interface; the distance from there to struct
 * pthread is part of the layout and applied by tsd_pthread alone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/reason.h"
#include "image/image.h"
#include "target/memory.h"

enum tsd_libc {
	TSD_GLIBC, /* struct pthread holds the first block of slots and pointers to all blocks */
	TSD_MUSL,  /* struct pthread holds a pointer to all slots */
};

/* Offsets in bytes, in struct pthread unless said otherwise. */
struct tsd_layout {
	enum tsd_libc libc;
	const char *cpu;        /* as arch_machine_name calls it */
	uint32_t pthread_below; /* struct pthread = thread pointer − this */
	uint32_t first_block;   /* glibc: slots of keys 0–31 */
	uint32_t specific;      /* glibc: array of pointers to blocks; musl: pointer to the slots */
	uint32_t block_keys;    /* keys in a block; musl: all of them */
	uint32_t key_max;       /* keys are below this */
	uint32_t key_size;      /* bytes from slot to slot */
	uint32_t data;          /* of the value in its slot */
	uint32_t tid;           /* pid_t: the thread's id, as the thread itself sees it */
	uint32_t dtv;           /* pointer to the DTV, from the thread pointer */
	uint32_t dtv_entry;     /* bytes of a DTV entry; 0: the DTV was not measured */
	const char *row;        /* name of the measured row that this is or equals; NULL: none */
	const char *origin;     /* one line for doctor and the profile's header; static */
};

/* Every measured row ("glibc 2.31-2.44", …) with row and origin filled in. */
const struct tsd_layout *tsd_rows(size_t *count_ret);

/* A stopped or sleeping thread of the target. */
struct tsd_thread {
	uint64_t pointer; /* the raw thread pointer */
	uint32_t tid;     /* innermost number of NSpid; 0: not known, not checked */
};

struct tsd_request {
	uint16_t machine; /* e_machine of the target */
	/*
	 * libc; before glibc 2.34 libpthread too; of a static program the program itself. Images
	 * that are no C library are ignored, so all modules may be given.
	 */
	struct image *const *images;
	size_t image_count;
	/* A thread to settle what the images leave open; memory NULL if there is none. */
	struct memory *memory;
	struct tsd_thread thread;
};

/*
 * How the target's C library lays out thread-specific data. Its own description (_thread_db_*)
 * comes first and is compared with the measured rows; without one a row is used. Where several rows
 * could be right, or the description equals none, the tid of request->thread decides. What is then
 * still open, and a CPU without rows, is ERROR_UNSUPPORTED naming CPU and C library.
 */
struct error *tsd_layout_find(const struct tsd_request *request, struct tsd_layout *layout_ret);

/* Address of the thread's struct pthread. */
uint64_t tsd_pthread(const struct tsd_layout *layout, const struct tsd_thread *thread);
/* REASON_BAD_THREAD_POINTER unless struct pthread of @thread holds its tid. */
enum reason tsd_check(struct memory *memory, const struct tsd_layout *layout,
		      const struct tsd_thread *thread);
