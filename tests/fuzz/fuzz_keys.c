/* SPDX-License-Identifier: MIT */
/* fuzz_keys.c: the body of PyGILState_GetThisThreadState, or of PyInterpreterState_Head, of any interpreter. */
#include <elf.h>
#include <stdint.h>

#include "arch/decode.h"
#include "base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		const struct decoder *decoder = decoder_by_machine(machines[i]);
		struct key_ref key;
		struct head_ref head;
		if (!decoder)
			__builtin_trap();
		error_destroy(decoder->decode_key(data, size, 0x401000, &key));
		error_destroy(decoder->decode_interp_head(data, size, 0x401000, &head));
		decoder->is_tail_call(data, size);
		if (decoder->tls_resolver)
			decoder->tls_resolver(data, size);
	}
	return 0;
}
