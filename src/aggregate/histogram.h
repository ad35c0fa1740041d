/* SPDX-License-Identifier: MIT */
/*
 * histogram.h: counts of times in log-linear buckets.
 *
 * Values below 16 have a bucket each; from there every power of two is cut into 16, so a bucket is
 * at most 1/16 of its value wide. Fixed size, no allocation, no floating point. A zeroed histogram
 * is empty.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_SUB     16
#define HISTOGRAM_BUCKETS (61 * HISTOGRAM_SUB)

struct histogram {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t total; /* values added */
	uint64_t sum;   /* saturates */
	uint64_t max;
};

void histogram_add(struct histogram *histogram, uint64_t value);
/* The bucket that @value falls into. */
size_t histogram_bucket(uint64_t value);
/* Adds all values of @more. */
void histogram_merge(struct histogram *histogram, const struct histogram *more);
/* The lowest value that falls into bucket @index. */
uint64_t histogram_bucket_low(size_t index);
/*
 * A value that @permille of 1000 values do not exceed: the highest one of the bucket where that
 * share is reached, never above max. 0 for an empty histogram.
 */
uint64_t histogram_quantile(const struct histogram *histogram, unsigned permille);
