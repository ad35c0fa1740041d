/* SPDX-License-Identifier: MIT */
/* Given this profile, this data in the page, and this picture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "write/calltree.h"
#include "write/flamegraph.h"
#include "write/svg.h"

static struct profile *make(unsigned ns)
{
	struct profile *p;
	assert_null(profile_create(&p));
	profile_fact(&p->facts.tool_version, "1.2");
	profile_fact(&p->facts.start_time, "now");
	uint32_t process = profile_process(p, 42, PROFILE_NONE);
	profile_fact_argv(&p->processes.items[process].argv, "py\0</x>", 8);
	profile_fact(&p->processes.items[process].python_version, "9.8");
	uint32_t thread = profile_thread(p, process, 43, "kernel");
	uint32_t main =
		profile_frame(p, profile_function(p, "main", "/a/m.py", 1, PROFILE_PYTHON), 5);
	uint32_t work =
		profile_frame(p, profile_function(p, "a<b", "/a/m.py", 7, PROFILE_PYTHON), 8);
	uint32_t copy =
		profile_frame(p, profile_function(p, "copy", "/l/libc.so.6", 0, PROFILE_NATIVE), 0);
	profile_add(p, thread, (uint32_t[]){ main, work }, 2, REASON_OK, PROFILE_GIL, ns, 1);
	profile_add(p, thread, (uint32_t[]){ main, copy }, 2, REASON_OK, PROFILE_IDLE, 30, 1);
	profile_add(p, thread, NULL, 0, REASON_OK, 0, 10, 0);
	stats_loss(&p->stats, REASON_MOVED);
	return p;
}

static char *written(struct error *(*write)(const struct profile *, const struct writer_options *,
					    FILE *),
		     const struct profile *profile, const struct writer_options *options)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	assert_non_null(stream);
	assert_null(write(profile, options, stream));
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

#define BEFORE "<script id=\"data\" type=\"application/json\">\n"

/* The data of a page; ends where the script does. */
static char *data_of(char *page)
{
	char *data = strstr(page, BEFORE);
	assert_non_null(data);
	data += strlen(BEFORE);
	char *end = strstr(data, "</script>");
	assert_non_null(end);
	*end = '\0';
	return data;
}

static void the_page_has_the_whole_profile_as_data(void **state)
{
	struct profile *p = make(60);
	struct writer_options options = { .weights = WRITER_DEFAULT };
	char *page = written(flamegraph_writer.write, p, &options);
	assert_string_equal(
		data_of(page),
		"{\"version\":1,\"weights\":\"ns\",\n"
		"\"runs\":[{\"tool\":\"1.2\",\"tool_argv\":null,\"start_time\":\"now\",\"mode\":"
		"\"wall\","
		"\"duration_ns\":0,\"interval_ns\":0,\"rate_mhz\":0,\"ticks\":0,\"late\":0,"
		"\"skipped\":0,"
		"\"samples\":3,\"complete\":3,\"cut\":[],"
		"\"lost\":[[\"moved\",\"a sleeping thread woke up while it was being read\",1]],"
		"\"notes\":[]}],\n"
		"\"processes\":[{\"run\":0,\"pid\":42,\"name\":\"?\",\"argv\":[\"py\",\"\\u003c/"
		"x\\u003e\"],"
		"\"executable\":null,\"python\":\"9.8\"}],\n"
		"\"threads\":[[0,43,\"kernel\"]],\n"
		"\"names\":[\"main\",\n\"\",\n\"a\\u003cb\",\n\"copy\",\n\"\"],\n"
		"\"files\":[\"\",\n\"m.py\",\n\"\",\n\"\",\n\"libc.so.6\"],\n"
		"\"functions\":[0,2,1,0,2,2,7,0,3,5,0,3],\n"
		"\"frames\":[0,5,1,8,2,0],\n"
		"\"stacks\":[0,0,1,1,2,2],\n"
		"\"samples\":[2,0,2,1,60,3,0,1,1,30,0,0,0,1,10]}\n");
	free(page);

	options = (struct writer_options){ .weights = WRITER_SAMPLES, .no_line = true };
	page = written(flamegraph_writer.write, p, &options);
	char *data = data_of(page);
	assert_non_null(strstr(data, "\"weights\":\"samples\""));
	assert_non_null(strstr(data, "\"frames\":[0,0,1,0,2,0]"));
	free(page);
	profile_destroy(p);
}

