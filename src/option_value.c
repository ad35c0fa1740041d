/* SPDX-License-Identifier: MIT */
/* option_value.c: the text after an option → its value. */
#include "option_value.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "options.h"

#define DURATION_MAX_NS (UINT64_C(366) * 24 * 3600 * NS_PER_S)

/* A decimal number with a fraction at most, and what follows it. */
static bool parse_number(const char *text, double *value_ret, const char **rest_ret)
{
	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	size_t length = strspn(text, "0123456789.");
	char number[64];
	if (length >= sizeof(number))
		return false;
	memcpy(number, text, length);
	number[length] = '\0';
	char *end;
	*value_ret = strtod(number, &end);
	*rest_ret = text + length;
	return !*end && end != number && isfinite(*value_ret);
}

struct error *option_value_duration(const char *text, uint64_t *ns_ret)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = {
		{ "", 1e9 },   { "s", 1e9 },  { "ms", 1e6 },
		{ "us", 1e3 }, { "m", 60e9 }, { "h", 3600e9 },
	};
	double value;
	const char *rest;
	if (parse_number(text, &value, &rest)) {
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
			if (strcmp(rest, units[i].suffix))
				continue;
			double ns = value * units[i].ns;
			if (!(ns >= 1))
				return error_create(ERROR_USAGE,
						    "the duration %s is not more than zero", text);
			if (ns > (double)DURATION_MAX_NS)
				return error_create(ERROR_USAGE,
						    "the duration %s is longer than a year", text);
			*ns_ret = (uint64_t)ns;
			return NULL;
		}
	}
	return error_create(ERROR_USAGE, "%s is not a duration: give one like 30s, 500ms, 2m or 1h",
			    text);
}

struct error *option_value_rate(const char *text, double *rate_ret)
{
	double rate;
	const char *rest;
	if (!parse_number(text, &rate, &rest) || (*rest && strcasecmp(rest, "hz")))
		return error_create(ERROR_USAGE, "%s is not a rate: give samples a second", text);
	if (rate < 0.01 || rate > RATE_MAX)
		return error_create(ERROR_USAGE, "the rate %s is not between 0.01 and %d Hz", text,
				    RATE_MAX);
	*rate_ret = rate;
	return NULL;
}

struct error *option_value_share(const char *text, double *share_ret)
{
	double percent;
	const char *rest;
	if (!parse_number(text, &percent, &rest) || (*rest && strcmp(rest, "%")))
		return error_create(ERROR_USAGE, "%s is not a share: give one like 1%%", text);
	if (percent < 0.001 || percent > 100)
		return error_create(ERROR_USAGE, "the share %s is not between 0.001 and 100 %%",
				    text);
	*share_ret = percent / 100;
	return NULL;
}

struct error *option_value_id(const char *what, const char *text, pid_t *id_ret)
{
	char *end;
	errno = 0;
	long value = isdigit((unsigned char)text[0]) ? strtol(text, &end, 10) : 0;
	if (value <= 0 || value > INT_MAX || errno || *end)
		return error_create(ERROR_USAGE, "%s is not a %s id", text, what);
	*id_ret = (pid_t)value;
	return NULL;
}

struct error *option_value_count(const char *what, const char *text, uint64_t *count_ret)
{
	char *end;
	errno = 0;
	unsigned long long value = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
	if (!value || errno || *end)
		return error_create(ERROR_USAGE, "%s is not a number of %s", text, what);
	*count_ret = value;
	return NULL;
}

struct error *option_value_mode(const char *text, enum profile_mode *mode_ret)
{
	static const enum profile_mode modes[] = { PROFILE_WALL, PROFILE_CPU, PROFILE_OFFCPU,
						   PROFILE_GIL_ONLY };
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(text, profile_mode_name(modes[i])))
			continue;
		*mode_ret = modes[i];
		return NULL;
	}
	return error_create(ERROR_USAGE, "there is no mode %s: wall, cpu, offcpu and gil are known",
			    text);
}

struct error *option_value_weights(const char *text, enum writer_weights *weights_ret)
{
	if (!strcmp(text, "samples"))
		*weights_ret = WRITER_SAMPLES;
	else if (!strcmp(text, "ns"))
		*weights_ret = WRITER_NS;
	else
		return error_create(ERROR_USAGE,
				    "there is no weight unit %s: samples and ns are known", text);
	return NULL;
}

struct error *option_value_native(const char *text, enum symbolize_mode *mode_ret)
{
	static const char *const names[] = {
		[SYMBOLIZE_FOLD] = "fold",
		[SYMBOLIZE_FULL] = "full",
		[SYMBOLIZE_LEAF] = "leaf",
	};
	for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]))
			continue;
		*mode_ret = (enum symbolize_mode)i;
		return NULL;
	}
	return text ? error_create(ERROR_USAGE,
				   "there is no way %s to show native frames: fold, full and leaf "
				   "are known",
				   text)
		    : NULL;
}

struct error *option_value_unwinder(const char *text, bool *libunwind_ret)
{
	*libunwind_ret = !strcmp(text, "libunwind");
	if (!*libunwind_ret && strcmp(text, "table"))
		return error_create(ERROR_USAGE,
				    "there is no unwinder %s: table and libunwind are known", text);
	return NULL;
}

struct error *option_value_every(const char *text, unsigned *every_ret)
{
	char *end;
	unsigned long value = isdigit((unsigned char)text[0]) ? strtoul(text, &end, 10) : 0;
	if (!value || value > UINT_MAX || *end)
		return error_create(ERROR_USAGE, "%s is not a count for --capsule-every", text);
	*every_ret = (unsigned)value;
	return NULL;
}

struct error *option_value_lines(const char *text, unsigned *lines_ret)
{
	char *end = NULL;
	unsigned long value = isdigit((unsigned char)text[0]) ? strtoul(text, &end, 10) : 0;
	if (!end || value > UINT_MAX || *end)
		return error_create(ERROR_USAGE, "%s is not a number of lines", text);
	*lines_ret = (unsigned)value;
	return NULL;
}
