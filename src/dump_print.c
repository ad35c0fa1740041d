/* SPDX-License-Identifier: MIT */
/* dump_print.c: threads and their stacks as text or JSON. */
#include "dump_print.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "write/text.h"

DEFINE_VEC(struct id_vec, id_vec, uint32_t)

/* Frame ids of a stack in the order of printing. */
static bool list_frames(const struct profile *profile, uint32_t stack, bool reverse,
			struct id_vec *frames)
{
	for (uint32_t at = stack; at != PROFILE_NONE; at = profile->stacks.items[at].parent) {
		uint32_t *frame = id_vec_append(frames);
		if (!frame)
			return false;
		*frame = profile->stacks.items[at].frame;
	}
	for (size_t i = 0; !reverse && i < frames->count / 2; i++) {
		uint32_t *a = &frames->items[i], *b = &frames->items[frames->count - 1 - i];
		uint32_t frame = *a;
		*a = *b;
		*b = frame;
	}
	return true;
}

struct frame_text {
	enum profile_kind kind;
	const char *name;
	const char *file; /* NULL: none */
	uint32_t line;
};

static struct frame_text text_of(const struct profile *profile, const char *const *files,
				 uint32_t id)
{
	const struct profile_frame *frame = &profile->frames.items[id];
	const struct profile_function *function = &profile->functions.items[frame->function];
	return (struct frame_text){
		.kind = function->kind,
		.name = intern_text(&profile->strings, function->name),
		.file = function->file == PROFILE_NONE ? NULL : files[function->file],
		.line = frame->line,
	};
}

static void add_state(struct strbuf *buf, const struct dump_thread *thread)
{
	strbuf_adds(buf, thread->state);
	if (thread->syscall[0])
		strbuf_addf(buf, " in %s", thread->syscall);
	if (thread->gil)
		strbuf_adds(buf, ", holds the GIL");
}

static void add_head(struct strbuf *buf, const struct dump_thread *thread)
{
	strbuf_addf(buf, "Thread %d (", (int)thread->tid);
	const char *name = thread->python_name[0] ? thread->python_name : thread->name;
	text_escape(buf, name, TEXT_LINE, NULL);
	if (thread->python_name[0] && strcmp(thread->python_name, thread->name)) {
		strbuf_adds(buf, ", ");
		text_escape(buf, thread->name, TEXT_LINE, NULL);
	}
	strbuf_adds(buf, "): ");
	add_state(buf, thread);
	strbuf_addc(buf, '\n');
}

static struct error *add_stack(struct strbuf *buf, const struct profile *profile,
			       const struct dump_thread *thread, const char *const *files,
			       bool reverse)
{
	if (thread->lost) {
		strbuf_addf(buf, "    no stack: %s\n", reason_text(thread->lost));
		return NULL;
	}
	if (thread->stack == PROFILE_NONE) {
		strbuf_adds(buf, "    no Python frames\n");
		return NULL;
	}
	struct id_vec frames = { 0 };
	if (!list_frames(profile, thread->stack, reverse, &frames)) {
		id_vec_deinit(&frames);
		return error_no_memory();
	}
	vec_foreach (id, &frames) {
		struct frame_text frame = text_of(profile, files, *id);
		strbuf_adds(buf, "    ");
		text_add_frame(buf, frame.name, frame.file, frame.line);
		strbuf_addc(buf, '\n');
	}
	id_vec_deinit(&frames);
	return NULL;
}

static void add_title(struct strbuf *buf, const struct profile *profile)
{
	const struct profile_process *facts = &profile->processes.items[0];
	strbuf_addf(buf, "Process %d:", (int)facts->pid);
	for (size_t at = 0; at < facts->argv.size; at += strlen(facts->argv.bytes + at) + 1) {
		strbuf_addc(buf, ' ');
		text_escape(buf, facts->argv.bytes + at, TEXT_LINE, NULL);
	}
	strbuf_addc(buf, '\n');
	/* With native frames a process without Python can be shown too. */
	if (!facts->python_version)
		return;
	strbuf_addf(buf, "Python %s", facts->python_version);
	if (facts->runtime) {
		strbuf_adds(buf, " (");
		text_escape(buf, facts->runtime, TEXT_LINE, NULL);
		strbuf_addc(buf, ')');
	}
	strbuf_addc(buf, '\n');
}

