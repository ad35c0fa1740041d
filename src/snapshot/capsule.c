/* SPDX-License-Identifier: MIT */
/* capsule.c: a snapshot in a file. */
#include "snapshot/capsule.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "snapshot/capsule_json.h"

/* A file larger than this is none of ours. */
#define CAPSULE_SIZE_MAX ((size_t)64 << 20)

static const char format_name[] = "pysample capsule";

void capsule_init(struct capsule *capsule)
{
	*capsule = (struct capsule){ 0 };
	snapshot_init(&capsule->snapshot);
}

void capsule_deinit(struct capsule *capsule)
{
	snapshot_deinit(&capsule->snapshot);
	capsule_code_deinit(&capsule->code);
}

#define PYTHON_NUMBERS(X)                                                                          \
	X(version)                                                                                 \
	X(debug_build)                                                                             \
	X(ob_head_extra)                                                                           \
	X(runtime_address)                                                                         \
	X(code_type)                                                                               \
	X(current_address)                                                                         \
	X(tstate)

static json_t *json_python(const struct capsule_python *python)
{
	json_t *object = json_object();
#define X(name) json_object_set_new(object, #name, capsule_json_address(python->name));
	PYTHON_NUMBERS(X)
#undef X
	return object;
}

static json_t *json_registers(const struct arch_registers *registers)
{
	json_t *object = json_object();
	char key[8];
	for (unsigned i = 0; i < ARCH_REGISTERS_MAX; i++) {
		uint64_t value;
		snprintf(key, sizeof(key), "%u", i);
		if (arch_register_get(registers, i, &value))
			json_object_set_new(object, key, capsule_json_address(value));
	}
	return object;
}

static json_t *json_blocks(const struct blocks *blocks)
{
	json_t *list = json_array();
	vec_foreach (block, &blocks->list) {
		if (!block->used)
			continue;
		json_t *object = json_object();
		json_object_set_new(object, "address", capsule_json_address(block->address));
		json_object_set_new(object, "bytes",
				    capsule_json_bytes(blocks->bytes + block->offset, block->size));
		json_array_append_new(list, object);
	}
	return list;
}

struct error *capsule_save(const char *path, uint16_t machine, const char *name,
			   const struct capsule_python *python, const struct capsule_code *code,
			   const struct snapshot *snapshot)
{
	json_int_t version = python && !code ? 1 : CAPSULE_VERSION;
	json_t *root = json_object(), *thread = json_object();
	json_object_set_new(root, "format", json_string(format_name));
	json_object_set_new(root, "version", json_integer(version));
	json_object_set_new(root, "machine", json_integer(machine));
	json_object_set_new(thread, "tid", json_integer(snapshot->tid));
	json_object_set_new(thread, "name", json_string(name) ?: json_string("?"));
	if (snapshot->registers.has_thread_pointer)
		json_object_set_new(thread, "thread_pointer",
				    capsule_json_address(snapshot->registers.thread_pointer));
	if (snapshot->registers.code_mask)
		json_object_set_new(thread, "code_mask",
				    capsule_json_address(snapshot->registers.code_mask));
	json_object_set_new(thread, "registers", json_registers(&snapshot->registers));
	json_object_set_new(root, "thread", thread);
	if (python)
		json_object_set_new(root, "python", json_python(python));
	if (code)
		json_object_set_new(root, "code", capsule_json_code(code));
	json_object_set_new(root, "blocks", json_blocks(&snapshot->blocks));

	struct error *err = NULL;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		err = error_errno(errno, "cannot create %s", path);
	else if (json_dumpfd(root, fd, JSON_INDENT(1)))
		err = error_errno(errno ? errno : EIO, "cannot write %s", path);
	if (fd >= 0 && close(fd) && !err)
		err = error_errno(errno, "cannot write %s", path);
	json_decref(root);
	return err;
}

static bool load_block(const json_t *object, struct blocks *blocks)
{
	uint64_t address;
	size_t size;
	_cleanup_free_ uint8_t *bytes = NULL;
	return capsule_get_address(object, "address", &address) &&
	       capsule_get_bytes(object, "bytes", &bytes, &size) &&
	       blocks_add(blocks, address, bytes, size);
}

