/* SPDX-License-Identifier: MIT */
/* clock.h: monotonic time in nanoseconds. The wall clock is never used for measuring. */
#pragma once

#include <stdint.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

/* CLOCK_MONOTONIC now. */
uint64_t clock_now_ns(void);
