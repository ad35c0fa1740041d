/* SPDX-License-Identifier: MIT */
/* The lines of a live view's screen, word for word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "view/top_paint.h"

#define S UINT64_C(1000000000)

struct fixture {
	struct profile *profile;
	struct top_model *model;
	struct top_canvas canvas;
	struct top_painting painting;
	struct top_state state;
};

static void add(struct profile *p, uint32_t thread, unsigned flags, uint64_t ns, uint32_t outer,
		uint32_t inner)
{
	uint32_t frames[] = { outer, inner };
	assert_int_equal(profile_add(p, thread, frames, 2, REASON_OK, flags, ns, 0), REASON_OK);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	assert_null(profile_create(&f->profile));
	assert_null(top_model_create(&f->model));
	struct profile *p = f->profile;
	uint32_t process = profile_process(p, 100, PROFILE_NONE);
	profile_fact(&p->processes.items[process].python_version, "3.12.1");
	profile_fact_argv(&p->processes.items[process].argv, "python3\0app.py", 15);
	uint32_t one = profile_thread(p, process, 100, "python3");
	uint32_t two = profile_thread(p, process, 101, "idler");
	uint32_t main =
		profile_frame(p, profile_function(p, "main", "/src/app.py", 1, PROFILE_PYTHON), 3);
	uint32_t work =
		profile_frame(p, profile_function(p, "work", "/src/app.py", 10, PROFILE_PYTHON),
			      12);
	top_model_begin(f->model, p, 10 * S);
	assert_true(top_model_step(f->model));
	f->painting.since = top_mark_now(p, 10 * S);
	add(p, one, PROFILE_GIL, S, main, work);
	add(p, one, 0, S, main, main);
	add(p, two, PROFILE_IDLE, 2 * S, main, work);
	p->stats.lost[REASON_MOVED] = 1;
	p->stats.ticks = 200;
	p->stats.interval_ns = S / 100;
	stats_stop(&p->stats, S / 10, S / 100);
	top_model_begin(f->model, p, 12 * S);
	assert_true(top_model_step(f->model));
	f->painting.now = top_mark_now(p, 12 * S);
	f->painting.profile = p;
	f->painting.model = f->model;
	f->canvas.columns = 80;
	f->canvas.lines = 12;
	f->state.settings.process = PROFILE_NONE;
	f->state.process_count = 1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	top_canvas_deinit(&f->canvas);
	top_model_destroy(f->model);
	profile_destroy(f->profile);
	free(f);
	return 0;
}

static void paint(struct fixture *f)
{
	assert_true(top_paint(&f->canvas, &f->painting, &f->state));
}

static void assert_line(struct fixture *f, size_t line, const char *expected)
{
	char text[TOP_CELLS_MAX];
	assert_in_range(line, 0, f->canvas.count - 1);
	assert_int_not_equal(wcstombs(text, f->canvas.line[line].cells, sizeof(text)), -1);
	assert_string_equal(text, expected);
}

static void functions_have_their_shares(void **state)
{
	struct fixture *f = *state;
	paint(f);
	assert_int_equal(f->canvas.count, 12);
	assert_line(f, 0, "pysample top: 100, Python 3.12.1: python3 app.py");
	f->canvas.columns = 200;
	paint(f);
	assert_line(f, 1,
		    "running 2.0 s  100.0 of 100.0 Hz  3 samples  1 lost (25.0 %)  "
		    "complete 75.0 %  held 0.50 %");
	assert_line(f, 2, "2 threads, 1.00 of them running, GIL held 50 % of the last 2.0 s");
	assert_line(f, 3, "by function, Python frames, running threads");
	assert_line(f, 4, "   last 5 s          since the start");
	assert_line(f, 5, ">own % total %     own % total %   own time  function");
	assert_line(f, 6, "  50.0   100.0      50.0   100.0      1.00s  main (/src/app.py:1)");
	assert_line(f, 7, "  50.0    50.0      50.0    50.0      1.00s  work (/src/app.py:10)");
	assert_line(f, 8, "");
	assert_int_equal(f->state.row_count, 2);
	assert_int_equal(f->state.page_rows, 5);
}

static void a_long_line_keeps_the_end_of_the_file(void **state)
{
	struct fixture *f = *state;
	f->canvas.columns = 64;
	paint(f);
	assert_line(f, 6, "  50.0   100.0      50.0   100.0      1.00s  main ~src/app.py:1)");
	f->canvas.columns = 51;
	paint(f);
	assert_line(f, 6, "  50.0   100.0      50.0   100.0      1.00s  main");
}

static void files_have_short_texts_where_there_are_some(void **state)
{
	struct fixture *f = *state;
	const char **files = calloc(f->profile->strings.count, sizeof(*files));
	assert_non_null(files);
	uint32_t file = f->profile->functions.items[0].file;
	files[file] = "app.py";
	f->painting.files = files;
	f->painting.file_count = f->profile->strings.count;
	paint(f);
	assert_line(f, 6, "  50.0   100.0      50.0   100.0      1.00s  main (app.py:1)");
	free(files);
}

static void threads_have_their_states(void **state)
{
	struct fixture *f = *state;
	f->state.page = TOP_THREADS;
	f->canvas.columns = 100;
	paint(f);
	assert_line(f, 5,
		    "  thread  state      run %   GIL %  idle %   run time  name and function");
	assert_line(f, 6,
		    "     100  GIL        100.0    50.0     0.0      2.00s  python3  in work "
		    "(/src/app.py:10)");
	assert_line(f, 7,
		    "     101  idle         0.0     0.0   100.0      0.00s  idler  in work "
		    "(/src/app.py:10)");
	assert_int_equal(f->canvas.line[6].style, TOP_STRONG);
}

static void a_filter_says_how_many_it_lets_through(void **state)
{
	struct fixture *f = *state;
	snprintf(f->state.filter, sizeof(f->state.filter), "%s", "work");
	paint(f);
	assert_line(f, 3, "by function, Python frames, running threads; filter: work (1)");
	assert_line(f, 7, "");
	f->state.typing = true;
	paint(f);
	assert_line(f, 3, "filter: work_");
}

static void an_end_is_said(void **state)
{
	struct fixture *f = *state;
	f->painting.end = "the process has ended";
	paint(f);
	assert_line(f, 3, "the process has ended");
	f->state.paused = true;
	f->painting.end = NULL;
	f->canvas.columns = 60;
	paint(f);
	assert_line(f, 1, "PAUSED 2.0 s  100.0 of 100.0 Hz  3 samples  1 lost (25.0 %)~");
}

static void a_small_screen_says_so(void **state)
{
	struct fixture *f = *state;
	f->canvas.lines = 9;
	paint(f);
	assert_int_equal(f->canvas.count, 1);
	assert_line(f, 0, "too small: 50x10 is needed; q ends");
	f->canvas.columns = 0;
	f->canvas.lines = 0;
	paint(f);
	assert_int_equal(f->canvas.count, 0);
	f->canvas.columns = 100000;
	f->canvas.lines = 100000;
	paint(f);
	assert_int_equal(f->canvas.count, TOP_LINES_MAX);
}

static void rows_are_scrolled_within_what_there_is(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 20; i++) {
		char name[8];
		snprintf(name, sizeof(name), "f%02d", i);
		uint32_t frame =
			profile_frame(f->profile,
				      profile_function(f->profile, name, NULL, 0, PROFILE_PYTHON),
				      0);
		add(f->profile, 0, 0, (uint64_t)(20 - i) * 1000, frame, frame);
	}
	top_model_begin(f->model, f->profile, 13 * S);
	assert_true(top_model_step(f->model));
	f->state.scroll = 1000;
	paint(f);
	assert_int_equal(f->state.scroll, 22 - 5);
	assert_line(f, 10, "   0.0     0.0       0.0     0.0      0.00s  f19");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_have_their_shares),
		TEST(a_long_line_keeps_the_end_of_the_file),
		TEST(files_have_short_texts_where_there_are_some),
		TEST(threads_have_their_states),
		TEST(a_filter_says_how_many_it_lets_through),
		TEST(an_end_is_said),
		TEST(a_small_screen_says_so),
		TEST(rows_are_scrolled_within_what_there_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
