/* SPDX-License-Identifier: MIT */
/*
 * demangle.h: names of C++ and Rust functions as they were written, by libiberty.
 *
 * Without argument and return types; Rust's hash ("::h0123456789abcdef") is left out. A name from a
 * hostile file can stand for a text that grows exponentially with it: name, text and recursion are
 * bounded, and a name beyond that stays as it is.
 */
#pragma once

#include <stdbool.h>

/* The caller frees it. NULL if @name is not mangled, is beyond the bounds, or memory is short. */
char *demangle(const char *name);
/* False if this program was built without libiberty: nothing is demangled then. */
bool demangle_is_available(void);
