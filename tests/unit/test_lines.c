/* SPDX-License-Identifier: MIT */
/*
 * Line tables of every CPython version against that interpreter's own answers (fixtures/lines,
 * written by contrib/gen-line-fixtures), and tables built by hand, broken ones among them.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "python/lines.h"

struct fixture {
	const char *path;
	enum py_line_kind kind;
	char *code; /* "code NAME first LINE": for messages */
	uint32_t firstlineno;
	uint8_t *table;
	size_t table_size;
	size_t codes, answers;
};

static bool next_line(FILE *f, struct strbuf *line)
{
	_cleanup_free_ char *text = NULL;
	size_t capacity = 0;
	strbuf_reset(line);
	ssize_t length;
	while ((length = getline(&text, &capacity, f)) > 0) {
		if (text[length - 1] == '\n')
			length--;
		bool goes_on = length > 0 && text[length - 1] == '\\';
		strbuf_add(line, text, (size_t)(length - goes_on));
		if (!goes_on)
			return true;
	}
	return false;
}

static void read_kind(struct fixture *fixture, const char *text)
{
	static const char *const names[] = {
		[PY_LINES_LNOTAB_UNSIGNED] = "lnotab-unsigned",
		[PY_LINES_LNOTAB] = "lnotab",
		[PY_LINES_TABLE] = "table",
		[PY_LINES_LOCATIONS] = "locations",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i], text) == 0) {
			fixture->kind = (enum py_line_kind)i;
			return;
		}
	}
	fail_msg("%s: kind %s", fixture->path, text);
}

static void read_code(struct fixture *fixture, const char *text)
{
	free(fixture->code);
	fixture->code = strdup(text);
	const char *first = strstr(text, " first ");
	assert_non_null(first);
	fixture->firstlineno = (uint32_t)strtoul(first + strlen(" first "), NULL, 10);
	fixture->codes++;
}

static void read_table(struct fixture *fixture, const char *hex)
{
	free(fixture->table);
	fixture->table_size = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;
	/* Of exactly that size, so that a read past the end is seen. */
	fixture->table = malloc(fixture->table_size + !fixture->table_size);
	for (size_t i = 0; i < fixture->table_size; i++)
		assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &fixture->table[i]), 1);
}

static void check_line(const struct fixture *fixture, int64_t lasti, uint32_t expected)
{
	uint32_t line = 12345;
	enum reason reason = lines_find(fixture->kind, fixture->table, fixture->table_size,
					fixture->firstlineno, lasti, &line);
	if (reason != REASON_OK || line != expected)
		fail_msg("%s: %s: offset %lld: line %u (%s), expected %u", fixture->path,
			 fixture->code, (long long)lasti, line, reason_name(reason), expected);
}

/* STEP and the runs LINE*COUNT. */
static void replay_answers(struct fixture *fixture, char *text)
{
	int64_t offset = 0;
	char *save = NULL;
	int step = atoi(strtok_r(text, " ", &save));
	check_line(fixture, -1, fixture->firstlineno);
	check_line(fixture, -step, fixture->firstlineno);
	for (char *run; (run = strtok_r(NULL, " ", &save));) {
		char *star = strchr(run, '*');
		assert_non_null(star);
		uint32_t expected = run[0] == '-' ? LINE_NONE : (uint32_t)strtoul(run, NULL, 10);
		/* An odd offset is inside an instruction and belongs to it. */
		check_line(fixture, offset + step - 1, expected);
		for (long count = strtol(star + 1, NULL, 10); count > 0; count--) {
			check_line(fixture, offset, expected);
			offset += step;
			fixture->answers++;
		}
	}
}

static void replay_file(const char *path)
{
	struct fixture fixture = { .path = path };
	_cleanup_strbuf_ struct strbuf line = { 0 };
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	assert_non_null(f);
	while (next_line(f, &line)) {
		char *text = line.text;
		if (strncmp(text, "kind ", 5) == 0)
			read_kind(&fixture, text + 5);
		else if (strncmp(text, "code ", 5) == 0)
			read_code(&fixture, text);
		else if (strncmp(text, "table ", 6) == 0)
			read_table(&fixture, text + 6);
		else if (strncmp(text, "lines ", 6) == 0)
			replay_answers(&fixture, text + 6);
		else
			assert_int_equal(text[0], '#');
	}
	assert_true(fixture.codes >= 30);
	assert_true(fixture.answers >= 10000);
	free(fixture.code);
	free(fixture.table);
}

