/* SPDX-License-Identifier: MIT */
/* key_fixture.h: a function of a real interpreter from fixtures/keys/. Included after cmocka.h. */
#pragma once

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "arch/decode.h"

#ifndef TOP_SRCDIR
#define TOP_SRCDIR "."
#endif

struct fixture {
	uint8_t body[DECODE_BODY_MAX];
	size_t size;
	uint64_t address;
	uint64_t runtime;
};

static struct fixture fixture_load(const char *name)
{
	char path[4096], line[1024], hex[1024] = "";
	snprintf(path, sizeof(path), TOP_SRCDIR "/fixtures/keys/%s.txt", name);
	FILE *file = fopen(path, "re");
	if (!file)
		fail_msg("cannot open %s", path);

	struct fixture fixture = { 0 };
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "address %" SCNx64, &fixture.address);
		sscanf(line, "runtime %" SCNx64, &fixture.runtime);
		sscanf(line, "body %1023s", hex);
	}
	fclose(file);
	fixture.size = strlen(hex) / 2;
	assert_in_range(fixture.size, 1, DECODE_BODY_MAX);
	for (size_t i = 0; i < fixture.size; i++)
		assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &fixture.body[i]), 1);
	return fixture;
}
