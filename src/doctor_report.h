/* SPDX-License-Identifier: MIT */
/* doctor_report.h: what doctor found, a line each, as text or JSON. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum finding_level {
	FINDING_OK,
	FINDING_NOTE, /* worth knowing, in nobody's way */
	FINDING_NO,   /* in the way */
};

struct finding {
	enum finding_level level;
	const char *section; /* "system", "target", "python"; static */
	const char *what;    /* "attach", "Yama", …; static */
	struct strbuf text;
	struct strbuf advice; /* empty: nothing to do */
};

DEFINE_VEC(struct finding_vec, finding_vec, struct finding)

struct report {
	struct finding_vec findings;
	const char *section; /* of what is added next */
	bool failed;         /* out of memory */
};

/* A zeroed report is an empty one. */
void report_deinit(struct report *report);
static inline void report_cleanup(struct report *report)
{
	report_deinit(report);
}
#define _cleanup_report_ _cleanup_(report_cleanup)

/* Adds a finding and returns it for its advice to be set; never NULL (without memory a scratch one
 * is returned). */
struct finding *report_add(struct report *report, enum finding_level level, const char *what,
			   const char *format, ...) __attribute__((format(printf, 4, 5)));
void finding_advise(struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The worst level of a section; NULL: of all. */
enum finding_level report_worst(const struct report *report, const char *section);

/* Ends with a line that says whether @pid (0: anything here) can be sampled. */
void report_print_text(const struct report *report, pid_t pid, bool can_sample, FILE *out);
/*
 * {"schema": "pysample-doctor/1", "pid": 42 or null, "can_sample": true, "findings": [{"section",
 * "what", "level": "ok", "note" or "no", "text", "advice": text or null}]}
 */
struct error *report_print_json(const struct report *report, pid_t pid, bool can_sample, FILE *out);
