/* SPDX-License-Identifier: MIT */
/* capsule_json.h: how numbers, bytes and the parts of a capsule are written in JSON. For capsule*.c only. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/capsule_code.h"

/* Addresses do not fit JSON's numbers: they are hexadecimal strings. */
json_t *capsule_json_address(uint64_t value);
bool capsule_get_address(const json_t *object, const char *key, uint64_t *ret);
/* Two digits a byte. */
json_t *capsule_json_bytes(const uint8_t *bytes, size_t size);
/* On success the caller frees *@bytes_ret. */
bool capsule_get_bytes(const json_t *object, const char *key, uint8_t **bytes_ret,
		       size_t *size_ret);

json_t *capsule_json_code(const struct capsule_code *code);
/* False if something is missing or is not what it should be; @code is to be released in any case. */
bool capsule_get_code(const json_t *object, struct capsule_code *code);