struct error *dump_print_text(const struct profile *profile, const struct dump_threads *threads,
			      const struct writer_options *options, bool reverse, FILE *out)
{
	_cleanup_free_ const char **files = NULL;
	struct error *err = writer_files(profile, options, &files);
	if (err)
		return err;
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	add_title(&buf, profile);
	vec_foreach (thread, threads) {
		strbuf_addc(&buf, '\n');
		add_head(&buf, thread);
		err = add_stack(&buf, profile, thread, files, reverse);
		if (err)
			return err;
	}
	if (buf.failed)
		return error_no_memory();
	fputs(buf.text, out);
	return NULL;
}

/* JSON strings are UTF-8: other bytes are escaped as in the profile's files. */
static json_t *json_text(const char *text)
{
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	text_escape(&buf, text, TEXT_UTF8, NULL);
	return buf.failed ? NULL : json_string(buf.text ? buf.text : "");
}

static json_t *json_frame(const struct frame_text *frame)
{
	json_t *object = json_object();
	json_object_set_new(object, "kind", json_string(profile_kind_name(frame->kind)));
	json_object_set_new(object, "name", json_text(frame->name));
	json_object_set_new(object, "file", frame->file ? json_text(frame->file) : json_null());
	json_object_set_new(object, "line", frame->line ? json_integer(frame->line) : json_null());
	return object;
}

static json_t *json_thread(const struct profile *profile, const struct dump_thread *thread,
			   const char *const *files, bool reverse)
{
	json_t *object = json_object(), *list = json_array();
	json_object_set_new(object, "tid", json_integer(thread->tid));
	json_object_set_new(object, "name", json_text(thread->name));
	json_object_set_new(object, "python_name",
			    thread->python_name[0] ? json_text(thread->python_name) : json_null());
	json_object_set_new(object, "state", json_string(thread->state));
	json_object_set_new(object, "syscall",
			    thread->syscall[0] ? json_string(thread->syscall) : json_null());
	json_object_set_new(object, "python", json_boolean(thread->python));
	json_object_set_new(object, "gil", json_boolean(thread->gil));
	json_object_set_new(object, "lost",
			    thread->lost ? json_string(reason_name(thread->lost)) : json_null());
	json_object_set_new(object, "complete",
			    json_boolean(!thread->lost && thread->end == REASON_OK));
	struct id_vec frames = { 0 };
	if (!thread->lost && list_frames(profile, thread->stack, reverse, &frames)) {
		vec_foreach (id, &frames) {
			struct frame_text frame = text_of(profile, files, *id);
			json_array_append_new(list, json_frame(&frame));
		}
	}
	id_vec_deinit(&frames);
	json_object_set_new(object, "frames", list);
	return object;
}

struct error *dump_print_json(const struct profile *profile, const struct dump_threads *threads,
			      const struct writer_options *options, bool reverse, FILE *out)
{
	_cleanup_free_ const char **files = NULL;
	struct error *err = writer_files(profile, options, &files);
	if (err)
		return err;
	const struct profile_process *facts = &profile->processes.items[0];
	json_t *root = json_object(), *list = json_array();
	json_object_set_new(root, "pid", json_integer(facts->pid));
	json_object_set_new(root, "python_version",
			    facts->python_version ? json_text(facts->python_version) : json_null());
	json_object_set_new(root, "runtime",
			    facts->runtime ? json_text(facts->runtime) : json_null());
	json_object_set_new(root, "order",
			    json_string(reverse ? "innermost first" : "innermost last"));
	vec_foreach (thread, threads)
		json_array_append_new(list, json_thread(profile, thread, files, reverse));
	json_object_set_new(root, "threads", list);
	int failed = json_dumpf(root, out, JSON_INDENT(1));
	json_decref(root);
	fputc('\n', out);
	return failed ? error_create(ERROR_OTHER, "cannot write JSON") : NULL;
}
