/* SPDX-License-Identifier: MIT */
/* framekind.h: what sort of code a function is, for colours and for choosing frames to show. */
#pragma once

#include <stdint.h>

#include "aggregate/profile.h"

/* Numbers are those of the pages in src/write/page/. */
enum frame_kind {
	FRAME_PYTHON,
	FRAME_EXTENSION,   /* native code that is none of the following */
	FRAME_INTERPRETER, /* the file that the Python runtime is in */
	FRAME_LIBC,        /* the C library, its loader, and the compilers' run-time libraries */
	FRAME_KERNEL,      /* the kernel's pages in the process */
	FRAME_MARKER,      /* not code */
	FRAME_KINDS,
};

enum frame_kind frame_kind(const struct profile *profile, uint32_t function);
/* For people. */
const char *frame_kind_name(enum frame_kind kind);
