/* SPDX-License-Identifier: MIT */
/* svg.c: a flame graph as a picture, for pages that take no more than that. */
#include "write/svg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "write/calltree.h"
#include "write/framekind.h"
#include "write/text.h"

/* Pixels. */
#define WIDTH     1200
#define MARGIN    10
#define ROW       17
#define HEAD      52
#define FOOT      30
#define LETTER    7.2 /* of the font, at 12 pixels */
#define NARROWEST 0.3

struct box {
	uint32_t node;
	uint32_t depth; /* 0: the root */
	double x;
};

DEFINE_VEC(struct boxes, boxes, struct box);

struct svg {
	const struct profile *profile;
	const struct writer_options *options;
	const char **files; /* by string id */
	struct calltree tree;
	struct boxes boxes;
	uint32_t deepest;
	struct strbuf buf;
	FILE *stream;
	bool failed; /* out of memory */
};

static void svg_deinit(struct svg *svg)
{
	free(svg->files);
	calltree_deinit(&svg->tree);
	boxes_deinit(&svg->boxes);
	strbuf_deinit(&svg->buf);
}

static const char *kind_colour(enum frame_kind kind)
{
	/* Okabe and Ito's colours, which differ for all kinds of colour vision. */
	static const char *const colours[FRAME_KINDS] = {
		[FRAME_PYTHON] = "#e69f00",      [FRAME_EXTENSION] = "#56b4e9",
		[FRAME_INTERPRETER] = "#009e73", [FRAME_LIBC] = "#cc79a7",
		[FRAME_KERNEL] = "#8da2b8",      [FRAME_MARKER] = "#c9c2b4",
	};
	return colours[kind];
}

static double pixels(const struct svg *svg, uint64_t weight)
{
	uint64_t all = svg->tree.nodes.items[CALLTREE_ROOT].total;
	return all ? (WIDTH - 2 * MARGIN) * (double)weight / (double)all : 0;
}

/* All nodes that are wide enough, a parent before its children. */
static bool place_boxes(struct svg *svg)
{
	struct box *root = boxes_append(&svg->boxes);
	if (!root)
		return false;
	*root = (struct box){ CALLTREE_ROOT, 0, MARGIN };
	for (size_t i = 0; i < svg->boxes.count; i++) {
		struct box parent = svg->boxes.items[i];
		double x = parent.x;
		if (parent.depth > svg->deepest)
			svg->deepest = parent.depth;
		uint32_t node = svg->tree.nodes.items[parent.node].first;
		for (; node != PROFILE_NONE; node = svg->tree.nodes.items[node].next) {
			double width = pixels(svg, svg->tree.nodes.items[node].total);
			/* Those that follow are not wider. */
			if (width < NARROWEST)
				break;
			struct box *box = boxes_append(&svg->boxes);
			if (!box)
				return false;
			*box = (struct box){ node, parent.depth + 1, x };
			x += width;
		}
	}
	return true;
}

/* U+FFFE and U+FFFF are no characters of XML. */
static bool is_no_character(const char *p)
{
	return (unsigned char)p[0] == 0xef && (unsigned char)p[1] == 0xbf &&
	       ((unsigned char)p[2] & 0xfe) == 0xbe;
}

/* Valid UTF-8 without control characters, as text_escape leaves it, as character data. */
static void write_xml(const char *text, size_t size, FILE *stream)
{
	for (const char *p = text; p < text + size; p++) {
		if (*p == '&')
			fputs("&amp;", stream);
		else if (*p == '<')
			fputs("&lt;", stream);
		else if (*p == '>')
			fputs("&gt;", stream);
		else if (is_no_character(p))
			p += 2;
		else
			putc(*p, stream);
	}
}

/* Writes what is in the buffer, at most @letters characters of it. */
static void take_text(struct svg *svg, size_t letters)
{
	strbuf_add(&svg->buf, "", 0);
	if (svg->buf.failed) {
		svg->failed = true;
		return;
	}
	const char *text = svg->buf.text;
	size_t size = 0, count = 0;
	for (; text[size] && count < letters; count++)
		do
			size++;
		while (((unsigned char)text[size] & 0xc0) == 0x80);
	write_xml(text, size, svg->stream);
	if (text[size])
		fputs("…", svg->stream);
	strbuf_reset(&svg->buf);
}

