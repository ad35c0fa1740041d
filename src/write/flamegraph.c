/* SPDX-License-Identifier: MIT */
/* flamegraph.c: a page with a flame graph: the profile as data for the page's script. */
#include "write/flamegraph.h"

#include <stdlib.h>

#include "aggregate/combine.h"
#include "write/framekind.h"
#include "write/script.h"
#include "write/scriptfacts.h"

/* Changes with what the page's script expects. */
#define DATA_VERSION "1"

static const char page[] =
#include "write/page/flamegraph.inc"
	;

struct flamegraph {
	const struct profile *profile;
	/* One profile, or the two that @profile was put together from. */
	const struct profile *runs[2];
	unsigned run_count;
	const struct writer_options *options;
	const char **files; /* by string id */
	struct script script;
};

static void flamegraph_deinit(struct flamegraph *f)
{
	free(f->files);
	script_deinit(&f->script);
}

static void add_runs(struct flamegraph *f)
{
	struct script *script = &f->script;
	bool samples = f->options->weights == WRITER_SAMPLES;
	script_raw(script, "{\"version\":" DATA_VERSION);
	script_add_text(script, ",\"weights\":", samples ? "samples" : "ns");
	script_raw(script, ",\n\"runs\":[");
	for (unsigned i = 0; i < f->run_count; i++) {
		script_raw(script, i ? ",\n" : "");
		scriptfacts_run(script, f->runs[i]);
	}
	script_raw(script, "]");
}

static void add_processes(struct flamegraph *f)
{
	struct script *script = &f->script;
	const struct profile *profile = f->profile;
	size_t first_run = f->runs[0]->processes.count;
	script_raw(script, ",\n\"processes\":[");
	for (uint32_t i = 0; i < profile->processes.count; i++) {
		script_raw(script, i ? ",\n" : "");
		scriptfacts_process(script, profile, i, i >= first_run);
	}
	script_raw(script, "],\n\"threads\":[");
	for (uint32_t i = 0; i < profile->threads.count; i++) {
		script_add_number(script, i ? ",[" : "[", profile->threads.items[i].process);
		script_add_number(script, ",", (uint64_t)profile->threads.items[i].tid);
		script_add_text(script, ",", profile_thread_name(profile, i));
		script_raw(script, "]");
	}
	script_raw(script, "]");
}

/* Which strings are names of functions; the others are not needed as they are. */
static struct error *add_strings(struct flamegraph *f)
{
	const struct profile *profile = f->profile;
	size_t count = profile->strings.count;
	_cleanup_free_ bool *is_name = calloc(count + 1, sizeof(*is_name));
	if (!is_name)
		return error_no_memory();
	vec_foreach (function, &profile->functions)
		is_name[function->name] = true;

	struct script *script = &f->script;
	script_raw(script, ",\n\"names\":[");
	for (uint32_t i = 0; i < count; i++)
		script_add_text(script, i ? ",\n" : "",
				is_name[i] ? intern_text(&profile->strings, i) : "");
	script_raw(script, "],\n\"files\":[");
	for (uint32_t i = 0; i < count; i++)
		script_add_text(script, i ? ",\n" : "", f->files[i] ? f->files[i] : "");
	script_raw(script, "]");
	return NULL;
}

static void add_functions(struct flamegraph *f)
{
	const struct profile *profile = f->profile;
	struct script *script = &f->script;
	script_raw(script, ",\n\"functions\":[");
	for (uint32_t i = 0; i < profile->functions.count; i++) {
		const struct profile_function *function = &profile->functions.items[i];
		uint64_t file = function->file == PROFILE_NONE ? 0 : (uint64_t)function->file + 1;
		script_add_number(script, i ? "," : "", function->name);
		script_add_number(script, ",", file);
		script_add_number(script, ",", function->firstlineno);
		script_add_number(script, ",", frame_kind(profile, i));
	}
	script_raw(script, "],\n\"frames\":[");
	for (size_t i = 0; i < profile->frames.count; i++) {
		const struct profile_frame *frame = &profile->frames.items[i];
		script_add_number(script, i ? "," : "", frame->function);
		script_add_number(script, ",", f->options->no_line ? 0 : frame->line);
	}
	script_raw(script, "]");
}

/* A stack is how many places before it its parent is (0: it has none), and a frame. */
static void add_stacks(struct flamegraph *f)
{
	const struct profile_stacks *stacks = &f->profile->stacks;
	struct script *script = &f->script;
	script_raw(script, ",\n\"stacks\":[");
	for (size_t i = 0; i < stacks->count && !ferror(script->stream); i++) {
		const struct profile_stack *stack = &stacks->items[i];
		script_add_number(script, i ? "," : "",
				  stack->parent == PROFILE_NONE ? 0 : i - stack->parent);
		script_add_number(script, ",", stack->frame);
	}
	script_raw(script, "]");
}

static void add_samples(struct flamegraph *f)
{
	const struct profile *profile = f->profile;
	struct script *script = &f->script;
	bool first = true;
	script_raw(script, ",\n\"samples\":[");
	vec_foreach (sample, &profile->samples) {
		if (ferror(script->stream))
			break;
		uint64_t stack = sample->stack == PROFILE_NONE ? 0 : (uint64_t)sample->stack + 1;
		script_add_number(script, first ? "" : ",", stack);
		script_add_number(script, ",", sample->thread);
		script_add_number(script, ",", sample->flags);
		script_add_number(script, ",", sample->count);
		script_add_number(script, ",", profile_weight_ns(profile, sample));
		first = false;
	}
	script_raw(script, "]}\n");
}

static struct error *write_page(struct flamegraph *f)
{
	struct error *err = writer_files(f->profile, f->options, &f->files);
	if (err)
		return err;
	script_page(page, true, f->script.stream);
	add_runs(f);
	add_processes(f);
	err = add_strings(f);
	if (err)
		return err;
	add_functions(f);
	add_stacks(f);
	add_samples(f);
	script_page(page, false, f->script.stream);
	return f->script.failed ? error_no_memory() : NULL;
}

static struct error *flamegraph_write(const struct profile *profile,
				      const struct writer_options *options, FILE *stream)
{
	_cleanup_(flamegraph_deinit) struct flamegraph f = {
		.profile = profile,
		.runs = { profile },
		.run_count = 1,
		.options = options,
		.script.stream = stream,
	};
	return write_page(&f);
}

struct error *flamegraph_write_diff(const struct profile *before, const struct profile *after,
				    const struct writer_options *options, FILE *stream)
{
	_cleanup_profile_ struct profile *both = NULL;
	struct error *err = profile_create(&both);
	if (!err)
		err = profile_append(both, before);
	if (!err)
		err = profile_append(both, after);
	if (err)
		return err;
	both->facts.mode = after->facts.mode;
	_cleanup_(flamegraph_deinit) struct flamegraph f = {
		.profile = both,
		.runs = { before, after },
		.run_count = 2,
		.options = options,
		.script.stream = stream,
	};
	return write_page(&f);
}

const struct writer flamegraph_writer = {
	.name = "flamegraph",
	.description = "a page for a browser: flame graph, hottest functions, search, filters",
	.endings = (const char *const[]){ ".html", NULL },
	.write = flamegraph_write,
};
