/* SPDX-License-Identifier: MIT */
/* collapsed.c: a line a stack, frames from the outermost to the innermost, and a number. */
#include "write/collapsed.h"

#include <inttypes.h>
#include <string.h>

#include "base/strbuf.h"
#include "write/fold.h"
#include "write/text.h"

/* The texts of this file. Labels of frames and names of groups are ids of the same table. */
struct collapsed {
	const struct profile *profile;
	const struct writer_options *options;
	struct intern texts;
	struct strbuf buf;
};

static void collapsed_deinit(struct collapsed *c)
{
	intern_deinit(&c->texts);
	strbuf_deinit(&c->buf);
}

/* The id of what is in the buffer, which is empty then. */
static struct error *take_text(struct collapsed *c, uint32_t *id_ret)
{
	if (!c->buf.length && !c->buf.failed)
		strbuf_adds(&c->buf, "[unnamed]");
	uint32_t id = c->buf.failed ? INTERN_NONE : intern_add(&c->texts, c->buf.text);
	strbuf_reset(&c->buf);
	if (id == INTERN_NONE)
		return error_no_memory();
	*id_ret = id;
	return NULL;
}

static struct error *make_labels(struct collapsed *c, uint32_t **labels_ret)
{
	const struct profile *profile = c->profile;
	_cleanup_free_ const char **files = NULL;
	struct error *err = writer_files(profile, c->options, &files);
	if (err)
		return err;
	_cleanup_free_ uint32_t *labels = calloc(profile->frames.count + 1, sizeof(*labels));
	if (!labels)
		return error_no_memory();

	for (size_t i = 0; i < profile->frames.count; i++) {
		const struct profile_frame *frame = &profile->frames.items[i];
		const struct profile_function *function =
			&profile->functions.items[frame->function];
		text_add_frame(&c->buf, intern_text(&profile->strings, function->name),
			       function->file == PROFILE_NONE ? NULL : files[function->file],
			       c->options->no_line ? 0 : frame->line);
		err = take_text(c, &labels[i]);
		if (err)
			return err;
	}
	*labels_ret = no_cleanup(labels);
	return NULL;
}

/* What comes before the frames of a thread's stacks: nothing, or frames of its process and its own. */
static struct error *make_group(struct collapsed *c, uint32_t thread, uint32_t *group_ret)
{
	if (c->profile->processes.count > 1) {
		uint32_t process = c->profile->threads.items[thread].process;
		text_add_process(&c->buf, (int)c->profile->processes.items[process].pid,
				 profile_process_name(c->profile, process));
		strbuf_addc(&c->buf, ';');
	}
	if (c->options->threads) {
		text_add_thread(&c->buf, c->profile->threads.items[thread].tid,
				profile_thread_name(c->profile, thread));
		strbuf_addc(&c->buf, ';');
	}
	/* So that the empty text is one too. */
	strbuf_add(&c->buf, "", 0);
	uint32_t group = c->buf.failed ? INTERN_NONE : intern_add(&c->texts, c->buf.text);
	strbuf_reset(&c->buf);
	if (group == INTERN_NONE)
		return error_no_memory();
	*group_ret = group;
	return NULL;
}

/* In the modes whose samples weigh differently, their number says little. */
static enum writer_weights usual_weights(const struct profile *profile)
{
	enum profile_mode mode = profile->facts.mode;
	return mode == PROFILE_CPU || mode == PROFILE_OFFCPU ? WRITER_NS : WRITER_SAMPLES;
}

static struct error *add_samples(struct collapsed *c, struct fold *fold)
{
	vec_foreach (sample, &c->profile->samples) {
		uint32_t group = 0;
		struct error *err = make_group(c, sample->thread, &group);
		if (!err)
			err = fold_add(fold, group, sample->stack,
				       writer_weight(c->profile, c->options,
						     usual_weights(c->profile), sample));
		if (err)
			return err;
	}
	return NULL;
}

/* False without memory. */
static bool print_line(struct collapsed *c, struct fold *fold, const struct fold_line *line,
		       FILE *stream)
{
	size_t count;
	const uint32_t *path = fold_path(fold, line->node, &count);
	if (!path)
		return false;
	fputs(intern_text(&c->texts, line->group), stream);
	for (size_t i = 0; i < count; i++) {
		if (i)
			fputc(';', stream);
		fputs(intern_text(&c->texts, path[i]), stream);
	}
	fprintf(stream, "%s %" PRIu64 "\n", count ? "" : "[no frames]", line->weight);
	return true;
}

static struct error *collapsed_write(const struct profile *profile,
				     const struct writer_options *options, FILE *stream)
{
	_cleanup_(collapsed_deinit) struct collapsed c = {
		.profile = profile,
		.options = options,
	};
	_cleanup_free_ uint32_t *labels = NULL;
	struct error *err = make_labels(&c, &labels);
	if (err)
		return err;
	_cleanup_fold_ struct fold *fold = NULL;
	err = fold_create(profile, labels, &fold);
	if (!err)
		err = add_samples(&c, fold);
	if (err)
		return err;

	fold_sort(fold);
	bool ok = true;
	for (size_t i = 0; ok && i < fold->lines.count && !ferror(stream); i++)
		ok = print_line(&c, fold, &fold->lines.items[i], stream);
	return ok ? NULL : error_no_memory();
}

const struct writer collapsed_writer = {
	.name = "collapsed",
	.description = "a line a stack with its number of samples, for flame graph tools",
	.endings = (const char *const[]){ ".collapsed", ".folded", ".txt", NULL },
	.write = collapsed_write,
};
