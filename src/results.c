/* SPDX-License-Identifier: MIT */
/* results.c: the files that a recording is written to. */
#include "results.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "names.h"
#include "window.h"

static bool is_package_dir(void *context, const char *dir)
{
	const struct members *members = context;
	vec_foreach (member, members) {
		struct path_rules rules = names_path_rules((*member)->subject);
		if (rules.is_package_dir(rules.context, dir))
			return true;
	}
	return false;
}

struct path_rules results_path_rules(const struct members *members)
{
	return (struct path_rules){ is_package_dir, (void *)members };
}

struct error *results_open(struct results *results)
{
	const struct options *options = results->options;
	if (!options->window_ns)
		return output_open(options->output, &results->output);
	_cleanup_free_ char *path =
		window_path(options->output, options->format, ++results->number, time(NULL));
	return path ? output_open(path, &results->output) : error_no_memory();
}

void results_deinit(struct results *results)
{
	if (results->output)
		output_abort(results->output);
	results->output = NULL;
}

static struct error *write_to(const struct results *results, const struct profile *profile,
			      struct output *output)
{
	struct writer_options writing = results->options->writing;
	writing.paths = results_path_rules(results->members);
	writing.sources = sources_reader(results->sources);
	struct error *err =
		results->options->format->write(profile, &writing, output_stream(output));
	if (!err)
		return output_commit(output);
	output_abort(output);
	return err;
}

struct error *results_write(struct results *results, const struct profile *profile)
{
	return write_to(results, profile, no_cleanup(results->output));
}

struct error *results_check_early(const struct results *results)
{
	const char *path = results->options->output;
	struct stat st;
	if (!path || !strcmp(path, "-"))
		return error_create(ERROR_OTHER,
				    "SIGUSR1 writes to the file of -o, and there is none");
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return error_create(ERROR_OTHER, "SIGUSR1 writes to files only: %s is none", path);
	return NULL;
}

struct error *results_write_early(struct results *results, const struct profile *profile)
{
	struct output *output;
	struct error *err = output_open(results->options->output, &output);
	return err ? err : write_to(results, profile, output);
}