static void the_page_asks_nothing_of_others(void **state)
{
	struct profile *p = make(60);
	struct writer_options options = { .weights = WRITER_DEFAULT };
	char *page = written(flamegraph_writer.write, p, &options);
	assert_non_null(strstr(page, "default-src 'none'"));
	assert_null(strstr(page, "http:"));
	assert_null(strstr(page, "https:"));
	assert_null(strstr(page, "@import"));
	assert_null(strstr(page, "@include"));
	free(page);
	profile_destroy(p);
}

static struct error *write_diff(const struct profile *profile, const struct writer_options *options,
				FILE *stream)
{
	struct profile *after = make(160);
	struct error *err = flamegraph_write_diff(profile, after, options, stream);
	profile_destroy(after);
	return err;
}

static void a_difference_has_two_runs_and_the_samples_of_both(void **state)
{
	struct profile *p = make(60);
	struct writer_options options = { .weights = WRITER_DEFAULT };
	char *page = written(write_diff, p, &options);
	char *data = data_of(page);
	assert_non_null(strstr(data, "\"notes\":[]},\n{\"tool\":"));
	assert_non_null(strstr(data, "\"processes\":[{\"run\":0,"));
	assert_non_null(strstr(data, "\n{\"run\":1,"));
	assert_non_null(strstr(data, "\"threads\":[[0,43,\"kernel\"],[1,43,\"kernel\"]]"));
	assert_non_null(strstr(data, "\"samples\":[2,0,2,1,60,3,0,1,1,30,0,0,0,1,10,"
				     "2,1,2,1,160,3,1,1,1,30,0,1,0,1,10]"));
	free(page);
	profile_destroy(p);
}

static void expect_node(const struct calltree *tree, uint32_t id, const char *name, uint64_t own,
			uint64_t total)
{
	_cleanup_strbuf_ struct strbuf buf = { 0 };
	const struct calltree_node *node = &tree->nodes.items[id];
	calltree_add_name(tree, node->label, &buf);
	assert_string_equal(buf.text, name);
	assert_int_equal(node->own, own);
	assert_int_equal(node->total, total);
}

static void the_tree_has_the_heaviest_first(void **state)
{
	struct profile *p = make(20);
	struct writer_options options = { .threads = true };
	struct calltree tree = { 0 };
	assert_null(calltree_init(&tree, p, &options, WRITER_NS));
	const struct calltree_node *nodes = tree.nodes.items;
	assert_int_equal(tree.nodes.count, 5);
	assert_int_equal(nodes[CALLTREE_ROOT].total, 60);
	uint32_t thread = nodes[CALLTREE_ROOT].first;
	expect_node(&tree, thread, "thread 43 (kernel)", 10, 60);
	assert_int_equal(calltree_function(&tree, nodes[thread].label), PROFILE_NONE);
	uint32_t main = nodes[thread].first;
	expect_node(&tree, main, "main", 0, 50);
	expect_node(&tree, nodes[main].first, "copy", 30, 30);
	expect_node(&tree, nodes[nodes[main].first].next, "a<b", 20, 20);
	assert_int_equal(nodes[nodes[nodes[main].first].next].next, PROFILE_NONE);
	calltree_deinit(&tree);
	profile_destroy(p);
}

static void the_picture_has_a_box_for_each_frame(void **state)
{
	struct profile *p = make(60);
	struct writer_options options = { .weights = WRITER_SAMPLES };
	char *text = written(svg_writer.write, p, &options);
	assert_non_null(strstr(text, "<title>py &lt;/x&gt;</title>"));
	assert_non_null(
		strstr(text,
		       "pid 42, Python 9.8, 0.0 s at 0.0 Hz, 3 samples, 1 lost, 75.0 % complete, "
		       "weights: samples"));
	assert_non_null(
		strstr(text,
		       "<g><title>all\ntotal 3 samples, 100.00 %; own 1 samples, 33.33 %</title>"
		       "<rect x=\"10.00\" y=\"86\" width=\"1179.50\" height=\"16\""));
	assert_non_null(strstr(
		text,
		"<title>a&lt;b (m.py:7)\ntotal 1 samples, 33.33 %; own 1 samples, 33.33 %</title>"
		"<rect x=\"10.00\" y=\"52\" width=\"392.83\""));
	assert_non_null(strstr(text, "<title>copy (libc.so.6)\n"));
	assert_non_null(strstr(text, ">a&lt;b</text></g>\n"));
	assert_string_equal(text + strlen(text) - 7, "</svg>\n");
	free(text);
	profile_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_page_has_the_whole_profile_as_data),
		cmocka_unit_test(the_page_asks_nothing_of_others),
		cmocka_unit_test(a_difference_has_two_runs_and_the_samples_of_both),
		cmocka_unit_test(the_tree_has_the_heaviest_first),
		cmocka_unit_test(the_picture_has_a_box_for_each_frame),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
