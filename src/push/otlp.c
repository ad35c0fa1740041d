/* SPDX-License-Identifier: MIT */
/*
 * otlp.c: profile → OpenTelemetry's ExportProfilesServiceRequest.
 *
 *   request    1 resource_profiles*   2 dictionary
 *   resource_profiles   1 resource {1 KeyValue*}   2 scope_profiles {1 scope {1 name, 2 version}, 2 profile*}
 *   profile    1 sample_type   2 sample*   3 time_unix_nano   4 duration_nano   5 period_type   6 period   7 profile_id
 *   sample     1 stack_index   2 attribute_indices   4 values
 *   dictionary 1 mapping  2 location  3 function  4 link  5 string  6 attribute  7 stack, entry 0 of each empty
 *
 * The tables' entries may stand in any order among each other: each is written when it is first needed.
 */
#include "push/otlp.h"

#include <stdio.h>
#include <string.h>

#include "base/intern.h"
#include "base/reader.h"
#include "write/text.h"

enum table {
	TABLE_MAPPING = 1,
	TABLE_LOCATION,
	TABLE_FUNCTION,
	TABLE_LINK,
	TABLE_STRING,
	TABLE_ATTRIBUTE,
	TABLE_STACK,
};

/* The four attributes of a sample. */
#define SAMPLE_ATTRIBUTES 4

struct otlp {
	const struct profile *profile;
	const struct push_window *window;
	struct pb dictionary;
	struct pb *request;
	struct intern strings;    /* id: index in the table of strings */
	struct intern attributes; /* key and value as one text; index - 1 */
	uint32_t *functions;      /* by id of the profile: index in the table, 0: not there yet */
	uint32_t *frames;
	uint32_t *stacks;
	uint32_t function_count, location_count, stack_count;
	uint32_t empty_stack; /* of samples without frames; 0: not there yet */
	bool failed;
};

static void otlp_deinit(struct otlp *o)
{
	pb_deinit(&o->dictionary);
	intern_deinit(&o->strings);
	intern_deinit(&o->attributes);
	free(o->functions);
	free(o->frames);
	free(o->stacks);
}

static uint32_t string_index(struct otlp *o, const char *text)
{
	_cleanup_strbuf_ struct strbuf valid = { 0 };
	text_escape(&valid, text ? text : "", TEXT_UTF8, NULL);
	strbuf_add(&valid, "", 0);
	size_t before = o->strings.count;
	uint32_t index = valid.failed ? INTERN_NONE : intern_add(&o->strings, valid.text);
	if (index == INTERN_NONE) {
		o->failed = true;
		return 0;
	}
	if (o->strings.count > before)
		pb_string(&o->dictionary, TABLE_STRING, valid.text);
	return index;
}

/* AnyValue: 1 string_value, 3 int_value; one of them must be there. */
static void any_value(struct pb *pb, unsigned field, const char *text, int64_t number)
{
	size_t mark = pb_begin(pb, field);
	if (text) {
		pb_string(pb, 1, text);
	} else {
		pb_tag(pb, 3, PB_VARINT);
		pb_varint(pb, (uint64_t)number);
	}
	pb_end(pb, mark);
}

/* @text NULL: the value is @number. */
static uint32_t attribute_index(struct otlp *o, const char *key, const char *text, int64_t number)
{
	_cleanup_strbuf_ struct strbuf valid = { 0 };
	_cleanup_strbuf_ struct strbuf both = { 0 };
	if (text)
		text_escape(&valid, text, TEXT_UTF8, NULL);
	strbuf_add(&valid, "", 0);
	if (text)
		strbuf_addf(&both, "%s=%s", key, valid.failed ? "" : valid.text);
	else
		strbuf_addf(&both, "%s:%lld", key, (long long)number);
	size_t before = o->attributes.count;
	uint32_t id =
		valid.failed || both.failed ? INTERN_NONE : intern_add(&o->attributes, both.text);
	if (id == INTERN_NONE) {
		o->failed = true;
		return 0;
	}
	if (o->attributes.count == before)
		return id + 1;
	uint32_t key_index = string_index(o, key);
	size_t mark = pb_begin(&o->dictionary, TABLE_ATTRIBUTE);
	pb_uint(&o->dictionary, 1, key_index);
	any_value(&o->dictionary, 2, text ? valid.text : NULL, number);
	pb_end(&o->dictionary, mark);
	return id + 1;
}

