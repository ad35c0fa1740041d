/* SPDX-License-Identifier: MIT */
/* leaf_x86_64.h: flow.h's exit_of_leaf for x86-64. */
#pragma once

#include "arch/flow.h"

bool leaf_x86_64_exit(const uint8_t *code, size_t size, size_t at, struct flow_exit *exit_ret);
