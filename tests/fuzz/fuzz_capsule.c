/* SPDX-License-Identifier: MIT */
/* fuzz_capsule.c: a capsule file, and all that a replay does with it: layouts, debug offsets, frames, code objects, text. */
#include <stdint.h>

#include "base/strbuf.h"
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_capsule_ struct capsule capsule;
	capsule_init(&capsule);
	_cleanup_error_ struct error *err =
		capsule_parse((const char *)data, size, "input", &capsule);
	if (err)
		return 0;
	_cleanup_strbuf_ struct strbuf text = { 0 };
	error_destroy(replay_capsule(&capsule, &text));
	return 0;
}