static uint32_t function_index(struct otlp *o, uint32_t id)
{
	if (o->functions[id])
		return o->functions[id];
	const struct profile *profile = o->profile;
	const struct profile_function *function = &profile->functions.items[id];
	uint32_t name = string_index(o, intern_text(&profile->strings, function->name));
	uint32_t file = function->file == PROFILE_NONE
				? 0
				: string_index(o, intern_text(&profile->strings, function->file));
	size_t mark = pb_begin(&o->dictionary, TABLE_FUNCTION);
	pb_uint(&o->dictionary, 1, name);
	pb_uint(&o->dictionary, 3, file);
	pb_uint(&o->dictionary, 4, function->firstlineno);
	pb_end(&o->dictionary, mark);
	return o->functions[id] = ++o->function_count;
}

/* Location: 3 lines {1 function_index, 2 line}, 4 attribute_indices. */
static void add_location(struct otlp *o, uint32_t function, uint32_t line, const char *type)
{
	uint64_t attribute = type ? attribute_index(o, "profile.frame.type", type, 0) : 0;
	struct pb *pb = &o->dictionary;
	size_t location = pb_begin(pb, TABLE_LOCATION);
	size_t mark = pb_begin(pb, 3);
	pb_uint(pb, 1, function);
	pb_uint(pb, 2, line);
	pb_end(pb, mark);
	pb_packed(pb, 4, &attribute, type ? 1 : 0);
	pb_end(pb, location);
	o->location_count++;
}

static const char *frame_type(enum profile_kind kind)
{
	switch (kind) {
	case PROFILE_PYTHON:
		return "cpython";
	case PROFILE_NATIVE:
		return "native";
	case PROFILE_MARKER:
		break;
	}
	return NULL;
}

static uint32_t location_index(struct otlp *o, uint32_t id)
{
	if (o->frames[id])
		return o->frames[id];
	const struct profile_frame *frame = &o->profile->frames.items[id];
	enum profile_kind kind = o->profile->functions.items[frame->function].kind;
	uint32_t function = function_index(o, frame->function);
	add_location(o, function, frame->line, frame_type(kind));
	return o->frames[id] = o->location_count;
}

static uint32_t empty_stack_index(struct otlp *o)
{
	if (o->empty_stack)
		return o->empty_stack;
	uint32_t name = string_index(o, "[no frames]");
	size_t mark = pb_begin(&o->dictionary, TABLE_FUNCTION);
	pb_uint(&o->dictionary, 1, name);
	pb_end(&o->dictionary, mark);
	add_location(o, ++o->function_count, 0, NULL);
	uint64_t location = o->location_count;
	mark = pb_begin(&o->dictionary, TABLE_STACK);
	pb_packed(&o->dictionary, 1, &location, 1);
	pb_end(&o->dictionary, mark);
	return o->empty_stack = ++o->stack_count;
}

static uint32_t stack_index(struct otlp *o, uint32_t id)
{
	if (id == PROFILE_NONE)
		return empty_stack_index(o);
	if (o->stacks[id])
		return o->stacks[id];
	const struct profile_stack *stacks = o->profile->stacks.items;
	/* First what the stack is made of: the entry is written in one go. */
	for (uint32_t at = id; at != PROFILE_NONE; at = stacks[at].parent)
		location_index(o, stacks[at].frame);
	size_t stack = pb_begin(&o->dictionary, TABLE_STACK);
	size_t mark = pb_begin(&o->dictionary, 1);
	for (uint32_t at = id; at != PROFILE_NONE; at = stacks[at].parent)
		pb_varint(&o->dictionary, o->frames[stacks[at].frame]);
	pb_end(&o->dictionary, mark);
	pb_end(&o->dictionary, stack);
	return o->stacks[id] = ++o->stack_count;
}

