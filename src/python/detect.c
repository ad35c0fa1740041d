/* SPDX-License-Identifier: MIT */
/* detect.c: candidates by what modules export or hold → runtimes whose structures are alive. */
#include "python/detect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/vec.h"
#include "python/alive.h"
#include "python/detect_scan.h"

/* The lists are read while the target runs: a thread that starts or ends just then makes one look
 * fail, not five. */
#define ATTEMPTS 5
DEFINE_VEC(struct runtime_vec, runtime_vec, struct py_runtime)

struct detection {
	struct modules *modules;
	struct memory *memory;
	struct runtime_vec runtimes;
	struct error *refused; /* the first Python that is there and that we do not know */
	char asleep[256];      /* what is there and not initialised */
};

/* A module that looks as if it held a runtime. */
struct candidate {
	struct module *module;
	bool deep; /* .symtab may be read */
	struct py_runtime runtime;
};

/* ---- symbols ---- */

/* The address in the process of a symbol that the module defines. */
static bool lookup(const struct candidate *candidate, const char *name, uint64_t *address_ret)
{
	struct image_symbol symbol;
	const struct image *image = candidate->module->image;
	if (candidate->deep ? !image_symbol(image, name, &symbol)
			    : !image_dynamic_symbol(image, name, &symbol))
		return false;
	if (symbol.is_tls)
		return false;
	*address_ret = symbol.vaddr + candidate->module->bias;
	return true;
}

static const char *const exported[] = {
	"_PyRuntime",
	"Py_Version",
	"Py_GetVersion",
	"PyGILState_GetThisThreadState",
	"PyInterpreterState_Head",
	"_PyThreadState_Current",
};

static bool exports_python(const struct image *image)
{
	struct image_symbol symbol;
	struct image_section section;
	for (size_t i = 0; i < sizeof(exported) / sizeof(*exported); i++) {
		if (image_dynamic_symbol(image, exported[i], &symbol))
			return true;
	}
	return image_section(image, ".PyRuntime", &section);
}

/* ---- version ---- */

/* PY_VERSION_HEX: the level is 0xa, 0xb, 0xc or, of a release, 0xf. */
static void format_version(uint32_t hex, char text[PY_VERSION_TEXT_MAX])
{
	py_version version = hex >> 8;
	unsigned level = hex >> 4 & 0xf;
	int n = snprintf(text, PY_VERSION_TEXT_MAX, "%u.%u.%u", PY_MAJOR(version),
			 PY_MINOR(version), PY_MICRO(version));
	if (level >= 0xa && level <= 0xc)
		snprintf(text + n, PY_VERSION_TEXT_MAX - (size_t)n, "%s%u",
			 level == 0xa   ? "a"
			 : level == 0xb ? "b"
					: "rc",
			 hex & 0xf);
}

static void take_version_hex(struct py_runtime *runtime, uint32_t hex, const char *source)
{
	runtime->version = hex >> 8;
	runtime->version_source = source;
	format_version(hex, runtime->version_text);
}

static bool find_version(const struct detection *detection, struct candidate *candidate)
{
	struct py_runtime *runtime = &candidate->runtime;
	py_version version;
	uint64_t address;
	uint64_t hex = 0;
	if (runtime->runtime_address &&
	    py_layout_read_version(detection->memory, runtime->runtime_address, &version) &&
	    memory_read_u64(detection->memory, runtime->runtime_address + 8, &hex)) {
		take_version_hex(runtime, (uint32_t)hex, "debug offsets");
		return true;
	}
	uint32_t exported_hex;
	if (lookup(candidate, "Py_Version", &address) &&
	    memory_read_u32(detection->memory, address, &exported_hex) && exported_hex >> 24 == 3) {
		take_version_hex(runtime, exported_hex, "symbol Py_Version");
		return true;
	}
	runtime->version_source = "version text";
	return scan_version_text(detection->memory, candidate->module, &runtime->version,
				 runtime->version_text);
}

/* ---- types ---- */

/*
 * PyType_Type of the candidate. An executable that refers to the library's variable has a copy of
 * it (a copy relocation), and all references lead there: the library's own then says so by its
 * type.
 */
static bool find_type_type(struct memory *memory, struct candidate *candidate)
{
	static const uint32_t places[] = { 8, 24 }; /* ob_type without and with Py_TRACE_REFS */
	uint64_t own, type;
	if (!lookup(candidate, "PyType_Type", &own))
		return false;
	for (size_t i = 0; i < 2; i++) {
		if (!memory_read_u64(memory, own + places[i], &type) || !type ||
		    !alive_is_type_type(memory, type, places[i]))
			continue;
		candidate->runtime.type_type = type;
		candidate->runtime.ob_head_extra = places[i] - places[0];
		return true;
	}
	return false;
}

