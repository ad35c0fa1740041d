/* SPDX-License-Identifier: MIT */
/*
 * flamegraph.h: a page with a flame graph and the tables that go with it, for a person with a browser.
 *
 * One file without any request to elsewhere: the page of src/write/page/ and the profile as data. What it shows is computed by the
 * page, so that it can group, filter and turn the stacks around.
 */
#pragma once

#include "write/writer.h"

extern const struct writer flamegraph_writer;

/*
 * Writes the same page for what changed from @before to @after: shares of the weight of each, coloured by their difference.
 * Functions of both are the same if they have the same name and file. Errors as of struct writer; a mode that differs is the caller's
 * to refuse.
 */
struct error *flamegraph_write_diff(const struct profile *before, const struct profile *after,
				    const struct writer_options *options, FILE *stream);