static void test_interpreters_answers(void **state)
{
	const char *srcdir = getenv("srcdir");
	_cleanup_free_ char *pattern = NULL;
	assert_true(asprintf(&pattern, "%s/fixtures/lines/cpython-*.txt", srcdir ? srcdir : ".") >
		    0);
	glob_t paths;
	assert_int_equal(glob(pattern, 0, NULL, &paths), 0);
	assert_int_equal(paths.gl_pathc, 11); /* 2.7 and 3.6 to 3.15 */
	for (size_t i = 0; i < paths.gl_pathc; i++)
		replay_file(paths.gl_pathv[i]);
	globfree(&paths);
}

/* The line, or −1 − the reason. */
static int64_t find(enum py_line_kind kind, const char *table, size_t size, int64_t lasti)
{
	/* On the heap: a read past the end is seen. */
	_cleanup_free_ uint8_t *copy = malloc(size + !size);
	memcpy(copy, table, size);
	uint32_t line = 12345;
	enum reason reason = lines_find(kind, copy, size, 100, lasti, &line);
	if (reason != REASON_OK)
		assert_int_equal(line, 12345);
	return reason == REASON_OK ? (int64_t)line : -1 - (int64_t)reason;
}
#define FIND(kind, table, lasti) find(PY_LINES_##kind, table, sizeof(table) - 1, lasti)
#define BROKEN                   (-1 - (int64_t)REASON_BAD_LINE_TABLE)

static void test_empty_tables(void **state)
{
	assert_int_equal(FIND(LNOTAB_UNSIGNED, "", 0), 100);
	assert_int_equal(FIND(LNOTAB, "", 7), 100);
	assert_int_equal(FIND(TABLE, "", 0), BROKEN);
	assert_int_equal(FIND(LOCATIONS, "", 0), BROKEN);
	uint32_t line = 0;
	assert_int_equal(lines_find(PY_LINES_LNOTAB, NULL, 0, 5, 3, &line), REASON_OK);
	assert_int_equal(line, 5);
	assert_int_equal(lines_find(PY_LINES_LOCATIONS, NULL, 0, 5, -1, &line), REASON_OK);
	assert_int_equal(line, 5);
}

static void test_before_the_first_instruction(void **state)
{
	assert_int_equal(FIND(LNOTAB, "\x00\x05", -1), 100);
	assert_int_equal(FIND(TABLE, "\x02\x05", -2), 100);
	assert_int_equal(FIND(LOCATIONS, "\xe8\x4a", INT64_MIN), 100);
}

static void test_lnotab_sign(void **state)
{
	assert_int_equal(FIND(LNOTAB, "\x02\xff", 2), 99);
	assert_int_equal(FIND(LNOTAB_UNSIGNED, "\x02\xff", 2), 355);
	assert_int_equal(FIND(LNOTAB, "\x02\xff", 1), 100);
	/* 300 lines on after 256 bytes: pairs are added up. */
	assert_int_equal(FIND(LNOTAB, "\xff\x00\x01\x7f\x00\x7f\x00\x2e", 255), 100);
	assert_int_equal(FIND(LNOTAB, "\xff\x00\x01\x7f\x00\x7f\x00\x2e", 256), 400);
}

static void test_table_without_line(void **state)
{
	assert_int_equal(FIND(TABLE, "\x02\x01\x04\x80\x02\xfe", 0), 101);
	assert_int_equal(FIND(TABLE, "\x02\x01\x04\x80\x02\xfe", 2), LINE_NONE);
	assert_int_equal(FIND(TABLE, "\x02\x01\x04\x80\x02\xfe", 5), LINE_NONE);
	assert_int_equal(FIND(TABLE, "\x02\x01\x04\x80\x02\xfe", 6), 99);
	assert_int_equal(FIND(TABLE, "\x02\x01\x04\x80\x02\xfe", 8), BROKEN);
	/* An entry of no bytes moves the line. */
	assert_int_equal(FIND(TABLE, "\x00\x7f\x00\x7f\x02\x01", 0), 355);
}