uint64_t detect_first_interp(struct memory *memory, const struct py_runtime *runtime)
{
	uint64_t interp;
	if (!runtime->interp_head)
		return runtime->main_interp;
	return memory_read_u64(memory, runtime->interp_head, &interp) ? interp : 0;
}

/* ---- is it alive? ---- */

static bool is_list_alive(struct memory *memory, struct py_runtime *runtime)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		size_t tstates;
		uint64_t interp = detect_first_interp(memory, runtime);
		if (!interp)
			return false;
		if (alive_count(memory, &runtime->layout, interp, &tstates, &runtime->main_interp))
			return true;
	}
	return false;
}

/* Types by frame are what the target uses; symbols serve as long as no thread has a frame. */
static bool are_types_alive(struct memory *memory, struct candidate *candidate)
{
	struct py_runtime *runtime = &candidate->runtime;
	const struct py_layout *layout = &runtime->layout;
	uint64_t code_type, type_type;
	for (int i = 0; i < ATTEMPTS; i++) {
		if (!alive_find_code_type(memory, layout, runtime->main_interp, &code_type,
					  &type_type))
			continue;
		runtime->code_type = code_type;
		runtime->type_type = type_type;
		return true;
	}
	if (!runtime->type_type)
		return true;
	if (!alive_is_type_type(memory, runtime->type_type, layout->object_type))
		return false;
	if (!lookup(candidate, "PyCode_Type", &runtime->code_type))
		return true;
	return alive_has_type(memory, layout, runtime->code_type, runtime->type_type);
}

static bool is_alive(struct memory *memory, struct candidate *candidate)
{
	struct py_runtime *runtime = &candidate->runtime;
	const struct py_layout *layout = &runtime->layout;
	if (runtime->runtime_address && layout->runtime_interpreters_head != PY_ABSENT)
		runtime->interp_head = runtime->runtime_address + layout->runtime_interpreters_head;
	return is_list_alive(memory, runtime) && are_types_alive(memory, candidate);
}

static struct error *select_layout(const struct detection *detection, struct candidate *candidate,
				   struct py_layout *layout_ret)
{
	const struct py_runtime *runtime = &candidate->runtime;
	return py_layout_select(runtime->version, runtime->machine, runtime->debug_build,
				runtime->ob_head_extra, detection->memory, runtime->runtime_address,
				layout_ret);
}

/* ---- where the first interpreter is ---- */

/* What PyInterpreterState_Head reads: the head itself, up to 3.6 a static variable. */
static bool decode_head(const struct detection *detection, const struct candidate *candidate,
			uint64_t *address_ret)
{
	const struct module *module = candidate->module;
	struct image_symbol symbol;
	uint8_t body[DECODE_BODY_MAX];
	const struct decoder *decoder = decoder_by_machine(candidate->runtime.machine);
	if (!decoder || !image_dynamic_symbol(module->image, "PyInterpreterState_Head", &symbol) ||
	    symbol.size > sizeof(body) ||
	    !image_read(module->image, symbol.vaddr, body, symbol.size))
		return false;
	struct head_ref ref;
	_cleanup_error_ struct error *err =
		decoder->decode_interp_head(body, symbol.size, symbol.vaddr, &ref);
	if (err)
		return false;
	if (!ref.in_runtime) {
		*address_ret = ref.vaddr + module->bias;
		return true;
	}
	uint64_t object;
	if (!memory_read_u64(detection->memory, ref.vaddr + module->bias, &object) || !object)
		return false;
	*address_ret = object + ref.offset;
	return true;
}

/* 2.7 and 3.6, nothing else being known: the interpreter of the thread that holds the GIL. */
static bool find_current_interp(struct memory *memory, struct candidate *candidate)
{
	struct py_runtime *runtime = &candidate->runtime;
	for (int i = 0; i < 1000; i++) {
		uint64_t tstate, interp;
		if (!memory_read_u64(memory, runtime->current_address, &tstate) || !tstate ||
		    !memory_read_u64(memory, tstate + runtime->layout.tstate_interp, &interp))
			continue;
		runtime->main_interp = interp;
		return true;
	}
	return false;
}

/* Sets the place of the head, by symbol or code or, in the end, by searching. False if there is
 * none (yet). */