static bool in_ns(const struct svg *svg)
{
	return svg->options->weights != WRITER_SAMPLES;
}

static void add_weight(struct svg *svg, const char *what, uint64_t weight)
{
	uint64_t all = svg->tree.nodes.items[CALLTREE_ROOT].total;
	double percent = all ? 100 * (double)weight / (double)all : 0;
	if (in_ns(svg))
		strbuf_addf(&svg->buf, "%s %.3f s, %.2f %%", what, (double)weight / 1e9, percent);
	else
		strbuf_addf(&svg->buf, "%s %" PRIu64 " samples, %.2f %%", what, weight, percent);
}

static void add_place(struct svg *svg, uint32_t id)
{
	const struct profile_function *function = &svg->profile->functions.items[id];
	if (function->file == PROFILE_NONE)
		return;
	strbuf_adds(&svg->buf, " (");
	text_escape(&svg->buf, svg->files[function->file], TEXT_LINE, NULL);
	if (function->firstlineno)
		strbuf_addf(&svg->buf, ":%" PRIu32, function->firstlineno);
	strbuf_addc(&svg->buf, ')');
}

static void add_name(struct svg *svg, uint32_t node)
{
	if (node == CALLTREE_ROOT)
		strbuf_adds(&svg->buf, "all");
	else
		calltree_add_name(&svg->tree, svg->tree.nodes.items[node].label, &svg->buf);
}

static void write_box(struct svg *svg, const struct box *box)
{
	const struct calltree_node *node = &svg->tree.nodes.items[box->node];
	FILE *stream = svg->stream;
	uint32_t function = box->node == CALLTREE_ROOT ? PROFILE_NONE
						       : calltree_function(&svg->tree, node->label);
	const char *colour = function == PROFILE_NONE
				     ? "#dfe2e6"
				     : kind_colour(frame_kind(svg->profile, function));

	fputs("<g><title>", stream);
	add_name(svg, box->node);
	if (function != PROFILE_NONE)
		add_place(svg, function);
	add_weight(svg, "\ntotal", node->total);
	add_weight(svg, "; own", node->own);
	take_text(svg, SIZE_MAX);

	double width = pixels(svg, node->total);
	double gap = width > 2 ? 0.5 : 0;
	unsigned y = HEAD + (svg->deepest - box->depth) * ROW;
	fprintf(stream,
		"</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"%s\"/>",
		box->x, y, width - gap, ROW - 1, colour);
	if (width > 3 * LETTER + 4) {
		fprintf(stream, "<text x=\"%.2f\" y=\"%u\">", box->x + 3, y + 12);
		add_name(svg, box->node);
		size_t letters = (size_t)((width - 6) / LETTER);
		/* One less where there is to be a sign that more follows. */
		take_text(svg, svg->buf.length > letters ? letters - 1 : letters);
		fputs("</text>", stream);
	}
	fputs("</g>\n", stream);
}

static void write_title(struct svg *svg)
{
	const struct profile *profile = svg->profile;
	size_t count = profile->processes.count;
	if (count != 1) {
		strbuf_addf(&svg->buf, "%zu processes", count);
		return;
	}
	const struct profile_process *process = &profile->processes.items[0];
	for (size_t at = 0; process->argv.bytes && at < process->argv.size;
	     at += strlen(process->argv.bytes + at) + 1) {
		strbuf_adds(&svg->buf, at ? " " : "");
		text_escape(&svg->buf, process->argv.bytes + at, TEXT_LINE, NULL);
	}
	if (!process->argv.bytes || !process->argv.size)
		text_escape(&svg->buf, profile_process_name(profile, 0), TEXT_LINE, NULL);
}