static void load_thread(const json_t *thread, struct capsule *capsule)
{
	struct snapshot *snapshot = &capsule->snapshot;
	snapshot->tid = (pid_t)json_integer_value(json_object_get(thread, "tid"));
	const char *name = json_string_value(json_object_get(thread, "name"));
	snprintf(capsule->name, sizeof(capsule->name), "%.15s", name ? name : "?");
	snapshot->registers.has_thread_pointer =
		capsule_get_address(thread, "thread_pointer", &snapshot->registers.thread_pointer);
	/* Only of CPUs that sign addresses. */
	if (!capsule_get_address(thread, "code_mask", &snapshot->registers.code_mask))
		snapshot->registers.code_mask = 0;
	const json_t *registers = json_object_get(thread, "registers");
	char key[8];
	for (unsigned i = 0; i < ARCH_REGISTERS_MAX; i++) {
		uint64_t value;
		snprintf(key, sizeof(key), "%u", i);
		if (capsule_get_address(registers, key, &value))
			arch_register_set(&snapshot->registers, i, value);
	}
}

/* The first version always has it. */
static bool load_python(const json_t *object, json_int_t version, struct capsule *capsule)
{
	bool ok = true;
	capsule->has_python = object || version == 1;
	if (!capsule->has_python)
		return true;
#define X(name) ok = capsule_get_address(object, #name, &capsule->python.name) && ok;
	PYTHON_NUMBERS(X)
#undef X
	return ok;
}

static bool load_code(const json_t *object, struct capsule *capsule)
{
	capsule->has_code = object;
	return !object || capsule_get_code(object, &capsule->code);
}

static struct error *load_root(const json_t *root, const char *name, struct capsule *capsule)
{
	const char *format = json_string_value(json_object_get(root, "format"));
	if (!format || strcmp(format, format_name))
		return error_create(ERROR_CORRUPT, "%s is not a pysample capsule", name);
	json_int_t version = json_integer_value(json_object_get(root, "version"));
	if (version < 1 || version > CAPSULE_VERSION)
		return error_create(ERROR_UNSUPPORTED,
				    "%s is a capsule of version %" JSON_INTEGER_FORMAT
				    ", this pysample reads versions up to %d",
				    name, version, CAPSULE_VERSION);
	capsule->machine = (uint16_t)json_integer_value(json_object_get(root, "machine"));
	load_thread(json_object_get(root, "thread"), capsule);

	bool ok = load_python(json_object_get(root, "python"), version, capsule) &&
		  load_code(json_object_get(root, "code"), capsule);
	size_t i;
	json_t *block;
	json_array_foreach(json_object_get(root, "blocks"), i, block) ok =
		ok && load_block(block, &capsule->snapshot.blocks);
	return ok ? NULL
		  : error_create(ERROR_CORRUPT, "%s is damaged: a number or block is missing",
				 name);
}

struct error *capsule_parse(const char *text, size_t size, const char *name,
			    struct capsule *capsule)
{
	json_error_t json_error;
	json_t *root = json_loadb(text, size, 0, &json_error);
	if (!root)
		return error_create(ERROR_CORRUPT, "%s is not a capsule: line %d: %s", name,
				    json_error.line, json_error.text);
	struct error *err = load_root(root, name, capsule);
	json_decref(root);
	if (err) {
		capsule_deinit(capsule);
		capsule_init(capsule);
	}
	return err;
}

struct error *capsule_load(const char *path, struct capsule *capsule)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	if (!file)
		return error_errno(errno, "cannot open %s", path);
	_cleanup_strbuf_ struct strbuf text = { 0 };
	char chunk[65536];
	size_t n;
	while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0) {
		strbuf_add(&text, chunk, n);
		if (text.length > CAPSULE_SIZE_MAX)
			return error_create(ERROR_CORRUPT, "%s is too large for a capsule", path);
	}
	if (ferror(file))
		return error_errno(errno, "cannot read %s", path);
	if (text.failed)
		return error_no_memory();
	return capsule_parse(text.text ? text.text : "", text.length, path, capsule);
}
