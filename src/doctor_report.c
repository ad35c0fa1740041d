/* SPDX-License-Identifier: MIT */
/* doctor_report.c: doctor's findings and how they are printed. */
#include "doctor_report.h"

#include <jansson.h>
#include <string.h>

static const char *const level_names[] = {
	[FINDING_OK] = "ok",
	[FINDING_NOTE] = "note",
	[FINDING_NO] = "no",
};

void report_deinit(struct report *report)
{
	vec_foreach (finding, &report->findings) {
		strbuf_deinit(&finding->text);
		strbuf_deinit(&finding->advice);
	}
	finding_vec_deinit(&report->findings);
}

/* Names and labels are the target's: no control character of theirs reaches a terminal. */
static void add_formatted(struct strbuf *buf, const char *format, va_list ap)
{
	_cleanup_free_ char *text = NULL;
	if (vasprintf(&text, format, ap) < 0) {
		text = NULL;
		buf->failed = true;
		return;
	}
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	strbuf_adds(buf, text);
}

struct finding *report_add(struct report *report, enum finding_level level, const char *what,
			   const char *format, ...)
{
	static struct finding scratch;
	struct finding *finding = finding_vec_append(&report->findings);
	if (!finding) {
		report->failed = true;
		scratch = (struct finding){ .advice.failed = true };
		return &scratch;
	}
	finding->level = level;
	finding->section = report->section;
	finding->what = what;
	va_list ap;
	va_start(ap, format);
	add_formatted(&finding->text, format, ap);
	va_end(ap);
	report->failed = report->failed || finding->text.failed;
	return finding;
}

void finding_advise(struct finding *finding, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	add_formatted(&finding->advice, format, ap);
	va_end(ap);
}

enum finding_level report_worst(const struct report *report, const char *section)
{
	enum finding_level worst = FINDING_OK;
	vec_foreach (finding, &report->findings) {
		bool counts = !section || strcmp(section, finding->section) == 0;
		if (counts && finding->level > worst)
			worst = finding->level;
	}
	return worst;
}

void report_print_text(const struct report *report, pid_t pid, bool can_sample, FILE *out)
{
	const char *section = NULL;
	vec_foreach (finding, &report->findings) {
		if (finding->section != section)
			fprintf(out, "%s%s:\n", section ? "\n" : "", finding->section);
		section = finding->section;
		fprintf(out, "  %-4s  %-16s  %s\n", level_names[finding->level], finding->what,
			finding->text.text ? finding->text.text : "");
		if (finding->advice.length)
			fprintf(out, "        %-16s  to do: %s\n", "", finding->advice.text);
	}
	if (pid)
		fprintf(out, "\nprocess %d %s be sampled\n", (int)pid,
			can_sample ? "can" : "cannot");
	else
		fprintf(out, "\n%s\n",
			can_sample ? "processes can be sampled here"
				   : "something is in the way of sampling here");
}

/* Names and labels of the target may be no UTF-8: then the bytes are shown as U+FFFD. */
static json_t *json_text(const struct strbuf *buf)
{
	if (!buf->length)
		return json_string("");
	json_t *value = json_string(buf->text);
	if (value)
		return value;
	_cleanup_strbuf_ struct strbuf safe = { 0 };
	for (const char *p = buf->text; *p; p++) {
		if ((unsigned char)*p < 0x80)
			strbuf_addc(&safe, *p);
		else
			strbuf_add_codepoint(&safe, 0xfffd);
	}
	return safe.failed ? NULL : json_string(safe.text);
}

static json_t *json_finding(const struct finding *finding)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "section", finding->section, "what",
			 finding->what, "level", level_names[finding->level], "text",
			 json_text(&finding->text), "advice",
			 finding->advice.length ? json_text(&finding->advice) : json_null());
}

struct error *report_print_json(const struct report *report, pid_t pid, bool can_sample, FILE *out)
{
	json_t *findings = json_array();
	bool failed = !findings;
	vec_foreach (finding, &report->findings)
		failed = json_array_append_new(findings, json_finding(finding)) || failed;
	json_t *root = json_pack("{s:s, s:o, s:b, s:o}", "schema", "pysample-doctor/1", "pid",
				 pid ? json_integer(pid) : json_null(), "can_sample", can_sample,
				 "findings", findings);
	failed =
		failed || !root || json_dumpf(root, out, JSON_INDENT(2)) || fputc('\n', out) == EOF;
	json_decref(root);
	return failed ? error_create(ERROR_OTHER, "cannot write the report") : NULL;
}
