/* SPDX-License-Identifier: MIT */
/* Given the bytes of a function of a real interpreter, this key; given any other bytes, none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <string.h>

#include "arch/decode.h"
#include "key_fixture.h"

/* clang-format off */

/*
 * What every byte of a shape is: # checked, j filled in by linking and not looked at, v a reference that nothing else confirms.
 * The second byte of a GOT load is filled in by linking too: relaxation makes the load (8b) the address itself (8d), and both are
 * measured shapes.
 */
#define INT_27 "###jjjj####" "#vvvv#jjjj######"
#define GOT_35 "#v#vvvv####" "##############jjjj######"
#define GOT_44 "#v#vvvv####" "vvv#####jjjj#########jjjj########"
#define IMM_35 "###vvvv####" "##############jjjj######"
#define IMM_44 "###vvvv####" "vvv#####jjjj#########jjjj########"
#define GOT_52 "#######vvvv####" "vvv#####jjjj#########jjjj############"
#define RIP_24 "#################jjjj###"
#define RIP_25 "##########jjjj#######jjjj"
#define RIP_28 "#############jjjj#######jjjj"
#define ABS_26 "###################jjjj###"
#define ABS_24 "##########jjjj######jjjj"
#define ABS_34 "###########jjjj###########jjjj####"
#define ABS_40 "##############jjjj####jjjj##########jjjj"
#define TLS_14 "#########vvv##"
#define TLS_29 "###########vvvv#jjjj####vvv##"

/* vaddr and offset by hand from objdump -d of the file that the fixture was cut from. */
static const struct key_case {
	const char *fixture;
	const char *shape;
	enum key_ref_kind kind;
	uint64_t vaddr;
	int64_t offset;
	uint32_t in_runtime; /* offset of the Py_tss_t in _PyRuntime; 0: it is not there */
	const char *bytes;
} key_cases[] = {
	{ "x86_64-2.7-source-library",            "int-27", KEY_REF_INT,       0x1f76d8, 0,      0,     INT_27 },
	{ "x86_64-3.6-source-library",            "int-27", KEY_REF_INT,       0x2acf00, 0,      0,     INT_27 },
	{ "x86_64-3.6-source-embedded-pie",       "int-27", KEY_REF_INT,       0x263b80, 0,      0,     INT_27 },
	{ "x86_64-3.7-source-library",            "got-35", KEY_REF_RUNTIME,   0x2a6c78, 0x5e0,  0x5e0, GOT_35 },
	{ "x86_64-3.8-source-library",            "got-35", KEY_REF_RUNTIME,   0x31ac78, 0x570,  0x570, GOT_35 },
	{ "x86_64-3.9-source-library",            "got-35", KEY_REF_RUNTIME,   0x353d08, 0x248,  0x248, GOT_35 },
	{ "x86_64-3.9-debian-library",            "got-35", KEY_REF_RUNTIME,   0x51fd18, 0x248,  0x248, GOT_35 },
	{ "x86_64-3.9-debian-program",            "rip-25", KEY_REF_TSS,       0x93a608, 0,      0x248, RIP_25 },
	{ "x86_64-3.9-source-embedded-pie",       "lea-35", KEY_REF_TSS,       0x37cb88, 0,      0x248, GOT_35 },
	{ "x86_64-3.9-source-embedded",           "imm-35", KEY_REF_TSS,       0x73fb88, 0,      0x248, IMM_35 },
	{ "x86_64-3.10-source-library",           "got-35", KEY_REF_RUNTIME,   0x373d30, 0x248,  0x248, GOT_35 },
	{ "x86_64-3.11-source-library",           "got-35", KEY_REF_RUNTIME,   0x443d30, 0x250,  0x250, GOT_35 },
	{ "x86_64-3.11-debian-library",           "got-35", KEY_REF_RUNTIME,   0x622d28, 0x250,  0x250, GOT_35 },
	{ "x86_64-3.11-debian-program",           "rip-24", KEY_REF_TSS,       0xa56470, 0,      0x250, RIP_24 },
	{ "x86_64-3.11-debian-embedded",          "abs-24", KEY_REF_TSS,       0xa52570, 0,      0x250, ABS_24 },
	{ "x86_64-3.12-source-library",           "got-44", KEY_REF_RUNTIME,   0x543d00, 0x608,  0x608, GOT_44 },
	{ "x86_64-3.12-source-embedded-pie",      "lea-44", KEY_REF_TSS,       0x6337e8, 0,      0x608, GOT_44 },
	{ "x86_64-3.12-source-embedded",          "imm-44", KEY_REF_TSS,       0x9527e8, 0,      0x608, IMM_44 },
	{ "x86_64-3.13-source-library",           "got-44", KEY_REF_RUNTIME,   0x4eacb0, 0x870,  0x870, GOT_44 },
	{ "x86_64-3.13-debian-library",           "got-52", KEY_REF_RUNTIME,   0x699cd0, 0x870,  0x870, GOT_52 },
	{ "x86_64-3.13-debian-program",           "rip-28", KEY_REF_TSS,       0xa3fc70, 0,      0x870, RIP_28 },
	{ "x86_64-3.13-debian-embedded",          "abs-40", KEY_REF_TSS,       0xa78d30, 0,      0x870, ABS_40 },
	{ "x86_64-3.14-debian-library",           "got-52", KEY_REF_RUNTIME,   0x7a6b70, 0x920,  0x920, GOT_52 },
	{ "x86_64-3.14-debian-program",           "abs-26", KEY_REF_TSS,       0xba10e0, 0,      0x920, ABS_26 },
	{ "x86_64-3.14-debian-embedded",          "abs-34", KEY_REF_TSS,       0xafb320, 0,      0x920, ABS_34 },
	{ "x86_64-3.15-debian-library",           "tls-29", KEY_REF_TLS_DTV,   0x879790, 0x28,   0,     TLS_29 },
	{ "x86_64-3.15-debian-program",           "tls-14", KEY_REF_TLS_LOCAL, 0,        -0x28,  0,     TLS_14 },
};

