/* SPDX-License-Identifier: MIT */
/*
 * Line tables. Input: a byte for the kind, 4 for the first line, 4 for the instruction (signed),
 * the table.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "python/lines.h"

#define UNTOUCHED 0xdeadbeef

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t firstlineno, line = UNTOUCHED;
	int32_t lasti;
	if (size < 9)
		return 0;
	enum py_line_kind kind = (enum py_line_kind)(data[0] % (PY_LINES_LOCATIONS + 1));
	memcpy(&firstlineno, data + 1, sizeof(firstlineno));
	memcpy(&lasti, data + 5, sizeof(lasti));
	enum reason reason = lines_find(kind, data + 9, size - 9, firstlineno, lasti, &line);
	if (reason == REASON_OK ? line > INT32_MAX : line != UNTOUCHED)
		abort();
	return 0;
}
