/* SPDX-License-Identifier: MIT */
/* window.h: the stretch of time that a profile which is handed over is about. */
#pragma once

#include <stdint.h>

struct push_window {
	uint64_t start_unix_ns; /* of the wall clock, for the server: nothing is measured with it */
	uint64_t duration_ns;
	uint8_t id[16]; /* random */
};
