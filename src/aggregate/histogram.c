/* SPDX-License-Identifier: MIT */
/* histogram.c: counts of times in log-linear buckets. */
#include "aggregate/histogram.h"

#define SUB_BITS 4
_Static_assert(1 << SUB_BITS == HISTOGRAM_SUB, "a power of two is cut into HISTOGRAM_SUB buckets");
_Static_assert((64 - SUB_BITS + 1) * HISTOGRAM_SUB == HISTOGRAM_BUCKETS, "2^63 has a bucket");

size_t histogram_bucket(uint64_t value)
{
	if (value < HISTOGRAM_SUB)
		return (size_t)value;
	unsigned shift = 63 - SUB_BITS - (unsigned)__builtin_clzll(value);
	return (size_t)(shift + 1) * HISTOGRAM_SUB + (size_t)((value >> shift) - HISTOGRAM_SUB);
}

uint64_t histogram_bucket_low(size_t index)
{
	if (index < HISTOGRAM_SUB)
		return index;
	return (HISTOGRAM_SUB + (uint64_t)index % HISTOGRAM_SUB) << (index / HISTOGRAM_SUB - 1);
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram->counts[histogram_bucket(value)]++;
	histogram->total++;
	if (__builtin_add_overflow(histogram->sum, value, &histogram->sum))
		histogram->sum = UINT64_MAX;
	if (value > histogram->max)
		histogram->max = value;
}

void histogram_merge(struct histogram *histogram, const struct histogram *more)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		histogram->counts[i] += more->counts[i];
	histogram->total += more->total;
	if (__builtin_add_overflow(histogram->sum, more->sum, &histogram->sum))
		histogram->sum = UINT64_MAX;
	if (more->max > histogram->max)
		histogram->max = more->max;
}

uint64_t histogram_quantile(const struct histogram *histogram, unsigned permille)
{
	if (!histogram->total)
		return 0;
	/* ceil(total * permille / 1000), without overflow for any total. */
	uint64_t wanted = histogram->total / 1000 * permille +
			  (histogram->total % 1000 * permille + 999) / 1000;
	if (!wanted)
		wanted = 1;

	uint64_t seen = 0;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
		seen += histogram->counts[i];
		if (seen < wanted)
			continue;
		uint64_t high = histogram_bucket_low(i + 1) - 1;
		return high < histogram->max ? high : histogram->max;
	}
	return histogram->max;
}