static bool find_head(const struct detection *detection, struct candidate *candidate)
{
	struct py_runtime *runtime = &candidate->runtime;
	struct image_symbol symbol;
	if (runtime->runtime_address)
		return true;
	if (decode_head(detection, candidate, &runtime->interp_head)) {
		runtime->found_by = "code of PyInterpreterState_Head";
	} else if (image_symbol(candidate->module->image, "interp_head", &symbol)) {
		runtime->interp_head = symbol.vaddr + candidate->module->bias;
		runtime->found_by = "symbol interp_head";
	} else if (scan_interp_head(detection->memory, candidate->module,
				    modules_maps(detection->modules), &runtime->layout,
				    &runtime->interp_head)) {
		runtime->found_by = "search for an interpreter in its data";
	} else if (runtime->current_address && find_current_interp(detection->memory, candidate)) {
		runtime->found_by = "symbol _PyThreadState_Current";
		return true;
	} else {
		return false;
	}
	if (runtime->layout.runtime_interpreters_head != PY_ABSENT)
		runtime->runtime_address =
			runtime->interp_head - runtime->layout.runtime_interpreters_head;
	return true;
}

/* ---- a candidate from end to end ---- */

static void note_asleep(struct detection *detection, const struct candidate *candidate)
{
	if (!detection->asleep[0])
		snprintf(detection->asleep, sizeof(detection->asleep), "%s holds CPython %s%s",
			 candidate->module->path, candidate->runtime.version_text,
			 candidate->runtime.version_text[0] ? "" : "of unknown version");
}

static struct error *take(struct detection *detection, struct candidate *candidate)
{
	vec_foreach (runtime, &detection->runtimes) {
		if (runtime->main_interp == candidate->runtime.main_interp)
			return NULL;
	}
	struct py_runtime *slot = runtime_vec_append(&detection->runtimes);
	if (!slot)
		return error_no_memory();
	*slot = candidate->runtime;
	return NULL;
}

/* With the kind of build that @candidate says; it is changed only if that one is alive. */
static bool try_variant(struct detection *detection, struct candidate *candidate)
{
	struct candidate tried = *candidate;
	struct error *err = select_layout(detection, &tried, &tried.runtime.layout);
	if (err) {
		if (detection->refused)
			error_destroy(err);
		else
			detection->refused = error_prefix(err, "%s", tried.module->path);
		return false;
	}
	if (!find_head(detection, &tried) || !is_alive(detection->memory, &tried))
		return false;
	*candidate = tried;
	return true;
}

/* Symbols tell a debug build; without them each variant is tried, the usual one first. */
static bool try_variants(struct detection *detection, struct candidate *candidate)
{
	struct py_runtime *runtime = &candidate->runtime;
	uint64_t address;
	bool has_types = find_type_type(detection->memory, candidate);
	/* Only builds that count references (Py_REF_DEBUG, set by Py_DEBUG) have it: 2.7 to 3.15.
	 */
	runtime->debug_build = lookup(candidate, "_Py_NegativeRefcount", &address);
	if (try_variant(detection, candidate))
		return true;
	if (has_types || runtime->debug_build)
		return false;
	for (uint32_t extra = 0; extra <= 16; extra += 16) {
		runtime->debug_build = true;
		runtime->ob_head_extra = extra;
		if (try_variant(detection, candidate))
			return true;
	}
	return false;
}

/* The runtime's address by symbol or section; 0 where there is none to be had. */
static void find_runtime_address(struct candidate *candidate)
{
	struct py_runtime *runtime = &candidate->runtime;
	struct image_section section;
	if (lookup(candidate, "_PyRuntime", &runtime->runtime_address)) {
		runtime->found_by = "symbol _PyRuntime";
	} else if (image_section(candidate->module->image, ".PyRuntime", &section)) {
		runtime->runtime_address = section.vaddr + candidate->module->bias;
		runtime->found_by = "section .PyRuntime";
	}
	if (!lookup(candidate, "_PyThreadState_Current", &runtime->current_address))
		runtime->current_address = 0;
}

static struct candidate make_candidate(struct module *module, bool deep)
{
	struct candidate candidate = { .module = module, .deep = deep };
	candidate.runtime.module = module;
	candidate.runtime.bias = module->bias;
	candidate.runtime.machine = image_machine(module->image);
	return candidate;
}

/*
 * An executable that is linked at a fixed address and refers to _PyRuntime has a copy of it, and
 * the library uses the copy: the same symbol of the same size in a module that has no interpreter.
 */
