/* SPDX-License-Identifier: MIT */
/* writer.c: the registry of formats, and what they share. */
#include "write/writer.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "write/collapsed.h"
#include "write/flamegraph.h"
#include "write/gecko.h"
#include "write/heatmap.h"
#include "write/json.h"
#include "write/pprof.h"
#include "write/speedscope.h"
#include "write/svg.h"

const struct writer *const writers[] = {
	&collapsed_writer,  &json_writer,    &speedscope_writer, &pprof_writer, &gecko_writer,
	&flamegraph_writer, &heatmap_writer, &svg_writer,        NULL,
};

struct error *writer_by_name(const char *name, const struct writer **writer_ret)
{
	_cleanup_strbuf_ struct strbuf known = { 0 };
	for (size_t i = 0; writers[i]; i++) {
		if (!strcmp(writers[i]->name, name)) {
			*writer_ret = writers[i];
			return NULL;
		}
		strbuf_addf(&known, "%s%s", i ? ", " : "", writers[i]->name);
	}
	if (known.failed)
		return error_no_memory();
	return error_create(ERROR_USAGE, "unknown format '%s': known are %s", name, known.text);
}

static bool ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text), size = strlen(ending);
	return length >= size && !strcmp(text + length - size, ending);
}

static struct error *unknown_ending(const char *path)
{
	_cleanup_strbuf_ struct strbuf known = { 0 };
	for (size_t i = 0; writers[i]; i++)
		for (const char *const *ending = writers[i]->endings; *ending; ending++)
			strbuf_addf(&known, "%s%s", known.length ? ", " : "", *ending);
	if (known.failed)
		return error_no_memory();
	return error_create(ERROR_USAGE,
			    "the ending of '%s' names no format: known are %s; or choose with -f",
			    path, known.text);
}

struct error *writer_by_ending(const char *path, const struct writer **writer_ret)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;
	if (!name || !strchr(name, '.')) {
		*writer_ret = &collapsed_writer;
		return NULL;
	}

	const struct writer *best = NULL;
	size_t best_length = 0;
	for (size_t i = 0; writers[i]; i++) {
		for (const char *const *ending = writers[i]->endings; *ending; ending++) {
			if (!ends_with(name, *ending) || strlen(*ending) <= best_length)
				continue;
			best = writers[i];
			best_length = strlen(*ending);
		}
	}
	if (!best)
		return unknown_ending(path);
	*writer_ret = best;
	return NULL;
}

uint64_t writer_weight(const struct profile *profile, const struct writer_options *options,
		       enum writer_weights fallback, const struct profile_sample *sample)
{
	enum writer_weights weights = options->weights ? options->weights : fallback;
	return weights == WRITER_NS ? profile_weight_ns(profile, sample) : sample->count;
}

int64_t writer_start_ns(const struct profile *profile)
{
	struct tm tm = { 0 };
	const char *text = profile->facts.start_time;
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;
	if (!end || *end)
		return 0;
	int64_t seconds = timegm(&tm), ns;
	if (seconds < 0 || __builtin_mul_overflow(seconds, (int64_t)NS_PER_S, &ns))
		return 0;
	return ns;
}

/* One entry for each string that is the file of a function. */
static struct error *collect_files(const struct profile *profile, struct path **paths_ret,
				   size_t *count_ret)
{
	size_t strings = profile->strings.count;
	_cleanup_free_ struct path *paths = calloc(strings + 1, sizeof(*paths));
	_cleanup_free_ size_t *place = calloc(strings + 1, sizeof(*place)); /* + 1; 0: none yet */
	if (!paths || !place)
		return error_no_memory();

	size_t count = 0;
	vec_foreach (function, &profile->functions) {
		uint32_t file = function->file;
		if (file == PROFILE_NONE)
			continue;
		if (!place[file]) {
			paths[count].file = intern_text(&profile->strings, file);
			paths[count].known = profile_file_shown(profile, file, &paths[count].start);
			place[file] = ++count;
		}
		if (function->kind == PROFILE_PYTHON)
			paths[place[file] - 1].python = true;
	}
	*paths_ret = no_cleanup(paths);
	*count_ret = count;
	return NULL;
}

struct error *writer_files(const struct profile *profile, const struct writer_options *options,
			   const char ***files_ret)
{
	_cleanup_free_ struct path *paths = NULL;
	size_t count = 0;
	struct error *err = collect_files(profile, &paths, &count);
	if (!err && !options->full_paths)
		err = paths_shorten(paths, count, &options->paths);
	if (err)
		return err;

	_cleanup_free_ const char **files = calloc(profile->strings.count + 1, sizeof(*files));
	if (!files)
		return error_no_memory();
	/* Files were collected in the order of functions: the same walk meets them in the same
	 * order. */
	size_t next = 0;
	vec_foreach (function, &profile->functions) {
		if (function->file == PROFILE_NONE || files[function->file])
			continue;
		files[function->file] = paths[next].file + paths[next].start;
		next++;
	}
	*files_ret = no_cleanup(files);
	return NULL;
}
