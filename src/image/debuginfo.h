/* SPDX-License-Identifier: MIT */
/*
 * debuginfo.h: the separate debug file of an image, and the small symbol table inside of it.
 *
 * A debug file is accepted only if it belongs to the image: the build ids are equal, or, for an
 * image that has none, the CRC of .gnu_debuglink is right.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "image/image.h"

/* Where debug files are looked for, beside /usr/lib/debug and the image's own directory. */
struct debuginfo_places {
	int root_fd;             /* the target's root directory; -1: only this program's */
	const char *const *dirs; /* more directories like /usr/lib/debug, looked at first */
	size_t dir_count;
};

/*
 * The debug file of @image, which lies at @path in the target's root; false if there is none. In
 * this order: by build id in each debug directory (.build-id/xx/yyyy.debug); by debug link beside
 * the image, in .debug/ there, and in each debug directory below the image's own path. The target's
 * root comes before this program's.
 */
bool debuginfo_find(const struct image *image, const char *path,
		    const struct debuginfo_places *places, struct image **image_ret);

/* .gnu_debugdata: an ELF file with a .symtab, compressed with xz. False if there is none. */
bool debuginfo_open_embedded(const struct image *image, struct image **image_ret);
/* False if this program was built without liblzma. */
bool debuginfo_can_unpack(void);