static const struct head_case {
	const char *fixture;
	const char *shape;
	bool in_runtime;
	uint64_t vaddr;
	uint32_t offset;
	const char *bytes;
} head_cases[] = {
	{ "x86_64-2.7-source-library-head",  "head-8",        false, 0x1f76d0, 0,     "###vvvv#" },
	{ "x86_64-3.6-source-library-head",  "head-8",        false, 0x2feee0, 0,     "###vvvv#" },
	{ "x86_64-3.7-source-library-head",  "head-12",       true,  0x2a6c78, 0x18,  "#v#vvvv###v#" },
	{ "x86_64-3.9-source-embedded-pie-head", "head-lea-12", false, 0x37c960, 0, "#v#vvvv###v#" },
	{ "x86_64-3.9-source-embedded-head", "head-imm-12", false, 0x73f960, 0, "###vvvv###v#" },
	{ "x86_64-3.11-debian-program-head", "head-8",        false, 0xa56248, 0,     "###vvvv#" },
	{ "x86_64-3.13-source-library-head", "head-15",       true,  0x4eacb0, 0x278, "###vvvv###vvv##" },
	{ "x86_64-3.13-debian-library-head", "head-19",       true,  0x699cd0, 0x278, "#######vvvv###vvv##" },
	{ "x86_64-3.13-debian-program-head", "head-12-endbr", false, 0xa3f678, 0,     "#######vvvv#" },
	{ "x86_64-3.15-debian-library-head", "head-19",       true,  0x879c80, 0x3a8, "#######vvvv###vvv##" },
	{ "x86_64-3.15-debian-program-head", "head-12-endbr", false, 0xc40c48, 0,     "#######vvvv#" },
};

/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool decode_key(const uint8_t *body, size_t size, uint64_t address, struct key_ref *ref)
{
	_cleanup_error_ struct error *err = decode_x86_64_key(body, size, address, ref);
	if (err)
		assert_int_equal(err->code, ERROR_UNSUPPORTED);
	return !err;
}

static bool decode_head(const uint8_t *body, size_t size, uint64_t address, struct head_ref *ref)
{
	_cleanup_error_ struct error *err = decode_x86_64_interp_head(body, size, address, ref);
	if (err)
		assert_int_equal(err->code, ERROR_UNSUPPORTED);
	return !err;
}

static void test_key_of_every_build(void **state)
{
	for (size_t i = 0; i < COUNT(key_cases); i++) {
		const struct key_case *c = &key_cases[i];
		struct fixture f = fixture_load(c->fixture);
		struct key_ref ref;
		if (!decode_key(f.body, f.size, f.address, &ref))
			fail_msg("%s is refused", c->fixture);
		assert_string_equal(ref.shape, c->shape);
		assert_int_equal(ref.kind, c->kind);
		assert_int_equal(ref.vaddr, c->vaddr);
		assert_int_equal(ref.offset, c->offset);
	}
}

