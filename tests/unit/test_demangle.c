/* SPDX-License-Identifier: MIT */
/* test_demangle.c: given this symbol, that text; given one that is a trap, nothing, and soon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image/demangle.h"

struct name {
	const char *symbol;
	const char *text; /* NULL: stays as it is */
};

static const struct name names[] = {
	{ "_ZN3foo3barEv", "foo::bar" },
	{ "_ZN3foo3barIiEEvT_", "foo::bar<int>" },
	{ "_ZN3foo3barEv.cold", "foo::bar" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
	  "std::vector<int, std::allocator<int> >::push_back" },
	{ "_ZZN1a1bEvENKUlvE_clEv", "a::b()::{lambda()#1}::operator()" },
	{ "_ZTh", NULL },
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
	{ "_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
	  "<alloc::string::String as core::fmt::Debug>::fmt" },
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
	{ "_RNvMCs1234_7mycrateNtB2_3Foo3bar", "<mycrate::Foo>::bar" },
	{ "PyObject_Call", NULL },
	{ "_PyEval_EvalFrameDefault", NULL },
	{ "_Z", NULL },
	{ "_R", NULL },
	{ "_", NULL },
	{ "", NULL },
	{ "__Z3foov", NULL },
	{ "_RNvC", NULL },
	{ "_ZN", NULL },
};

static void symbols_and_their_texts(void **state)
{
	if (!demangle_is_available())
		skip();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *text = demangle(names[i].symbol);
		if (names[i].text && !text)
			fail_msg("%s stayed as it is", names[i].symbol);
		if (names[i].text)
			assert_string_equal(text, names[i].text);
		else if (text)
			fail_msg("%s became %s", names[i].symbol, text);
		free(text);
	}
}

static void check_is_refused_soon(const char *symbol)
{
	clock_t start = clock();
	char *text = demangle(symbol);
	assert_null(text);
	assert_true(clock() - start < CLOCKS_PER_SEC);
}

/* A number as both manglings write it, less one and in the given base; the first one is empty. */
static void add_number(char *symbol, const char *digits, int base, int number)
{
	char text[8] = { 0 };
	size_t at = sizeof(text) - 1;
	for (int n = number - 1; number && (n > 0 || at == sizeof(text) - 1); n /= base)
		text[--at] = digits[n % base];
	strcat(symbol, text + at);
	strcat(symbol, "_");
}

/*
 * f<X0, X1, …> with X0 = pair<int, int> and each pair having the one before twice. S_ is f, S0_ pair,
 * S1_ X0.
 */
static char *cxx_doubled(int levels)
{
	static char symbol[4096];
	strcpy(symbol, "_Z1fISt4pairIiiE");
	for (int i = 1; i <= levels; i++) {
		strcat(symbol, "S0_I");
		for (int j = 0; j < 2; j++) {
			strcat(symbol, "S");
			add_number(symbol, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", 36, i + 1);
		}
		strcat(symbol, "E");
	}
	strcat(symbol, "Evv");
	return symbol;
}

/* a::f::<(u8, u8), …>, each tuple having the one before twice by its place behind "_R". */
static char *rust_doubled(int levels)
{
	static char symbol[4096];
	strcpy(symbol, "_RINvC1a1f");
	int before = (int)strlen(symbol) - 2;
	strcat(symbol, "ThhE");
	for (int i = 0; i < levels; i++) {
		int here = (int)strlen(symbol) - 2;
		strcat(symbol, "T");
		for (int j = 0; j < 2; j++) {
			strcat(symbol, "B");
			add_number(symbol,
				   "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
				   62, before);
		}
		strcat(symbol, "E");
		before = here;
	}
	strcat(symbol, "E");
	return symbol;
}

static void a_name_that_doubles(void **state)
{
	if (!demangle_is_available())
		skip();
	char *text = demangle(cxx_doubled(1));
	assert_string_equal(text, "f<std::pair<int, int>, std::pair<std::pair<int, int>, "
				  "std::pair<int, int> > >");
	free(text);
	check_is_refused_soon(cxx_doubled(40));
}

static void a_rust_name_that_doubles(void **state)
{
	if (!demangle_is_available())
		skip();
	char *text = demangle(rust_doubled(1));
	assert_string_equal(text, "a::f::<(u8, u8), ((u8, u8), (u8, u8))>");
	free(text);
	check_is_refused_soon(rust_doubled(40));
}

static void a_name_that_nests_without_end(void **state)
{
	static char symbol[8000] = "_Z1f";
	memset(symbol + 4, 'P', sizeof(symbol) - 6);
	symbol[sizeof(symbol) - 2] = 'i';
	check_is_refused_soon(symbol);
}

static void a_name_that_is_too_long(void **state)
{
	static char symbol[9000] = "_Z8500";
	memset(symbol + 6, 'x', 8500);
	symbol[6 + 8500] = 'v';
	check_is_refused_soon(symbol);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_and_their_texts),
		cmocka_unit_test(a_name_that_doubles),
		cmocka_unit_test(a_rust_name_that_doubles),
		cmocka_unit_test(a_name_that_nests_without_end),
		cmocka_unit_test(a_name_that_is_too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
