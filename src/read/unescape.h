/* SPDX-License-Identifier: MIT */
/* unescape.h: takes back what text_escape of write/text.h did. */
#pragma once

#include <stddef.h>

#include "base/strbuf.h"

/* Appends @size bytes of @text with \xHH turned into bytes. \x00 stays as it is: no text of ours has a NUL. */
void unescape_add(struct strbuf *buf, const char *text, size_t size);
