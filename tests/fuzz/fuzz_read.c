/* SPDX-License-Identifier: MIT */
/* A file that is read as a profile: JSON or collapsed stacks. What was read and written is the same from then on. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/calltree.h"
#include "read/read.h"
#include "write/collapsed.h"
#include "write/json.h"

static struct profile *read_one(const char *bytes, size_t size, const struct read_options *options)
{
	struct profile *profile;
	if (profile_create(&profile))
		abort();
	profile->stacks_max = 1 << 12;
	struct error *err = read_bytes(bytes, size, options, profile);
	if (!err)
		return profile;
	if (!err->message || strchr(err->message, '\n'))
		abort();
	error_destroy(err);
	profile_destroy(profile);
	return NULL;
}

static char *write_one(const struct profile *profile, const struct writer *writer, size_t *size_ret)
{
	const struct writer_options options = { .threads = true };
	char *text = NULL;
	FILE *stream = open_memstream(&text, size_ret);
	if (!stream || writer->write(profile, &options, stream) || fclose(stream))
		abort();
	return text;
}

static uint64_t weigh(const void *data, const struct profile_sample *sample)
{
	return sample->count;
}

static void look(const struct profile *profile)
{
	struct calltree *tree;
	if (calltree_create(profile, NULL, weigh, NULL, &tree))
		abort();
	uint64_t own = tree->no_frames;
	for (size_t i = 0; i < profile->functions.count; i++) {
		if (tree->functions[i].own > tree->functions[i].total ||
		    tree->functions[i].total > tree->sum)
			abort();
		own += tree->functions[i].own;
	}
	if (own != tree->sum)
		abort();
	calltree_destroy(tree);
}

/* Takes the text. */
static char *again(char *text, size_t *size)
{
	struct profile *profile = read_one(text, *size, &(struct read_options){ 0 });
	if (!profile)
		abort();
	free(text);
	text = write_one(profile, &json_writer, size);
	profile_destroy(profile);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct read_options options = { .ns = size & 1 };
	struct profile *profile = read_one((const char *)data, size, &options);
	if (!profile)
		return 0;
	look(profile);
	size_t first_size, second_size;
	free(write_one(profile, &collapsed_writer, &first_size));
	/* The first time numbers may be cut to what JSON has. */
	char *first = again(write_one(profile, &json_writer, &first_size), &first_size);
	profile_destroy(profile);
	second_size = first_size;
	char *copy = malloc(first_size + 1);
	if (!copy)
		abort();
	memcpy(copy, first, first_size + 1);
	char *second = again(copy, &second_size);
	if (strcmp(first, second) != 0)
		abort();
	free(first);
	free(second);
	return 0;
}