static void add_sample(struct otlp *o, const struct profile_sample *sample,
		       const struct attributes *resource, uint64_t value)
{
	static const char *const repeated[] = { "service.name", "host.name" };
	const struct profile_thread *thread = &o->profile->threads.items[sample->thread];
	uint64_t attributes[SAMPLE_ATTRIBUTES];
	size_t count = 0;
	attributes[count++] = attribute_index(o, "thread.id", NULL, thread->tid);
	attributes[count++] = attribute_index(o, "thread.name",
					      profile_thread_name(o->profile, sample->thread), 0);
	for (size_t i = 0; i < sizeof(repeated) / sizeof(repeated[0]); i++) {
		const struct attribute *attribute = attributes_get(resource, repeated[i]);
		if (attribute && attribute->text)
			attributes[count++] =
				attribute_index(o, attribute->key, attribute->text, 0);
	}
	uint32_t stack = stack_index(o, sample->stack);
	size_t mark = pb_begin(o->request, 2);
	pb_uint(o->request, 1, stack);
	pb_packed(o->request, 2, attributes, count);
	pb_packed(o->request, 4, &value, 1);
	pb_end(o->request, mark);
}

static void add_value_type(struct otlp *o, unsigned field, const char *type, const char *unit)
{
	uint32_t type_index = string_index(o, type), unit_index = string_index(o, unit);
	size_t mark = pb_begin(o->request, field);
	pb_uint(o->request, 1, type_index);
	pb_uint(o->request, 2, unit_index);
	pb_end(o->request, mark);
}

static uint32_t process_of(const struct profile *profile, const struct profile_sample *sample)
{
	return profile->threads.items[sample->thread].process;
}

static uint64_t value_of(const struct profile *profile, const struct profile_sample *sample,
			 bool in_ns)
{
	return in_ns ? profile_weight_ns(profile, sample) : sample->count;
}

static void add_profile(struct otlp *o, uint32_t process, const struct attributes *resource,
			bool in_ns)
{
	const struct profile *profile = o->profile;
	const char *mode = profile_mode_name(profile->facts.mode);
	uint8_t id[sizeof(o->window->id)];
	memcpy(id, o->window->id, sizeof(id));
	/* Each profile of a request has its own. */
	for (size_t i = 0; i < sizeof(process); i++)
		id[i] ^= (uint8_t)(process >> 8 * i);
	id[sizeof(id) - 1] ^= in_ns;

	size_t mark = pb_begin(o->request, 2);
	if (in_ns)
		add_value_type(o, 1, mode, "nanoseconds");
	else
		add_value_type(o, 1, "samples", "count");
	vec_foreach (sample, &profile->samples) {
		uint64_t value = value_of(profile, sample, in_ns);
		if (value && process_of(profile, sample) == process)
			add_sample(o, sample, resource, value);
	}
	pb_fixed64(o->request, 3, o->window->start_unix_ns);
	pb_uint(o->request, 4, o->window->duration_ns);
	add_value_type(o, 5, mode, "nanoseconds");
	pb_uint(o->request, 6, profile->stats.interval_ns);
	pb_bytes(o->request, 7, id, sizeof(id));
	pb_end(o->request, mark);
}

static void add_resource(struct otlp *o, const struct attributes *resource)
{
	size_t mark = pb_begin(o->request, 1);
	vec_foreach (attribute, resource) {
		size_t pair = pb_begin(o->request, 1);
		pb_string(o->request, 1, attribute->key);
		any_value(o->request, 2, attribute->text, attribute->number);
		pb_end(o->request, pair);
	}
	pb_end(o->request, mark);
}

static void add_process(struct otlp *o, uint32_t process, const struct attributes *resource,
			bool has_weights)
{
	size_t mark = pb_begin(o->request, 1);
	add_resource(o, resource);
	size_t scope_profiles = pb_begin(o->request, 2);
	size_t scope = pb_begin(o->request, 1);
	pb_string(o->request, 1, PACKAGE_NAME);
	pb_string(o->request, 2, PACKAGE_VERSION);
	pb_end(o->request, scope);
	add_profile(o, process, resource, false);
	if (has_weights)
		add_profile(o, process, resource, true);
	pb_end(o->request, scope_profiles);
	pb_end(o->request, mark);
}

