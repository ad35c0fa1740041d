/* SPDX-License-Identifier: MIT */
/* sampler_save.c: the last sample → a capsule. */
#include "native_capsule.h"
#include "sampler.h"
#include "snapshot/capsule.h"

struct error *sampler_save(struct sampler *sampler, const struct thread *thread,
			   const struct sample *sample, const struct debuginfo_places *places,
			   const char *path)
{
	const struct py_runtime *py = sample->runtime ? &sample->runtime->py : NULL;
	struct capsule_python python = { 0 };
	if (py)
		python = (struct capsule_python){
			.version = py->version,
			.debug_build = py->debug_build,
			.ob_head_extra = py->ob_head_extra,
			.runtime_address = py->runtime_address,
			.code_type = py->code_type,
			.current_address = py->current_address,
			.tstate = sample->tstate,
		};
	struct capsule_code code = { 0 };
	bool has_code = sample->native_count && !sampler->crosscheck, ok = true;
	if (has_code)
		ok = native_capsule_save(sampler->native, places, &sampler->snapshot, &code);
	struct error *err = !ok ? error_no_memory()
				: capsule_save(path, sampler->subject->arch->elf_machine,
					       thread->name, py ? &python : NULL,
					       has_code ? &code : NULL, &sampler->snapshot);
	capsule_code_deinit(&code);
	return err;
}