static void test_location_codes(void **state)
{
	assert_int_equal(FIND(LOCATIONS, "\x80\x12", 0), 100);           /* same line */
	assert_int_equal(FIND(LOCATIONS, "\xd8\x01\x02", 0), 101);       /* one line on */
	assert_int_equal(FIND(LOCATIONS, "\xe0\x01\x02", 0), 102);       /* two lines on */
	assert_int_equal(FIND(LOCATIONS, "\xe8\x0b", 0), 95);            /* −5, no columns */
	assert_int_equal(FIND(LOCATIONS, "\xe8\x70\x04", 0), 100 + 152); /* 0x30 + (4 << 6) = 304 */
	assert_int_equal(FIND(LOCATIONS, "\xf0\x06\x02\x01\x01", 0), 103);
	assert_int_equal(FIND(LOCATIONS, "\xf8", 0), LINE_NONE);
	/* Eight code units, then one; the payload of the first is skipped. */
	assert_int_equal(FIND(LOCATIONS, "\xf7\x06\x02\x01\x01\xd8\x01\x02", 15), 103);
	assert_int_equal(FIND(LOCATIONS, "\xf7\x06\x02\x01\x01\xd8\x01\x02", 16), 104);
	assert_int_equal(FIND(LOCATIONS, "\xf7\x06\x02\x01\x01\xd8\x01\x02", 18), BROKEN);
	/* "No line" leaves the line count alone. */
	assert_int_equal(FIND(LOCATIONS, "\xf8\xd8\x01\x02", 2), 101);
}

static void test_broken_tables(void **state)
{
	assert_int_equal(FIND(LNOTAB, "\x01", 5), BROKEN);
	assert_int_equal(FIND(LNOTAB, "\x02\x80\x02\x80", 4), BROKEN); /* line −156 */
	assert_int_equal(FIND(TABLE, "\x01", 0), BROKEN);
	assert_int_equal(FIND(TABLE, "\x02\x81", 0), BROKEN);     /* line −27 */
	assert_int_equal(FIND(LOCATIONS, "\x12\x80", 0), BROKEN); /* no start bit */
	assert_int_equal(FIND(LOCATIONS, "\xe8", 0), BROKEN);     /* no number */
	assert_int_equal(FIND(LOCATIONS, "\xe8\x40", 0), BROKEN); /* a number that breaks off */
	assert_int_equal(FIND(LOCATIONS, "\xe8\x40\x80", 0),
			 BROKEN); /* the next entry in a number */
	assert_int_equal(FIND(LOCATIONS, "\xe8\x7e\x7f\x7f\x7f\x7f\x3f", 0),
			 BROKEN); /* > INT32_MAX */
	assert_int_equal(FIND(LOCATIONS, "\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f", 0), BROKEN);
	assert_int_equal(FIND(LOCATIONS, "\xe8\x42\x40\x40\x40\x40\x00", 0), 101);
	assert_int_equal(FIND(LOCATIONS, "\xe8\x42\x40\x40\x40\x40\x40\x00", 0), BROKEN);
}

static void test_size_limit(void **state)
{
	_cleanup_free_ uint8_t *table = calloc(1, LINES_TABLE_MAX + 1);
	uint32_t line;
	assert_int_equal(lines_find(PY_LINES_LNOTAB, table, LINES_TABLE_MAX, 1, 9, &line),
			 REASON_OK);
	assert_int_equal(lines_find(PY_LINES_LNOTAB, table, LINES_TABLE_MAX + 1, 1, 9, &line),
			 REASON_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interpreters_answers),
		cmocka_unit_test(test_empty_tables),
		cmocka_unit_test(test_before_the_first_instruction),
		cmocka_unit_test(test_lnotab_sign),
		cmocka_unit_test(test_table_without_line),
		cmocka_unit_test(test_location_codes),
		cmocka_unit_test(test_broken_tables),
		cmocka_unit_test(test_size_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
