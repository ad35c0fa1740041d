/* SPDX-License-Identifier: MIT */
/*
 * fuzz_main.c: runs a fuzz target over the files of its corpus, each file as it is and cut at a few places. With libFuzzer the
 * target is linked without this file.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END))
		return 1;
	long size = ftell(file);
	rewind(file);
	if (size < 0)
		return 1;
	/* A buffer of exactly that size: sanitizers see the first byte that is read too far. */
	for (int part = 4; part >= 0; part--) {
		size_t length = (size_t)size * (size_t)part / 4;
		_cleanup_free_ uint8_t *data = malloc(length ? length : 1);
		rewind(file);
		if (!data || fread(data, 1, length, file) != length)
			return 1;
		LLVMFuzzerTestOneInput(data, length);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *directory = argc > 1 ? argv[1] : TOP_SRCDIR "/" CORPUS;
	_cleanup_closedir_ DIR *dir = opendir(directory);
	struct dirent *entry;
	unsigned count = 0;
	while (dir && (entry = readdir(dir))) {
		char path[4096];
		if (entry->d_name[0] == '.' || !strncmp(entry->d_name, "README", 6))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (run_file(path)) {
			fprintf(stderr, "cannot run %s\n", path);
			return 1;
		}
		count++;
	}
	printf("%u files of %s\n", count, directory);
	return count ? 0 : 1;
}