static void test_builds_of_a_version_agree(void **state)
{
	for (size_t i = 0; i < COUNT(key_cases); i++) {
		const struct key_case *c = &key_cases[i];
		if (!c->in_runtime)
			continue;
		struct fixture f = fixture_load(c->fixture);
		struct key_ref ref;
		assert_true(decode_key(f.body, f.size, f.address, &ref));
		uint64_t in_runtime =
			ref.kind == KEY_REF_RUNTIME ? (uint64_t)ref.offset : ref.vaddr - f.runtime;
		if (in_runtime != c->in_runtime)
			fail_msg("%s: _PyRuntime + 0x%" PRIx64 ", other builds 0x%" PRIx32,
				 c->fixture, in_runtime, c->in_runtime);
	}
}

static void test_every_shape_has_a_fixture(void **state)
{
	static const char *const shapes[] = { "int-27", "got-35", "got-44", "got-52", "rip-24",
					      "rip-25", "rip-28", "abs-26", "tls-14", "tls-29",
					      "lea-35", "imm-35", "lea-44", "imm-44", "abs-24",
					      "abs-34", "abs-40" };
	for (size_t s = 0; s < COUNT(shapes); s++) {
		size_t used = 0;
		for (size_t i = 0; i < COUNT(key_cases); i++)
			used += !strcmp(key_cases[i].shape, shapes[s]);
		assert_int_not_equal(used, 0);
	}
}

/* What becomes of the 255 other values of one byte. */
struct corruption {
	unsigned refused;
	unsigned same;
	unsigned other;
};

static char corruption_class(const struct corruption *c)
{
	if (c->refused == 255)
		return '#';
	if (c->same == 255)
		return 'j';
	/* A reference may be refused as impossible, but is never taken for the old one. */
	return c->same == 0 ? 'v' : '?';
}

static void check_classes(const char *fixture, const char *got, const char *want)
{
	if (strcmp(got, want) != 0)
		fail_msg("%s\n  is     %s\n  wanted %s", fixture, got, want);
}

static void test_key_every_corrupt_byte(void **state)
{
	for (size_t i = 0; i < COUNT(key_cases); i++) {
		const struct key_case *c = &key_cases[i];
		struct fixture f = fixture_load(c->fixture);
		char classes[DECODE_BODY_MAX + 1] = "";
		for (size_t at = 0; at < f.size; at++) {
			struct corruption seen = { 0 };
			for (unsigned flip = 1; flip < 256; flip++) {
				struct key_ref ref;
				f.body[at] ^= flip;
				if (!decode_key(f.body, f.size, f.address, &ref))
					seen.refused++;
				else if (ref.kind == c->kind && ref.vaddr == c->vaddr &&
					 ref.offset == c->offset)
					seen.same++;
				else
					seen.other++;
				f.body[at] ^= flip;
			}
			classes[at] = corruption_class(&seen);
		}
		check_classes(c->fixture, classes, c->bytes);
	}
}

static void test_head_of_every_build(void **state)
{
	for (size_t i = 0; i < COUNT(head_cases); i++) {
		const struct head_case *c = &head_cases[i];
		struct fixture f = fixture_load(c->fixture);
		struct head_ref ref;
		if (!decode_head(f.body, f.size, f.address, &ref))
			fail_msg("%s is refused", c->fixture);
		assert_string_equal(ref.shape, c->shape);
		assert_int_equal(ref.in_runtime, c->in_runtime);
		assert_int_equal(ref.vaddr, c->vaddr);
		assert_int_equal(ref.offset, c->offset);
	}
}

static void test_head_every_corrupt_byte(void **state)
{
	for (size_t i = 0; i < COUNT(head_cases); i++) {
		const struct head_case *c = &head_cases[i];
		struct fixture f = fixture_load(c->fixture);
		char classes[DECODE_BODY_MAX + 1] = "";
		for (size_t at = 0; at < f.size; at++) {
			struct corruption seen = { 0 };
			for (unsigned flip = 1; flip < 256; flip++) {
				struct head_ref ref;
				f.body[at] ^= flip;
				if (!decode_head(f.body, f.size, f.address, &ref))
					seen.refused++;
				else if (ref.in_runtime == c->in_runtime && ref.vaddr == c->vaddr &&
					 ref.offset == c->offset)
					seen.same++;
				else
					seen.other++;
				f.body[at] ^= flip;
			}
			classes[at] = corruption_class(&seen);
		}
		check_classes(c->fixture, classes, c->bytes);
	}
}

