/* SPDX-License-Identifier: MIT */
/*
 * option_value.h: the text after an option → its value.
 *
 * ERROR_USAGE says what is wrong with the text, in one line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "aggregate/profile.h"
#include "aggregate/symbolize.h"
#include "base/error.h"
#include "write/writer.h"

/* "30s", "500ms", "2m", "1h", "30": plain numbers are seconds. More than zero, at most a year. */
struct error *option_value_duration(const char *text, uint64_t *ns_ret);
/* "100", "100Hz" */
struct error *option_value_rate(const char *text, double *rate_ret);
/* "1%", "0.5": of a hundred; the result is of one. */
struct error *option_value_share(const char *text, double *share_ret);
/* A number greater than 0; @what it is the id of is for the message. */
struct error *option_value_id(const char *what, const char *text, pid_t *id_ret);
/* A number greater than 0; @what it is a number of is for the message. */
struct error *option_value_count(const char *what, const char *text, uint64_t *count_ret);
struct error *option_value_mode(const char *text, enum profile_mode *mode_ret);
struct error *option_value_weights(const char *text, enum writer_weights *weights_ret);
/* @text may be NULL: the default stays. */
struct error *option_value_native(const char *text, enum symbolize_mode *mode_ret);
struct error *option_value_unwinder(const char *text, bool *libunwind_ret);
struct error *option_value_every(const char *text, unsigned *every_ret);
/* A number of lines, 0 included. */
struct error *option_value_lines(const char *text, unsigned *lines_ret);
