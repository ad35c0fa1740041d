/* SPDX-License-Identifier: MIT */
/* unzstd.h: one zstd frame, unpacked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills @data if @packed unpacks to exactly @size bytes. False without libzstd. */
bool unzstd(const uint8_t *packed, size_t packed_size, uint8_t *data, size_t size);