static void begin_tables(struct otlp *o)
{
	static const enum table tables[] = { TABLE_MAPPING, TABLE_LOCATION,  TABLE_FUNCTION,
					     TABLE_LINK,    TABLE_ATTRIBUTE, TABLE_STACK };
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		pb_bytes(&o->dictionary, tables[i], "", 0);
	string_index(o, "");
}

static struct error *allocate(struct otlp *o)
{
	const struct profile *profile = o->profile;
	o->functions = calloc(profile->functions.count + 1, sizeof(*o->functions));
	o->frames = calloc(profile->frames.count + 1, sizeof(*o->frames));
	o->stacks = calloc(profile->stacks.count + 1, sizeof(*o->stacks));
	return o->functions && o->frames && o->stacks ? NULL : error_no_memory();
}

struct error *otlp_encode(const struct profile *profile, const struct push_window *window,
			  const struct attributes *resources, struct pb *pb, uint64_t *samples_ret)
{
	_cleanup_(otlp_deinit) struct otlp o = {
		.profile = profile,
		.window = window,
		.request = pb,
	};
	/* What each process has. */
	struct sums {
		uint64_t samples, weight_ns;
	};
	_cleanup_free_ struct sums *sums = calloc(profile->processes.count + 1, sizeof(*sums));
	struct error *err = sums ? allocate(&o) : error_no_memory();
	if (err)
		return err;
	uint64_t samples = 0;
	vec_foreach (sample, &profile->samples) {
		struct sums *sum = &sums[process_of(profile, sample)];
		sum->samples += sample->count;
		sum->weight_ns += profile_weight_ns(profile, sample);
		samples += sample->count;
	}
	*samples_ret = samples;
	if (!samples)
		return NULL;
	begin_tables(&o);
	for (uint32_t i = 0; i < profile->processes.count; i++)
		if (sums[i].samples)
			add_process(&o, i, &resources[i], sums[i].weight_ns);
	pb_bytes(pb, 2, o.dictionary.data, o.dictionary.size);
	return o.failed || o.dictionary.failed || pb->failed ? error_no_memory() : NULL;
}

/* The next field of a message that is a number or bytes; false at the end, or where it is neither. */
static bool next_field(struct reader *reader, uint64_t *tag_ret, uint64_t *number_ret,
		       const void **bytes_ret)
{
	if (!reader_left(reader) || !reader_uleb128(reader, tag_ret) ||
	    !reader_uleb128(reader, number_ret))
		return false;
	if ((*tag_ret & 7) == PB_VARINT)
		return true;
	if ((*tag_ret & 7) != PB_BYTES)
		return false;
	*bytes_ret = reader_bytes(reader, *number_ret);
	return *bytes_ret;
}

/* Response: 1 partial_success {1 rejected_profiles, 2 error_message}. */
int64_t otlp_rejected(const void *response, size_t size, const char **message_ret,
		      size_t *message_size_ret)
{
	const uint64_t first_bytes = 1 << 3 | PB_BYTES, first_number = 1 << 3 | PB_VARINT,
		       second_bytes = 2 << 3 | PB_BYTES;
	struct reader reader = reader_make(response, size);
	uint64_t tag, number, rejected = 0;
	const void *bytes = NULL;
	*message_ret = "";
	*message_size_ret = 0;
	while (next_field(&reader, &tag, &number, &bytes)) {
		if (tag != first_bytes)
			continue;
		struct reader partial = reader_make(bytes, number);
		while (next_field(&partial, &tag, &number, &bytes)) {
			if (tag == first_number)
				rejected = number;
			if (tag == second_bytes) {
				*message_ret = bytes;
				*message_size_ret = number;
			}
		}
	}
	return rejected > INT64_MAX ? 0 : (int64_t)rejected;
}