static bool use_copy(const struct detection *detection, struct candidate *candidate)
{
	struct image_symbol own, copy, other;
	if (!image_dynamic_symbol(candidate->module->image, "_PyRuntime", &own))
		return false;
	for (size_t i = 0; i < modules_count(detection->modules); i++) {
		struct module *module = modules_get(detection->modules, i);
		const struct image *image = module_image(detection->modules, module);
		if (module == candidate->module || !image ||
		    !image_dynamic_symbol(image, "_PyRuntime", &copy) || copy.size != own.size ||
		    image_dynamic_symbol(image, "Py_GetVersion", &other))
			continue;
		candidate->runtime.runtime_address = copy.vaddr + module->bias;
		candidate->runtime.found_by = "copy of _PyRuntime in the executable";
		return true;
	}
	return false;
}

/* A module that exports a part of the C API, or has the section of 3.10 and later. */
static struct error *examine_exported(struct detection *detection, struct module *module)
{
	struct candidate candidate = make_candidate(module, false);
	find_runtime_address(&candidate);
	if (!find_version(detection, &candidate)) {
		note_asleep(detection, &candidate);
		return NULL;
	}
	if (try_variants(detection, &candidate) ||
	    (use_copy(detection, &candidate) && try_variants(detection, &candidate)))
		return take(detection, &candidate);
	note_asleep(detection, &candidate);
	return NULL;
}

/* A module that exports nothing but has the traces of a runtime in its data. */
static struct error *examine_hidden(struct detection *detection, struct module *module)
{
	struct candidate candidate = make_candidate(module, true);
	struct py_runtime *runtime = &candidate.runtime;
	if (scan_debug_offsets(detection->memory, module, &runtime->runtime_address,
			       &runtime->version)) {
		runtime->found_by = "debug offsets in its data";
		find_version(detection, &candidate);
	} else if (scan_version_text(detection->memory, module, &runtime->version,
				     runtime->version_text)) {
		runtime->version_source = "version text";
		find_runtime_address(&candidate);
	} else {
		return NULL;
	}
	if (try_variants(detection, &candidate))
		return take(detection, &candidate);
	note_asleep(detection, &candidate);
	return NULL;
}

typedef struct error *examine_fn(struct detection *detection, struct module *module);

static struct error *examine_all(struct detection *detection, bool exports, examine_fn *examine)
{
	for (size_t i = 0; i < modules_count(detection->modules); i++) {
		struct module *module = modules_get(detection->modules, i);
		struct image *image = module_image(detection->modules, module);
		if (!image || exports_python(image) != exports)
			continue;
		struct error *err = examine(detection, module);
		if (err)
			return err;
	}
	return NULL;
}

/* ---- the answer ---- */

static struct error *not_found(struct detection *detection)
{
	if (detection->refused) {
		struct error *err = detection->refused;
		detection->refused = NULL;
		return err;
	}
	if (detection->asleep[0]) {
		struct error *err = error_create(ERROR_NOT_PYTHON, "%s, which is not initialised",
						 detection->asleep);
		if (err->code == ERROR_NOT_PYTHON)
			err->errnum = EAGAIN;
		return err;
	}
	struct module *first =
		modules_count(detection->modules) ? modules_get(detection->modules, 0) : NULL;
	if (first && first->error && first->error->code == ERROR_UNSUPPORTED)
		return error_create(ERROR_UNSUPPORTED, "%s", first->error->message);
	return error_create(ERROR_NOT_PYTHON, "there is no CPython in this process");
}

static void sort_by_threads(struct detection *detection)
{
	struct runtime_vec *runtimes = &detection->runtimes;
	size_t best = 0, best_count = 0;
	for (size_t i = 0; i < runtimes->count; i++) {
		const struct py_runtime *runtime = &runtimes->items[i];
		size_t count = 0;
		uint64_t main_interp;
		uint64_t interp = detect_first_interp(detection->memory, runtime);
		if (!alive_count(detection->memory, &runtime->layout, interp, &count,
				 &main_interp) ||
		    count <= best_count)
			continue;
		best = i;
		best_count = count;
	}
	if (!best)
		return;
	struct py_runtime first = runtimes->items[0];
	runtimes->items[0] = runtimes->items[best];
	runtimes->items[best] = first;
}

struct error *detect_runtimes(struct modules *modules, struct memory *memory,
			      struct py_runtime **runtimes_ret, size_t *count_ret)
{
	struct detection detection = { .modules = modules, .memory = memory };
	struct error *err = examine_all(&detection, true, examine_exported);
	if (!err && !detection.runtimes.count)
		err = examine_all(&detection, false, examine_hidden);
	if (!err && !detection.runtimes.count)
		err = not_found(&detection);
	error_destroy(detection.refused);
	if (err) {
		runtime_vec_deinit(&detection.runtimes);
		return err;
	}
	sort_by_threads(&detection);
	*runtimes_ret = detection.runtimes.items;
	*count_ret = detection.runtimes.count;
	return NULL;
}
