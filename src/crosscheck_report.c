/* SPDX-License-Identifier: MIT */
/* crosscheck_report.c: where two walks differ, grouped, and the text about it. */
#include "crosscheck_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "image/function_name.h"
#include "unwind/cfi_text.h"
#include "write/text.h"

/* More different places than this are counted by kind alone. */
#define FINDINGS_MAX 500

static const char *const kind_texts[] = {
	[AGREEMENT_FULL] = "the same frames, of which pysample says that the outermost are missing",
	[AGREEMENT_PC] = "the caller is another one",
	[AGREEMENT_SP] = "the caller is the same, its stack pointer is not",
	[AGREEMENT_FIRST_ENDS] = "pysample ends, libunwind goes on",
	[AGREEMENT_SECOND_ENDS] = "libunwind ends, pysample goes on",
	[AGREEMENT_FP] = "the same frames, of which one has another frame pointer",
};

void crosscheck_report_deinit(struct crosscheck_report *report)
{
	vec_foreach (finding, &report->findings) {
		free(finding->module);
		free(finding->text);
	}
	findings_vec_deinit(&report->findings);
}

static char *name_of(const struct code_place *place, uint64_t address)
{
	if (place->kind == CODE_GENERATED)
		return strdup(place->range->name);
	_cleanup_symbolizer_ struct symbolizer *symbolizer = NULL;
	if (!place->image)
		return NULL;
	_cleanup_error_ struct error *err =
		symbolizer_create(place->image, code_place_path(place), NULL, &symbolizer);
	return err ? NULL : function_name(symbolizer, place->image, address - place->bias);
}

/* "7f… FUNCTION (MODULE+0x…) sp 7f…" */
static void add_frame(struct native *native, const struct native_frame *frame, struct strbuf *text)
{
	const struct code_place *place = code_map_find(native->map, frame->address);
	_cleanup_free_ char *name = name_of(place, frame->address);
	strbuf_addf(text, "%" PRIx64 " ", frame->pc);
	text_escape(text, name ? name : "?", TEXT_LINE, NULL);
	strbuf_adds(text, " (");
	text_escape(text, code_place_path(place), TEXT_LINE, NULL);
	strbuf_addf(text, "+%#" PRIx64 ") sp %" PRIx64, frame->pc - place->bias, frame->sp);
}

static void add_our_rule(struct native *native, const struct native_frame *callee,
			 struct strbuf *text)
{
	const struct code_place *place = code_map_find(native->map, callee->address);
	if (place->row)
		cfi_text_row(place->table, place->row, text);
	else
		strbuf_addf(text, "frame pointer (%s)", reason_name(place->reason));
}

/* What libunwind did, in the same words; it does not tell its rules. */
static void add_their_rule(const struct crosscheck_pair *pair, size_t caller, struct strbuf *text)
{
	if (caller >= pair->theirs->count) {
		strbuf_adds(text, "none");
		return;
	}
	const struct crosscheck_place *place = &pair->places->items[caller];
	uint64_t cfa = pair->theirs->items[caller].sp;
	strbuf_addf(text, "cfa=sp%+" PRId64, (int64_t)(cfa - pair->theirs->items[caller - 1].sp));
	if (place->pc_at)
		strbuf_addf(text, " pc=[cfa%+" PRId64 "]", (int64_t)(place->pc_at - cfa));
	if (place->fp_at)
		strbuf_addf(text, " fp=[cfa%+" PRId64 "]", (int64_t)(place->fp_at - cfa));
}

static void add_caller(struct native *native, const struct native_frames *frames, size_t caller,
		       enum reason end, struct strbuf *text)
{
	strbuf_adds(text, " -> ");
	if (caller < frames->count)
		add_frame(native, &frames->items[caller], text);
	else
		strbuf_addf(text, "end (%s)", reason_name(end));
	strbuf_addc(text, '\n');
}

