/* SPDX-License-Identifier: MIT */
/*
 * listing.h: tables for a person, on a terminal or in a file.
 *
 * Colour only on a terminal and without NO_COLOR; on a terminal a line is cut at its width.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct listing {
	FILE *stream;
	bool colour;
	unsigned width; /* columns; 0: not limited */
	unsigned used;  /* of the line at hand */
};

struct listing listing_make(FILE *stream);
/* A share of one as " 45.20 %", bold or dim by how much that is. */
void listing_share(struct listing *listing, double share);
/* A difference of shares as "+45.20 %", red for more, green for less. */
void listing_change(struct listing *listing, double change);
/* A weight: seconds if @ns, else a number. */
void listing_weight(struct listing *listing, uint64_t weight, bool ns);
/* The same for a difference. */
void listing_weight_change(struct listing *listing, uint64_t before, uint64_t after, bool ns);
/* Plain text that fits in any case. */
void listing_add(struct listing *listing, const char *text);
/* The rest of the line, which must be safe for a terminal, cut if it does not fit; and the end of the line. */
void listing_rest(struct listing *listing, const char *text);
/* Flushes. 0, also if the reader went away; else 1, and said why on standard error. */
int listing_end(struct listing *listing);
