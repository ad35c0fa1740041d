/* SPDX-License-Identifier: MIT */
/* reason.c: names and texts of reasons. */
#include "base/reason.h"

#include <stddef.h>

static const struct {
	const char *name;
	const char *text;
} reasons[] = {
#define REASON(id, name_, value, text_) [value] = { name_, text_ },
#include "base/reason.def"
#undef REASON
};

const char *reason_name(enum reason reason)
{
	if ((size_t)reason >= sizeof(reasons) / sizeof(reasons[0]) || !reasons[reason].name)
		return "unknown";
	return reasons[reason].name;
}

const char *reason_text(enum reason reason)
{
	if ((size_t)reason >= sizeof(reasons) / sizeof(reasons[0]) || !reasons[reason].text)
		return "unknown reason";
	return reasons[reason].text;
}