static void add_fps(const struct crosscheck_pair *pair, size_t at, struct strbuf *text)
{
	strbuf_addf(text,
		    "    in the caller, the frame pointer is %" PRIx64 " for pysample, %" PRIx64
		    " for libunwind\n",
		    pair->ours->items[at].fp, pair->theirs->items[at].fp);
}

static char *describe(struct native *native, const struct crosscheck_pair *pair,
		      enum agreement_kind kind, size_t at)
{
	struct strbuf text = { 0 };
	const struct native_frame *callee = &pair->ours->items[at - 1];
	strbuf_addf(&text, "    frame %zu  ", at - 1);
	add_frame(native, callee, &text);
	strbuf_adds(&text, "\n    pysample  ");
	add_our_rule(native, callee, &text);
	add_caller(native, pair->ours, at, pair->our_end, &text);
	strbuf_adds(&text, "    libunwind ");
	add_their_rule(pair, at, &text);
	add_caller(native, pair->theirs, at, pair->their_end, &text);
	if (kind == AGREEMENT_FP)
		add_fps(pair, at, &text);
	return strbuf_steal(&text);
}

static struct finding *find(struct findings *findings, const struct finding *like)
{
	vec_foreach (finding, findings)
		if (finding->kind == like->kind && finding->vaddr == like->vaddr &&
		    !strcmp(finding->module, like->module))
			return finding;
	return NULL;
}

static bool add_finding(struct crosscheck_report *report, struct native *native,
			const struct crosscheck_pair *pair, enum agreement_kind kind, size_t at)
{
	const struct native_frame *callee = &pair->ours->items[at - 1];
	const struct code_place *place = code_map_find(native->map, callee->address);
	_cleanup_free_ char *module = strdup(code_place_path(place));
	if (!module)
		return false;
	struct finding wanted = {
		.kind = kind,
		.pc = callee->pc,
		.vaddr = callee->pc - place->bias,
		.module = module,
	};
	struct finding *finding = find(&report->findings, &wanted);
	if (!finding && report->findings.count < FINDINGS_MAX) {
		wanted.text = describe(native, pair, kind, at);
		finding = wanted.text ? findings_vec_append(&report->findings) : NULL;
		if (!finding) {
			free(wanted.text);
			return false;
		}
		*finding = wanted;
		module = NULL;
	}
	if (finding)
		finding->count++;
	return true;
}

enum guesser {
	GUESSER_NONE,
	GUESSER_PYSAMPLE,
	GUESSER_LIBUNWIND,
};

static enum guesser who_guessed(struct native *native, const struct crosscheck_pair *pair,
				const struct agreement *agreement)
{
	if (agreement->kind == AGREEMENT_FULL || !agreement->at)
		return GUESSER_NONE;
	uint64_t address = pair->ours->items[agreement->at - 1].address;
	if (!code_map_find(native->map, address)->row)
		return GUESSER_PYSAMPLE;
	return pair->they_know ? GUESSER_NONE : GUESSER_LIBUNWIND;
}

static void count(struct crosscheck_counts *counts, const struct crosscheck_pair *pair,
		  const struct agreement *agreement, enum guesser guesser)
{
	size_t others = agreement->compared - agreement->agreed;
	counts->stops++;
	counts->our_guesses += guesser == GUESSER_PYSAMPLE;
	counts->their_guesses += guesser == GUESSER_LIBUNWIND;
	if (guesser)
		counts->guessed_frames += others;
	else
		counts->frames += others;
	counts->frames += agreement->agreed;
	counts->agreed += agreement->agreed;
	counts->fp_compared += agreement->fp_compared;
	counts->fp_agreed += agreement->fp_agreed;
	counts->equal += agreement->kind == AGREEMENT_FULL;
	counts->our_ends[pair->our_end]++;
	counts->their_complete += !pair->their_end;
	counts->kinds[agreement->kind]++;
	counts->kinds[AGREEMENT_FP] += agreement->fp_compared > agreement->fp_agreed;
}

