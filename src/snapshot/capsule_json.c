/* SPDX-License-Identifier: MIT */
/* capsule_json.c: how numbers, bytes and code are written in JSON. */
#include "snapshot/capsule_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

json_t *capsule_json_address(uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%#" PRIx64, value);
	return json_string(text);
}

static bool read_address(const json_t *value, uint64_t *ret)
{
	const char *text = json_string_value(value);
	if (!text || !*text || *text == '-')
		return false;
	char *end;
	errno = 0;
	*ret = strtoull(text, &end, 0);
	return !errno && !*end;
}

bool capsule_get_address(const json_t *object, const char *key, uint64_t *ret)
{
	return read_address(json_object_get(object, key), ret);
}

json_t *capsule_json_bytes(const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	_cleanup_free_ char *text = malloc(2 * size + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * size] = '\0';
	return json_string(text);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

bool capsule_get_bytes(const json_t *object, const char *key, uint8_t **bytes_ret, size_t *size_ret)
{
	const char *text = json_string_value(json_object_get(object, key));
	size_t length = text ? strlen(text) : 0;
	if (!text || length % 2)
		return false;
	_cleanup_free_ uint8_t *bytes = malloc(length / 2 + 1);
	if (!bytes)
		return false;
	for (size_t i = 0; i < length / 2; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	*bytes_ret = no_cleanup(bytes);
	*size_ret = length / 2;
	return true;
}

/* ---- code ---- */

void capsule_code_deinit(struct capsule_code *code)
{
	vec_foreach (module, &code->modules) {
		free(module->path);
		free(module->build_id);
	}
	vec_foreach (function, &code->functions) {
		free(function->name);
		free(function->cfi);
	}
	capsule_modules_vec_deinit(&code->modules);
	capsule_functions_vec_deinit(&code->functions);
	capsule_ranges_vec_deinit(&code->executable);
}

const struct capsule_function *capsule_code_find(const struct capsule_code *code, uint64_t address)
{
	vec_foreach (function, &code->functions)
		if (address >= function->start && address < function->end)
			return function;
	return NULL;
}

static void set_flag(json_t *object, const char *key, bool value)
{
	if (value)
		json_object_set_new(object, key, json_true());
}

/* A text that is not UTF-8 can not be written. */
static void set_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text) ?: json_string("?"));
}

static json_t *json_module(const struct capsule_module *module)
{
	json_t *object = json_object();
	set_text(object, "path", module->path);
	set_text(object, "build_id", module->build_id);
	json_object_set_new(object, "bias", capsule_json_address(module->bias));
	return object;
}

static json_t *json_function(const struct capsule_function *function)
{
	json_t *object = json_object();
	json_object_set_new(object, "start", capsule_json_address(function->start));
	json_object_set_new(object, "end", capsule_json_address(function->end));
	json_object_set_new(object, "module", json_integer(function->module));
	json_object_set_new(object, "kind", json_integer(function->kind));
	set_text(object, "name", function->name);
	set_flag(object, "eval", function->eval);
	set_flag(object, "clone", function->clone);
	if (!function->cfi)
		return object;
	set_flag(object, "debug_frame", function->debug_frame);
	json_object_set_new(object, "cfi_vaddr", capsule_json_address(function->cfi_vaddr));
	json_object_set_new(object, "cfi", capsule_json_bytes(function->cfi, function->cfi_size));
	return object;
}

json_t *capsule_json_code(const struct capsule_code *code)
{
	json_t *object = json_object(), *modules = json_array(), *functions = json_array(),
	       *executable = json_array();
	vec_foreach (module, &code->modules)
		json_array_append_new(modules, json_module(module));
	vec_foreach (function, &code->functions)
		json_array_append_new(functions, json_function(function));
	vec_foreach (range, &code->executable) {
		json_t *pair = json_array();
		json_array_append_new(pair, capsule_json_address(range->address));
		json_array_append_new(pair, capsule_json_address(range->address + range->size));
		json_array_append_new(executable, pair);
	}
	json_object_set_new(object, "modules", modules);
	json_object_set_new(object, "functions", functions);
	json_object_set_new(object, "executable", executable);
	return object;
}

/* False only without memory: a text may be missing. */
static bool get_text(const json_t *object, const char *key, char **text_ret)
{
	const char *text = json_string_value(json_object_get(object, key));
	*text_ret = text ? strdup(text) : NULL;
	return !text || *text_ret;
}

static bool get_module(const json_t *object, struct capsule_code *code)
{
	struct capsule_module *module = capsule_modules_vec_append(&code->modules);
	return module && capsule_get_address(object, "bias", &module->bias) &&
	       get_text(object, "path", &module->path) && module->path &&
	       get_text(object, "build_id", &module->build_id);
}

static bool get_number(const json_t *object, const char *key, uint32_t *ret)
{
	const json_t *number = json_object_get(object, key);
	json_int_t value = json_integer_value(number);
	*ret = (uint32_t)value;
	return json_is_integer(number) && value >= 0 && value <= UINT32_MAX;
}

static bool get_function(const json_t *object, struct capsule_code *code)
{
	struct capsule_function *function = capsule_functions_vec_append(&code->functions);
	if (!function || !capsule_get_address(object, "start", &function->start) ||
	    !capsule_get_address(object, "end", &function->end) ||
	    !get_number(object, "module", &function->module) ||
	    !get_number(object, "kind", &function->kind) ||
	    function->module >= code->modules.count || !get_text(object, "name", &function->name))
		return false;
	function->eval = json_is_true(json_object_get(object, "eval"));
	function->clone = json_is_true(json_object_get(object, "clone"));
	function->debug_frame = json_is_true(json_object_get(object, "debug_frame"));
	return !json_object_get(object, "cfi") ||
	       (capsule_get_address(object, "cfi_vaddr", &function->cfi_vaddr) &&
		capsule_get_bytes(object, "cfi", &function->cfi, &function->cfi_size));
}

static bool get_range(const json_t *pair, struct capsule_code *code)
{
	struct memory_range *range = capsule_ranges_vec_append(&code->executable);
	uint64_t end;
	if (!range || !read_address(json_array_get(pair, 0), &range->address) ||
	    !read_address(json_array_get(pair, 1), &end) || end < range->address)
		return false;
	range->size = end - range->address;
	return true;
}

static bool get_all(const json_t *list, bool (*get)(const json_t *, struct capsule_code *),
		    struct capsule_code *code)
{
	size_t i;
	json_t *item;
	json_array_foreach(list, i, item) if (!get(item, code)) return false;
	return json_is_array(list);
}

bool capsule_get_code(const json_t *object, struct capsule_code *code)
{
	return get_all(json_object_get(object, "modules"), get_module, code) &&
	       get_all(json_object_get(object, "functions"), get_function, code) &&
	       get_all(json_object_get(object, "executable"), get_range, code);
}