static void test_cut_or_longer_body_is_refused(void **state)
{
	for (size_t i = 0; i < COUNT(key_cases); i++) {
		struct fixture f = fixture_load(key_cases[i].fixture);
		struct key_ref ref;
		for (size_t size = 0; size < f.size; size++)
			assert_false(decode_key(f.body, size, f.address, &ref));
		assert_false(decode_key(f.body, f.size + 1, f.address, &ref));
	}
}

static void test_refusal_names_bytes_and_size_and_leaves_the_result(void **state)
{
	static const uint8_t body[] = { 0x55, 0x48, 0x89, 0xe5, 0x31, 0xc0, 0x5d, 0xc3, 0x90 };
	struct key_ref ref = { .vaddr = 77 };
	_cleanup_error_ struct error *err = decode_x86_64_key(body, sizeof(body), 0x1000, &ref);
	assert_non_null(err);
	assert_int_equal(err->code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err->message, "PyGILState_GetThisThreadState"));
	assert_non_null(strstr(err->message, "9 bytes"));
	assert_non_null(strstr(err->message, "55 48 89 e5 31 c0 5d c3"));
	assert_int_equal(ref.vaddr, 77);
}

/* cmpq $0, 0x2000(interp); mov key + 4: the second reference 8 bytes further than the first says.
 */
static void test_references_that_disagree_are_refused(void **state)
{
	struct fixture f = fixture_load("x86_64-3.11-debian-program");
	f.body[12] += 8;
	struct key_ref ref;
	_cleanup_error_ struct error *err = decode_x86_64_key(f.body, f.size, f.address, &ref);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "rip-24"));
	assert_non_null(strstr(err->message, "two different things"));
}

static void test_misaligned_key_is_refused(void **state)
{
	struct fixture f = fixture_load("x86_64-3.6-source-library");
	f.body[12] += 2;
	struct key_ref ref;
	assert_false(decode_key(f.body, f.size, f.address, &ref));
	f.body[12] += 2;
	assert_true(decode_key(f.body, f.size, f.address, &ref));
	assert_int_equal(ref.vaddr, 0x2acf04);
}

static void test_reference_below_the_body(void **state)
{
	/* mov -0x1007(%rip),%rax; ret at 0x401000: the variable is at 0x400000. */
	static const uint8_t body[] = { 0x48, 0x8b, 0x05, 0xf9, 0xef, 0xff, 0xff, 0xc3 };
	struct head_ref ref;
	assert_true(decode_head(body, sizeof(body), 0x401000, &ref));
	assert_int_equal(ref.vaddr, 0x400000);
}

static void test_tail_call(void **state)
{
	static const uint8_t jump[] = { 0xe9, 0x4b, 0x26, 0xed, 0xff };
	static const uint8_t endbr_jump[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xe9, 0, 0, 0, 0 };
	static const uint8_t call[] = { 0xe8, 0x4b, 0x26, 0xed, 0xff };
	static const uint8_t push_first[] = { 0x41, 0x56, 0x41, 0x55, 0x41 };
	assert_true(decode_x86_64_is_tail_call(jump, sizeof(jump)));
	assert_true(decode_x86_64_is_tail_call(endbr_jump, sizeof(endbr_jump)));
	assert_false(decode_x86_64_is_tail_call(jump, sizeof(jump) - 1));
	assert_false(decode_x86_64_is_tail_call(call, sizeof(call)));
	assert_false(decode_x86_64_is_tail_call(push_first, sizeof(push_first)));
	assert_false(decode_x86_64_is_tail_call(endbr_jump, 5));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key_of_every_build),
		cmocka_unit_test(test_builds_of_a_version_agree),
		cmocka_unit_test(test_every_shape_has_a_fixture),
		cmocka_unit_test(test_key_every_corrupt_byte),
		cmocka_unit_test(test_head_of_every_build),
		cmocka_unit_test(test_head_every_corrupt_byte),
		cmocka_unit_test(test_cut_or_longer_body_is_refused),
		cmocka_unit_test(test_refusal_names_bytes_and_size_and_leaves_the_result),
		cmocka_unit_test(test_references_that_disagree_are_refused),
		cmocka_unit_test(test_misaligned_key_is_refused),
		cmocka_unit_test(test_reference_below_the_body),
		cmocka_unit_test(test_tail_call),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
