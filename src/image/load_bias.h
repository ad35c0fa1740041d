/* SPDX-License-Identifier: MIT */
/*
 * load_bias.h: program headers + mappings of a file → where a load of it went.
 *
 * Each mapping votes for every bias by which a PT_LOAD would be mapped there from that offset with
 * those permissions. What is no part of a load, or a file mapped twice, so shows by its votes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "image/image.h"
#include "target/maps.h"

/* A load bias that some mappings of a file agree on. */
struct bias_votes {
	uint64_t bias; /* address in the process = vaddr + bias */
	size_t votes;
	bool exec; /* an executable mapping is among them */
};

/* Zeroed is empty; of limited length: biases beyond are left out. */
DEFINE_VEC(struct load_biases, load_biases, struct bias_votes)

/* Counts the biases that @mapping of @image can have. False if out of memory. */
bool load_bias_vote(const struct image *image, const struct mapping *mapping,
		    struct load_biases *biases);
/* The bias with most votes among those that @mapping can have; false if no segment fits it. */
bool load_bias_choose(const struct image *image, const struct mapping *mapping,
		      const struct load_biases *biases, uint64_t *bias_ret);
/* The bias with most votes; false if there is none. */
bool load_bias_most(const struct load_biases *biases, uint64_t *bias_ret);
