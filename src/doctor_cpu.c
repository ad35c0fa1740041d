/* SPDX-License-Identifier: MIT */
/* doctor_cpu.c: how a target protects its control flow. */
#include "doctor_cpu.h"

#include <inttypes.h>

#include "arch/arch.h"
#include "base/strbuf.h"
#include "snapshot/capture.h"

/* "IA, IB": the names of the bits that are set; bits without a name are shown as a number. */
static void add_names(struct strbuf *text, uint64_t bits, const char *const *names)
{
	for (unsigned bit = 0; names[bit]; bit++) {
		if (bits >> bit & 1)
			strbuf_addf(text, "%s%s", text->length ? ", " : "", names[bit]);
		bits &= ~(UINT64_C(1) << bit);
	}
	if (bits)
		strbuf_addf(text, "%s%#" PRIx64, text->length ? ", " : "", bits);
	if (!text->length)
		strbuf_adds(text, "none");
}

void doctor_signing(struct report *report, pid_t tid, struct stopper *stopper)
{
	const struct arch *arch = arch_host();
	struct capture capture = { .stopper = stopper, .arch = arch };
	struct capture_signing signing;
	_cleanup_strbuf_ struct strbuf keys = { 0 };
	if (!arch->code_mask.note)
		return;
	enum reason reason = capture_signing(&capture, tid, &signing);
	if (reason) {
		report_add(report, FINDING_NOTE, "signed addresses", "not known: %s",
			   reason_text(reason));
		return;
	}
	if (!signing.signs) {
		report_add(report, FINDING_NOTE, "signed addresses",
			   "no: this CPU or kernel has no pointer authentication");
		return;
	}
	add_names(&keys, signing.keys, arch->key_names);
	report_add(report, FINDING_NOTE, "signed addresses",
		   "keys in use: %s; the signature has %d bits (%#" PRIx64 ")",
		   keys.text ? keys.text : "?", __builtin_popcountll(signing.code_mask),
		   signing.code_mask);
}

void doctor_features(struct report *report, const struct image *image)
{
	const struct arch *arch = arch_by_machine(image_machine(image));
	_cleanup_strbuf_ struct strbuf names = { 0 };
	uint32_t bits;
	if (!arch)
		return;
	if (!image_property(image, arch->feature_property, &bits)) {
		report_add(report, FINDING_NOTE, "protection", "the file has no note of it");
		return;
	}
	add_names(&names, bits, arch->feature_names);
	report_add(report, FINDING_NOTE, "protection", "the file's note says %s",
		   names.text ? names.text : "?");
}