bool crosscheck_report_add(struct crosscheck_report *report, struct native *native,
			   const struct crosscheck_pair *pair)
{
	struct agreement agreement = agreement_of(pair->ours, pair->theirs);
	count(&report->counts, pair, &agreement, who_guessed(native, pair, &agreement));
	bool both_end = agreement.kind == AGREEMENT_FULL && pair->our_end;
	report->counts.both_end += both_end;
	if (agreement.fp_compared > agreement.fp_agreed && agreement.fp_at &&
	    !add_finding(report, native, pair, AGREEMENT_FP, agreement.fp_at))
		return false;
	/* At 0 not even the registers are the same: there is no rule to blame. */
	if ((agreement.kind == AGREEMENT_FULL && !both_end) || !agreement.at)
		return true;
	return add_finding(report, native, pair, agreement.kind, agreement.at);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

double crosscheck_report_percent(const struct crosscheck_report *report)
{
	return percent(report->counts.agreed, report->counts.frames);
}

static void add_counts(const struct crosscheck_report *report, struct strbuf *text)
{
	const struct crosscheck_counts *counts = &report->counts;
	strbuf_addf(text,
		    "frames compared  %" PRIu64 ", the same in both %" PRIu64 " (%.3f %%)\n"
		    "stacks           %" PRIu64 ", the same in both %" PRIu64 " (%.3f %%)\n"
		    "complete         pysample %" PRIu64 ", libunwind %" PRIu64 "\n",
		    counts->frames, counts->agreed, crosscheck_report_percent(report),
		    counts->stops, counts->equal, percent(counts->equal, counts->stops),
		    counts->our_ends[REASON_OK], counts->their_complete);
	strbuf_addf(text,
		    "frame pointers   of the same frames %" PRIu64 " compared, %" PRIu64
		    " differ\n",
		    counts->fp_compared, counts->fp_compared - counts->fp_agreed);
	for (int reason = REASON_OK + 1; reason < REASON_COUNT_; reason++)
		if (counts->our_ends[reason])
			strbuf_addf(text, "                 pysample %" PRIu64 ": %s\n",
				    counts->our_ends[reason], reason_text((enum reason)reason));
	if (counts->our_guesses || counts->their_guesses)
		strbuf_addf(text,
			    "not compared     %" PRIu64
			    " frames outside of code for which no unwind information was"
			    " found by pysample (%" PRIu64 " stacks), libunwind (%" PRIu64 ")\n",
			    counts->guessed_frames, counts->our_guesses, counts->their_guesses);
	if (counts->not_held || counts->cut)
		strbuf_addf(text,
			    "not taken        %" PRIu64 " threads did not stop, %" PRIu64
			    " copies of the stack were too short\n",
			    counts->not_held, counts->cut);
}

static int by_count(const void *a, const void *b)
{
	const struct finding *const *x = a, *const *y = b;
	return ((*x)->count < (*y)->count) - ((*x)->count > (*y)->count);
}

static void add_findings(const struct crosscheck_report *report, enum agreement_kind kind,
			 struct strbuf *text)
{
	size_t count = 0;
	_cleanup_free_ const struct finding **sorted =
		calloc(report->findings.count + 1, sizeof(struct finding *));
	if (!sorted)
		return;
	vec_foreach (finding, &report->findings)
		if (finding->kind == kind)
			sorted[count++] = finding;
	qsort(sorted, count, sizeof(*sorted), by_count);
	for (size_t i = 0; i < count; i++)
		strbuf_addf(text, "  %" PRIu64 " times\n%s", sorted[i]->count, sorted[i]->text);
}

void crosscheck_report_print(const struct crosscheck_report *report, struct strbuf *text)
{
	add_counts(report, text);
	for (int kind = AGREEMENT_FULL; kind < AGREEMENT_KINDS_; kind++) {
		uint64_t stacks = kind == AGREEMENT_FULL ? report->counts.both_end
							 : report->counts.kinds[kind];
		if (!stacks)
			continue;
		strbuf_addf(text, "\n%s: %" PRIu64 " stacks\n", kind_texts[kind], stacks);
		add_findings(report, (enum agreement_kind)kind, text);
	}
}