static void write_head(struct svg *svg, unsigned height)
{
	const struct stats *stats = &svg->profile->stats;
	uint64_t lost = stats_lost(stats), tries = stats->samples + lost;
	FILE *stream = svg->stream;
	fprintf(stream,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\" "
		"font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"12\" "
		"fill=\"#14171b\">\n<title>",
		WIDTH, height, WIDTH, height);
	write_title(svg);
	take_text(svg, SIZE_MAX);
	fprintf(stream,
		"</title>\n<rect width=\"%u\" height=\"%u\" fill=\"#ffffff\"/>\n"
		"<text x=\"%u\" y=\"20\" font-size=\"14\" font-weight=\"bold\">",
		WIDTH, height, MARGIN);
	write_title(svg);
	take_text(svg, (size_t)((WIDTH - 2 * MARGIN) / (LETTER * 14 / 12)) - 1);
	fprintf(stream, "</text>\n<text x=\"%u\" y=\"40\" fill=\"#59636e\">", MARGIN);
	const struct profile_process *process =
		svg->profile->processes.count == 1 ? svg->profile->processes.items : NULL;
	if (process)
		strbuf_addf(&svg->buf, "pid %d, ", (int)process->pid);
	if (process && process->python_version) {
		strbuf_adds(&svg->buf, "Python ");
		text_escape(&svg->buf, process->python_version, TEXT_LINE, NULL);
		strbuf_adds(&svg->buf, ", ");
	}
	strbuf_addf(&svg->buf,
		    "%.1f s at %.1f Hz, %" PRIu64 " samples, %" PRIu64
		    " lost, %.1f %% complete, weights: %s",
		    (double)stats->duration_ns / 1e9, (double)stats_rate_mhz(stats) / 1e3,
		    stats->samples, lost,
		    tries ? 100 * (double)stats->complete / (double)tries : 0.0,
		    in_ns(svg) ? profile_mode_name(svg->profile->facts.mode) : "samples");
	take_text(svg, SIZE_MAX);
	fputs("</text>\n", stream);
}

/* Colours of kinds that the profile has. */
static void write_legend(struct svg *svg, unsigned y)
{
	bool seen[FRAME_KINDS] = { false };
	for (uint32_t i = 0; i < svg->profile->functions.count; i++)
		seen[frame_kind(svg->profile, i)] = true;
	double x = MARGIN;
	for (unsigned kind = 0; kind < FRAME_KINDS; kind++) {
		if (!seen[kind])
			continue;
		const char *name = frame_kind_name((enum frame_kind)kind);
		fprintf(svg->stream,
			"<rect x=\"%.1f\" y=\"%u\" width=\"12\" height=\"12\" fill=\"%s\"/>"
			"<text x=\"%.1f\" y=\"%u\" fill=\"#59636e\">%s</text>\n",
			x, y, kind_colour((enum frame_kind)kind), x + 17, y + 10, name);
		x += 17 + LETTER * ((double)strlen(name) + 3);
	}
}

static struct error *svg_write(const struct profile *profile, const struct writer_options *options,
			       FILE *stream)
{
	_cleanup_(svg_deinit) struct svg svg = {
		.profile = profile,
		.options = options,
		.stream = stream,
	};
	struct error *err = writer_files(profile, options, &svg.files);
	if (!err)
		err = calltree_init(&svg.tree, profile, options, WRITER_NS);
	if (err)
		return err;
	if (!place_boxes(&svg))
		return error_no_memory();

	unsigned foot = HEAD + (svg.deepest + 1) * ROW;
	write_head(&svg, foot + FOOT);
	for (size_t i = 0; i < svg.boxes.count && !ferror(stream); i++)
		write_box(&svg, &svg.boxes.items[i]);
	write_legend(&svg, foot + 9);
	fputs("</svg>\n", stream);
	return svg.failed ? error_no_memory() : NULL;
}

const struct writer svg_writer = {
	.name = "svg",
	.description = "a picture of the flame graph, for pages that take no more than that",
	.endings = (const char *const[]){ ".svg", NULL },
	.write = svg_write,
};
