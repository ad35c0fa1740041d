/* SPDX-License-Identifier: MIT */
/* load_bias.c: mappings vote for the bias by which a segment would be mapped there. */
#include "image/load_bias.h"

#include <unistd.h>

/* Different biases among the mappings of one file: one that has more is no library. */
#define BIAS_LIMIT 256

static uint64_t page_mask(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE) - 1;
}

/* True if @segment, page-rounded as it is mapped, can be what is mapped from file @offset. */
static bool covers(const struct image_segment *segment, uint64_t offset)
{
	return segment->file_size && offset >= (segment->offset & ~page_mask()) &&
	       offset < segment->offset + segment->file_size;
}

static uint64_t bias_by(const struct image_segment *segment, const struct mapping *mapping)
{
	return mapping->start - mapping->offset - segment->vaddr + segment->offset;
}

/* The permissions decide where two segments share a page of the file. */
static bool fits(const struct image_segment *segment, const struct mapping *mapping)
{
	return covers(segment, mapping->offset) && segment->exec == mapping->exec;
}

static bool vote(struct load_biases *biases, uint64_t bias, bool exec)
{
	vec_foreach (entry, biases) {
		if (entry->bias != bias)
			continue;
		entry->votes++;
		entry->exec |= exec;
		return true;
	}
	if (biases->count >= BIAS_LIMIT)
		return true;
	struct bias_votes *entry = load_biases_append(biases);
	if (!entry)
		return false;
	*entry = (struct bias_votes){ .bias = bias, .votes = 1, .exec = exec };
	return true;
}

bool load_bias_vote(const struct image *image, const struct mapping *mapping,
		    struct load_biases *biases)
{
	size_t count;
	const struct image_segment *segments = image_segments(image, &count);
	for (size_t i = 0; i < count; i++) {
		if (fits(&segments[i], mapping) &&
		    !vote(biases, bias_by(&segments[i], mapping), mapping->exec))
			return false;
	}
	return true;
}

bool load_bias_choose(const struct image *image, const struct mapping *mapping,
		      const struct load_biases *biases, uint64_t *bias_ret)
{
	size_t count, best = 0;
	const struct image_segment *segments = image_segments(image, &count);
	for (size_t i = 0; i < count; i++) {
		if (!fits(&segments[i], mapping))
			continue;
		uint64_t bias = bias_by(&segments[i], mapping);
		vec_foreach (entry, biases) {
			if (entry->bias != bias || entry->votes <= best)
				continue;
			best = entry->votes;
			*bias_ret = bias;
		}
	}
	return best > 0;
}

bool load_bias_most(const struct load_biases *biases, uint64_t *bias_ret)
{
	size_t best = 0;
	vec_foreach (entry, biases) {
		if (entry->votes <= best)
			continue;
		best = entry->votes;
		*bias_ret = entry->bias;
	}
	return best > 0;
}
