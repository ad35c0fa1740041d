/* SPDX-License-Identifier: MIT */
/*
 * cfi_image.h: where an image has its unwind information.
 *
 * Program headers come first: they are what the image's own unwinder uses, and all that an image
 * has whose section headers are stripped or that was read from a process.
 */
#pragma once

#include "unwind/cfi_section.h"

/* .eh_frame, and .eh_frame_hdr (size 0 if there is none); false if there is no .eh_frame. */
bool cfi_image_eh_frame(const struct image *image, struct cfi_section *eh_frame_ret,
			struct cfi_section *header_ret);

/* .debug_frame, of a file with debug information. */
bool cfi_image_debug_frame(const struct image *image, struct cfi_section *section_ret);
